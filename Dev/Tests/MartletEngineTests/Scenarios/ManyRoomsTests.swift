import MartletRelay
import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// A client with the maximum number of rooms.
@Suite struct ManyRoomsTests {
    private func connects(_ client: VirtualClient) -> Int {
        client.outputs.count { if case .link(.connect) = $0.output { true } else { false } }
    }

    private func isOpen(_ room: RoomID, _ client: VirtualClient, times: Int = 1) -> Bool {
        client.events(in: room).count { if case .opened = $0 { true } else { false } } == times
    }

    // S-4, Specs/hostile.md row 18
    @Test func `255 rooms open on the first connection, and again after a restart of the relay`() throws {
        let world = VirtualWorld(seed: 7)
        let alice = world.addClient("alice") { $0.maxRooms = 255 }
        let rooms = try (1...255).map { number in
            try world.act(alice) { try $0.open(.named("room \(number)"), now: $1) }
        }
        world.act(alice) { $0.handle(.start, now: $1) }
        #expect(world.run(until: world.now + .seconds(5)) { rooms.allSatisfy { isOpen($0, alice) } })
        #expect(connects(alice) == 1)
        world.restartRelay()
        #expect(world.run(until: world.now + .seconds(30)) { rooms.allSatisfy { isOpen($0, alice, times: 2) } })
        world.run(for: .seconds(10))
        #expect(world.relay.engine.statistics.faults == 0)
        #expect(alice.engine.status.state == .online)
    }

    // S-4
    @Test func `rooms opened and closed at a high rate are opened at the rate that a relay accepts`() throws {
        let world = VirtualWorld(seed: 7)
        let alice = world.addClient("alice")
        world.act(alice) { $0.handle(.start, now: $1) }
        world.run(for: .seconds(3))
        for number in 1...600 {
            let room = try world.act(alice) { try $0.open(.named("room \(number)"), now: $1) }
            world.run(for: .milliseconds(5))
            if number < 600 { world.act(alice) { $0.close(room, now: $1) } }
        }
        let last = RoomID(rawValue: try #require(alice.engine.rooms.rooms.keys.first))
        #expect(world.run(until: world.now + .seconds(30)) { isOpen(last, alice) })
        #expect(connects(alice) == 1)
        #expect(world.relay.engine.statistics.faults == 0)
    }

    //
    @Test func `a room beyond the maximum opens when another room has closed`() throws {
        let world = VirtualWorld(seed: 7)
        let alice = world.addClient("alice") { $0.maxRooms = 255 }
        var rooms = try (1...255).map { number in
            try world.act(alice) { try $0.open(.named("room \(number)"), now: $1) }
        }
        world.act(alice) { $0.handle(.start, now: $1) }
        world.run(for: .seconds(5))
        world.act(alice) { $0.close(rooms[0], now: $1) }
        rooms[0] = try world.act(alice) { try $0.open(.named("room 256"), now: $1) }
        #expect(world.run(until: world.now + .seconds(10)) { isOpen(rooms[0], alice) })
    }
}
