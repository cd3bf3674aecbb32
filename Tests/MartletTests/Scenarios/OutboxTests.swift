import MartletLink
import MartletRelay
import MartletTransport
import Synchronization
import Testing

@testable import Martlet

@Suite("Outbox", .timeLimit(.minutes(10)))
struct OutboxTests {
    private var impatient: Client.Configuration {
        var configuration = Client.Configuration.hasty
        configuration.flushTimeout = .zero
        return configuration
    }

    /// Stores messages in the outbox by a client that never reaches its relay.
    private func leave(_ texts: [String], in outbox: InMemoryOutbox, room: RoomName = "lobby") async throws
        -> [MessageID]
    {
        try await withBarredRelay { _, proxy in
            try await withClient("alice", at: proxy.endpoint, outbox: outbox, configuration: impatient) { alice in
                let lobby = try await alice.open(room: room, options: .offline)
                for text in texts { try await lobby.send(text) }
            }
        }
        return outbox.open().pending.map(\.id)
    }

    //
    @Test func `send returns when the outbox has stored the message, which remains until acceptance`() async throws {
        let outbox = RecordingOutbox()
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: outbox) { alice in
                let lobby = try await alice.open(room: "lobby", options: Room.Options(includesOwnMessages: true))
                let handle = try await lobby.send("hello")
                #expect(await outbox.appended == [handle.id])
                try await lobby.send("and again")
                // The first message is handled when the second one is requested.
                _ = try await lobby.messages.first(2)
            }
            #expect(await outbox.removed == outbox.appended)
            #expect(await outbox.cursors.mapValues(\.offset) == ["lobby": 1])
        }
    }

    @Test func `a message that the outbox does not store is not sent, the next one is`() async throws {
        let outbox = RecordingOutbox()
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: outbox) { alice in
                let lobby = try await alice.open(room: "lobby", options: Room.Options(includesOwnMessages: true))
                await outbox.failNextAppend()
                await #expect(throws: MartletError.outboxFailed("disk full")) { try await lobby.send("lost") }
                try await lobby.send("kept")
                let texts = try await lobby.messages.first(1).map(\.text)
                #expect(texts == ["kept"])
                #expect(await alice.metrics["martlet_client_messages_pending"] == 0)
            }
        }
    }

    // C-77
    @Test func `a discard that the outbox does not store → an error, and the dead letter remains`() async throws {
        let outbox = TransactionOutbox()
        try await withClient("alice", at: "martlet://127.0.0.1:1", outbox: outbox, configuration: impatient) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            let late = try await lobby.send(try OutgoingMessage(text: "late", timeToLive: .milliseconds(1)))
            await #expect(throws: MartletError.notAccepted(.expired)) { try await late.accepted() }
            let letter = try #require(try await lobby.deadLetters().first)
            outbox.refuse(true)
            await #expect(throws: MartletError.self) { try await lobby.discard(letter) }
            #expect(try await lobby.deadLetters().map(\.id) == [late.id])
            outbox.refuse(false)
            try await lobby.discard(letter)
            #expect(try await lobby.deadLetters().isEmpty)
        }
    }

    // C-74
    @Test func `an outcome that the outbox does not store is stored with the next message`() async throws {
        let outbox = RecordingOutbox()
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: outbox) { alice in
                let lobby = try await alice.open(room: "lobby")
                let first = try await lobby.send("1")
                await outbox.failAll(true)
                _ = try await first.accepted()
                while !Task.isCancelled, await alice.metrics["martlet_client_outbox_failures"] == 0 {
                    await Task.yield()
                }
                await outbox.failAll(false)
                _ = try await lobby.send("2").accepted()
            }
            #expect(await outbox.removed == outbox.appended)
            #expect(await outbox.appended.count == 2)
        }
    }

    @Test func `concurrent sends are combined to fewer calls of the outbox, in order`() async throws {
        let outbox = RecordingOutbox()
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: outbox) { alice in
                let lobby = try await alice.open(room: "lobby", options: Room.Options(includesOwnMessages: true))
                try await withThrowingTaskGroup { group in
                    for number in 1...500 { group.addTask { try await lobby.send("\(number)") } }
                    try await group.waitForAll()
                }
                let ids = try await lobby.messages.first(500).map(\.id)
                #expect(await ids == outbox.appended)
            }
        }
    }

    @Test func `start fails with an outbox that cannot be opened`() async throws {
        let outbox = RecordingOutbox()
        await outbox.failOpen()
        let client = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("alice"), outbox: outbox)
        await #expect(throws: MartletError.outboxFailed("disk full")) { try await client.start() }
        await client.stop()
    }

    // C-75
    @Test(arguments: [(1000, 500), (1500, 0), (9999, 0), (0, 1000)] as [(UInt64, Int)])
    func `a time to live at a wall clock → the rest, at most all of it`(now: UInt64, rest: Int) {
        let id = MessageID(sender: AccountName("alice"), device: DeviceID(rawValue: 7), counter: 1)
        let entry = OutboxEntry(
            id: id, room: "a", content: MessageContent(text: "hi"), timeToLive: .seconds(1), expiresAt: 1500)
        #expect(entry.remainingTime(at: now) == .milliseconds(rest))
    }

    @Test func `an edit of a queued message that the outbox does not store → the earlier content`() async throws {
        let outbox = RecordingOutbox()
        try await withClient("alice", at: "martlet://127.0.0.1:1", outbox: outbox, configuration: impatient) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            let handle = try await lobby.send("first")
            await outbox.failAll(true)
            await #expect(throws: MartletError.outboxFailed("disk full")) {
                try await handle.edit(MessageContent(text: "second"))
            }
            await outbox.failAll(false)
            let earlier = lobby.core.edit(handle.counter, MessageContent(text: "third"))
            #expect(earlier == MessageContent(text: "first"))
        }
    }

    // C-82
    @Test(arguments: [1, 2])
    func `an edit that is not stored, and a later one → the content of the latest that is stored`(
        failureCount: Int
    ) async throws {
        let outbox = RecordingOutbox()
        try await withClient("alice", at: "martlet://127.0.0.1:1", outbox: outbox, configuration: impatient) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            let handle = try await lobby.send("first")
            await outbox.failNextEdits(failureCount)
            // The second edit waits while the first one is stored.
            let edits = [Promise<Bool>(), Promise<Bool>()]
            for (promise, text) in zip(edits, ["second", "third"]) {
                let content = MessageContent(text: text)
                _ = lobby.core.mailbox.post(.edit(lobby.core, counter: handle.counter, content, promise))
            }
            await #expect(throws: MartletError.outboxFailed("disk full")) { try await edits[0].value() }
            if failureCount == 1 {
                #expect(try await edits[1].value())
            } else {
                await #expect(throws: MartletError.outboxFailed("disk full")) { try await edits[1].value() }
            }
            let content = lobby.core.edit(handle.counter, MessageContent(text: "fourth"))
            #expect(content == MessageContent(text: failureCount == 1 ? "third" : "first"))
        }
    }

    // C-77
    @Test func `a dead letter that was retried before the room was opened again → not retried again`() async throws {
        try await withClient("alice", at: "martlet://127.0.0.1:1", configuration: impatient) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            try await lobby.send("again")
            await lobby.close()
            let second = try await alice.open(room: "lobby", options: .offline)
            let letter = try #require(try await second.deadLetters().first)
            #expect(try await second.retry(letter) != nil)
            await second.close()
            let third = try await alice.open(room: "lobby", options: .offline)
            #expect(try await third.retry(letter) == nil)
            #expect(third.pending.isEmpty)
            #expect(try await third.deadLetters().map(\.content.text) == ["again"])
        }
    }

    // C-77
    @Test func `a dead letter whose message the client receives from the log → removed, and not retried`() async throws
    {
        let (outbox, other) = (InMemoryOutbox(), InMemoryOutbox())
        let ids = try await leave(["accepted"], in: outbox)
        other.restore(outbox)
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: other) { _ in }
            var transaction = OutboxTransaction()
            transaction.outcomes = [OutboxOutcome(id: ids[0], room: "lobby", result: .failed(.closed))]
            outbox.commit(transaction)
            try await withClient("alice", at: relay, outbox: outbox) { alice in
                let options = Room.Options(from: .start, includesOwnMessages: true)
                let lobby = try await alice.open(room: "lobby", options: options)
                let letter = DeadLetter(
                    OutboxEntry(id: ids[0], room: "lobby", content: .init(text: "accepted")), failure: .closed)
                #expect(try await lobby.messages.first(1).map(\.id) == ids)
                #expect(try await lobby.deadLetters().isEmpty)
                #expect(try await lobby.retry(letter) == nil)
            }
        }
    }

    // R-21, C-80
    @Test func `a message in memory that was in flight long ago by the wall clock → published again`() async throws {
        let outbox = InMemoryOutbox()
        _ = try await leave(["old"], in: outbox)
        var transaction = OutboxTransaction()
        transaction.inFlight = ["lobby": outbox.open().pending.map(\.id)]
        transaction.inFlightAt = 1000
        outbox.commit(transaction)
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: outbox) { alice in
                let lobby = try await alice.open(room: "lobby")
                _ = try await lobby.send("new").accepted()
                #expect(lobby.lastOffset == 2 && lobby.pending.isEmpty)
                #expect(try await lobby.deadLetters().isEmpty)
            }
        }
    }

    // W-60
    @Test func `a client sends the messages of an earlier client under their IDs and in order`() async throws {
        let outbox = InMemoryOutbox()
        let ids = try await leave((1...20).map { "\($0)" }, in: outbox)
        #expect(ids.count == 20)
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: outbox) { _ in }
            #expect(outbox.open().pending.isEmpty)
            try await withClient("bob", at: relay) { bob in
                let lobby = try await bob.open(room: "lobby")
                let received = try await lobby.messages.first(20)
                #expect(received.map(\.id) == ids)
                #expect(received.map(\.text) == (1...20).map { "\($0)" })
            }
        }
    }

    @Test(arguments: [Room.Options(), Room.Options(from: .start, includesOwnMessages: true)])
    func `a room with messages of an earlier client can be opened, and new messages follow them`(
        options: Room.Options
    ) async throws {
        let outbox = InMemoryOutbox()
        let ids = try await leave(["1", "2"], in: outbox)
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: outbox) { alice in
                let lobby = try await alice.open(room: "lobby", options: options)
                let third = try await lobby.send("3")
                try await withClient("bob", at: relay) { bob in
                    let his = try await bob.open(room: "lobby")
                    let received = try await his.messages.first(3).map(\.id)
                    #expect(received == ids + [third.id])
                }
                if options.includesOwnMessages {
                    let texts = try await lobby.messages.first(3).map(\.text)
                    #expect(texts == ["1", "2", "3"])
                }
            }
        }
    }

    @Test(arguments: [Room.Options.From.start, .latest(count: 3), .cursor(7), .stored], [false, true])
    func `a room with messages of an earlier client opens at once without a relay, with any options`(
        from: Room.Options.From, gaveUp: Bool
    ) async throws {
        let outbox = InMemoryOutbox()
        _ = try await leave(["1", "2"], in: outbox)
        var configuration = impatient
        configuration.reconnect.maxAttemptCount = gaveUp ? 1 : nil
        let options = Room.Options(kind: .file, from: from, includesOwnMessages: true, waitsForRelay: false)
        try await withClient("alice", at: "martlet://127.0.0.1:1", outbox: outbox, configuration: configuration) {
            alice in
            if gaveUp { try await alice.status.first(until: { $0.phase == .stopped(.attemptLimit) }) }
            let lobby = try await alice.open(room: "lobby", options: options)
            try await lobby.send("3")
            await #expect(throws: MartletError.roomAlreadyOpen("lobby")) {
                try await alice.open(room: "lobby", options: options)
            }
        }
        #expect(outbox.open().pending.count == 3)
    }

    @Test func `an accepted message that was not removed from the outbox is received once`() async throws {
        let outbox = RecordingOutbox()
        await outbox.ignoreRemovals()
        try await withRelay { relay in
            for text in ["1", "2"] {
                try await withClient("alice", at: relay, outbox: outbox) { alice in
                    let lobby = try await alice.open(room: "lobby")
                    _ = try await lobby.send(text).accepted()
                }
            }
            try await withClient("bob", at: relay) { bob in
                let lobby = try await bob.open(room: "lobby")
                #expect(lobby.lastOffset == 2)
                try await lobby.send("end")
                let texts = try await lobby.messages.first(2).map(\.text)
                #expect(texts == ["1", "2"])
            }
        }
    }
}

/// An outbox that records its calls and can be made to fail.
private actor RecordingOutbox: Outbox {
    struct DiskFull: Error, CustomStringConvertible {
        var description: String { "disk full" }
    }

    private(set) var appended: [MessageID] = []
    private(set) var removed: [MessageID] = []
    private(set) var cursors: [RoomName: RoomCursor] = [:]
    private var entries: [OutboxEntry] = []
    private var failsOpen = false
    private var failsAppend = false
    private var failsAll = false
    private var failingEditCount = 0
    private(set) var transactions: [OutboxTransaction] = []
    private var ignoresRemovals = false

    func failOpen() { failsOpen = true }
    func failNextAppend() { failsAppend = true }
    func failNextEdits(_ count: Int) { failingEditCount = count }
    func ignoreRemovals() { ignoresRemovals = true }
    func failAll(_ fails: Bool) { failsAll = fails }

    func open() async throws -> OutboxState {
        if failsOpen { throw DiskFull() }
        let next = (appended.map(\.counter).max() ?? 0) + 1
        return OutboxState(device: DeviceID(rawValue: 7), nextCounter: next, pending: entries, cursors: cursors)
    }

    func commit(_ transaction: OutboxTransaction) async throws {
        if !transaction.edits.isEmpty, failingEditCount > 0 {
            failingEditCount -= 1
            throw DiskFull()
        }
        let fails = failsAppend && !transaction.appended.isEmpty || failsAll
        if fails {
            failsAppend = false
            throw DiskFull()
        }
        transactions.append(transaction)
        appended += transaction.appended.map(\.id)
        entries += transaction.appended
        removed += transaction.outcomes.map(\.id)
        if !ignoresRemovals { entries.removeAll { entry in transaction.outcomes.contains { $0.id == entry.id } } }
        cursors.merge(transaction.cursors) { $1 }
    }

    func deadLetters(in room: RoomName) async throws -> [DeadLetter] { [] }
}
