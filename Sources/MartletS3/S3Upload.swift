import MartletAuthentication
import MartletRelay
import MartletTransport
import MartletWire

/// An upload that this relay has begun or continued.
///
/// | state | owns | ends |
/// |---|---|---|
/// | open | the chunks that are durable, the bytes of the current block, the digest | complete, discarded; its lifetime; the oldest of too many |
/// | working | one call | the call's end; a further call fails until then |
///
/// The bytes of a call are one object, or the last of a block are written with the whole block, so that an attachment
/// of many small calls has few objects. No object is changed, and only `S3Sweep` removes chunks, so that a different
/// relay can continue the same upload, also at the same time.
actor S3Upload {
    /// The number of bytes from which a block is an object of its own.
    static let blockByteCount = 512 << 10  // bound
    /// The maximum number of bytes that are read at once.
    static let stepByteCount: UInt64 = 1 << 20  // bound

    nonisolated let folder: S3Folder
    private let mediaType: String?
    private let bucket: S3Bucket
    private let index: GuardedIndex
    private let clock: S3Clock
    private let lifetime: Duration
    /// The time of the last bytes.
    private var time: UInt64
    private var chunks: [S3Chunk]
    private var position: UInt64
    /// The last bytes, which are in small objects.
    private var block: [UInt8] = []
    private let digest = DigestStream()
    /// The bytes in the digest. Those of earlier relays are read at the end.
    private var digested: UInt64 = 0
    private var isVerified = false
    private var isWorking = false

    init(
        _ folder: S3Folder, _ chunks: [S3Chunk], mediaType: String?, _ bucket: S3Bucket,
        _ index: GuardedIndex, _ clock: S3Clock, lifetime: Duration, time: UInt64
    ) {
        (self.folder, self.chunks, self.mediaType) = (folder, chunks, mediaType)
        (self.bucket, self.index, self.clock) = (bucket, index, clock)
        (self.lifetime, self.time) = (lifetime, time)
        position = chunks.last?.end ?? 0
    }

    /// The durable bytes. An upload whose bytes are all there is completed.
    func begin() async throws -> UInt64 {
        try await working { if position == folder.byteCount { try await complete() } }
        return position
    }

    /// Makes bytes durable, and completes the attachment with the last of them.
    func write(_ parts: [[UInt8]], at start: UInt64) async throws -> UInt64 {
        try await working {
            let bytes = parts.reduce(into: []) { $0 += $1 }
            guard start == position, UInt64(bytes.count) <= folder.byteCount - min(position, folder.byteCount) else {
                throw AttachmentFailure.wrongPosition
            }
            try index.admitBytes(UInt64(bytes.count))
            let end = position &+ UInt64(bytes.count)
            let isWhole = block.count + bytes.count >= Self.blockByteCount || end == folder.byteCount
            let blockStart = position &- UInt64(block.count)
            let content = isWhole ? block + bytes : bytes
            let chunk = S3Chunk(content, at: isWhole ? blockStart : position)
            try await bucket.put(folder.path + chunk.name, content)
            if isWhole { chunks.removeAll { $0.start >= blockStart } }
            chunks.append(chunk)
            block = isWhole ? [] : block + bytes
            if digested == position {
                digest.add(bytes)
                digested = end
            }
            position = end
            time = clock.time
            index.update(folder.names.incomplete) { [time] in ($0.position, $0.time) = (end, time) }
            if end == folder.byteCount { try await complete() }
        }
        return position
    }

    private func working(_ body: () async throws -> Void) async throws {
        // A call of a room that has left the memory can be in progress.
        guard !isWorking else { throw AttachmentFailure.unavailable }
        guard !S3Clock.hasPassed(lifetime, since: time, at: clock.now) else { throw AttachmentFailure.unknown }
        isWorking = true
        defer { isWorking = false }
        try await body()
    }

    /// Verifies the digest of the objects' bytes, and that they are still there, then makes them an attachment.
    private func complete() async throws {
        for chunk in chunks where chunk.end > digested {
            while digested < chunk.end {
                let offset = digested &- chunk.start
                let last = min(offset &+ Self.stepByteCount, chunk.byteCount) &- 1
                guard let bytes = try await bucket.get(folder.path + chunk.name, offset...last) else {
                    throw AttachmentFailure.unknown
                }
                digest.add(bytes)
                digested = digested &+ UInt64(bytes.count)
            }
        }
        if !isVerified {
            guard digest.finish() == folder.names.digest.bytes else {
                try await bucket.put(folder.end, Array("digest\n".utf8))
                throw AttachmentFailure.digestMismatch
            }
            isVerified = true
        }
        let keys = Set(try await bucket.list(folder.path).map(\.key))
        guard !keys.contains(folder.end), chunks.allSatisfy({ keys.contains(folder.path + $0.name) }) else {
            throw AttachmentFailure.unknown
        }
        let marker = S3Marker(folder, time: clock.time, chunkCount: chunks.count)
        let manifest = S3Manifest(path: folder.path, chunks, mediaType: mediaType).bytes
        guard manifest.count <= S3Connections.maxResponseByteCount else {
            // It could not be read. A client begins the upload again, with fewer calls.
            try await bucket.put(folder.end, Array("chunks\n".utf8))
            throw AttachmentFailure.unknown
        }
        try await bucket.put(marker.key, manifest)
        index.remove(folder.names.incomplete)
        index.insert(marker.name, marker.entry)
    }
}

/// The uploads whose state is in memory, the latest ones at the end.
final class S3Uploads: Sendable {
    /// The maximum number of uploads, each with a block of at most 512 KiB. Others begin again.
    static let maxCount = 64

    /// The duration after its last call for which an upload keeps its place.
    static let idleDuration = Duration.seconds(5)

    private let steady: @Sendable () -> ContinuousClock.Instant
    private let list = Guarded<[(upload: S3Upload, usedAt: ContinuousClock.Instant)]>([])

    init(steady: @escaping @Sendable () -> ContinuousClock.Instant) { self.steady = steady }

    /// The uploads in the index.
    var names: Set<AttachmentIndex.Name> { list.withLock { Set($0.map(\.upload.folder.names.incomplete)) } }

    /// Keeps the state of an upload, in place of one that is idle.
    ///
    /// - Throws: `AttachmentFailure.unavailable` if all places are in use. The client waits, and begins again.
    func add(_ upload: S3Upload) throws(AttachmentFailure) {
        let now = steady()
        try list.withLock { list throws(AttachmentFailure) in
            list.removeAll { $0.upload.folder.names == upload.folder.names }
            if list.count >= Self.maxCount {
                guard now - list[0].usedAt >= Self.idleDuration else { throw .unavailable }
                list.removeFirst()
            }
            list.append((upload, now))
        }
    }

    /// The state of an upload, which becomes the latest one.
    func opened(_ names: S3Names) -> S3Upload? {
        let now = steady()
        return list.withLock { list in
            guard let place = list.firstIndex(where: { $0.upload.folder.names == names }) else { return nil }
            let upload = list.remove(at: place).upload
            list.append((upload, now))
            return upload
        }
    }

    func remove(_ names: S3Names) { list.withLock { $0.removeAll { $0.upload.folder.names == names } } }
}
