import MartletLink
import MartletRelay
import MartletTransport
import MartletWire

/// The removal of what has ended, and the view that a relay has of the attachments of all relays.
///
/// A pass lists all objects, a page in each step. It is the only one that removes chunks, and only an hour after they
/// have ended: after the end of the lifetime, after an upload was discarded, or when it has not grown for its lifetime.
/// From this end on no relay uses them for an attachment, so that a call that has used them before has ended, too.
actor S3Sweep {
    /// The pause between two passes.
    static let interval = Duration.seconds(600)
    /// The duration between the end of objects and their removal, in milliseconds.
    static let margin: UInt64 = 3600 * 1000
    /// The maximum number of pages that are read without a pause.
    static let maxPageCount = 16
    /// The maximum number of objects that are removed at once.
    private static let maxDeletionCount = 8

    private struct Pass {
        let began: UInt64
        var after: String?
        var pageCount = 0
        /// The objects of complete attachments, by the numbers of their uploads.
        var markers: [String: S3Marker] = [:]
        var seen: Set<AttachmentIndex.Name> = []
        var folder: S3Folder?
        var objects: [S3Object] = []
    }

    private let bucket: S3Bucket
    private let index: GuardedIndex
    private let limits: AttachmentLimits
    private let clock: S3Clock
    private let steady: @Sendable () -> ContinuousClock.Instant
    private let uploads: S3Uploads
    private var pass: Pass?
    private var ended: ContinuousClock.Instant?
    private var isWorking = false

    init(
        _ bucket: S3Bucket, _ index: GuardedIndex, _ limits: AttachmentLimits, _ clock: S3Clock, _ uploads: S3Uploads,
        steady: @escaping @Sendable () -> ContinuousClock.Instant
    ) {
        (self.bucket, self.index, self.limits, self.clock) = (bucket, index, limits, clock)
        (self.uploads, self.steady) = (uploads, steady)
    }

    /// Performs a step. Returns whether the pass goes on without a pause.
    func step() async throws -> Bool {
        guard !isWorking else { return false }
        isWorking = true
        defer { isWorking = false }
        if pass == nil || pass?.pageCount == 0 { try await clock.observe() }
        if pass == nil {
            if let ended, steady() - ended < Self.interval { return false }
            pass = Pass(began: clock.time)
        }
        guard var current = pass else { return false }
        let (objects, isLast) = try await bucket.page("", after: current.after)
        var removed: [String] = []
        for object in objects { removed += try await take(object, &current) }
        if isLast { removed += try await endFolder(&current) }
        try await delete(removed)
        current.after = objects.last?.key
        current.pageCount = (current.pageCount + 1) % Self.maxPageCount
        pass = isLast ? nil : current
        guard isLast else { return current.pageCount > 0 }
        ended = steady()
        let (began, seen, now, open) = (current.began, current.seen, clock.now, uploads.names)
        let lifetime = limits.incompleteLifetime
        index.removeAll { name, entry in
            !seen.contains(name) && entry.time < began && !open.contains(name)
                && (entry.position > 0 || S3Clock.hasPassed(lifetime, since: entry.time, at: now))
        }
        return false
    }

    /// Takes the next object of the pass. Returns the keys to remove.
    private func take(_ object: S3Object, _ pass: inout Pass) async throws -> [String] {
        if let marker = S3Marker(parsing: object.key) {
            pass.markers[marker.number] = marker
            let end = clock.now - min(Self.margin, clock.now)
            if S3Clock.hasPassed(limits.lifetime, since: marker.time, at: end) { return [object.key] }
            pass.seen.insert(marker.name)
            if index.entry(marker.name).map({ $0.time < marker.time }) ?? true {
                index.insert(marker.name, marker.entry)
            }
            return []
        }
        guard let folder = S3Folder(of: object.key) else { return [] }
        let removed = folder == pass.folder ? [] : try await endFolder(&pass)
        pass.folder = folder
        pass.objects.append(object)
        return removed
    }

    /// All objects of a folder were taken. Returns those to remove.
    private func endFolder(_ pass: inout Pass) async throws -> [String] {
        let objects = pass.objects
        pass.objects = []
        guard let folder = pass.folder.take() else { return [] }
        let (now, newest) = (clock.now, objects.map(\.modified).max() ?? 0)
        if let marker = pass.markers[folder.number] {
            // Parts of blocks that were written as a whole later remain, until no relay continues an upload with them.
            let ended = newest.addingSaturating(S3Clock.milliseconds(limits.incompleteLifetime))
            guard UInt64(objects.count) > marker.chunkCount, now - min(ended, now) >= Self.margin,
                let content = try? await bucket.get(marker.key), let manifest = S3Manifest(content, of: marker)
            else { return [] }
            let used = Set(manifest.chunks.map { manifest.path + $0.name })
            return objects.map(\.key).filter { !used.contains($0) }
        }
        let mark = objects.first { $0.key == folder.end }
        let ended = mark?.modified ?? newest.addingSaturating(S3Clock.milliseconds(limits.incompleteLifetime))
        if now - min(ended, now) >= Self.margin {
            // The pass may have listed the attachments long ago.
            let prefix = S3Marker.prefix(folder.names.room, folder.names.digest)
            let markers = try await bucket.list(prefix).compactMap { S3Marker(parsing: $0.key) }
            return markers.contains { $0.number == folder.number } ? [] : objects.map(\.key)
        }
        guard mark == nil else { return [] }
        let name = folder.names.incomplete
        pass.seen.insert(name)
        if index.entry(name) == nil, let position = S3Chunk.chain(objects, in: folder).last?.end {
            index.insert(
                name,
                AttachmentIndex.Entry(
                    account: folder.names.owner, byteCount: folder.byteCount, position: position, mediaType: nil,
                    time: newest))
        }
        return []
    }

    /// Removes objects. One that the service keeps, such as a locked one, does not end the pass.
    private func delete(_ keys: [String]) async throws {
        var rest = keys[...]
        while !rest.isEmpty {
            let next = rest.prefix(Self.maxDeletionCount)
            try await withThrowingTaskGroup(of: Void.self) { [bucket] group in
                for key in next {
                    group.addTask {
                        do { try await bucket.delete(key) } catch S3Error.refused {}
                    }
                }
                try await group.waitForAll()
            }
            rest = rest.dropFirst(next.count)
        }
    }
}

/// The clock by which ages are measured: that of the service, and a steady one. An object keeps its time.
final class S3Clock: Sendable {
    private static let key = "clock"
    /// The progress, in milliseconds, after which the time is stored again.
    private static let interval: UInt64 = 600 * 1000

    private let bucket: S3Bucket
    private let steady: @Sendable () -> ContinuousClock.Instant
    private let clock = Guarded<ExpiryClock?>(nil)

    init(_ bucket: S3Bucket, steady: @escaping @Sendable () -> ContinuousClock.Instant) {
        (self.bucket, self.steady) = (bucket, steady)
    }

    /// The time by which ages are measured; 0 before the first observation.
    var now: UInt64 { clock.withLock { $0?.now ?? 0 } }
    /// The time of a new attachment.
    var time: UInt64 { max(bucket.now, now) }

    func observe() async throws {
        let text = try await bucket.get(Self.key).map { String(decoding: $0, as: UTF8.self) }
        let stored = text.flatMap { S3Names.number($0[...]) }
        let (wall, steady) = (bucket.now, steady())
        let now = clock.withLock { clock in
            var next = clock ?? ExpiryClock(stored: stored, wall: wall, steady: steady)
            _ = next.observe(wall: wall, steady: steady)
            clock = next
            return next.now
        }
        if now - min(stored ?? 0, now) >= Self.interval { try await bucket.put(Self.key, Array(S3Names.hex(now).utf8)) }
    }

    static func milliseconds(_ duration: Duration) -> UInt64 {
        let (product, overflow) = UInt64(clamping: duration.components.seconds).multipliedReportingOverflow(by: 1000)
        return overflow ? .max : product
    }

    /// Whether a duration has passed since a time.
    static func hasPassed(_ duration: Duration, since time: UInt64, at now: UInt64) -> Bool {
        (now - min(time, now)) / 1000 >= UInt64(clamping: duration.components.seconds)
    }
}
