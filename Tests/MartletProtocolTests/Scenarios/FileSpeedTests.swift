import MartletTestKit
import MartletWire
import Testing

@testable import MartletProtocol

/// Three megabytes from one client to another over a path that nothing else uses, as chat and as a file.
@Suite struct FileSpeedTests {
    private static let messageCount = 30

    /// How long it takes until all is there.
    private func time(_ kind: SessionKind, _ delay: Duration, _ bytesPerSecond: Int) throws -> Duration {
        let world = VirtualWorld()
        let alice = world.addClient("alice", conditions: PathConditions(delay: .milliseconds(1)))
        let bob = world.addClient(
            "bob", conditions: PathConditions(delay: delay, bytesPerSecond: bytesPerSecond))
        let hers = try world.open(.hall, for: alice, RoomOptions(kind: kind))
        let his = try world.open(.hall, for: bob, RoomOptions(kind: kind))
        world.run(for: .seconds(5))
        let began = world.now
        for number in 1...UInt64(Self.messageCount) {
            let content = MessageContent(text: String(repeating: "x", count: 100_000))
            try world.act(alice) { engine, now in
                try engine.send(counter: number, content: content, in: hers, now: now)
            }
        }
        try #require(
            world.run(until: began + .seconds(60)) { (bob.received[his]?.count ?? 0) == Self.messageCount })
        return world.now - began
    }

    // S-50
    @Test(arguments: [(20, 500_000), (50, 500_000), (100, 500_000), (100, 1_000_000)])
    func `a file takes at most a quarter and a second longer than chat on a path of its own`(
        milliseconds: Int, bytesPerSecond: Int
    ) throws {
        let chat = try time(.chat, .milliseconds(milliseconds), bytesPerSecond)
        let file = try time(.file, .milliseconds(milliseconds), bytesPerSecond)
        #expect(file < chat * 5 / 4 + .seconds(1), "\(file) beside \(chat)")
    }
}
