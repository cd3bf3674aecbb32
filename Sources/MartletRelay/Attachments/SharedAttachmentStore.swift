import MartletLink
import MartletTransport
public import MartletWire

/// A store of attachments in a folder that several relays share, for example on a network file system.
///
/// Each relay has a folder of its own in it, to which only the relay uploads. A complete attachment of another relay is
/// adopted when it is first asked for: its file gets a second name in the relay's own folder, so it exists until its
/// lifetime has ended at both. An upload that continues at another relay begins anew there. Bounds are those of each
/// relay.
public final class SharedAttachmentStore: AttachmentStore {
    private static let prefix = "relay-"
    /// The number of hexadecimal digits of the hash in the name of a folder.
    private static let hashCount = 32

    private let directory: String
    private let name: String
    private let own: FileAttachmentStore

    /// Opens the folder of a relay in a folder that exists, or creates it.
    ///
    /// - Parameters:
    ///   - directory: The path of the shared folder.
    ///   - relay: The name of the relay, of which no other relay has the same.
    ///   - limits: The bounds of this relay.
    ///   - disk: The free space of the file system; nil for the default reserve.
    /// - Throws: ``AttachmentStoreError``, for example `inUse` if another relay has the name.
    public convenience init(
        directory: String, relay: String, limits: AttachmentLimits = AttachmentLimits(), disk: DiskSpace? = nil
    ) throws {
        try self.init(directory: directory, relay: relay, limits: limits, disk: disk) { EventLoop.wallClock }
    }

    init(
        directory: String, relay: String, limits: AttachmentLimits, disk: DiskSpace? = nil,
        clock: @escaping @Sendable () -> UInt64, steady: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) throws {
        self.directory = directory
        name = Self.prefix + AttachmentFolder.hash(relay).prefix(Self.hashCount)
        do throws(FileError) {
            try Folder.create(directory)
        } catch {
            throw AttachmentStoreError.cannotOpen(path: directory, "\(error)")
        }
        own = try FileAttachmentStore(
            directory: "\(directory)/\(name)", limits: limits, disk: disk ?? DiskSpace(of: directory), clock: clock,
            steady: steady)
    }

    /// The folders of the other relays, also of those that have ended.
    private func others() throws(FileError) -> [AttachmentFolder] {
        try Folder.names(in: directory).filter { $0.hasPrefix(Self.prefix) && $0 != name }
            .map { AttachmentFolder(path: "\(directory)/\($0)") }
    }

    /// Adopts a complete attachment of a different relay, unless this one has it.
    private func adopt(_ digest: AttachmentDigest, in room: RoomName) async throws {
        let name = AttachmentIndex.Name(room: room, digest: digest)
        guard !own.has(name) else { return }
        for other in try others() { if try await own.adopt(name, from: other) { return } }
    }

    /// See `AttachmentStore`.
    public func begin(_ upload: AttachmentKey, byteCount: UInt64, mediaType: String?) async throws -> UInt64 {
        try await adopt(upload.digest, in: upload.room)
        return try await own.begin(upload, byteCount: byteCount, mediaType: mediaType)
    }

    /// See `AttachmentStore`.
    public func write(
        _ chunks: [[UInt8]], at position: UInt64, of upload: AttachmentKey
    ) async throws -> (position: UInt64, byteCount: UInt64) {
        try await own.write(chunks, at: position, of: upload)
    }

    /// See `AttachmentStore`.
    public func read(
        _ digest: AttachmentDigest, in room: RoomName, at position: UInt64, length: Int
    ) async throws -> (bytes: [UInt8], byteCount: UInt64) {
        try await adopt(digest, in: room)
        return try await own.read(digest, in: room, at: position, length: length)
    }

    /// See `AttachmentStore`.
    public func info(
        _ digest: AttachmentDigest, in room: RoomName
    ) async throws -> (byteCount: UInt64, mediaType: String?) {
        try await adopt(digest, in: room)
        return try await own.info(digest, in: room)
    }

    /// See `AttachmentStore`.
    public func remove(_ upload: AttachmentKey) async throws { try await own.remove(upload) }

    /// See `AttachmentStore`. Files of both names have one account.
    public func reassign(
        _ digest: AttachmentDigest, in room: RoomName, from account: AccountName, to other: AccountName
    ) async throws {
        try await adopt(digest, in: room)
        try await own.reassign(digest, in: room, from: account, to: other)
    }

    /// See `AttachmentStore`. Files of other relays are removed, too; a relay that has such a file open serves it for
    /// at most a minute.
    public func removeAll(of account: AccountName, in room: RoomName) async throws {
        try await own.removeAll(of: account, in: room)
        for other in try others() {
            let folder = other.room(room)
            for file in try Folder.names(in: folder) {
                let path = "\(folder)/\(file)"
                guard let (_, entry) = try? other.attachment(in: path), entry.account == account else { continue }
                try Folder.removeFile(path)
            }
        }
    }

    /// See `AttachmentStore`.
    public func removeExpired() async throws -> Bool {
        try await own.closeDownloads()
        return try await own.removeExpired()
    }
}
