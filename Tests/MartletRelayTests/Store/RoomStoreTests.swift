import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

/// A store in memory that answers the appends when the test asks for it.
private final class HeldStore: RoomStore {
    private struct State {
        var held: [RoomStoreCall] = []
        /// The number of appends in each call of `perform` with appends.
        var appendCounts: [Int] = []
    }

    private let inner = InMemoryStore()
    private let state = Guarded(State())
    private let (arrivals, arrived) = AsyncStream<Void>.makeStream()

    var features: RoomStoreFeatures { [] }

    var appendCounts: [Int] { state.withLock(\.appendCounts) }

    func perform(_ calls: [RoomStoreCall]) {
        let appends = calls.filter { if case .append = $0 { true } else { false } }
        inner.perform(calls.filter { if case .append = $0 { false } else { true } })
        guard !appends.isEmpty else { return }
        state.withLock { state in
            state.held += appends
            state.appendCounts.append(appends.count)
        }
        arrived.yield()
    }

    /// Waits for a number of appends, and takes them.
    func take(_ count: Int) async -> [RoomStoreCall] {
        for await _ in arrivals where state.withLock({ $0.held.count >= count }) { break }
        return state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
    }

    func perform(_ call: RoomStoreCall) { inner.perform([call]) }
}

/// A store that fails all calls.
private struct FailingStore: RoomStore {
    var features: RoomStoreFeatures { [] }

    func perform(_ calls: [RoomStoreCall]) { for call in calls { call.fail(RoomStoreError.unsupported) } }
}

@Suite struct RoomStoreTests {
    private func name(_ error: RoomStoreError?) -> String? { error.map { "\($0)" } }

    private func isRefused<Value: Sendable>(_ call: (RoomStoreReply<Value>) -> RoomStoreCall) async -> Bool {
        let store = FailingStore()
        do throws(RoomStoreError) {
            _ = try await store.call(call)
            return false
        } catch {
            return name(error) == "unsupported"
        }
    }

    @Test func `a reply that is released without a use → unanswered`() {
        let results = Guarded<[RoomStoreError?]>([])
        func add(_ reply: (@escaping @Sendable (Result<Void, RoomStoreError>) -> Void) -> Void) {
            reply { result in
                results.withLock { results in
                    if case .failure(let error) = result { results.append(error) } else { results.append(nil) }
                }
            }
        }
        add { _ = RoomStoreReply<Void>($0) }
        add { RoomStoreReply<Void>($0).succeed() }
        add { RoomStoreReply<Void>($0).fail(RoomStoreError.rolesFull) }
        #expect(results.withLock { $0.map(name) } == ["unanswered", nil, "rolesFull"])
    }

    @Test func `a reply that is used twice → a trap`() async {
        await #expect(processExitsWith: .failure) {
            let reply = RoomStoreReply<Void> { _ in }
            reply.succeed()
            reply.fail(RoomStoreError.unsupported)
        }
    }

    @Test func `an error of another type → other, whose cause it is`() async {
        struct Fault: Error {}
        for make in [
            { RoomStoreReply<UInt64>($0).fail(Fault()) }, { RoomStoreReply<UInt64>($0).complete(.failure(Fault())) },
            { RoomStoreReply<UInt64>($0).complete { throw Fault() } },
        ] as [(@escaping @Sendable (Result<UInt64, RoomStoreError>) -> Void) -> Void] {
            let error = Guarded<RoomStoreError?>(nil)
            make { result in
                if case .failure(let failure) = result { error.withLock { $0 = failure } }
            }
            #expect(error.withLock { $0 }?.cause is Fault)
        }
        #expect(RoomStoreError(RoomStoreError.logLost).cause is RoomStoreError)
    }

    @Test func `each call, failed → the error in its reply`() async {
        let entry = LogEntry(
            offset: 1, sender: "ada", device: DeviceID(rawValue: 1), counter: 1, acceptedAt: 1, body: EncodedBody([]))
        #expect(await isRefused { .load("lobby", $0) })
        #expect(await isRefused { .append(RoomAppend(room: "lobby", entries: [entry]), $0) })
        #expect(await isRefused { .read(ReadRange(from: 1, maxCount: 1, maxByteCount: 1), of: "lobby", $0) })
        #expect(await isRefused { .saveProgress([:], of: "lobby", $0) })
        #expect(await isRefused { .saveRoles([], of: "lobby", replacing: 0, creation: nil, $0) })
        #expect(await isRefused { .saveMemberships([:], of: "lobby", $0) })
        #expect(await isRefused { .readMemberships(.names, of: "ada", $0) })
        #expect(await isRefused { .touch(["lobby"], $0) })
    }

    // MARK: - With a relay

    private func withPeer(
        _ log: EventLog = EventLog(), _ body: (HeldStore, WirePeer) async throws -> Void
    ) async throws {
        let store = HeldStore()
        try await withRelay(store: store, onEvent: log.note) { _, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            try await peer.open("first", on: .first, noLocal: true)
            try await peer.open("second", on: .second, noLocal: true)
            try await body(store, peer)
        }
    }

    //
    @Test func `the appends of a turn → one call; answers on other threads and in another order → accepted`()
        async throws
    {
        try await withPeer { store, peer in
            await peer.write { $0.text("a", counter: 1, on: .first) + $0.text("b", counter: 2, on: .second) }
            let appends = await store.take(2)
            #expect(store.appendCounts == [2])
            for append in appends.reversed() {
                await Task.detached { store.perform(append) }.value
                let accepted = try await peer.next(Accepted.self)
                #expect(accepted.runs.count == 1)
            }
        }
    }

    //
    @Test func `an append that the store releases without an answer → storeUnavailable, and an event`() async throws {
        let log = EventLog()
        try await withPeer(log) { store, peer in
            await peer.write { $0.text("a", counter: 1, on: .first) }
            _ = await store.take(1)
            let reset: Reset = try await peer.expect()
            #expect(reset.session == .first && reset.code == .storeUnavailable)
        }
        let errors = log.all.compactMap { if case .storeFailed(_, let error) = $0 { "\(error)" } else { nil } }
        #expect(errors == ["unanswered"])
    }

    @Test func `an append that conflicts with another writer's → as one that has failed`() async throws {
        try await withPeer { store, peer in
            await peer.write { $0.text("a", counter: 1, on: .first) }
            for call in await store.take(1) {
                guard case .append(let append, let reply) = call else { continue }
                #expect(append.expectedOffset == 1)
                reply.fail(RoomStoreError.conflict(RoomHistory(entries: [], firstOffset: 1)))
            }
            let reset: Reset = try await peer.expect()
            #expect(reset.session == .first && reset.code == .storeUnavailable)
        }
    }

    @Test func `a drain waits for an answer of the store`() async throws {
        let store = HeldStore()
        try await withRelay(store: store) { relay, port in
            let peer = try await WirePeer.connect(to: port)
            try await peer.hello()
            try await peer.open(noLocal: true)
            await peer.write { $0.text("a", counter: 1, on: .first) }
            let appends = await store.take(1)
            #expect(!(await relay.drain(within: .zero)))
            appends.forEach(store.perform)
            #expect(await relay.drain(within: .seconds(3600)))
        }
    }
}
