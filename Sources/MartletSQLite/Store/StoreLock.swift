#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// The lock of a store's directory, which one process holds. The system releases it when the process ends.
final class StoreLock: Sendable {
    private let descriptor: Int32

    /// Creates the directory if it does not exist, and locks it.
    ///
    /// - Throws: `locked` when another process or store holds the lock, `readOnly`, `full` or `cannotOpen`.
    init(_ directory: String) throws(DatabaseError) {
        let path = "\(directory)/\(StoreSchema.lockName)"
        if unsafe mkdir(directory, 0o700) != 0, errno != EEXIST { throw Self.error(errno, directory) }
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.error(errno, path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            throw code == EWOULDBLOCK ? .locked(path: path) : Self.error(code, path)
        }
    }

    deinit {
        close(descriptor)
    }

    private static func error(_ code: Int32, _ path: String) -> DatabaseError {
        switch code {
        case ENOSPC, EDQUOT: .full(path: path)
        case EROFS, EACCES, EPERM: .readOnly(path: path)
        default: .cannotOpen(path: path)
        }
    }
}
