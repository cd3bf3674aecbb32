/// The bytes of a file that a command reads as a whole.
package enum InputFile {
    /// The maximum number of bytes of a file of accounts, keys or rules.
    package static let maxByteCount = 64 << 20

    private static let partByteCount = 64 << 10

    /// Returns the bytes of a file, which `what` names in the errors: "the tokens".
    package static func read(_ path: String, _ what: String) throws(CommandError) -> [UInt8] {
        let descriptor = Descriptors.open(path, O_RDONLY)
        guard descriptor >= 0 else { throw failure(path, what) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        while bytes.count <= maxByteCount {
            guard let part = Descriptors.read(descriptor, atMost: partByteCount) else {
                if errno == EINTR { continue }
                throw failure(path, what)
            }
            if part.isEmpty { return bytes }
            bytes += part
        }
        throw CommandError(.noInput, "\(path) has more than \(maxByteCount >> 20) MiB")
    }

    private static func failure(_ path: String, _ what: String) -> CommandError {
        CommandError.system(.noInput, "cannot read \(what) in \(path)")
    }
}
