import MartletSimulator
import MartletTestKit
import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// A file of 50 MB and a typed line on one link of 1 MB/s, through both engines.
@Suite struct PresenceOfFilesTests {
    enum Shared: CaseIterable { case uplink, downlink }

    static let fileByteCount = 50_000_000
    static let pieceByteCount = 500_000
    static let delay = Duration.milliseconds(20)

    @Test(arguments: Shared.allCases)
    func `during a file transfer a typed line takes less than 100 ms more than the path`(shared: Shared) throws {
        let slow = PathConditions(delay: Self.delay, bytesPerSecond: 1_000_000)
        let fast = PathConditions(delay: Self.delay)
        let world = VirtualWorld()
        let alice = world.addClient("alice", conditions: shared == .uplink ? slow : fast)
        let bob = world.addClient("bob", conditions: shared == .downlink ? slow : fast)
        let files = try world.open(.hall, for: alice, RoomOptions(kind: .file))
        let hisFiles = shared == .downlink ? try world.open(.hall, for: bob, RoomOptions(kind: .file)) : files
        let hers = try world.open(.lobby, for: alice)
        let his = try world.open(.lobby, for: bob)
        world.run(for: .seconds(2))
        let piece = Message.textContent(String(repeating: "a", count: Self.pieceByteCount))
        let content = try MessageContent(kind: .file, bytes: piece)
        let pieceCount = Self.fileByteCount / Self.pieceByteCount
        var sentCount = 0
        var accepted: Int { alice.accepted[files]?.count ?? 0 }
        var arrived: Int { shared == .downlink ? bob.received[hisFiles]?.count ?? 0 : accepted }
        var took: [Duration] = []
        let began = world.now
        while arrived < pieceCount {
            // The path is used and not left idle.
            try #require(world.now - began < .seconds(70))
            while sentCount < pieceCount, sentCount - accepted < 6 {
                sentCount += 1
                // Counters above those of the lines.
                let counter = UInt64(1_000_000 + sentCount)
                try world.act(alice) { engine, now in
                    try engine.send(counter: counter, content: content, in: files, now: now)
                }
            }
            let sent = world.now
            try world.send("a typed line", from: alice, in: hers)
            try #require(world.run(until: sent + .seconds(5)) { (bob.received[his]?.count ?? 0) > took.count })
            took.append(world.now - sent)
            world.run(for: .milliseconds(230))
        }
        took.sort()
        let path = Self.delay * 2
        #expect(took.count > 100)
        #expect(took[took.count / 2] < path + .milliseconds(100))
        #expect(try #require(took.last) < path + .milliseconds(100))
    }
}
