import Martlet
import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Clients whose room loads slowly.
@Suite struct SlowLoadTests {
    //
    @Test(arguments: [1, 2]) func `3,000 short messages sent before a load are accepted on the first session`(
        loops: Int
    ) throws {
        let world = VirtualWorld(loopCount: loops, seed: 7)
        world.relay.storeDelay = .milliseconds(500)
        let alice = world.addClient(AccountName.living(elsewhereThan: .lobby).text)
        let room = try world.act(alice) { try $0.open(.lobby, now: $1) }
        for number in 1...3000 { try world.send("\(number)", from: alice, in: room) }
        world.act(alice) { $0.handle(.start, now: $1) }
        #expect(world.run(until: world.now + .seconds(60)) { alice.accepted[room]?.count == 3000 })
        #expect(alice.events(in: room).count { if case .opened = $0 { true } else { false } } == 1)
        #expect(world.relay.log[.lobby]?.map(\.counter) == Array(1...3000))
    }

    //
    @Test func `message sent 5 s before the end of a load has the time of that end`() throws {
        let world = VirtualWorld()
        world.relay.storeDelay = .seconds(5)
        let alice = world.addClient("alice")
        let room = try world.act(alice) { try $0.open(.lobby, now: $1) }
        try world.send("early", from: alice, in: room)
        world.act(alice) { $0.handle(.start, now: $1) }
        let began = Int64(world.now.nanoseconds / 1_000_000) + world.wallClockOffset
        #expect(world.run(until: world.now + .seconds(60)) { alice.accepted[room]?.count == 1 })
        let entry = try #require(world.relay.log[.lobby]?.first)
        #expect(Int64(bitPattern: entry.acceptedAt) >= began + 5000)
    }

    // S-38, R-15
    @Test func `all credit of a link is released after a fault in the first of three messages before a load`() {
        let stage = RelayStage()
        stage.relay.storeDelay = .milliseconds(100)
        let peer = stage.member("mallory", of: .lobby)
        peer.say(.data, [UInt8](repeating: 0xFF, count: 32), on: .first)
        for counter in 1...2 as ClosedRange<UInt64> { peer.text("text", counter: counter) }
        stage.run(for: .seconds(1))
        #expect(peer.closedAt != nil && stage.relay.engine.statistics.suspendedLinks == 1)
        let credit = stage.relay.engine.creditTable(
            of: DeviceKey(account: .named("mallory"), device: DeviceID(rawValue: 1)))?.link
        #expect(credit.map { $0.received > 32 && $0.released == $0.received } == true)
    }
}
