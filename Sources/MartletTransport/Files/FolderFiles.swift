import CMartletSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The path of a file relative to a folder, without a slash at the begin. Its bytes identify the file: a file system
/// can have names that are canonically equivalent.
package struct RelativePath: Hashable, Sendable, ExpressibleByStringLiteral {
    package let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral text: String) { self.text = text }

    package static func == (one: RelativePath, other: RelativePath) -> Bool {
        one.text.utf8.elementsEqual(other.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}

/// The contents of the regular files below a folder. Calls block.
///
/// Names that begin with a dot, symbolic links, and what is neither a file nor a folder are left out. The folder itself
/// may be a symbolic link. Each name is opened in the folder that is open, so a link that replaces a folder meanwhile
/// leads nowhere.
package struct FolderFiles: Sendable {
    /// The reason why the contents cannot be read.
    package enum Failure: Error, Equatable {
        /// A file or folder cannot be read. The path is relative to the folder, and empty for the folder itself.
        case unreadable(path: String, FileError)
        case tooManyEntries
        case tooManyBytes
        case tooDeep(path: String)
    }

    /// The contents by the paths relative to the folder.
    package private(set) var files: [RelativePath: [UInt8]] = [:]
    private let maxEntryCount: Int
    private let maxByteCount: Int
    private let maxDepth: Int
    private var entryCount = 0
    private var byteCount = 0

    /// Reads the contents.
    ///
    /// - Parameters:
    ///   - maxEntryCount: The maximum number of files and folders.
    ///   - maxByteCount: The maximum number of bytes of all files together.
    ///   - maxDepth: The maximum number of folders in each other, each with a descriptor while it is read.
    package init(below path: String, maxEntryCount: Int, maxByteCount: Int, maxDepth: Int) throws(Failure) {
        (self.maxEntryCount, self.maxByteCount, self.maxDepth) = (maxEntryCount, maxByteCount, maxDepth)
        let descriptor = unsafe martlet_unless_reserved(open(path, O_RDONLY | O_CLOEXEC | O_DIRECTORY))
        guard descriptor >= 0 else { throw .unreadable(path: "", FileError("open", -descriptor)) }
        try readFolder(descriptor, at: "", depth: 1)
    }

    /// Reads a folder, and closes its descriptor.
    private mutating func readFolder(_ descriptor: Int32, at path: String, depth: Int) throws(Failure) {
        guard depth <= maxDepth else {
            close(descriptor)
            throw .tooDeep(path: path)
        }
        guard let stream = unsafe fdopendir(descriptor) else {
            close(descriptor)
            throw .unreadable(path: path, FileError("fdopendir"))
        }
        defer { unsafe closedir(stream) }
        while let name = unsafe Folder.nextName(stream) {
            guard !name.hasPrefix(".") else { continue }
            entryCount += 1
            guard entryCount <= maxEntryCount else { throw .tooManyEntries }
            let inner = path.isEmpty ? name : "\(path)/\(name)"
            // Without O_NONBLOCK the call would wait for the writer of a named pipe.
            let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
            let result = unsafe martlet_unless_reserved(openat(descriptor, name, flags))
            if result < 0 {
                // A symbolic link, a socket, or a file that was removed.
                if [ELOOP, EMLINK, ENXIO, ENOENT].contains(-result) { continue }
                throw .unreadable(path: inner, FileError("open", -result))
            }
            try read(result, at: inner, depth: depth)
        }
    }

    /// Reads a file or a folder, and closes its descriptor.
    private mutating func read(_ descriptor: Int32, at path: String, depth: Int) throws(Failure) {
        var status = stat()
        let kind = unsafe fstat(descriptor, &status) == 0 ? status.st_mode & S_IFMT : 0
        if kind == S_IFDIR { return try readFolder(descriptor, at: path, depth: depth + 1) }
        defer { close(descriptor) }
        guard kind == S_IFREG else { return }
        // The count is one above what is permitted, so that a file that grows is noticed.
        let room = maxByteCount - byteCount + 1
        guard status.st_size < room else { throw .tooManyBytes }
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try RegularFile.read(min(Int(status.st_size) + 1, room), from: descriptor, at: 0)
        } catch {
            throw .unreadable(path: path, error)
        }
        byteCount += bytes.count
        guard byteCount <= maxByteCount else { throw .tooManyBytes }
        files[RelativePath(path)] = bytes
    }
}
