import CMartletSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The error number of a failed call for a file.
package struct FileError: Error, Equatable {
    /// The error number.
    package var number: Int32
    /// The failed call.
    package var call: String

    init(_ call: StaticString, _ number: Int32 = errno) {
        self.number = number
        self.call = "\(call)"
    }

    /// The error of a file that another user has locked.
    package static var inUse: Self { Self("flock", EWOULDBLOCK) }
    /// Whether the file system has no room, or the user's quota is used up.
    package var isFull: Bool { number == ENOSPC || number == EDQUOT }
    /// Whether the device cannot read or write the bytes.
    package var isDamaged: Bool { number == EIO }
    /// Whether the file does not exist.
    package var isMissing: Bool { number == ENOENT }
}

extension FileError: CustomStringConvertible {
    /// The call and the system's text.
    package var description: String {
        if self == .inUse { return "another object or process uses it" }
        return "\(call): \(unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)")"
    }
}

/// An open file of the file system. It is closed when the object is released. Calls block.
package final class RegularFile: Sendable {
    private let descriptor: Int32
    private let isLocked = Atomic(false)

    /// The use for which a file is opened.
    package enum Mode: Sendable {
        /// The file exists and is read.
        case read
        /// The file exists, or is created for its owner only, and is read and written.
        case write
    }

    /// Opens a file. Anything else in its place, such as a symbolic link, a folder or a pipe, is an error.
    package convenience init(_ path: String, _ mode: Mode) throws(FileError) { try self.init(Array(path.utf8), mode) }

    /// Opens a file whose path has any bytes.
    package init(_ path: [UInt8], _ mode: Mode) throws(FileError) {
        let path = path.map(CChar.init(bitPattern:)) + [0]
        let flags = mode == .read ? O_RDONLY : O_RDWR | O_CREAT
        // Without O_NONBLOCK the call would wait for the writer of a named pipe.
        let result = unsafe martlet_unless_reserved(open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600))
        descriptor = result
        guard result >= 0 else { throw FileError("open", -result) }
        guard try status().st_mode & S_IFMT == S_IFREG else { throw FileError("open", EINVAL) }
    }

    /// The absolute form of a path that is relative to the working directory.
    package static func absolutePath(_ path: String) throws(FileError) -> String {
        guard !path.hasPrefix("/") else { return path }
        guard let folder = unsafe getcwd(nil, 0) else { throw FileError("getcwd") }
        defer { unsafe free(folder) }
        guard let text = unsafe String(validatingCString: folder) else { throw FileError("getcwd", EILSEQ) }
        return "\(text)/\(path)"
    }

    deinit {
        guard descriptor >= 0 else { return }
        // Until a child process executes its program, it has a copy of the descriptor, which would keep the lock.
        if isLocked.load(ordering: .relaxed) { _ = flock(descriptor, LOCK_UN) }
        close(descriptor)
    }

    private func status() throws(FileError) -> stat {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw FileError("fstat") }
        return status
    }

    /// The number of bytes of the file.
    package func byteCount() throws(FileError) -> UInt64 { UInt64(clamping: try status().st_size) }

    /// Whether a path refers to this file, which may have been renamed or removed since it was opened.
    package func isNamed(_ path: String) throws(FileError) -> Bool {
        var named = stat()
        guard unsafe lstat(path, &named) == 0 else { return false }
        let own = try status()
        return own.st_dev == named.st_dev && own.st_ino == named.st_ino
    }

    /// A number of the system for a position, which may be one from a peer or a file.
    private static func offset(_ position: UInt64, _ call: StaticString) throws(FileError) -> off_t {
        guard let offset = off_t(exactly: position) else { throw FileError(call, EFBIG) }
        return offset
    }

    /// Reads up to `count` bytes from a position; fewer at the end of the file.
    package func read(_ count: Int, at position: UInt64) throws(FileError) -> [UInt8] {
        try Self.read(count, from: descriptor, at: position)
    }

    /// Reads up to `count` bytes of an open file from a position; fewer at the end of the file.
    static func read(_ count: Int, from descriptor: Int32, at position: UInt64) throws(FileError) -> [UInt8] {
        var failure: FileError?
        let start = try offset(position, "pread")
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, used in
            while used < count {
                let part = unsafe pread(
                    descriptor, buffer.baseAddress! + used, count - used, start &+ off_t(used))
                if part < 0, errno == EINTR { continue }
                if part < 0 { failure = FileError("pread") }
                guard part > 0 else { break }
                used += part
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Writes all bytes at a position.
    package func write(_ bytes: [UInt8], at position: UInt64) throws(FileError) {
        var failure: FileError?
        let start = try Self.offset(position, "pwrite")
        unsafe bytes.withUnsafeBytes { buffer in
            var used = 0
            while used < buffer.count {
                let part = unsafe pwrite(
                    descriptor, buffer.baseAddress! + used, buffer.count - used, start &+ off_t(used))
                if part < 0, errno == EINTR { continue }
                guard part > 0 else {
                    failure = FileError("pwrite")
                    break
                }
                used += part
            }
        }
        if let failure { throw failure }
    }

    /// Makes the bytes and the length durable.
    package func sync() throws(FileError) {
        #if canImport(Darwin)
            let result = fcntl(descriptor, F_FULLFSYNC)
        #else
            let result = fdatasync(descriptor)
        #endif
        guard result == 0 else { throw FileError("fsync") }
    }

    /// Sets the length.
    package func truncate(to byteCount: UInt64) throws(FileError) {
        guard ftruncate(descriptor, try Self.offset(byteCount, "ftruncate")) == 0 else { throw FileError("ftruncate") }
    }

    /// Locks the file until the object is released; false if another object or process has the lock.
    package func lock() -> Bool {
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return false }
        isLocked.store(true, ordering: .relaxed)
        return true
    }
}

/// Folders of the file system. Calls block.
package enum Folder {
    #if canImport(Darwin)
        typealias Stream = UnsafeMutablePointer<DIR>
    #else
        typealias Stream = OpaquePointer
    #endif

    /// Creates a folder for its owner only, unless it exists. The parent exists.
    package static func create(_ path: String) throws(FileError) {
        guard unsafe mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        throw FileError("mkdir")
    }

    /// The names in a folder, in ascending order; none if it does not exist.
    package static func names(in path: String) throws(FileError) -> [String] {
        guard let folder = unsafe opendir(path) else {
            if errno == ENOENT { return [] }
            throw FileError("opendir")
        }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let name = unsafe nextName(folder) {
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// The next name in an open folder; nil at the end.
    static func nextName(_ folder: Stream) -> String? {
        guard let entry = unsafe readdir(folder) else { return nil }
        return unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
        }
    }

    /// Renames a file within its folder, durably. An existing file with the new name is replaced.
    package static func rename(_ path: String, to other: String) throws(FileError) {
        guard Self.systemRename(path, other) == 0 else { throw FileError("rename") }
        try sync(parent(of: other))
    }

    /// The folder of a file.
    package static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func systemRename(_ path: String, _ other: String) -> Int32 {
        #if canImport(Glibc)
            unsafe Glibc.rename(path, other)
        #elseif canImport(Musl)
            unsafe Musl.rename(path, other)
        #else
            unsafe Darwin.rename(path, other)
        #endif
    }

    /// Gives a file a second name in the same file system, durably; false if the name exists.
    package static func link(_ path: String, to other: String) throws(FileError) -> Bool {
        if systemLink(path, other) != 0 {
            guard errno == EEXIST else { throw FileError("link") }
            return false
        }
        try sync(parent(of: other))
        return true
    }

    private static func systemLink(_ path: String, _ other: String) -> Int32 {
        #if canImport(Glibc)
            unsafe Glibc.link(path, other)
        #elseif canImport(Musl)
            unsafe Musl.link(path, other)
        #else
            unsafe Darwin.link(path, other)
        #endif
    }

    /// Removes a file, if it exists.
    package static func removeFile(_ path: String) throws(FileError) {
        guard unsafe unlink(path) != 0, errno != ENOENT else { return }
        throw FileError("unlink")
    }

    /// Removes an empty folder; false if it is not empty.
    @discardableResult
    package static func removeIfEmpty(_ path: String) -> Bool { unsafe rmdir(path) == 0 }

    /// The bytes of the file system of a folder: those that an unprivileged process may use, and all.
    package static func space(of path: String) throws(FileError) -> (free: UInt64, total: UInt64) {
        var space = statvfs()
        guard unsafe statvfs(path, &space) == 0 else { throw FileError("statvfs") }
        let unit = UInt64(clamping: space.f_frsize)
        func bytes(_ blocks: some BinaryInteger) -> UInt64 {
            let (byteCount, isOver) = UInt64(clamping: blocks).multipliedReportingOverflow(by: unit)
            return isOver ? .max : byteCount
        }
        return (bytes(space.f_bavail), bytes(space.f_blocks))
    }

    /// Makes the names in a folder durable.
    package static func sync(_ path: String) throws(FileError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError("open") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw FileError("fsync") }
    }
}
