import Martlet
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import Testing

@testable import MartletRelaySQLite

/// Messages that a client publishes again long after the relay has accepted them.
@Suite("Messages that are published again late", .timeLimit(.minutes(10)))
struct LateRepetitionTests {
    enum Kind: CaseIterable {
        case memory, sqlite
    }

    /// The outbox of a client that has not learned what became of some messages.
    private struct UncertainOutbox: Outbox {
        let state: OutboxState

        func open() async throws -> OutboxState { state }
        func commit(_ transaction: OutboxTransaction) async throws {}
        func deadLetters(in room: RoomName) async throws -> [DeadLetter] { [] }
    }

    private let folder: TemporaryFolder
    private let memory = InMemoryStore()

    init() throws { folder = try TemporaryFolder() }

    /// A client of a relay with the store. The store is closed afterwards.
    private func withClient(
        _ kind: Kind, _ state: OutboxState, _ body: (Martlet.Room) async throws -> Void
    ) async throws -> [UInt64] {
        let file = kind == .sqlite ? try await SQLiteStore(at: folder.path) : nil
        let store: any RoomStore = file ?? memory
        var configuration = try Relay.Configuration(port: 0)
        configuration.limits = .unlimited
        let relay = Relay(configuration: configuration, store: store, authenticator: .allowAll, policy: .allowAll)
        let port = try relay.start()[0].port
        let client = try Client(
            to: "martlet://127.0.0.1:\(port)", as: .anonymous("alice"), outbox: UncertainOutbox(state: state))
        try await Martlet.withClient(client) { client in
            try await body(try await client.open(room: "lobby"))
        }
        await relay.shutdown()
        let counters = try await store.read(.all, of: .lobby).entries.map(\.counter)
        await file?.close()
        return counters
    }

    //
    @Test(arguments: Kind.allCases)
    func `a message below the window of counters, published again to a restarted relay → accepted, once in the log`(
        kind: Kind
    ) async throws {
        let entries = Entries(device: DeviceID(rawValue: 7))
        let before = try await withClient(kind, OutboxState(device: entries.device, nextCounter: 1)) { room in
            for number in 1...200 { _ = try await room.send("\(number)").accepted() }
        }
        #expect(before.count == 200 && Set(before).count == 200)
        let now = EventLoop.wallClock
        // A repetition has the content of the first publication.
        let uncertain = [3, 150].map { entries.entry(before[$0], "\($0 + 1)", in: "lobby", inFlightSince: now) }
        let last = before.max() ?? 0
        let state = OutboxState(device: entries.device, nextCounter: last + 100, pending: uncertain)
        let after = try await withClient(kind, state) { room in
            for entry in uncertain { _ = try await room.message(entry.id)?.accepted() }
            _ = try await room.send("new").accepted()
        }
        #expect(Array(after.prefix(200)) == before)
        #expect(after.count == 201 && after[200] >= last + 100)
    }
}
