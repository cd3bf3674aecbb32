import MartletProtocol
import MartletRelay
import MartletTransport
import MartletWire
import Testing

@Suite
struct RelayDriverUndeliveredTests {
    private struct Failure: Error {}

    /// Passes reports to a stream, and fails if it is told to.
    private struct Handler: UndeliveredHandler {
        let reports: AsyncStream<UndeliveredReport>.Continuation
        var fails = false

        func report(_ report: UndeliveredReport) async throws {
            reports.yield(report)
            if fails { throw Failure() }
        }
    }

    private static func store() -> InMemoryStore {
        let store = InMemoryStore()
        let record = MembershipRecord(isJoined: true, changedAt: 1)
        _ = store.saveMemberships([AccountName("bob")!: record], of: RoomName("lobby")!)
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
    @Test("a relay with a handler and a store without membership records does not start")
    func noRecords() throws {
        let (_, continuation) = AsyncStream<UndeliveredReport>.makeStream()
        let relay = Relay(
            configuration: try .init(port: 0), store: SlowStore(), authenticator: .allowAll, policy: .allowAll,
            onUndelivered: Handler(reports: continuation))
        #expect(throws: RelayError.membershipsNotKept) { try relay.start() }
    }
}
