import MartletTestKit
import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// A relay releases all received credit in every case (S-38).
@Suite struct CreditBalanceTests {
    /// Checks that the relay has received the credit that the client has used, and has released all of it.
    private func expectBalance(_ world: VirtualWorld, _ client: VirtualClient) throws {
        let who = DeviceKey(
            account: client.engine.configuration.link.account, device: client.engine.configuration.link.device)
        let (received, released) = try #require(world.relay.loops.linkCredit(of: who))
        #expect(received == client.engine.client.link.sendCredit.used)
        #expect(released == received)
    }

    // S-38, R-26, Specs/hostile.md row 29
    @Test(arguments: [1, 2]) func `all credit of a link is released after a store has failed for a minute`(
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
    @Test(arguments: [1, 2]) func `all credit of a link is released when rooms are closed before they are loaded`(
        loops: Int
    ) throws {
        let world = VirtualWorld(loopCount: loops, seed: 7)
        world.relay.storeDelay = .milliseconds(300)
        let alice = world.addClient(AccountName.living(elsewhereThan: .lobby).text)
        world.act(alice) { $0.handle(.start, now: $1) }
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
    /// An account whose links belong to the other one of two loops than a room.
    static func living(elsewhereThan room: RoomName) -> AccountName {
        let place = LoopPlace(index: 0, count: 2)
        return (0...).lazy.map { AccountName.named("account\($0)") }.first {
            place.loop(of: $0) != place.loop(of: room)
        }!
    }
}

extension VirtualLoops {
    /// The credit of a device's link on any loop.
    func linkCredit(of who: DeviceKey) -> (received: UInt64, released: UInt64)? {
        for loop in loops {
            let found = loop.engine.sessions.links.slot(of: who).flatMap { slot in
                loop.engine.sessions.links.read(slot) { ($0.link.linkCreditReceived, $0.link.linkCreditReleased) }
            }
            if let found { return found }
        }
        return nil
    }
}
