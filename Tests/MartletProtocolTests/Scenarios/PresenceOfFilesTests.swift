import MartletTestKit
import MartletWire
import Testing

@testable import MartletProtocol

/// A file of 50 MB and a typed line on one link of 1 MB/s, through both engines.
@Suite struct PresenceOfFilesTests {
    enum Shared: CaseIterable { case uplink, downlink }

    static let fileByteCount = 50_000_000
    static let pieceByteCount = 500_000
    static let delay = Duration.milliseconds(20)

    @Test(arguments: Shared.allCases)
    func `a typed line takes less than 100 ms more than the path while a file is on its way`(shared: Shared) throws {
        let slow = PathConditions(delay: Self.delay, bytesPerSecond: 1_000_000)
        let fast = PathConditions(delay: Self.delay)
        let world = VirtualWorld()
        let alice = world.addClient("alice", conditions: shared == .uplink ? slow : fast)
        let bob = world.addClient("bob", conditions: shared == .downlink ? slow : fast)
        let files = try world.open(.hall, for: alice, RoomOptions(kind: .file))
        if shared == .downlink { _ = try world.open(.hall, for: bob, RoomOptions(kind: .file)) }
        let hers = try world.open(.lobby, for: alice)
        let his = try world.open(.lobby, for: bob)
        world.run(for: .seconds(2))
        let piece = [UInt8](repeating: 0x61, count: Self.pieceByteCount)
        var content = TLVWriter(reserving: piece.count + 6)
        content.append(.text, bytes: piece)
        var counter: UInt64 = 1_000_000
        var unsent = Self.fileByteCount / Self.pieceByteCount
        var took: [Duration] = []
        var arrived = 0
        let began = world.now
        // In a file's end lines are quick again: what is measured is the time while it is on its way.
        while unsent > 0 {
            while unsent > 0, world.relay.engine.statistics.messagesStored + 6 > counter - 1_000_000 {
                counter += 1
                unsent -= 1
                try world.act(alice) { [bytes = content.bytes, counter] engine, now in
                    try engine.send(counter: counter, kind: .file, content: bytes, in: files, now: now)
                }
            }
            let sent = world.now
            try world.send("a typed line", from: alice, in: hers)
            #expect(
                world.run(until: sent + .seconds(5)) { (bob.received[his]?.count ?? 0) > arrived })
            arrived += 1
            took.append(world.now - sent)
            world.run(for: .milliseconds(230))
        }
        took.sort()
        let path = Self.delay * 2
        #expect(took.count > 100)
        #expect(took[took.count / 2] < path + .milliseconds(100))
        #expect(try #require(took.last) < path + .milliseconds(100))
        // The path is used, and not only left free.
        #expect(world.now - began < .seconds(70))
        print(
            shared, took.count, took[took.count / 2], took[took.count * 99 / 100], took.last ?? .zero, world.now - began
        )
    }
}
