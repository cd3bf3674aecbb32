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
            let relay = try world.startRelay { $0.engine.limits = Limits(maxSessions: 4) }
            let alice = try await leaveMessages(in: 20, with: relay)
            _ = try await alice.start()
            return try await receivedCount(in: 20)
        }
        #expect(count == 20)
    }

    @Test("messages that wait in 20 rooms, of which the application opens the first 16 and keeps them open → all sent")
    func openedRooms() throws {
        let count = try world.run(timeLimit: .seconds(3600)) { [world] in
            let alice = try await leaveMessages(in: 20, with: world.startRelay())
            let later = try await alice.start()
            var rooms: [Room] = []
            for number in 0..<16 { rooms.append(try await later.open(room: name(number))) }
            defer { withExtendedLifetime(rooms) {} }
            return try await receivedCount(in: 20)
        }
        #expect(count == 20)
    }

    /// Leaves a message in each room in the outbox of a device, which is then killed.
    private func leaveMessages(in count: Int, with relay: TestRelay) async throws -> TestDevice {
        await relay.kill()
        let alice = world.device("alice")
        let first = try await alice.start()
        for number in 0..<count {
            let room = try await first.open(room: name(number), options: Room.Options(waitsForRelay: false))
            try await room.send("waiting")
        }
        // The outbox in memory stores a message after `send` has returned.
        try await world.sleep(for: .seconds(1))
        await alice.kill()
        try relay.restart()
        return alice
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
