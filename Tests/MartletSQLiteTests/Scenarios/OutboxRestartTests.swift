import MartletLink
import MartletTransport
import Testing

@testable import Martlet
@testable import MartletDatabase
@testable import MartletSQLite

/// Clients that are started one after the other with the same file.
@Suite("Restarts with an outbox in a file", .timeLimit(.minutes(10)))
struct OutboxRestartTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("outbox")
    }

    // R-21, C-74
    @Test func `messages sent without a connection → accepted once, in order, under their IDs`() async throws {
        let ids = try await withClient("alice", at: nowhere, outbox: path) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            var ids: [MessageID] = []
            for number in 1...10 { ids.append(try await lobby.send("\(number)").id) }
            return ids
        }
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby", options: .offline)
                #expect(lobby.pending.map(\.id) == ids || lobby.pending.count < ids.count)
                let eleventh = try await lobby.send("11")
                #expect(try await eleventh.accepted() == 11)
            }
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby")
                #expect(lobby.pending.map(\.id) == [] && lobby.lastOffset == 11)
                #expect(lobby.message(ids[3])?.state == .accepted(offset: 4))
            }
            #expect(try await texts(11, in: "lobby", at: relay) == (1...11).map { "\($0)" })
        }
    }

    // C-74
    @Test func `pending messages of an earlier client → handles, which are cancelled and edited`() async throws {
        let ids = try await withClient("alice", at: nowhere, outbox: path) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            return [try await lobby.send("a").id, try await lobby.send("b").id, try await lobby.send("c").id]
        }
        try await withClient("alice", at: nowhere, outbox: path) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            #expect(lobby.pending.map(\.id) == ids)
            #expect(await lobby.pending[0].cancel())
            #expect(try await lobby.pending[0].edit(MessageContent(text: "edited")))
        }
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby")
                for handle in lobby.pending { _ = try await handle.accepted() }
                #expect(try await lobby.message(ids[1])?.edit(MessageContent(text: "late")) == false)
            }
            #expect(try await texts(2, in: "lobby", at: relay) == ["edited", "c"])
        }
    }

    /// Stores messages as an earlier client has.
    private func store(_ entries: (Entries) -> [OutboxEntry]) async throws -> Entries {
        let outbox = SQLiteOutbox(path: path)
        let parts = Entries(device: try await outbox.open().device)
        try await outbox.commit(parts.transaction { $0.appended = entries(parts) })
        await outbox.close()
        return parts
    }

    // C-74
    @Test func `an outcome of an earlier client, in a room that has sent the rest → known when the room is opened`()
        async throws
    {
        let entries = try await store { [$0.entry(1, "accepted", in: "lobby"), $0.entry(2, "pending", in: "lobby")] }
        let outbox = SQLiteOutbox(path: path)
        _ = try await outbox.open()
        try await outbox.commit(
            entries.transaction { $0.outcomes = [entries.outcome(1, .accepted(offset: 7), in: "lobby")] })
        await outbox.close()
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: path) { alice in
                // The client opens the lobby for the pending message, and closes it after the acceptance.
                #expect(try await texts(1, in: "lobby", at: relay) == ["pending"])
                _ = try await alice.open(room: "other")
                let lobby = try await alice.open(room: "lobby")
                #expect(lobby.message(entries.id(1))?.state == .accepted(offset: 7))
            }
        }
    }

    // C-75, C-76
    @Test func `an expired message → a dead letter; one that was in flight → sent again`() async throws {
        let entries = try await store { entries in
            [
                entries.entry(
                    1, "sent", in: "lobby", timeToLive: .seconds(1), expiresAt: 1000,
                    inFlightSince: EventLoop.wallClock),
                entries.entry(2, "expired", in: "lobby", timeToLive: .seconds(1), expiresAt: 1000),
                entries.entry(3, "unlimited", in: "lobby"),
                entries.entry(
                    4, "in time", in: "lobby", timeToLive: .seconds(3600), expiresAt: EventLoop.wallClock + 3_600_000),
            ]
        }
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby", options: .offline)
                for counter in [1, 3, 4] as [UInt64] { _ = try await lobby.message(entries.id(counter))?.accepted() }
                #expect(lobby.message(entries.id(2))?.state == .failed(.expired))
                #expect(try await lobby.deadLetters().map(\.content.text) == ["expired"])
            }
            #expect(try await texts(3, in: "lobby", at: relay) == ["sent", "unlimited", "in time"])
        }
    }

    // C-105
    @Test func `a failed message of an earlier client → an event that says so`() async throws {
        _ = try await store { [$0.entry(1, "late", in: "lobby", timeToLive: .seconds(1), expiresAt: 1000)] }
        let events = Guarded<[Client.LogEvent]>([])
        var configuration = Client.Configuration()
        configuration.flushTimeout = .zero
        configuration.logger = { event in events.withLock { $0.append(event) } }
        let outbox = SQLiteOutbox(path: path)
        let client = try Client(to: nowhere, as: .anonymous("alice"), outbox: outbox, configuration: configuration)
        try await withClient(client) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            _ = try? await lobby.send(OutgoingMessage(MessageContent(text: "own"), timeToLive: .zero)).accepted()
        }
        await outbox.close()
        let failures = events.withLock { $0.filter { $0.name == "message.failed" } }
        #expect(failures.map(\.concernsEarlierClient) == [true, false] && failures.first?.room == "lobby")
    }

    // R-21, C-80
    @Test(arguments: [0, 1000, EventLoop.wallClock - 8 * 24 * 3_600_000, EventLoop.wallClock + 3_600_000])
    func `a message that was handed over at any time of the wall clock → published again`(time: UInt64) async throws {
        let entries = try await store { [$0.entry(1, "first", in: "lobby", inFlightSince: time)] }
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby", options: .offline)
                _ = try await lobby.message(entries.id(1))?.accepted()
            }
            #expect(try await texts(1, in: "lobby", at: relay) == ["first"])
        }
    }

    // C-77
    @Test func `a dead letter that an earlier client has retried → not retried again`() async throws {
        try await withClient("alice", at: nowhere, outbox: path) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            try await lobby.send("again")
            await lobby.close()
            _ = try await alice.open(room: "other", options: .offline).send("later")
        }
        var letter: DeadLetter?
        for count in 1...2 {
            try await withClient("alice", at: nowhere, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby", options: .offline)
                if letter == nil { letter = try await lobby.deadLetters().first }
                let handle = try await lobby.retry(try #require(letter))
                #expect((handle == nil) == (count == 2))
                #expect(lobby.pending.count == 1)
            }
        }
    }

    // C-78
    @Test func `concurrent sends beyond the quota → only the surplus fails`() async throws {
        var options = SQLiteOutbox.Options()
        options.maxMessageCount = 4
        try await withClient("alice", at: nowhere, outbox: path, options: options) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            let results = await withTaskGroup(of: MartletError?.self) { group in
                for number in 1...20 {
                    group.addTask {
                        do { try await lobby.send("\(number)") } catch { return error as? MartletError }
                        return nil
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.count { $0 == nil } == 4)
            #expect(results.count { $0 == .outboxFull(limit: .messages(4)) } == 16)
            #expect(lobby.pending.count == 4)
        }
    }

    // C-75
    @Test func `a message with a time to live → in flight in the file before the relay has it`() async throws {
        try await withClient("alice", at: nowhere, outbox: path) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            try await lobby.send(OutgoingMessage(text: "offline", timeToLive: .seconds(3600)))
        }
        let outbox = SQLiteOutbox(path: path)
        #expect(try await outbox.open().pending.map(\.isInFlight) == [false])
        let spy = SpyingOutbox(outbox)
        try await withRelay { relay in
            let client = try Client(to: relay, as: .anonymous("alice"), outbox: spy, configuration: .init())
            try await withClient(client) { alice in
                let lobby = try await alice.open(room: "lobby", options: .offline)
                for handle in lobby.pending { _ = try await handle.accepted() }
                let online = try await lobby.send(OutgoingMessage(text: "online", timeToLive: .seconds(3600)))
                _ = try await online.accepted()
            }
            let transactions = await spy.transactions
            let marking = try #require(transactions.firstIndex { !$0.inFlight.isEmpty })
            let accepting = try #require(transactions.firstIndex { !$0.outcomes.isEmpty })
            #expect(marking < accepting)
            #expect(transactions.flatMap(\.appended).map(\.isInFlight) == [true])
        }
        await outbox.close()
    }

    // C-77
    @Test func `a dead letter of an earlier client → retried once, under another ID, or discarded`() async throws {
        let ids = try await withClient("alice", at: nowhere, outbox: path) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            let ids = [try await lobby.send("again").id, try await lobby.send("never").id]
            await lobby.close()
            // The outbox stores this message after the outcomes, or with them.
            _ = try await alice.open(room: "other", options: .offline).send("later")
            return ids
        }
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby")
                #expect(lobby.message(ids[0])?.state == .failed(.closed))
                let letters = try await lobby.deadLetters()
                try #require(letters.map(\.id) == ids && letters.map(\.failure) == [.closed, .closed])
                let handle = try #require(try await lobby.retry(letters[0]))
                #expect(handle.id != ids[0])
                #expect(try await lobby.retry(letters[0]) == nil)
                try await lobby.discard(letters[1])
                #expect(try await handle.accepted() == 1)
                #expect(try await lobby.deadLetters() == [])
            }
            try await withClient("alice", at: relay, outbox: path) { alice in
                let lobby = try await alice.open(room: "lobby")
                #expect(try await lobby.deadLetters() == [] && lobby.lastOffset == 1)
            }
        }
    }

    // C-78
    @Test func `a send beyond the quota → outboxFull, and the next one after an acceptance is stored`() async throws {
        var options = SQLiteOutbox.Options()
        options.maxMessageCount = 2
        try await withClient("alice", at: nowhere, outbox: path, options: options) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            let first = try await lobby.send("1")
            try await lobby.send("2")
            await #expect(throws: MartletError.outboxFull(limit: .messages(2))) { try await lobby.send("3") }
            await first.cancel()
            try await lobby.send("4")
            #expect(lobby.pending.count == 2)
        }
    }

    //
    @Test func `the file of another account → outboxOfAnotherAccount, and its messages remain`() async throws {
        try await withClient("bob", at: nowhere, outbox: path) { bob in
            _ = try await bob.open(room: "lobby", options: .offline).send("of bob")
        }
        let carol = try Client(to: nowhere, as: .anonymous("carol"), outbox: .sqlite(at: path))
        await #expect(throws: MartletError.outboxOfAnotherAccount("bob")) { try await carol.start() }
        let outbox = SQLiteOutbox(path: path)
        #expect(try await outbox.open().pending.map(\.id.sender.text) == ["bob"])
        await outbox.close()
    }

    @Test func `a stopped client that is still referenced → the next client opens the file`() async throws {
        let first = try Client(to: nowhere, as: .anonymous("alice"), outbox: .sqlite(at: path))
        try await first.start()
        await first.stop()
        let file = OutboxFile(path: path, options: .init())
        #expect(throws: Never.self) { try file.open() }
        await first.stop()
    }

    @Test func `a file that another client uses → start throws an error with the file`() async throws {
        try await withClient("alice", at: nowhere, outbox: path) { _ in
            let second = try Client(to: nowhere, as: .anonymous("alice"), outbox: .sqlite(at: path))
            await #expect(throws: MartletError.outboxFailed("\(DatabaseError.locked(path: path))")) {
                try await second.start()
            }
        }
    }
}

/// An outbox that records the transactions of another outbox.
private actor SpyingOutbox: Outbox {
    private let outbox: SQLiteOutbox
    private(set) var transactions: [OutboxTransaction] = []

    init(_ outbox: SQLiteOutbox) {
        self.outbox = outbox
    }

    func open() async throws -> OutboxState { try await outbox.open() }

    func commit(_ transaction: OutboxTransaction) async throws {
        try await outbox.commit(transaction)
        transactions.append(transaction)
    }

    func deadLetters(in room: RoomName) async throws -> [DeadLetter] { try await outbox.deadLetters(in: room) }
}
