import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// Reports of undelivered messages in a room with members at several relays.
@Suite struct UndeliveredTests {
    /// A world with relays that share a store and a bus. The accounts have joined the room.
    private func world(relayCount: Int, joined: [AccountName], seed: UInt64 = 1) -> VirtualWorld {
        var configuration = RelayConfiguration()
        configuration.reportsUndelivered = true
        let world = VirtualWorld(relay: configuration, relayCount: relayCount, seed: seed)
        for account in joined {
            world.store.memberships[.lobby, default: [:]][account] = MembershipRecord(isJoined: true, changedAt: 1)
        }
        return world
    }

    /// The numbers of messages that the relays have reported to each account.
    private func counts(_ world: VirtualWorld) -> [AccountName: UInt64] {
        var counts: [AccountName: UInt64] = [:]
        for report in world.relays.flatMap(\.undelivered) {
            for recipient in report.recipients { counts[recipient.account, default: 0] += recipient.count }
        }
        return counts
    }

    /// Three relays with stores of different delays, at each of which a member publishes ten messages. The account
    /// carol is absent.
    private func publish(seed: UInt64, losesAnswers: Bool = true) throws -> VirtualWorld {
        let accounts = ["alice", "bob", "dave"]
        let world = world(relayCount: 3, joined: (accounts + ["carol"]).map { .named($0) }, seed: seed)
        world.storePath?.losesAnswers = losesAnswers
        for (relay, delay) in zip(world.relays, [0, 20, 100]) { relay.storeDelay = .milliseconds(delay) }
        let clients = accounts.map { world.addClient($0) }
        let rooms = try clients.map { try world.open(.lobby, for: $0) }
        world.run(for: .seconds(2))
        for number in 0..<10 {
            for (client, room) in zip(clients, rooms) { try world.send("\(number)", from: client, in: room) }
            world.run(for: .milliseconds(1700))
        }
        world.run(for: .seconds(25))
        #expect(world.store.log[.lobby]?.count == 30)
        return world
    }

    //
    @Test func `members at three relays publish → an absent account is reported once a message`()
        throws
    {
        let world = try publish(seed: 1, losesAnswers: false)
        #expect(counts(world) == [.carol: 30] && world.relays.allSatisfy { !$0.undelivered.isEmpty })
        #expect(world.relays.flatMap(\.undelivered).allSatisfy { $0.message?.relay.offset == $0.lastOffset })
    }

    //
    @Test(arguments: 2...9 as ClosedRange<UInt64>)
    func `appends that are refused, or stored without an answer → no message is reported twice`(seed: UInt64) throws {
        let world = try publish(seed: seed)
        let offsets = world.relays.flatMap(\.undelivered).map(\.lastOffset)
        #expect(Set(offsets).count == offsets.count)
        let reported = counts(world)[.carol] ?? 0
        #expect((20...30).contains(reported) && counts(world).values.allSatisfy { $0 <= reported })
    }

    //
    @Test func `a member at a different relay receives what a publisher has left → only the absent is reported`()
        throws
    {
        let world = world(relayCount: 2, joined: [.bob, .carol])
        let (alice, bob) = (world.addClient("alice"), world.addClient("bob"))
        let room = try world.open(.lobby, for: alice)
        let his = try world.open(.lobby, for: bob)
        world.run(for: .seconds(2))
        world.stopReading(bob)
        try world.send("hello", from: alice, in: room)
        world.run(for: .milliseconds(200))
        world.act(alice) { $0.close(room, now: $1) }
        world.run(for: .seconds(2))
        world.startReading(bob)
        world.run(for: .seconds(30))
        #expect(bob.texts(in: his) == ["hello"] && counts(world) == [.carol: 1])
    }
}
