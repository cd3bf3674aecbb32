import Martlet
import MartletRelay
import MartletTestKit
import Testing

@Suite("A loop over a room that the relay has closed")
struct ClosedRoomTests {
    @Test func `a loop left after the relay has closed the room → the next loop has the remaining messages`() throws {
        let world = TestWorld(seed: 3)
        let (texts, error, after) = try world.run {
            let relay = try world.startRelay()
            let (alice, bob) = (try await world.device("alice").start(), try await world.device("bob").start())
            let sender = try await alice.open(room: "lobby")
            for text in ["a", "b", "c"] { try await sender.send(text).accepted() }
            let room = try await bob.open(room: "lobby")
            try await world.sleep(for: .seconds(1))
            try await relay.relay?.close(room: "lobby")
            try await world.sleep(for: .seconds(1))
            var texts: [String?] = []
            for try await message in room.messages {
                texts.append(message.text)
                break
            }
            var error: (any Error)?
            do {
                for try await message in room.messages {
                    texts.append(message.text)
                    try await world.sleep(for: .milliseconds(20))
                }
            } catch let thrown {
                error = thrown
            }
            // All messages count as handled, the last ones since the last poll of their mark.
            let again = try await bob.open(room: "lobby")
            try await alice.open(room: "lobby").send("d")
            let after = try await again.messages.first { _ in true }?.text
            return (texts, error as? MartletError, after)
        }
        #expect(texts == ["a", "b", "c"])
        #expect(error?.code == .roomClosed)
        #expect(after == "d")
    }
}
