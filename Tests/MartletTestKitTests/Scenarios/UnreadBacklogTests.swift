import Martlet
import MartletRelay
import MartletTestKit
import Testing

@Suite("A client whose application takes no messages")
struct UnreadBacklogTests {
    //
    @Test(arguments: [(rooms: 1, loops: 1), (2, 2), (8, 1)])
    func `more unread messages than a window in rooms → sends are accepted and pages arrive`(
        roomCount: Int, loopCount: Int
    ) throws {
        let world = TestWorld(seed: 5)
        let (offsets, texts, count) = try world.run {
            try world.startRelay { $0.loopCount = loopCount }
            let (alice, bob) = (try await world.device("alice").start(), try await world.device("bob").start())
            let names = (0..<roomCount).map { RoomName("room \($0)")! }
            for name in names {
                let room = try await alice.open(room: name)
                let text = String(repeating: "a", count: 300)
                var last: MessageHandle?
                for _ in 0..<2000 { last = try await room.send(text) }
                _ = try await last?.accepted()
            }
            var rooms: [Room] = []
            for name in names { rooms.append(try await bob.open(room: name)) }
            try await world.sleep(for: .seconds(5))
            var offsets: [UInt64] = []
            var texts: [String?] = []
            for room in rooms {
                offsets.append(try await room.send("b").accepted())
                texts.append(try await room.messages(before: nil).messages.last?.text)
            }
            // A loop then has all messages.
            var count = 0
            for try await _ in rooms[0].messages.prefix(2000) { count += 1 }
            return (offsets, texts, count)
        }
        #expect(offsets == [UInt64](repeating: 2001, count: roomCount))
        #expect(texts == [String](repeating: "b", count: roomCount) && count == 2000)
    }
}
