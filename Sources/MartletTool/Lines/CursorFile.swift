import Foundation

/// A file that holds a ``Cursor``, replaced as a whole: a reader sees the old one or the new one.
struct CursorFile: Sendable {
    let path: String

    /// The cursor; `nil` when there is no file yet. Throws when there is one that holds something else.
    func read() throws(CommandError) -> Cursor? {
        guard let bytes = FileManager.default.contents(atPath: path) else {
            if FileManager.default.fileExists(atPath: path) { throw CommandError(.noInput, "cannot read \(path)") }
            return nil
        }
        if bytes.isEmpty { return nil }
        guard let cursor = Cursor(String(decoding: bytes, as: UTF8.self)) else {
            throw CommandError(.noInput, "\(path) holds no cursor; it is left alone")
        }
        return cursor
    }

    /// Replaces the cursor.
    func write(_ cursor: Cursor) throws(CommandError) {
        let temporary = path + ".new"
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        try Output.write(Array(cursor.text.utf8), to: descriptor)
        guard unsafe rename(temporary, path) == 0 else { throw failure() }
    }

    private func failure() -> CommandError {
        CommandError(.cannotCreate, "cannot write \(path): \(unsafe String(cString: strerror(errno)))")
    }
}
