import Martlet
import MartletRelay
import MartletTestKit
import MartletWire
import Testing

@Suite("Messages of an earlier client")
struct BacklogTests {
    private let world = TestWorld()

    @Test("messages that wait in 20 rooms, and a relay that permits four sessions → all sent")
    func fewSessions() throws {
        let count = try world.run(timeLimit: .seconds(3600)) { [world] in
            let relay = try world.startRelay { $0.engine.link.limits = Limits(maxSessions: 4) }
            let alice = try await leaveMessages(in: 20, with: relay)
            try relay.restart()
            _ = try await alice.start()
            return try await receivedCount(in: 20)
        }
        #expect(count == 20)
    }

    @Test func `messages that wait in 20 rooms, of which the application opens 16 and keeps them open → all sent`()
        throws
    {
        let count = try world.run(timeLimit: .seconds(3600)) { [world] in
            let relay = try world.startRelay()
            let alice = try await leaveMessages(in: 20, with: relay)
            let later = try await alice.start()
            let rooms = try await open(0..<16, by: later)
            try relay.restart()
            defer { withExtendedLifetime(rooms) {} }
            return try await receivedCount(in: 20)
        }
        #expect(count == 20)
    }

    @Test func `messages in rooms without a session, and a kill of the client → the next client sends all`() throws {
        let count = try world.run(timeLimit: .seconds(3600)) { [world] in
            let relay = try world.startRelay { $0.engine.link.limits = Limits(maxSessions: 4) }
            let alice = try await leaveMessages(in: 20, with: relay)
            let later = try await alice.start()
            // The rooms of the application have all sessions.
            let rooms = try await open(0..<4, by: later)
            defer { withExtendedLifetime(rooms) {} }
            try relay.restart()
            try await world.sleep(for: .seconds(60))
            await alice.kill()
            _ = try await alice.start()
            return try await receivedCount(in: 20)
        }
        #expect(count == 20)
    }

    // C-75
    @Test func `a message with a time to live in a room without a session, which it outlasts → expired`() throws {
        let failures = try world.run(timeLimit: .seconds(3600)) { [world] in
            let relay = try world.startRelay { $0.engine.link.limits = Limits(maxSessions: 4) }
            let alice = world.device("alice", outbox: QueuedOutbox())
            try await leaveMessages(of: alice, in: 5, with: relay, timeToLive: .seconds(600))
            let later = try await alice.start()
            let rooms = try await open(0..<4, by: later)
            try relay.restart()
            try await world.sleep(for: .seconds(700))
            for room in rooms { await room.close() }
            try await world.sleep(for: .seconds(60))
            return try await later.open(room: name(4)).deadLetters().map(\.failure)
        }
        #expect(failures == [.expired])
    }

    /// Opens rooms without a wait for the relay.
    private func open(_ numbers: Range<Int>, by client: Client) async throws -> [Room] {
        var rooms: [Room] = []
        for number in numbers {
            rooms.append(try await client.open(room: name(number), options: Room.Options(waitsForRelay: false)))
        }
        return rooms
    }

    private func leaveMessages(in count: Int, with relay: TestRelay) async throws -> TestDevice {
        let alice = world.device("alice")
        try await leaveMessages(of: alice, in: count, with: relay)
        return alice
    }

    /// Leaves a message in each room in the outbox of a device. The device and the relay are then killed.
    private func leaveMessages(
        of alice: TestDevice, in count: Int, with relay: TestRelay, timeToLive: Duration? = nil
    ) async throws {
        await relay.kill()
        let first = try await alice.start()
        for number in 0..<count {
            let room = try await first.open(room: name(number), options: Room.Options(waitsForRelay: false))
            try await room.send(try OutgoingMessage(text: "waiting", timeToLive: timeToLive))
        }
        // The outbox in memory stores a message after `send` has returned.
        try await world.sleep(for: .seconds(1))
        await alice.kill()
    }

    /// Waits for the first message of each room, and returns the number of expected ones.
    private func receivedCount(in count: Int) async throws -> Int {
        var received = 0
        for number in 0..<count {
            // Each client has one room, because the relay may permit few sessions.
            let bob = try await world.device("bob\(number)").start()
            let room = try await bob.open(room: name(number))
            if try await room.messages.first(where: { _ in true })?.text == "waiting" { received += 1 }
            await bob.stop()
        }
        return received
    }

    /// The name of a room. The names are in the order of their numbers.
    private func name(_ number: Int) -> String { "room-\(10 + number)" }
}

/// An outbox in memory that answers after the call.
private struct QueuedOutbox: Outbox {
    private let stored = InMemoryOutbox()

    func open() async throws -> OutboxState { stored.open() }
    func commit(_ transaction: OutboxTransaction) async throws { stored.commit(transaction) }
    func deadLetters(in room: RoomName) async throws -> [DeadLetter] { stored.deadLetters(in: room) }
}
