import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

@Suite
struct RelayDriverUndeliveredTests {
    private struct Failure: Error {}

    /// Passes reports to a stream, and fails if `fails` is set.
    private struct Handler: UndeliveredHandler {
        let reports: AsyncStream<UndeliveredReport>.Continuation
        var fails = false

        func report(_ report: UndeliveredReport) async throws {
            reports.yield(report)
            if fails { throw Failure() }
        }
    }

    /// Passes the continuations of its calls to a stream, which end when they are resumed.
    private struct WaitingHandler: UndeliveredHandler {
        let calls: AsyncStream<CheckedContinuation<Void, Never>>.Continuation

        func report(_ report: UndeliveredReport) async throws {
            await withCheckedContinuation { _ = calls.yield($0) }
        }
    }

    private static func store(_ rooms: [String] = ["lobby"]) -> InMemoryStore {
        let store = InMemoryStore()
        let record = MembershipRecord(isJoined: true, changedAt: 1)
        for room in rooms { _ = store.saveMemberships([AccountName("bob"): record], of: RoomName(room)!) }
        return store
    }

    private static var configuration: RelayConfiguration {
        var configuration = RelayConfiguration.withoutTimeouts
        configuration.undeliveredDelay = .milliseconds(1)
        return configuration
    }

    //
    @Test("the handler takes the report of a message to an absent account, although the publisher has left")
    func report() async throws {
        let (reports, continuation) = AsyncStream<UndeliveredReport>.makeStream()
        try await withRelay(
            Self.configuration, store: Self.store(), onUndelivered: Handler(reports: continuation)
        ) { relay, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            try await alice.open()
            let offset = try await alice.publish("hello", counter: 1)
            await alice.cut()
            let report = await reports.first { _ in true }
            #expect(report?.room.text == "lobby" && report?.lastOffset == offset)
            #expect(report?.recipients.map(\.account.text) == ["bob"] && report?.recipients.map(\.count) == [1])
            #expect(report?.message?.text == "hello" && report?.message?.relay.sender.text == "alice")
            let statistics = await relay.statistics
            #expect(statistics.undeliveredReports == 1 && statistics.undeliveredReportsDropped == 0)
        }
    }

    //
    @Test("an error of the handler is an event that names the room")
    func failure() async throws {
        let (_, continuation) = AsyncStream<UndeliveredReport>.makeStream()
        let (rooms, failed) = AsyncStream<RoomName>.makeStream()
        try await withRelay(
            Self.configuration, store: Self.store(), onUndelivered: Handler(reports: continuation, fails: true),
            onEvent: { if case .undeliveredFailed(let room, let error) = $0, error is Failure { failed.yield(room) } }
        ) { _, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            try await alice.open()
            _ = try await alice.publish("hello", counter: 1)
            let room = await rooms.first { _ in true }
            #expect(room?.text == "lobby")
        }
    }

    //
    @Test("a report behind 16 calls in progress is passed on when one of them ends", .timeLimit(.minutes(10)))
    func waiting() async throws {
        let (calls, continuation) = AsyncStream<CheckedContinuation<Void, Never>>.makeStream()
        let rooms = (1...17).map { "room\($0)" }
        try await withRelay(
            Self.configuration, store: Self.store(rooms), onUndelivered: WaitingHandler(calls: continuation)
        ) { _, port in
            let alice = try await WirePeer.connect(to: port)
            try await alice.hello()
            for (index, room) in rooms.enumerated() {
                let session = SessionID(rawValue: UInt16(2 * index + 1))
                _ = try await alice.open(room, on: session)
                _ = try await alice.publish("hello", counter: UInt64(index + 1), on: session)
            }
            var iterator = calls.makeAsyncIterator()
            var pending: [CheckedContinuation<Void, Never>] = []
            while pending.count < 16, let call = await iterator.next() { pending.append(call) }
            pending.removeFirst().resume()
            let last = try #require(await iterator.next())
            for call in pending + [last] { call.resume() }
        }
    }

    //
    @Test("a relay with a handler and a store without membership records does not start")
    func noRecords() throws {
        let (_, continuation) = AsyncStream<UndeliveredReport>.makeStream()
        let relay = Relay(
            configuration: try .init(port: 0), store: SlowStore(), authenticator: .allowAll, policy: .allowAll,
            onUndelivered: Handler(reports: continuation))
        #expect(throws: RelayError.membershipsNotKept) { try relay.start() }
    }
}
