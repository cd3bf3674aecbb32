import CMartletSystem
import MartletAuthentication
import MartletToolSupport
import MartletTransport

extension PasswordFile {
    /// The duration for which a change waits for a concurrent change.
    static let maxWait = Duration.seconds(10)

    /// Reads a file.
    static func read(_ path: String) throws(CommandError) -> PasswordFile {
        let bytes = try InputFile.read(path, "the passwords")
        do { return try PasswordFile(parsing: bytes) } catch {
            throw CommandError(.noInput, "\(path):\(error.line): \(error.fault)")
        }
    }

    /// Reads a file; nil if there is none.
    static func readIfExists(_ path: String) throws(CommandError) -> PasswordFile? {
        unsafe access(path, F_OK) == 0 ? try read(path) : nil
    }

    /// Changes a file. Changes of several processes are made one after another, so that none of them is lost: the
    /// folder of the file is locked meanwhile.
    ///
    /// - Parameter body: receives the contents of the file; an empty file if there is none.
    static func change(
        _ path: String, waiting limit: Duration = maxWait,
        _ body: (inout PasswordFile) throws(CommandError) -> Void
    ) async throws {
        let path = target(of: path)
        let lock = try await lockFolder(of: path, waiting: limit)
        defer { close(lock) }
        var file = try readIfExists(path) ?? PasswordFile()
        try body(&file)
        try file.write(path)
    }

    /// Returns the descriptor of the locked folder of a file. Closing it ends the lock.
    static func lockFolder(of path: String, waiting limit: Duration) async throws -> Int32 {
        let folder = Folder.parent(of: path)
        let descriptor = Descriptors.open(folder, O_RDONLY)
        guard descriptor >= 0 else { throw CommandError.system(.cannotCreate, "cannot write \(path)") }
        let end = ContinuousClock.now + limit
        do {
            while flock(descriptor, LOCK_EX | LOCK_NB) < 0 {
                guard errno == EWOULDBLOCK || errno == EINTR else {
                    throw CommandError.system(.cannotCreate, "cannot lock \(folder)")
                }
                guard ContinuousClock.now < end else {
                    throw CommandError(.cannotCreate, "another process changes \(path)")
                }
                try await Task.sleep(for: .milliseconds(10))
            }
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// The file at the end of symbolic links, which a change replaces in place of a link.
    private static func target(of path: String) -> String {
        var path = path
        // The system follows as many links.
        for _ in 0..<40 {
            var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = unsafe readlink(path, &bytes, bytes.count)
            guard count >= 0 else { break }
            let next = String(decoding: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
            path = next.hasPrefix("/") ? next : "\(Folder.parent(of: path))/\(next)"
        }
        return path
    }

    /// Copies the access control list of a file, if it has one.
    private func copyAccessList(of path: String, to descriptor: Int32) throws(CommandError) {
        #if os(Linux)
            let name = "system.posix_acl_access"
            // The kernel has no longer attribute.
            var list = [UInt8](repeating: 0, count: 64 << 10)
            let count = unsafe martlet_file_attribute(path, name, &list, list.count)
            // The file has no list, or the file system has none.
            guard count != -Int64(ENODATA), count != -Int64(ENOTSUP) else { return }
            guard count >= 0, unsafe martlet_file_set_attribute(descriptor, name, list, Int(count)) == 0 else {
                throw CommandError(.cannotCreate, "cannot keep the access control list of \(path)")
            }
        #endif
    }

    /// Replaces a file atomically. The owner, group, permissions and access control list of an existing file are kept,
    /// so that a relay of another user can still read it. Only the owner can read a new one.
    func write(_ path: String) throws(CommandError) {
        let temporary = path + ".new"
        _ = unsafe unlink(temporary)
        let descriptor = Descriptors.open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        guard descriptor >= 0 else { throw CommandError.system(.cannotCreate, "cannot write \(path)") }
        defer { close(descriptor) }
        var status = stat()
        if unsafe stat(path, &status) == 0 {
            guard fchown(descriptor, status.st_uid, status.st_gid) == 0, fchmod(descriptor, status.st_mode & 0o777) == 0
            else { throw CommandError.system(.cannotCreate, "cannot keep the owner of \(path)") }
            try copyAccessList(of: path, to: descriptor)
        }
        try Output.write(bytes, to: descriptor)
        guard fsync(descriptor) == 0 else { throw CommandError.system(.cannotCreate, "cannot write \(path)") }
        do throws(FileError) {
            try Folder.rename(temporary, to: path)
        } catch {
            throw CommandError(.cannotCreate, "cannot write \(path): \(error)")
        }
    }
}
