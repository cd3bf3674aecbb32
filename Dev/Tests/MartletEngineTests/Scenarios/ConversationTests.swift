import Martlet
import MartletLink
import MartletSimulator
import MartletTestKit
import MartletTestSupport
import MartletWire
import Testing

/// Messages from one client to another in virtual time, under network faults.
@Suite struct ConversationTests {
    static let carriers: [Carrier] = [.reliable, .unreliable]

    private func pair(
        _ world: VirtualWorld, _ carrier: Carrier, _ conditions: PathConditions = PathConditions()
    ) throws -> (alice: VirtualClient, bob: VirtualClient, RoomID, RoomID) {
        let alice = world.addClient("alice", conditions: conditions, carrier: carrier)
        let bob = world.addClient("bob", conditions: conditions, carrier: carrier)
        let lobby = RoomName.lobby
        let hers = try world.act(alice) { engine, now in try engine.open(lobby, now: now) }
        let his = try world.act(bob) { engine, now in try engine.open(lobby, now: now) }
        world.act(alice) { $0.handle(.start, now: $1) }
        world.act(bob) { $0.handle(.start, now: $1) }
        return (alice, bob, hers, his)
    }

    @Test(arguments: carriers) func `a thousand lines arrive in order and once`(carrier: Carrier) throws {
        let world = VirtualWorld()
        let (alice, bob, hers, his) = try pair(world, carrier)
        let lines = (1...1000).map { "line \($0)" }
        for line in lines { try world.send(line, from: alice, in: hers) }
        #expect(world.run(until: world.now + .seconds(60)) { alice.accepted[hers]?.count == 1000 })
        world.run(for: .seconds(1))
        #expect(bob.texts(in: his) == lines)
        #expect(alice.texts(in: hers).isEmpty)
    }

    @Test(arguments: carriers) func `ten cuts neither lose nor duplicate messages`(carrier: Carrier) throws {
        let world = VirtualWorld(seed: 7)
        let conditions = PathConditions(
            delay: .milliseconds(200), jitter: .milliseconds(50), lostPerMille: 30, doubledPerMille: 30,
            overtakenPerMille: 30)
        let (alice, bob, hers, his) = try pair(world, carrier, conditions)
        let lines = (1...2000).map { "line \($0)" }
        for (index, line) in lines.enumerated() {
            try world.send(line, from: alice, in: hers)
            world.run(for: .milliseconds(10))
            if index % 200 == 100 { world.cut(index % 400 == 100 ? alice : bob) }
        }
        #expect(world.run(until: world.now + .seconds(300)) { alice.accepted[hers]?.count == 2000 })
        world.run(for: .seconds(60))
        #expect(bob.texts(in: his) == lines)
        #expect(alice.engine.status.resumes >= 4)
    }

    @Test(arguments: carriers) func `a restarted relay keeps accepted messages and stores the others once`(
        carrier: Carrier
    ) throws {
        let world = VirtualWorld(seed: 3)
        let (alice, bob, hers, his) = try pair(world, carrier)
        let lines = (1...600).map { "line \($0)" }
        for (index, line) in lines.enumerated() {
            try world.send(line, from: alice, in: hers)
            world.run(for: .milliseconds(10))
            if index % 150 == 100 { world.restartRelay() }
        }
        #expect(world.run(until: world.now + .seconds(300)) { alice.accepted[hers]?.count == 600 })
        world.run(for: .seconds(60))
        #expect(bob.texts(in: his) == lines)
    }

    @Test func `after a cut the first pending message arrives within one and a half round trips`() throws {
        let world = VirtualWorld()
        let (alice, bob, hers, his) = try pair(world, .reliable)
        world.run(for: .seconds(2))
        world.cut(alice)
        #expect(world.run(until: world.now + .seconds(5)) { !alice.engine.status.isOnline })
        try world.send("first", from: alice, in: hers)
        var connectedAt: Instant?
        world.run(until: world.now + .seconds(60)) {
            if connectedAt == nil, alice.engine.status.state == .handshaking { connectedAt = world.now }
            return bob.texts(in: his) == ["first"]
        }
        let began = try #require(connectedAt)
        #expect(world.now - began <= .milliseconds(150))
    }
}
