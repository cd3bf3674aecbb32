import MartletAuthentication
import MartletLink
import MartletTransport
public import MartletWire

/// A store of attachments in memory. They end with the process.
public final class InMemoryAttachmentStore: AttachmentStore {
    private struct State {
        var index: AttachmentIndex
        var bytes: [AttachmentIndex.Name: [UInt8]] = [:]
    }

    /// The number of attachments that one call of `removeExpired` visits.
    static let expiryStepCount = 1024

    private let state: Guarded<State>
    private let clock: AttachmentClock

    /// Creates an empty store.
    public convenience init(limits: AttachmentLimits = .inMemory) {
        self.init(limits: limits) { EventLoop.wallClock }
    }

    /// Creates an empty store with a clock in milliseconds since 1970.
    package init(
        limits: AttachmentLimits = .inMemory, clock: @escaping @Sendable () -> UInt64,
        steady: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        state = Guarded(State(index: AttachmentIndex(limits)))
        do throws(FileError) {
            self.clock = try AttachmentClock(nil, latest: nil, wall: clock, steady: steady)
        } catch {
            preconditionFailure("a clock without a file does not fail: \(error)")
        }
    }

    /// See `AttachmentStore`.
    public func begin(_ upload: AttachmentKey, byteCount: UInt64, mediaType: String?) async throws -> UInt64 {
        let now = clock.time
        return try state.withLock { state throws(AttachmentFailure) in
            let complete = upload.completeName
            if let entry = state.index[complete] {
                guard entry.byteCount == byteCount else { throw .digestMismatch }
                if entry.account != upload.account { try state.index.admitToQuota(byteCount, of: upload.account) }
                state.index.update(complete) {
                    $0.time = now
                    $0.account = upload.account
                }
                return byteCount
            }
            let name = upload.incompleteName
            if let entry = state.index[name], entry.byteCount == byteCount {
                state.index.update(name) { $0.time = now }
                return entry.position
            }
            state.bytes[name] = nil
            state.index.remove(name)
            try state.index.admit(name, byteCount, of: upload.account)
            state.index.insert(
                name,
                AttachmentIndex.Entry(
                    account: upload.account, byteCount: byteCount, position: 0, mediaType: mediaType, time: now))
            state.bytes[name] = []
            if byteCount == 0 { try Self.complete(upload, &state, now) }
            return 0
        }
    }

    /// See `AttachmentStore`.
    public func write(
        _ chunks: [[UInt8]], at position: UInt64, of upload: AttachmentKey
    ) async throws -> (position: UInt64, byteCount: UInt64) {
        let now = clock.time
        return try state.withLock { state throws(AttachmentFailure) in
            let name = upload.incompleteName
            guard let entry = state.index[name] else { throw .unknown }
            let count = UInt64(chunks.reduce(0) { $0 + $1.count })
            guard position == entry.position, count <= entry.byteCount - position else { throw .wrongPosition }
            try state.index.admitBytes(count)
            let end = position + count
            for chunk in chunks { state.bytes[name, default: []].append(contentsOf: chunk) }
            state.index.update(name) {
                $0.position = end
                $0.time = now
            }
            if end == entry.byteCount { try Self.complete(upload, &state, now) }
            return (end, entry.byteCount)
        }
    }

    private static func complete(
        _ upload: AttachmentKey, _ state: inout State, _ now: UInt64
    ) throws(AttachmentFailure) {
        let digest = DigestStream()
        let bytes = state.bytes.removeValue(forKey: upload.incompleteName) ?? []
        digest.add(bytes)
        guard var entry = state.index.remove(upload.incompleteName), digest.finish() == upload.digest.bytes else {
            throw .digestMismatch
        }
        entry.time = now
        state.index.insert(upload.completeName, entry)
        state.bytes[upload.completeName] = bytes
    }

    /// See `AttachmentStore`.
    public func read(
        _ digest: AttachmentDigest, in room: RoomName, at position: UInt64, length: Int
    ) async throws -> (bytes: [UInt8], byteCount: UInt64) {
        try state.withLock { state throws(AttachmentFailure) in
            let name = AttachmentIndex.Name(room: room, digest: digest)
            guard let bytes = state.bytes[name] else { throw .unknown }
            guard position < UInt64(bytes.count) else { throw .wrongPosition }
            return (Array(bytes[Int(position)...].prefix(length)), UInt64(bytes.count))
        }
    }

    /// See `AttachmentStore`.
    public func info(
        _ digest: AttachmentDigest, in room: RoomName
    ) async throws -> (byteCount: UInt64, mediaType: String?) {
        try state.withLock { state throws(AttachmentFailure) in
            guard let entry = state.index[AttachmentIndex.Name(room: room, digest: digest)] else { throw .unknown }
            return (entry.byteCount, entry.mediaType)
        }
    }

    /// See `AttachmentStore`.
    public func remove(_ upload: AttachmentKey) async throws {
        state.withLock { state in
            state.index.remove(upload.incompleteName)
            state.bytes[upload.incompleteName] = nil
        }
    }

    /// See `AttachmentStore`.
    public func reassign(
        _ digest: AttachmentDigest, in room: RoomName, from account: AccountName, to other: AccountName
    ) async throws {
        state.withLock { state in
            let name = AttachmentIndex.Name(room: room, digest: digest)
            if state.index[name]?.account == account { state.index.update(name) { $0.account = other } }
        }
    }

    /// See `AttachmentStore`.
    public func removeAll(of account: AccountName, in room: RoomName) async throws {
        state.withLock { state in
            for name in state.index.names(of: account, in: room) {
                state.index.remove(name)
                state.bytes[name] = nil
            }
        }
    }

    /// See `AttachmentStore`.
    public func removeExpired() async throws -> Bool {
        let now = try clock.observe()
        return state.withLock { state in
            let (names, hasMore) = state.index.expired(at: now, stepCount: Self.expiryStepCount)
            for name in names {
                state.index.remove(name)
                state.bytes[name] = nil
            }
            return hasMore
        }
    }
}

extension AttachmentKey {
    var completeName: AttachmentIndex.Name { AttachmentIndex.Name(room: room, digest: digest) }
    var incompleteName: AttachmentIndex.Name { AttachmentIndex.Name(room: room, digest: digest, account: account) }
}
