import MartletTestKit
import MartletWire
import Testing

@testable import MartletProtocol

/// Honest clients whose room takes its time to load.
@Suite struct SlowLoadTests {
    //
    @Test(arguments: [1, 2]) func `3,000 short messages that wait for a room to load are accepted on its first session`(
        loops: Int
    ) throws {
        let world = VirtualWorld(loopCount: loops, seed: 7)
        world.relay.storeDelay = .milliseconds(500)
        let alice = world.addClient(AccountName.living(elsewhereThan: .lobby).text)
        let room = try world.act(alice) { try $0.open(.lobby, now: $1) }
        for number in 1...3000 { try world.send("\(number)", from: alice, in: room) }
        world.act(alice) { $0.start(now: $1) }
        #expect(world.run(until: world.now + .seconds(60)) { alice.accepted[room]?.count == 3000 })
        #expect(alice.events(in: room).count { if case .opened = $0 { true } else { false } } == 1)
        #expect(world.relay.log[.lobby]?.map(\.counter) == Array(1...3000))
    }
}
