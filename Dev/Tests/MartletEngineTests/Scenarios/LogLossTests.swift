import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// A lost log of a room: the next one begins at offset 1, and all its messages are delivered.
@Suite struct LogLossTests {
    /// Restarts the relay without the room's log. Bob sends messages before Alice reconnects.
    private func lose(_ pair: Pair, thenSay count: Int) throws {
        pair.world.blackHole(pair.alice)
        pair.world.restartRelay()
        pair.world.store.loseLog(of: .lobby)
        pair.world.run(for: .seconds(30))
        for number in 0..<count { try pair.world.send("new \(number)", from: pair.bob, in: pair.his) }
        pair.world.run(for: .seconds(30))
        pair.world.restore(pair.alice)
        pair.world.run(for: .seconds(120))
    }

    //
    @Test(arguments: [1, 10, 30])
    func `all messages of a new log that is shorter or longer than the lost one are delivered`(count: Int) throws {
        let pair = try Pair()
        for number in 0..<10 { try pair.world.send("old \(number)", from: pair.bob, in: pair.his) }
        pair.world.run(for: .seconds(5))
        let log = pair.world.store.logID(.lobby)
        try lose(pair, thenSay: count)
        let expected = (0..<10).map { "old \($0)" } + (0..<count).map { "new \($0)" }
        #expect(pair.alice.texts(in: pair.hers) == expected)
        let previous = RoomCursor(log: log, offset: 10)
        let current = RoomCursor(log: pair.world.store.logID(.lobby), offset: 0)
        #expect(pair.alice.events(in: pair.hers).contains(.logReplaced(previous: previous, current: current)))
    }

    //
    @Test func `the publisher of a new log receives its delivered receipts`() throws {
        let pair = try Pair()
        for number in 0..<10 { try pair.world.send("old \(number)", from: pair.bob, in: pair.his) }
        pair.world.run(for: .seconds(5))
        try lose(pair, thenSay: 3)
        let marks = pair.bob.events(in: pair.his).compactMap { event in
            if case .progress(let progress) = event, progress.sender == .alice { progress.upTo } else { nil as UInt64? }
        }
        #expect(marks.last == 3)
    }

    //
    @Test func `a member that opened an empty room with tail receives all messages sent while it was away`() throws {
        let world = VirtualWorld(seed: 7)
        let alice = world.addClient("alice")
        let bob = world.addClient("bob")
        let hers = try world.act(alice) { engine, now in try engine.open(.lobby, RoomOptions(tail: 5), now: now) }
        let his = try world.act(bob) { engine, now in try engine.open(.lobby, now: now) }
        world.act(alice) { $0.handle(.start, now: $1) }
        world.act(bob) { $0.handle(.start, now: $1) }
        world.run(for: .seconds(5))
        world.blackHole(alice)
        world.run(for: .seconds(5))
        for number in 1...20 { _ = try world.send("line \(number)", from: bob, in: his) }
        world.run(for: .seconds(400))
        world.restore(alice)
        world.run(for: .seconds(120))
        #expect(alice.texts(in: hers) == (1...20).map { "line \($0)" })
    }
}
