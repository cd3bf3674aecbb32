import MartletHTTP
import MartletTransport

/// The files of a folder, with which a server answers requests on its addresses that are for no WebSocket (C-131,
/// Specs/hostile.md row 131).
///
/// They are in memory, so a request waits for no disk. Names that begin with a dot and symbolic links are left out; the
/// folder itself may be a symbolic link.
public final class WebFolder: Sendable, Hashable {
    /// The maximum number of bytes of all files together. A larger folder is refused.
    public static let maxByteCount = 16 << 20
    /// The maximum number of files and folders. A folder with more is refused.
    public static let maxEntryCount = 1_000
    /// The maximum number of folders in each other. A deeper folder is refused.
    static let maxDepth = 16
    /// The maximum number of concurrent responses. Further requests are answered with 503.
    static let maxResponseCount = 256
    /// The maximum duration of a response, after which the connection is reset.
    static let responseTimeout = Duration.seconds(120)

    /// A response in progress. It ends with the last reference.
    package final class Share: Sendable {
        private let folder: WebFolder

        fileprivate init(_ folder: WebFolder) { self.folder = folder }

        deinit { folder.responseCount.withLock { $0 -= 1 } }
    }

    private let files: Guarded<WebFiles>
    private let responseCount = Guarded(0)

    /// Files that are in memory already.
    init(_ files: WebFiles) { self.files = Guarded(files) }

    /// Reads the files. The call blocks.
    public init(_ path: String) throws(WebFolderError) {
        do throws(FolderFiles.Failure) {
            let contents = try FolderFiles(
                below: path, maxEntryCount: Self.maxEntryCount, maxByteCount: Self.maxByteCount,
                maxDepth: Self.maxDepth)
            files = Guarded(WebFiles(contents.files))
        } catch {
            throw WebFolderError(error, below: path)
        }
    }

    /// Takes the files of another object, for example after the folder has changed.
    public func replaceFiles(byThoseOf other: WebFolder) {
        let next = other.files.withLock { $0 }
        files.withLock { $0 = next }
    }

    /// Whether both are the same object.
    public static func == (left: WebFolder, right: WebFolder) -> Bool { left === right }

    /// Hashes the identity of the object.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

    /// Begins a response; nil beyond the maximum number.
    func takeShare() -> Share? {
        let isPermitted = responseCount.withLock { count in
            guard count < Self.maxResponseCount else { return false }
            count += 1
            return true
        }
        return isPermitted ? Share(self) : nil
    }

    /// Returns the bytes of the response to a request.
    func response(to request: HTTPRequest) -> [UInt8] { files.withLock { $0 }.response(to: request) }
}

/// The reason why a ``WebFolder`` cannot be read.
public enum WebFolderError: Error, Equatable, Sendable {
    /// The folder, or a file or folder in it, cannot be read.
    case unreadable(path: String, reason: String)
    /// There are more files and folders than ``WebFolder/maxEntryCount``.
    case tooManyEntries(path: String)
    /// The files have more bytes than ``WebFolder/maxByteCount``.
    case tooManyBytes(path: String)
    /// Too many folders are in each other.
    case tooDeep(path: String)

    init(_ failure: FolderFiles.Failure, below path: String) {
        switch failure {
        case .unreadable("", let error): self = .unreadable(path: path, reason: "\(error)")
        case .unreadable(let inner, let error): self = .unreadable(path: "\(path)/\(inner)", reason: "\(error)")
        case .tooManyEntries: self = .tooManyEntries(path: path)
        case .tooManyBytes: self = .tooManyBytes(path: path)
        case .tooDeep(let inner): self = .tooDeep(path: "\(path)/\(inner)")
        }
    }
}

extension WebFolderError: CustomStringConvertible {
    /// A description in one line.
    public var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path): \(reason)"
        case .tooManyEntries(let path): "\(path) has more than \(WebFolder.maxEntryCount) files and folders"
        case .tooManyBytes(let path): "\(path) has more than \(WebFolder.maxByteCount >> 20) MiB"
        case .tooDeep(let path): "\(path) is deeper than \(WebFolder.maxDepth) folders"
        }
    }
}
