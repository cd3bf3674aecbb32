import MartletTransport

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
    // F_OFD_SETLK, which not every C library declares. The lock belongs to the descriptor, not to the process: the end
    // of another descriptor of the file does not release it.
    #if canImport(Darwin)
        private static let setLock: Int32 = 90
    #else
        private static let setLock: Int32 = 37
    #endif

    /// A byte that stands for a file in the file of the folder's locks.
    private struct Byte {
        let path: String
        let offset: off_t
        // Equal strings can have different bytes.
        var key: [UInt8] { Array(path.utf8) }
    }

    private struct Folder {
        let descriptor: Int32
        var offsets: Set<off_t> = []
    }

    /// The folders of this process with locks of bytes.
    private static let folders = Guarded<[[UInt8]: Folder]>([:])

    private let descriptor: Int32
    private let subject: String
    private let byte: Byte?

    /// Locks the file, and creates it if it does not exist. The file remains. The call blocks.
    ///
    /// - Parameters:
    ///   - path: The file of the lock, a sibling of the protected one.
    ///   - subject: The protected file, for the error.
    ///   - limit: The duration for which the call waits for another object or process.
    /// - Throws: `locked` if another object or process has the lock; `readOnly`, `full`, `cannotOpen`.
    package init(path: String, of subject: String, waiting limit: Duration = maxWait) throws(DatabaseError) {
        self.subject = subject
        byte = nil
        descriptor = try Self.openFile(path, of: subject)
        // The object is complete here, so that `deinit` closes the descriptor after the error.
        let end = ContinuousClock.now + limit
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            guard ContinuousClock.now < end else { throw .locked(path: subject) }
            usleep(Self.pollMicroseconds)
        }
    }

    /// Locks a file by a byte of a file in its folder, which remains. All such locks of a process in a folder share one
    /// descriptor (C-106). The call does not wait.
    ///
    /// - Throws: The errors of ``init(path:of:waiting:)``.
    package init(inFolderOf subject: String) throws(DatabaseError) {
        self.subject = subject
        // The files are those of the user. Another user could not open the file of the locks.
        let folder = Self.folder(of: subject)
        // FNV-1a, so that the byte depends on nothing but the name.
        let hash = subject.utf8.dropFirst(folder.utf8.count).reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        let byte = Byte(path: "\(folder).martlet-lock-\(geteuid())", offset: off_t(hash >> 2))
        descriptor = try Self.folders.withLock { folders throws(DatabaseError) in
            var folder = folders[byte.key] ?? Folder(descriptor: -1)
            if folder.offsets.isEmpty { folder = Folder(descriptor: try Self.openFile(byte.path, of: subject)) }
            defer { Self.keep(folder, of: byte, in: &folders) }
            guard !folder.offsets.contains(byte.offset), Self.set(F_WRLCK, byte, folder.descriptor) else {
                throw .locked(path: subject)
            }
            folder.offsets.insert(byte.offset)
            return folder.descriptor
        }
        self.byte = byte
    }

    deinit {
        guard let byte else {
            close(descriptor)
            return
        }
        Self.folders.withLock { folders in
            guard var folder = folders[byte.key] else { return }
            _ = Self.set(F_UNLCK, byte, folder.descriptor)
            folder.offsets.remove(byte.offset)
            Self.keep(folder, of: byte, in: &folders)
        }
    }

    /// Stores a folder, or closes its descriptor if it has no locks.
    private static func keep(_ folder: Folder, of byte: Byte, in folders: inout [[UInt8]: Folder]) {
        if folder.offsets.isEmpty { close(folder.descriptor) }
        folders[byte.key] = folder.offsets.isEmpty ? nil : folder
    }

    private static func set(_ kind: Int32, _ byte: Byte, _ descriptor: Int32) -> Bool {
        var lock = flock()
        lock.l_type = Int16(kind)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = byte.offset
        lock.l_len = 1
        return unsafe fcntl(descriptor, setLock, &lock) == 0
    }

    private static func openFile(_ path: String, of subject: String) throws(DatabaseError) -> Int32 {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor < 0 else { return descriptor }
        switch errno {
        case ENOSPC, EDQUOT: throw .full(path: subject)
        case EACCES, EROFS, EPERM: throw .readOnly(path: subject)
        default: throw .cannotOpen(path: subject)
        }
    }

    /// Performs `body` until it no longer throws `locked`, and blocks no thread while it waits.
    ///
    /// - Throws: `locked` after ``maxWait``; the other errors of `body`; `CancellationError`.
    package static func waiting<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        let end = ContinuousClock.now + maxWait
        while ContinuousClock.now < end {
            do { return try await body() } catch DatabaseError.locked {
                try await Task.sleep(for: .microseconds(Int64(pollMicroseconds)))
            }
        }
        return try await body()
    }

    /// Whether `mark` was called for the file at any time.
    package var isMarked: Bool {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 && status.st_size > 0
    }

    /// Writes to the file that the protected one is complete. It returns when the mark is synced.
    package func mark() throws(DatabaseError) {
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
            path = target.hasPrefix("/") ? target : "\(folder(of: path))\(target)"
        }
        return path
    }

    /// The part of a path up to the last slash, which can be empty.
    static func folder(of path: String) -> Substring {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? ""
    }

    /// Creates a missing file for its owner only. SQLite gives the files beside a database the same permissions.
    package static func createPrivately(_ path: String) {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }
}
