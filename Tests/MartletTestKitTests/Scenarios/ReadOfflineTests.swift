import Martlet
import MartletTestKit
import Testing

/// A mark of what the user has read that is made without a connection.
struct ReadOfflineTests {
    //
    @Test func `read by a new process before the relay opens the room → its other device has the mark`() throws {
        let world = TestWorld(seed: 5)
        let (own, other) = try world.run(timeLimit: .seconds(60)) {
            try world.startRelay()
            let sender = try await world.device("alice").start().open(room: "lobby")
            for text in ["a", "b"] { try await sender.send(text).accepted() }
            let phone = world.device("bob")
            let tablet = try await world.device("bob").start().open(room: "lobby")
            let before = try await phone.start().open(room: "lobby")
            for try await message in before.messages where message.offset == 2 { break }
            try await world.sleep(for: .seconds(1))
            await phone.stop()
            phone.goOffline()
            let after = try await phone.start().open(room: "lobby", options: Room.Options(waitsForRelay: false))
            after.markRead(upTo: 2)
            let own = after.snapshot.readOffset
            phone.goOnline()
            try await world.sleep(for: .seconds(10))
            return (own, tablet.snapshot.readOffset)
        }
        #expect(own == 2)
        #expect(other == 2)
    }
}
