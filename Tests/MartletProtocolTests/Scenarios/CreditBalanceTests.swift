import MartletWire
import Testing

@testable import MartletProtocol
@testable import MartletTestKit

/// Credit that a relay received is given back in the end, whatever became of what used it (S-38).
@Suite struct CreditBalanceTests {
    /// A link's credit at the relay, as its client counts it, and what of it came back.
    private func expectBalance(_ world: VirtualWorld, _ client: VirtualClient) throws {
        let who = DeviceKey(account: client.engine.configuration.account, device: client.engine.configuration.device)
        let link = try #require(world.relay.loops.link(of: who))
        #expect(link.linkCreditReceived == client.engine.link.sendCredit.used)
        #expect(link.linkCreditReleased == link.linkCreditReceived)
    }

    // S-38, R-26, Specs/hostile.md row 29
    @Test(arguments: [1, 2]) func `a link has all of its credit again after a store has failed for a minute`(
        loops: Int
    ) throws {
        let world = VirtualWorld(loopCount: loops, seed: 7)
        world.relay.storeDelay = .milliseconds(2)
        let account = AccountName.living(elsewhereThan: .lobby)
        let path = PathConditions(delay: .milliseconds(20), bytesPerSecond: 20_000_000)
        let alice = world.addClient(account.text, conditions: path)
        let room = try world.open(.lobby, for: alice)
        world.run(for: .seconds(5))
        world.relay.refusesAppends = true
        for _ in 1...200 { try world.send(String(repeating: "x", count: 8000), from: alice, in: room) }
        world.run(for: .seconds(60))
        world.relay.refusesAppends = false
        world.run(for: .seconds(300))
        #expect(alice.accepted[room]?.count == 200)
        try expectBalance(world, alice)
    }

    // S-38
    @Test(arguments: [1, 2]) func `a link has all of its credit again when rooms are left before they are loaded`(
        loops: Int
    ) throws {
        let world = VirtualWorld(loopCount: loops, seed: 7)
        world.relay.storeDelay = .milliseconds(300)
        let alice = world.addClient(AccountName.living(elsewhereThan: .lobby).text)
        world.act(alice) { $0.start(now: $1) }
        world.run(for: .seconds(2))
        for _ in 1...5 {
            let room = try world.open(.lobby, for: alice)
            for number in 1...20 { try world.send("line \(number)", from: alice, in: room) }
            world.run(for: .milliseconds(150))
            world.act(alice) { $0.close(room, now: $1) }
            world.run(for: .seconds(2))
        }
        try expectBalance(world, alice)
    }
}

extension AccountName {
    /// An account whose links live on another loop of two than a room.
    static func living(elsewhereThan room: RoomName) -> AccountName {
        let place = LoopPlace(index: 0, count: 2)
        return (0...).lazy.map { AccountName.named("account\($0)") }.first {
            place.loop(of: $0) != place.loop(of: room)
        }!
    }
}

extension VirtualLoops {
    /// A device's link, on whichever loop it lives.
    func link(of who: DeviceKey) -> Link? {
        for loop in loops {
            for slot in loop.engine.sessions.links.slots {
                if let link = loop.engine.sessions.links.find(slot), link.who == who { return link.link }
            }
        }
        return nil
    }
}
