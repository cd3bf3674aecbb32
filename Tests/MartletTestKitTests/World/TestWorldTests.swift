import Martlet
import MartletRelay
import MartletTestKit
import Testing

@Suite("A test world")
struct TestWorldTests {
    @Test("a message of one real client reaches another over a real relay")
    func conversation() throws {
        let world = TestWorld(seed: 1)
        let text = try world.run {
            try world.startRelay()
            let (alice, bob) = (try await world.device("alice").start(), try await world.device("bob").start())
            let room = try await alice.open(room: "lobby")
            let other = try await bob.open(room: "lobby")
            try await room.send("hello")
            var messages = other.messages.makeAsyncIterator()
            return try await messages.next()?.text
        }
        #expect(text == "hello")
        #expect(world.time < .seconds(2))
    }

    @Test("a closure that waits for nothing ends with an error at once")
    func deadlock() throws {
        let world = TestWorld()
        #expect(throws: TestWorldError.deadlock(at: .seconds(3))) {
            try world.run {
                try await world.sleep(for: .seconds(3))
                for await _ in AsyncStream<Void>.makeStream().stream {}
                try await world.sleep(for: .seconds(1))
            }
        }
    }

    @Test("a closure that waits for a message that nobody sends ends at the limit of virtual time")
    func timeLimit() throws {
        let world = TestWorld()
        #expect(throws: TestWorldError.timeLimitExceeded(.seconds(600))) {
            try world.run(timeLimit: .seconds(600)) {
                try world.startRelay()
                let room = try await world.device("alice").start().open(room: "lobby")
                for try await _ in room.messages {}
            }
        }
        #expect(world.time >= .seconds(600))
    }
}
