import Foundation
import MartletAuthentication
import MartletToolSupport

extension PasswordFile {
    /// Reads a file.
    static func read(_ path: String) throws(CommandError) -> PasswordFile {
        let bytes: Data
        do { bytes = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw CommandError(.noInput, "cannot read the passwords in \(path): \(error.localizedDescription)")
        }
        do { return try PasswordFile(parsing: Array(bytes)) } catch {
            throw CommandError(.noInput, "\(path):\(error.line): \(error.fault)")
        }
    }

    /// Reads a file; nil if there is none.
    static func readIfExists(_ path: String) throws(CommandError) -> PasswordFile? {
        FileManager.default.fileExists(atPath: path) ? try read(path) : nil
    }

    /// Replaces a file atomically. Only its owner can read it.
    func write(_ path: String) throws(CommandError) {
        let temporary = path + ".new"
        _ = unsafe unlink(temporary)
        let descriptor = Descriptors.open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        guard descriptor >= 0 else { throw CommandError.system(.cannotCreate, "cannot write \(path)") }
        defer { close(descriptor) }
        try Output.write(bytes, to: descriptor)
        guard fsync(descriptor) == 0, unsafe rename(temporary, path) == 0 else {
            throw CommandError.system(.cannotCreate, "cannot write \(path)")
        }
    }
}
