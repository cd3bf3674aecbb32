#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Renames a database, and replaces it by a copy: of the readable contents of a damaged one (C-81, R-70), or a backup.
///
/// | state of the folder | after a crash |
/// |---|---|
/// | the damaged file, perhaps a copy `NAME.partial` | the file is opened, and the copy begins again |
/// | no file, a complete copy, perhaps the `-wal` of the damaged file | `finish` puts the copy in its place |
/// | the copy in the place of the file | nothing |
package struct FileReplacement {
    /// SQLite's result code for a sync that has failed.
    private static let syncFailure: Int32 = 1034
    /// SQLite's result code for a read that has failed.
    private static let readFailure: Int32 = 266
    /// The maximum number of copies.
    private static let maxCopyCount = 4

    package let path: String
    /// The word in the new name of the file.
    private let reason: String

    /// - Parameter reason: The word in the new name of the file.
    package init(path: String, reason: String = "corrupt") {
        self.path = path
        self.reason = reason
    }

    /// The path of the copy.
    package var partial: String { "\(path).partial" }

    /// The new path of a file that is renamed at a time, in milliseconds since 1970.
    package func aside(at now: UInt64) -> String { "\(path).\(reason)-\(now)" }

    /// Makes copies until two in succession have the same contents, because SQLite reports a failed read as damage.
    ///
    /// - Parameter body: Makes a copy, and returns its contents.
    package func copy<Contents: Equatable>(_ body: () throws -> Contents) throws -> Contents {
        var earlier: Contents?
        for _ in 0..<Self.maxCopyCount {
            begin()
            let contents = try body()
            if contents == earlier { return contents }
            earlier = contents
        }
        throw DatabaseError.ioError(code: Self.readFailure, path: path)
    }

    /// Removes an earlier copy.
    package func begin() {
        for suffix in ["", "-wal", "-shm"] { unsafe unlink(partial + suffix) }
    }

    /// Moves all pages from the WAL of the copy to the copy. The caller then closes the copy.
    package static func complete(_ copy: Database) throws {
        let checkpoint = try copy.prepare("PRAGMA wal_checkpoint(TRUNCATE)")
        defer { checkpoint.reset() }
        guard try checkpoint.step(), checkpoint.int64(0) == 0 else { throw DatabaseError.locked(path: copy.path) }
    }

    /// Renames the file and puts the complete copy in its place. Both are closed.
    package func replace(at now: UInt64) throws(DatabaseError) {
        try sync(partial)
        // These files contain no data after `complete`.
        for suffix in ["-wal", "-shm"] { unsafe unlink(partial + suffix) }
        // The file is renamed before its WAL, without which it can be read as an earlier state.
        try move(path, aside(at: now))
        try finish(at: now)
    }

    /// Puts a complete copy in the place of a file that was renamed.
    package func finish(at now: UInt64) throws(DatabaseError) {
        guard unsafe access(path, F_OK) != 0, unsafe access(partial, F_OK) == 0,
            unsafe access(partial + "-wal", F_OK) != 0
        else { return }
        try move(path + "-wal", aside(at: now) + "-wal")
        unsafe unlink(path + "-shm")
        try move(partial, path)
        try sync(folder)
    }

    private var folder: String {
        let folder = FileLock.folder(of: path)
        return folder.isEmpty ? "." : String(folder)
    }

    private func move(_ from: String, _ to: String) throws(DatabaseError) {
        guard unsafe rename(from, to) == 0 || errno == ENOENT else { throw .readOnly(path: path) }
    }

    private func sync(_ name: String) throws(DatabaseError) {
        let descriptor = unsafe open(name, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotOpen(path: path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .ioError(code: Self.syncFailure, path: path) }
    }
}
