import Martlet
import MartletRelay
import Testing

@Suite("Deliveries of a room", .timeLimit(.minutes(10)))
struct DeliveriesTests {
    private func withMessages(_ count: Int, _ body: (String) async throws -> Void) async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let lobby = try await alice.open(room: "lobby")
                for number in 1...count { try await lobby.send("\(number)") }
            }
            try await body(relay)
        }
    }

    private func firstOffset(_ room: Room) async throws -> UInt64? {
        for try await delivery in room.deliveries { return delivery.message.offset }
        return nil
    }

    // C-89
    @Test func `a loop that is left without an acknowledgement → the next one begins with the same message`()
        async throws
    {
        try await withMessages(3) { relay in
            let outbox = InMemoryOutbox()
            try await withClient("bob", at: relay, outbox: outbox) { bob in
                let lobby = try await bob.open(room: "lobby")
                #expect(try await firstOffset(lobby) == 1)
                for try await delivery in lobby.deliveries {
                    if delivery.message.offset == 3 { break }
                    if delivery.message.offset == 1 { try await delivery.done() }
                }
                #expect(try await firstOffset(lobby) == 2)
            }
            #expect(outbox.open().cursors.mapValues(\.offset) == ["lobby": 1])
            try await withClient("bob", at: relay, outbox: outbox) { bob in
                let lobby = try await bob.open(room: "lobby")
                #expect(try await firstOffset(lobby) == 2)
            }
        }
    }

    // C-89
    @Test func `a stop in the loop acknowledges nothing, and a later client receives the message again`() async throws {
        try await withMessages(2) { relay in
            let outbox = InMemoryOutbox()
            for _ in 1...2 {
                try await withClient("bob", at: relay, outbox: outbox) { bob in
                    var offsets: [UInt64] = []
                    for try await delivery in try await bob.open(room: "lobby").deliveries {
                        offsets.append(delivery.message.offset)
                        await bob.stop()
                    }
                    #expect(offsets == [1])
                }
                #expect(outbox.open().cursors.isEmpty)
            }
        }
    }

    // C-89
    @Test(arguments: [true, false])
    func `the cursor and the replies of a delivery are one transaction`(isDurable: Bool) async throws {
        try await withMessages(1) { relay in
            let recording = TransactionOutbox()
            let memory = InMemoryOutbox()
            let outbox: any Outbox = isDurable ? recording : memory
            let client = try Client(to: relay, as: .anonymous("bob"), outbox: outbox, configuration: .patient)
            try await withClient(client) { bob in
                let lobby = try await bob.open(room: "lobby")
                for try await delivery in lobby.deliveries {
                    let replies = try ["one", "two"].map { try OutgoingMessage(text: $0) }
                    let handles = try await delivery.done(sending: replies)
                    var offsets: [UInt64] = []
                    for handle in handles { offsets.append(try await handle.accepted()) }
                    #expect(offsets == [2, 3])
                    break
                }
            }
            let stored = isDurable ? try await recording.open() : memory.open()
            #expect(stored.cursors.mapValues(\.offset) == ["lobby": 1])
            guard isDurable else { return }
            let transaction = recording.transactions.first { !$0.appended.isEmpty }
            #expect(transaction?.appended.count == 2)
            #expect(transaction?.cursors.mapValues(\.offset) == ["lobby": 1])
        }
    }

    @Test func `an acknowledgement covers earlier deliveries, whose own one throws alreadyAcknowledged`() async throws {
        try await withMessages(3) { relay in
            try await withClient("bob", at: relay) { bob in
                let lobby = try await bob.open(room: "lobby")
                let deliveries = try await lobby.deliveries.first(3)
                // The loop has ended, so that all three are returned again.
                await #expect(throws: MartletError.alreadyAcknowledged) { try await deliveries[0].done() }
                var again: [Room.Delivery] = []
                for try await delivery in lobby.deliveries {
                    again.append(delivery)
                    guard again.count == 3 else { continue }
                    try await again[1].done()
                    for earlier in again[...1] {
                        await #expect(throws: MartletError.alreadyAcknowledged) { try await earlier.done() }
                    }
                    break
                }
                #expect(try await firstOffset(lobby) == 3)
            }
        }
    }

    // C-89
    @Test func `an outbox that refuses the replies → nothing is acknowledged or sent, and the call can be repeated`()
        async throws
    {
        try await withMessages(1) { relay in
            let outbox = TransactionOutbox()
            try await withClient("bob", at: relay, outbox: outbox) { bob in
                let lobby = try await bob.open(room: "lobby")
                for try await delivery in lobby.deliveries {
                    let reply = try OutgoingMessage(text: "reply")
                    outbox.refuse(true)
                    await #expect(throws: MartletError.outboxFull(limit: .messages(0))) {
                        try await delivery.done(sending: [reply])
                    }
                    #expect(!outbox.transactions.contains { $0.cursors["lobby"] != nil })
                    outbox.refuse(false)
                    let handles = try await delivery.done(sending: [reply])
                    #expect(try await handles[0].accepted() == 2)
                    break
                }
            }
        }
    }

    @Test func `more replies than the maximum → tooManyReplies, and the delivery is not acknowledged`() async throws {
        try await withMessages(1) { relay in
            try await withClient("bob", at: relay) { bob in
                let lobby = try await bob.open(room: "lobby")
                for try await delivery in lobby.deliveries {
                    let reply = try OutgoingMessage(text: "reply")
                    let replies = [OutgoingMessage](repeating: reply, count: Room.Delivery.maxReplyCount + 1)
                    await #expect(throws: MartletError.tooManyReplies(limit: Room.Delivery.maxReplyCount)) {
                        try await delivery.done(sending: replies)
                    }
                    try await delivery.done()
                    break
                }
            }
        }
    }

    @Test func `replies without space wait for it, and their cancellation acknowledges nothing`() async throws {
        try await withMessages(1) { relay in
            var configuration = Client.Configuration.patient
            configuration.flushTimeout = .zero
            configuration.maxPendingMessages = 1
            try await withProxy(to: relay) { proxy in
                try await withClient("bob", at: proxy.endpoint, configuration: configuration) { bob in
                    let lobby = try await bob.open(room: "lobby")
                    for try await delivery in lobby.deliveries {
                        await proxy.refuse()
                        try await lobby.send("waits for the relay")
                        let call = Task { try await delivery.done(sending: [try OutgoingMessage(text: "reply")]) }
                        call.cancel()
                        await #expect(throws: CancellationError.self) { try await call.value }
                        try await delivery.done()
                        break
                    }
                }
            }
        }
    }

    @Test func `more replies than maxPendingMessages, in a room without pending messages → all are accepted`()
        async throws
    {
        try await withMessages(1) { relay in
            var configuration = Client.Configuration.patient
            configuration.maxPendingMessages = 1
            try await withClient("bob", at: relay, configuration: configuration) { bob in
                let lobby = try await bob.open(room: "lobby")
                for try await delivery in lobby.deliveries {
                    let texts = (1...5).map { "reply \($0)" }
                    let handles = try await delivery.done(sending: texts.map { try OutgoingMessage(text: $0) })
                    #expect(handles.count == texts.count)
                    for handle in handles { _ = try await handle.accepted() }
                    break
                }
            }
        }
    }

    @Test func `a second iteration at a time throws alreadyIterating, and a later one does not`() async throws {
        try await withMessages(2) { relay in
            try await withClient("bob", at: relay) { bob in
                let lobby = try await bob.open(room: "lobby")
                for try await delivery in lobby.deliveries {
                    await #expect(throws: MartletError.alreadyIterating) { try await lobby.messages.first(1) }
                    await #expect(throws: MartletError.alreadyIterating) { try await lobby.deliveries.first(1) }
                    try await delivery.done()
                    break
                }
                #expect(try await lobby.messages.first(1).map(\.offset) == [2])
            }
        }
    }

    @Test func `a closed room → an acknowledgement throws roomClosed and stores nothing`() async throws {
        let outbox = InMemoryOutbox()
        try await withMessages(1) { relay in
            try await withClient("bob", at: relay, outbox: outbox) { bob in
                let lobby = try await bob.open(room: "lobby")
                for try await delivery in lobby.deliveries {
                    await lobby.close()
                    await #expect(throws: MartletError.roomClosed(nil, room: "lobby")) { try await delivery.done() }
                    break
                }
            }
        }
        #expect(outbox.open().cursors.isEmpty)
    }
}
