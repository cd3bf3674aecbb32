import MartletLink
import MartletRelay
import MartletTransport
import MartletWire

/// An asynchronous store that can fail and block, and records its appends.
final class SlowStore: AsyncRoomStore {
    struct Failure: Error {}

    private struct State {
        var appends: [[UInt64]] = []
        var fails = false
        var isGated = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let inner: InMemoryStore
    private let state = Guarded(State())

    init(bounds: InMemoryStore.Bounds = InMemoryStore.Bounds()) {
        inner = InMemoryStore(bounds: bounds)
    }

    /// The offsets of each append, in the order of the calls.
    var appends: [[UInt64]] { state.withLock(\.appends) }

    func setFails(_ fails: Bool) {
        state.withLock { $0.fails = fails }
    }

    /// Blocks appends until the gate opens.
    func closeGate() {
        state.withLock { $0.isGated = true }
    }

    func openGate() {
        let waiting = state.withLock { state in
            state.isGated = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func load(_ room: RoomName) async throws -> RoomSnapshot {
        await Task.yield()
        return inner.load(room)
    }

    func append(_ append: RoomAppend) async throws -> UInt64 {
        let fails = state.withLock { state in
            state.appends.append(append.entries.map(\.offset))
            return state.fails
        }
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if state.isGated { state.waiting.append(continuation) }
                return !state.isGated
            }
            if isOpen { continuation.resume() }
        }
        if fails { throw Failure() }
        return try inner.append(append.entries, to: append.room)
    }

    func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory {
        await Task.yield()
        return inner.read(range, of: room)
    }
}

/// A synchronous store that records its appends.
final class CountingStore: RoomStore {
    private let inner = InMemoryStore()
    private let counts = Guarded<[Int]>([])

    var features: RoomStoreFeatures { [] }

    /// The number of messages in each append.
    var appends: [Int] { counts.withLock { $0 } }

    func perform(_ calls: [RoomStoreCall]) {
        for case .append(let append, _) in calls { counts.withLock { $0.append(append.entries.count) } }
        inner.perform(calls)
    }
}

/// A store of membership records without a list of rooms and without bounds of rooms.
final class PlainStore: RoomStore {
    private let inner = InMemoryStore()
    var features: RoomStoreFeatures { .memberships }
    func perform(_ calls: [RoomStoreCall]) { inner.perform(calls) }
}

/// A store that reports the rooms that are touched.
final class TouchedStore: AsyncRoomStore {
    private let inner = InMemoryStore()
    let touched = AsyncStream<[RoomName]>.makeStream()

    func load(_ room: RoomName) async throws -> RoomSnapshot { inner.load(room) }

    func append(_ append: RoomAppend) async throws -> UInt64 { try inner.append(append.entries, to: append.room) }

    func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory { inner.read(range, of: room) }

    func touch(_ rooms: [RoomName]) async throws { touched.continuation.yield(rooms) }
}

/// An asynchronous store with one failing operation.
final class BrokenStore: AsyncRoomStore {
    enum Part {
        case load
        case read
    }

    private let inner = InMemoryStore()
    private let broken = Guarded<Part?>(nil)

    func breaks(_ part: Part?) {
        broken.withLock { $0 = part }
    }

    private func check(_ part: Part) throws {
        if broken.withLock({ $0 }) == part { throw SlowStore.Failure() }
    }

    func load(_ room: RoomName) async throws -> RoomSnapshot {
        try check(.load)
        return inner.load(room)
    }

    func append(_ append: RoomAppend) async throws -> UInt64 { try inner.append(append.entries, to: append.room) }

    func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory {
        try check(.read)
        return inner.read(range, of: room)
    }
}

/// An asynchronous store that keeps roles and can fail to save them.
final class RoleStore: AsyncRoomStore {
    private let inner = InMemoryStore()
    private let fails = Guarded(false)

    var features: RoomStoreFeatures { .roles }

    func setFails(_ fails: Bool) {
        self.fails.withLock { $0 = fails }
    }

    func load(_ room: RoomName) async throws -> RoomSnapshot {
        await Task.yield()
        return inner.load(room)
    }

    func append(_ append: RoomAppend) async throws -> UInt64 {
        await Task.yield()
        return try inner.append(append.entries, to: append.room)
    }

    func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory { inner.read(range, of: room) }

    func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) async throws {
        await Task.yield()
        if fails.withLock({ $0 }) { throw SlowStore.Failure() }
        try inner.saveRoles(roles, of: room, creation: creation)
    }
}

/// Rooms in memory that several relays of a process use.
///
/// Each relay has a store of its own; the rooms are common.
final class SharedStore: RoomStore {
    /// The rooms of the stores.
    final class Rooms: Sendable {
        fileprivate struct State {
            var versions: [RoomName: UInt64] = [:]
            var observers: [ObjectIdentifier: @Sendable ([RoomRevision]) -> Void] = [:]
            var conflictCount = 0
        }

        let inner = InMemoryStore()
        fileprivate let state = Guarded(State())

        /// The appends that were refused because another relay was first.
        var conflictCount: Int { state.withLock(\.conflictCount) }

        func revision(_ room: RoomName) -> RoomRevision {
            let snapshot = inner.load(room)
            return RoomRevision(
                room: room, log: snapshot.log, lastOffset: snapshot.lastOffset,
                rolesVersion: state.withLock { $0.versions[room] ?? 0 })
        }
    }

    /// When a relay learns of the changes of others.
    enum Reports {
        case withEachChange
        case withEachCheck
        case withConflictsOnly
    }

    let rooms: Rooms
    private let reports: Reports

    /// Creates the store of one relay.
    init(_ rooms: Rooms, reports: Reports = .withEachChange) {
        self.rooms = rooms
        self.reports = reports
    }

    var features: RoomStoreFeatures { [.roles, .memberships, .shared] }

    func observe(_ report: @escaping @Sendable ([RoomRevision]) -> Void) {
        guard reports == .withEachChange else { return }
        rooms.state.withLock { $0.observers[ObjectIdentifier(self)] = report }
    }

    func perform(_ calls: [RoomStoreCall]) {
        for call in calls {
            switch call {
            case .load(let room, let reply):
                var snapshot = rooms.inner.load(room)
                snapshot.rolesVersion = rooms.revision(room).rolesVersion
                reply.succeed(snapshot)
            case .append(let append, let reply): self.append(append, reply)
            case .saveRoles(let roles, let room, let version, let creation, let reply):
                let isCurrent = rooms.state.withLock { state in
                    guard state.versions[room] ?? 0 == version else { return false }
                    state.versions[room] = version + 1
                    return true
                }
                guard isCurrent else { return reply.fail(RoomStoreError.rolesChanged) }
                reply.complete { try rooms.inner.saveRoles(roles, of: room, creation: creation) }
                report(room)
            case .changes(_, let reply) where reports == .withConflictsOnly: reply.succeed([])
            case .changes(let since, let reply):
                reply.succeed(since.map { rooms.revision($0.room) }.filter { !since.contains($0) })
            default: rooms.inner.perform([call])
            }
        }
    }

    private func append(_ append: RoomAppend, _ reply: RoomStoreReply<UInt64>) {
        let result: Result<UInt64, any Error> = rooms.state.withLock { state in
            let last = rooms.inner.load(append.room).lastOffset
            guard append.expectedOffset == last + 1 else {
                state.conflictCount += 1
                let range = ReadRange(from: append.expectedOffset, maxCount: 2, maxByteCount: .max)
                return .failure(RoomStoreError.conflict(rooms.inner.read(range, of: append.room)))
            }
            guard append.rolesVersion == state.versions[append.room] ?? 0 else {
                return .failure(RoomStoreError.rolesChanged)
            }
            return Result { try rooms.inner.append(append.entries, erasing: append.erasures, to: append.room) }
        }
        reply.complete(result)
        if case .success = result { report(append.room) }
    }

    private func report(_ room: RoomName) {
        let revision = rooms.revision(room)
        let others = rooms.state.withLock { $0.observers.filter { $0.key != ObjectIdentifier(self) }.values }
        for other in others { other([revision]) }
    }
}
