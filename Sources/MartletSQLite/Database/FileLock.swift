#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The exclusive use of a file by one object of one process, from the creation of this object to its end. The lock ends
/// with the process in any case.
package final class FileLock: Sendable {
    /// The maximum duration for which a new object waits for the lock. An object that was released, or a process that
    /// was terminated, closes its file within this time.
    package static let maxWait: Duration = .seconds(2)
    private static let pollMicroseconds: UInt32 = 10_000

    /// The maximum number of symbolic links from one to the next.
    private static let maxLinkCount = 40

    private let descriptor: Int32
    private let subject: String

    /// Locks the file, and creates it if it does not exist. The file remains. The call blocks.
    ///
    /// - Parameters:
    ///   - path: The file of the lock, a sibling of the protected one.
    ///   - subject: The protected file, for the error.
    ///   - limit: The duration for which the call waits for another object or process.
    /// - Throws: `locked` if another object or process has the lock; `readOnly`, `full`, `cannotOpen`.
    package init(path: String, of subject: String, waiting limit: Duration = maxWait) throws(DatabaseError) {
        self.subject = subject
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            switch errno {
            case ENOSPC, EDQUOT: throw .full(path: subject)
            case EACCES, EROFS, EPERM: throw .readOnly(path: subject)
            default: throw .cannotOpen(path: subject)
            }
        }
        // The object is complete here, so that `deinit` closes the descriptor after the error.
        let end = ContinuousClock.now + limit
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard ContinuousClock.now < end else { throw .locked(path: subject) }
            usleep(Self.pollMicroseconds)
        }
    }

    /// Locks the file as ``init(path:of:waiting:)``, and blocks no thread while it waits.
    ///
    /// - Throws: The errors of the initializer; `CancellationError`.
    package static func acquire(path: String, of subject: String) async throws -> FileLock {
        let end = ContinuousClock.now + maxWait
        while ContinuousClock.now < end {
            if let lock = try free(path, subject) { return lock }
            try await Task.sleep(for: .microseconds(Int64(pollMicroseconds)))
        }
        return try FileLock(path: path, of: subject, waiting: .zero)
    }

    /// Locks the file; nil if another object or process has the lock.
    private static func free(_ path: String, _ subject: String) throws -> FileLock? {
        do { return try FileLock(path: path, of: subject, waiting: .zero) } catch DatabaseError.locked { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Whether `mark` was called for the file at any time.
    var isMarked: Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && status.st_size > 0
    }

    /// Writes to the file that the protected one is complete. It returns when the mark is synced.
    func mark() throws(DatabaseError) {
        guard !isMarked else { return }
        let count = unsafe pwrite(descriptor, "1", 1, 0)
        guard count == 1, fsync(descriptor) == 0 else {
            throw errno == ENOSPC || errno == EDQUOT ? .full(path: subject) : .readOnly(path: subject)
        }
    }

    /// The path of the file to which symbolic links lead, even if the file does not exist. SQLite opens this file, so
    /// the lock file is in the same folder.
    package static func resolved(_ path: String) -> String {
        var path = path
        for _ in 0..<maxLinkCount {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = unsafe readlink(path, &buffer, buffer.count)
            guard count > 0 else { return path }
            let target = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
            path = target.hasPrefix("/") ? target : "\(folder)\(target)"
        }
        return path
    }

    /// Creates a missing file for its owner only. SQLite gives the files beside a database the same permissions.
    package static func createPrivately(_ path: String) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }
}
