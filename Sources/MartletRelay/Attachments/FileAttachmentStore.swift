import MartletLink
import MartletTransport
public import MartletWire

/// A store of attachments in files of a folder, which one object uses at a time.
///
/// After a crash of the process or a loss of power, an upload continues at the last acknowledged position, because
/// bytes are synced before the answer. One thread writes and one reads. Bytes are refused with
/// `AttachmentFailure.full` when they would take from the reserve of the disk.
public final class FileAttachmentStore: AttachmentStore {
    /// The number of attachments that one call of `removeExpired` visits.
    static let expiryStepCount = 256

    private let folder: AttachmentFolder
    private let lock: RegularFile
    private let index: GuardedIndex
    private let uploads: AttachmentUploads
    private let downloads: AttachmentDownloads
    private let writer = FileThread(named: "martlet-attach")
    private let reader = FileThread(named: "martlet-attread")
    private let clock: AttachmentClock

    /// Opens a folder, which is created if its parent exists. The heads of all files are read.
    ///
    /// - Throws: ``AttachmentStoreError``.
    ///
    /// - Parameters:
    ///   - directory: The path of the folder.
    ///   - limits: The bounds of the store.
    ///   - disk: The free space of the file system; nil for the default reserve.
    public convenience init(
        directory: String, limits: AttachmentLimits = AttachmentLimits(), disk: DiskSpace? = nil
    ) throws {
        try self.init(directory: directory, limits: limits, disk: disk) { EventLoop.wallClock }
    }

    /// Opens a folder, with a clock in milliseconds since 1970.
    package init(
        directory: String, limits: AttachmentLimits = AttachmentLimits(), disk: DiskSpace? = nil,
        clock: @escaping @Sendable () -> UInt64, steady: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) throws {
        folder = AttachmentFolder(path: directory)
        index = GuardedIndex(limits)
        do throws(FileError) {
            try Folder.create(directory)
            lock = try RegularFile("\(directory)/lock", .write)
        } catch {
            throw AttachmentStoreError.cannotOpen(path: directory, "\(error)")
        }
        downloads = AttachmentDownloads(folder)
        guard lock.lock() else { throw AttachmentStoreError.inUse(path: directory) }
        var latest: UInt64?
        do throws(FileError) {
            try folder.scan { [index] name, entry in
                index.insert(name, entry)
                latest = max(latest ?? 0, entry.time)
            } damaged: { [index] in
                index.addDamaged(byteCount: $0)
            }
            self.clock = try AttachmentClock(lock, latest: latest, wall: clock, steady: steady)
        } catch {
            throw AttachmentStoreError.cannotOpen(path: directory, "\(error)")
        }
        uploads = AttachmentUploads(folder, index, disk: disk ?? DiskSpace(of: directory)) { [clock = self.clock] in
            clock.time
        }
    }

    /// See `AttachmentStore`.
    public func begin(_ upload: AttachmentKey, byteCount: UInt64, mediaType: String?) async throws -> UInt64 {
        let wasComplete = index.entry(upload.completeName) != nil
        let position = try await onWriter { try $0.begin(upload, byteCount: byteCount, mediaType: mediaType) }
        // The reader may have opened the damaged file that was removed.
        if wasComplete, index.entry(upload.completeName) == nil { try await closeDownloads() }
        // All bytes were stored when the process ended.
        if position == byteCount, index.entry(upload.completeName) == nil { try await complete(upload) }
        return position
    }

    /// See `AttachmentStore`.
    public func write(
        _ chunks: [[UInt8]], at position: UInt64, of upload: AttachmentKey
    ) async throws -> (position: UInt64, byteCount: UInt64) {
        let byteCount = index.entry(upload.incompleteName)?.byteCount ?? 0
        let end = try await onWriter { try $0.write(chunks, at: position, of: upload) }
        if end == byteCount {
            try await complete(upload)
        } else {
            // After a restart, the upload continues while the digest of the earlier bytes is computed.
            _ = try await onWriter { try $0.digestStep(upload) }
        }
        return (end, byteCount)
    }

    private func complete(_ upload: AttachmentKey) async throws {
        while try await !onWriter({ try $0.digestStep(upload) }) {}
        try await onWriter { try $0.complete(upload) }
    }

    private func onWriter<Value: Sendable>(
        _ body: @escaping @Sendable (AttachmentUploads) throws -> Value
    ) async throws -> Value {
        do {
            return try await writer.perform { [uploads] in try body(uploads) }
        } catch let error as FileError where error.isFull {
            throw AttachmentFailure.full
        }
    }

    /// See `AttachmentStore`.
    public func read(
        _ digest: AttachmentDigest, in room: RoomName, at position: UInt64, length: Int
    ) async throws -> (bytes: [UInt8], byteCount: UInt64) {
        let name = AttachmentIndex.Name(room: room, digest: digest)
        guard let entry = index.entry(name) else { throw AttachmentFailure.unknown }
        guard position < entry.byteCount else { throw AttachmentFailure.wrongPosition }
        let count = Int(min(UInt64(length), entry.byteCount - position))
        let bytes = try await reader.perform { [downloads] in try downloads.read(name, count, at: position) }
        return (bytes, entry.byteCount)
    }

    /// See `AttachmentStore`.
    public func info(
        _ digest: AttachmentDigest, in room: RoomName
    ) async throws -> (byteCount: UInt64, mediaType: String?) {
        guard let entry = index.entry(AttachmentIndex.Name(room: room, digest: digest)) else {
            throw AttachmentFailure.unknown
        }
        return (entry.byteCount, entry.mediaType)
    }

    /// See `AttachmentStore`.
    public func remove(_ upload: AttachmentKey) async throws {
        try await onWriter { try $0.discard(upload.incompleteName) }
    }

    /// See `AttachmentStore`.
    public func reassign(
        _ digest: AttachmentDigest, in room: RoomName, from account: AccountName, to other: AccountName
    ) async throws {
        let name = AttachmentIndex.Name(room: room, digest: digest)
        guard index.entry(name)?.account == account else { return }
        try await onWriter { try $0.reassign(name, from: account, to: other) }
    }

    /// See `AttachmentStore`.
    public func removeAll(of account: AccountName, in room: RoomName) async throws {
        let names = index.names(of: account, in: room)
        for name in names { try await onWriter { try $0.discard(name, of: account) } }
        if !names.isEmpty { try await closeDownloads() }
    }

    /// See `AttachmentStore`.
    public func removeExpired() async throws -> Bool {
        let now = try await onWriter { [clock] _ in try clock.observe() }
        let (names, hasMore) = index.expired(at: now, stepCount: Self.expiryStepCount)
        for name in names { try await onWriter { try $0.discardIfExpired(name, at: now) } }
        if !names.isEmpty { try await closeDownloads() }
        return hasMore
    }

    /// Whether the store has a complete attachment.
    func has(_ name: AttachmentIndex.Name) -> Bool { index.entry(name) != nil }

    /// Takes the complete attachment of another store of the file system, whose file gets a second name.
    func adopt(_ name: AttachmentIndex.Name, from other: AttachmentFolder) async throws -> Bool {
        try await onWriter { try $0.adopt(name, from: other) }
    }

    /// Closes the files that were read last, which can have been removed by another store.
    func closeDownloads() async throws {
        try await reader.perform { [downloads] in downloads.close() }
    }
}

/// The files of complete attachments that were read last, on the thread that reads.
///
/// `@unchecked Sendable`: the thread accesses all state.
final class AttachmentDownloads: @unchecked Sendable {
    /// The maximum number of complete attachments with an open file.
    static let maxOpenCount = 64

    private let folder: AttachmentFolder
    private var files: [AttachmentIndex.Name: RegularFile] = [:]

    init(_ folder: AttachmentFolder) {
        self.folder = folder
    }

    func read(_ name: AttachmentIndex.Name, _ count: Int, at position: UInt64) throws -> [UInt8] {
        let file: RegularFile
        if let known = files[name] {
            file = known
        } else {
            if files.count >= Self.maxOpenCount { close() }
            do throws(FileError) {
                file = try RegularFile(folder.file(name), .read)
            } catch  where error.isMissing {
                throw AttachmentFailure.unknown
            }
            files[name] = file
        }
        let bytes = try file.read(count, at: AttachmentFile.headByteCount + position)
        guard bytes.count == count else { throw AttachmentFailure.unavailable }
        return bytes
    }

    func close() { files = [:] }
}

/// An error of the opening of a file store.
public enum AttachmentStoreError: Error, Hashable, Sendable {
    /// Another object or process uses the folder.
    case inUse(path: String)
    /// The folder cannot be opened, created or read. The text is the system's.
    case cannotOpen(path: String, String)
}

extension AttachmentStoreError: CustomStringConvertible {
    /// A description for people.
    public var description: String {
        switch self {
        case .inUse(let path): "the attachments in \(path) are in use, by this or another process"
        case .cannotOpen(let path, let text): "the attachments in \(path) cannot be opened: \(text)"
        }
    }
}
