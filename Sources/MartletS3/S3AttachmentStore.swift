import MartletLink
public import MartletRelay
import MartletTransport
public import MartletWire

/// A store of attachments in a bucket of S3 or of a service with its interface, which several relays share.
///
/// ```swift
/// let credentials = try S3AttachmentStore.Credentials(key: key, secret: secret)
/// let store = try await S3AttachmentStore(
///     try .init(bucket: "attachments", prefix: "chat", region: "eu-central-1", credentials: credentials))
/// ```
///
/// An upload that was begun at one relay continues at any other at the position that was answered. A relay counts what
/// all relays keep against its bounds as far as it knows: what others have added since it has listed the bucket, every
/// ten minutes, is missing. What an account or an operator removes is not served from then on, by other relays for at
/// most a minute more, and its bytes are removed after an hour.
public final class S3AttachmentStore: AttachmentStore {
    /// The maximum number of attachments whose chunks are known without a question to the bucket.
    static let maxManifestCount = 64
    /// The maximum number of parts of attachments, each of at most 1 MiB, that are kept for the next reads.
    static let maxPartCount = 32
    /// The maximum length in the names of objects, in bytes.
    private static let maxByteCount: UInt64 = 1 << 44

    private typealias Known = (marker: S3Marker, manifest: S3Manifest)

    private let bucket: S3Bucket
    private let limits: AttachmentLimits
    private let index: GuardedIndex
    private let clock: S3Clock
    private let sweep: S3Sweep
    /// The connections; nil if a closure answers requests.
    private let connections: S3Connections?
    private let uploads: S3Uploads
    private let manifests: S3Recent<Known>
    private let parts: S3Recent<[UInt8]>

    /// Opens the bucket, after a check that the credentials permit all that the store does.
    ///
    /// - Throws: ``S3Error``.
    public convenience init(_ configuration: Configuration) async throws {
        let connections = S3Connections(configuration)
        try await self.init(configuration, connections, steady: { .now }) {
            await connections.perform($0)
        } wait: {
            try await Task.sleep(for: $0)
        }
    }

    /// Opens a bucket whose requests are answered by a closure.
    init(
        _ configuration: Configuration, _ connections: S3Connections? = nil,
        steady: @escaping @Sendable () -> ContinuousClock.Instant,
        transport: @escaping @Sendable (S3Request) async -> S3Outcome,
        wait: @escaping @Sendable (Duration) async throws -> Void
    ) async throws {
        let bucket = S3Bucket(configuration, transport: transport, wait: wait)
        let (index, uploads) = (GuardedIndex(configuration.limits), S3Uploads(steady: steady))
        (self.bucket, self.index, limits, self.connections) = (bucket, index, configuration.limits, connections)
        self.uploads = uploads
        manifests = S3Recent(maxCount: Self.maxManifestCount, steady)
        parts = S3Recent(maxCount: Self.maxPartCount, steady)
        clock = S3Clock(bucket, steady: steady)
        sweep = S3Sweep(bucket, index, configuration.limits, clock, uploads, steady: steady)
        try await Self.check(bucket)
        try await clock.observe()
    }

    /// Checks that the bucket is reachable, and that the credentials permit to read, write, list and remove objects.
    ///
    /// - Throws: ``S3Error``.
    public static func check(_ configuration: Configuration) async throws {
        let connections = S3Connections(configuration)
        let bucket = S3Bucket(configuration) {
            await connections.perform($0)
        } wait: {
            try await Task.sleep(for: $0)
        }
        try await check(bucket)
    }

    private static func check(_ bucket: S3Bucket) async throws {
        let key = "check-\(UInt64.random(in: 0...UInt64.max))"
        try await bucket.put(key, Array("check\n".utf8))
        guard try await bucket.get(key) == Array("check\n".utf8), try await bucket.list(key).map(\.key) == [key] else {
            throw S3Error.invalidAnswer("not the object that was written to it")
        }
        try await bucket.delete(key)
    }

    /// Replaces the credentials for the requests that follow.
    public func replaceCredentials(by credentials: Credentials) { connections?.replaceCredentials(by: credentials) }

    // MARK: Uploads

    /// See `AttachmentStore`.
    public func begin(_ upload: AttachmentKey, byteCount: UInt64, mediaType: String?) async throws -> UInt64 {
        guard byteCount <= Self.maxByteCount else { throw AttachmentFailure.tooLarge }
        let names = S3Names(upload)
        if try await renew(names, byteCount: byteCount) { return byteCount }
        if let open = uploads.opened(names) {
            if open.folder.byteCount == byteCount { return try await perform(open) { try await $0.begin() } }
            // An upload of a different length is discarded.
            close(names)
            try await end([open.folder])
        }
        var (folder, chunks, time) = (S3Folder(names, byteCount: byteCount), [S3Chunk](), clock.time)
        for (known, objects) in Self.folders(try await bucket.list(names.uploads)) {
            let newest = objects.map(\.modified).max() ?? 0
            guard !objects.contains(where: { $0.key == known.end }),
                !S3Clock.hasPassed(limits.incompleteLifetime, since: newest, at: clock.now)
            else { continue }
            let chain = S3Chunk.chain(objects, in: known)
            if known.byteCount != byteCount {
                try await end([known])
            } else if chain.last?.end ?? 0 > chunks.last?.end ?? 0 {
                (folder, chunks, time) = (known, chain, newest)
            }
        }
        index.remove(names.incomplete)
        try index.admit(names.incomplete, byteCount, of: names.owner)
        let open = S3Upload(
            folder, chunks, mediaType: mediaType, bucket, index, clock, lifetime: limits.incompleteLifetime, time: time)
        index.insert(
            names.incomplete,
            AttachmentIndex.Entry(
                account: names.owner, byteCount: byteCount, position: chunks.last?.end ?? 0, mediaType: nil,
                time: clock.time))
        try uploads.add(open)
        return try await perform(open) { try await $0.begin() }
    }

    /// Begins the lifetime of a complete attachment anew. Returns false if there is none.
    private func renew(_ names: S3Names, byteCount: UInt64) async throws -> Bool {
        guard let marker = try await marker(names.room, names.digest) else { return false }
        guard marker.byteCount == byteCount else { throw AttachmentFailure.digestMismatch }
        if let manifest = try await manifest(of: marker) {
            let keys = Set(try await bucket.list(manifest.path).map(\.key))
            if manifest.chunks.allSatisfy({ keys.contains(manifest.path + $0.name) }) {
                if marker.names.account != names.account { try index.admitToQuota(byteCount, of: names.owner) }
                if try await replace(marker, time: max(clock.time, marker.time), owner: names.account) { return true }
            }
        }
        // Objects are missing, and the upload begins anew.
        try await remove(marker)
        return false
    }

    /// See `AttachmentStore`.
    public func write(
        _ chunks: [[UInt8]], at position: UInt64, of upload: AttachmentKey
    ) async throws -> (position: UInt64, byteCount: UInt64) {
        guard let open = uploads.opened(S3Names(upload)) else { throw AttachmentFailure.unknown }
        return (try await perform(open) { try await $0.write(chunks, at: position) }, open.folder.byteCount)
    }

    /// See `AttachmentStore`.
    public func remove(_ upload: AttachmentKey) async throws {
        let names = S3Names(upload)
        close(names)
        try await end(Self.folders(try await bucket.list(names.uploads)).map(\.folder))
    }

    /// Ends the state of an upload that is complete, discarded, or has lost its bytes.
    private func close(_ names: S3Names) {
        uploads.remove(names)
        index.remove(names.incomplete)
    }

    private func perform(_ upload: S3Upload, _ call: (S3Upload) async throws -> UInt64) async throws -> UInt64 {
        do {
            let position = try await call(upload)
            if position == upload.folder.byteCount { close(upload.folder.names) }
            return position
        } catch let failure as AttachmentFailure {
            if failure == .digestMismatch || failure == .unknown { close(upload.folder.names) }
            throw failure
        }
    }

    /// Marks uploads as discarded.
    private func end(_ folders: [S3Folder]) async throws {
        for folder in folders { try await bucket.put(folder.end, Array("discarded\n".utf8)) }
    }

    private static func folders(_ objects: [S3Object]) -> [(folder: S3Folder, objects: [S3Object])] {
        var folders: [(folder: S3Folder, objects: [S3Object])] = []
        for object in objects {
            guard let folder = S3Folder(of: object.key) else { continue }
            if folders.last?.folder != folder { folders.append((folder, [])) }
            folders[folders.count - 1].objects.append(object)
        }
        return folders
    }

    // MARK: Attachments

    /// The object of a complete attachment; nil if there is none, or its lifetime has ended.
    private func marker(_ room: String, _ digest: AttachmentDigest) async throws -> S3Marker? {
        let markers = try await bucket.list(S3Marker.prefix(room, digest)).compactMap { S3Marker(parsing: $0.key) }
        return markers.max { $0.time < $1.time }
            .flatMap { S3Clock.hasPassed(limits.lifetime, since: $0.time, at: clock.now) ? nil : $0 }
    }

    private func manifest(of marker: S3Marker) async throws -> S3Manifest? {
        try await bucket.get(marker.key).flatMap { S3Manifest($0, of: marker) }
    }

    /// Writes the object of an attachment under a different name, and removes the one before. False if it is removed.
    @discardableResult
    private func replace(_ marker: S3Marker, time: UInt64, owner: String) async throws -> Bool {
        var other = marker
        other.time = time
        other.names = S3Names(room: marker.names.room, account: owner, digest: marker.names.digest)
        guard let content = try await bucket.get(marker.key) else { return false }
        guard other != marker else { return true }
        try await bucket.put(other.key, content)
        index.insert(other.name, other.entry)
        try await bucket.delete(marker.key)
        return true
    }

    private func remove(_ marker: S3Marker) async throws {
        try await bucket.delete(marker.key)
        index.remove(marker.name)
        manifests.forget("\(marker.names.room)/\(marker.names.digest)")
    }

    /// A complete attachment and its chunks.
    private func known(_ digest: AttachmentDigest, in room: RoomName) async throws -> Known {
        let room = S3Names.hash(room.text)
        let known = try await manifests.value("\(room)/\(digest)") { [self] in
            guard let marker = try await marker(room, digest), let manifest = try await manifest(of: marker) else {
                return nil
            }
            return (marker, manifest)
        }
        guard let known else { throw AttachmentFailure.unknown }
        return known
    }

    /// See `AttachmentStore`.
    public func info(
        _ digest: AttachmentDigest, in room: RoomName
    ) async throws -> (byteCount: UInt64, mediaType: String?) {
        let known = try await known(digest, in: room)
        return (known.marker.byteCount, known.manifest.mediaType)
    }

    /// See `AttachmentStore`.
    public func read(
        _ digest: AttachmentDigest, in room: RoomName, at position: UInt64, length: Int
    ) async throws -> (bytes: [UInt8], byteCount: UInt64) {
        let (marker, manifest) = try await known(digest, in: room)
        guard position < marker.byteCount else { throw AttachmentFailure.wrongPosition }
        var bytes: [UInt8] = []
        while bytes.count < length, position &+ UInt64(bytes.count) < marker.byteCount {
            let chunk = manifest.chunk(at: position &+ UInt64(bytes.count))
            let offset = position &+ UInt64(bytes.count) &- chunk.start
            let start = offset - offset % S3Upload.stepByteCount
            let last = min(start &+ S3Upload.stepByteCount, chunk.byteCount) &- 1
            let part = try await parts.value("\(manifest.path)\(chunk.name) \(start)") { [bucket] in
                try await bucket.get(manifest.path + chunk.name, start...last)
            }
            guard let part else {
                manifests.forget("\(marker.names.room)/\(digest)")
                throw AttachmentFailure.unknown
            }
            bytes += part.dropFirst(Int(clamping: offset - start)).prefix(length - bytes.count)
        }
        return (bytes, marker.byteCount)
    }

    /// See `AttachmentStore`.
    public func reassign(
        _ digest: AttachmentDigest, in room: RoomName, from account: AccountName, to other: AccountName
    ) async throws {
        guard let marker = try await marker(S3Names.hash(room.text), digest),
            marker.names.account == S3Names.hash(account.text)
        else { return }
        try await replace(marker, time: marker.time, owner: S3Names.hash(other.text))
    }

    /// See `AttachmentStore`.
    public func removeAll(of account: AccountName, in room: RoomName) async throws {
        let (room, account) = (S3Names.hash(room.text), S3Names.hash(account.text))
        let folders = Self.folders(try await bucket.list("u/\(room)/\(account)/")).map(\.folder)
        for folder in folders { close(folder.names) }
        // A mark in the folder of an attachment that counts for a different account has no effect.
        try await end(folders)
        var markers: [AttachmentDigest: [S3Marker]] = [:]
        for object in try await bucket.list(S3Marker.prefix(room)) {
            if let marker = S3Marker(parsing: object.key) { markers[marker.names.digest, default: []].append(marker) }
        }
        for known in markers.values where known.max(by: { $0.time < $1.time })?.names.account == account {
            for marker in known { try await remove(marker) }
        }
    }

    /// See `AttachmentStore`.
    public func removeExpired() async throws -> Bool { try await sweep.step() }
}

/// The latest values that were read, each of which several calls wait for together.
final class S3Recent<Value: Sendable>: Sendable {
    /// The duration for which a value counts.
    private static var duration: Duration { .seconds(60) }

    private struct Entry {
        let key: String
        let task: Task<Value?, any Error>
        let began: ContinuousClock.Instant
    }

    private let maxCount: Int
    private let steady: @Sendable () -> ContinuousClock.Instant
    private let entries = Guarded<[Entry]>([])

    init(maxCount: Int, _ steady: @escaping @Sendable () -> ContinuousClock.Instant) {
        (self.maxCount, self.steady) = (maxCount, steady)
    }

    /// The known value, or the one that a closure reads. Failures and missing values are not kept.
    func value(_ key: String, _ read: @escaping @Sendable () async throws -> Value?) async throws -> Value? {
        let now = steady()
        let task = entries.withLock { entries in
            entries.removeAll { now - $0.began >= Self.duration }
            if let known = entries.first(where: { $0.key == key }) { return known.task }
            if entries.count >= maxCount { entries.removeFirst() }
            let task = Task { try await read() }
            entries.append(Entry(key: key, task: task, began: now))
            return task
        }
        let result = await task.result
        if (try? result.get()) == nil { forget(key) }
        return try result.get()
    }

    func forget(_ key: String) { entries.withLock { $0.removeAll { $0.key == key } } }
}
