import Martlet
import MartletTestKit
import Testing

@Suite("Messages that are handled while a client stops")
struct HandledAtStopTests {
    @Test("a later client with a slow outbox shows the last message again, which was not handled", arguments: 0..<40)
    func slowOutbox(time: Int) throws {
        let world = TestWorld()
        let texts = try world.run {
            try world.startRelay()
            let (alice, bob) = (world.device("alice"), world.device("bob", outbox: SlowOutbox(world)))
            let room = try await alice.start().open(room: "lobby")
            for number in 1...5 { _ = try await room.send("\(number)").accepted() }
            let other = try await bob.start().open(room: "lobby")
            var messages = other.messages.makeAsyncIterator()
            _ = try await messages.next()
            async let stopping: Void = bob.stop()
            // Each request before the end handles the message before it.
            try await world.sleep(for: .milliseconds(5 * time))
            let second = try await messages.next()
            try await world.sleep(for: .milliseconds(20))
            let third = try await messages.next()
            await stopping
            let shown = try await bob.start().open(room: "lobby").messages.first { _ in true }?.text
            return (shown, third?.text ?? second?.text ?? "1")
        }
        #expect(texts.0 == texts.1)
    }

    // C-83
    @Test("an outbox that stops answering while a client stops → stop returns", arguments: 1...12)
    func stalledOutbox(answered: Int) throws {
        let world = TestWorld()
        try world.run(timeLimit: .seconds(600)) {
            try world.startRelay()
            let bob = world.device("bob", outbox: SlowOutbox(world, answers: answered))
            let room = try await world.device("alice").start().open(room: "lobby")
            for number in 1...5 { _ = try await room.send("\(number)").accepted() }
            let other = try await bob.start().open(room: "lobby")
            var messages = other.messages.makeAsyncIterator()
            _ = try await messages.next()
            async let stopping: Void = bob.stop()
            for _ in 1...3 {
                try await world.sleep(for: .milliseconds(30))
                _ = try await messages.next()
            }
            await stopping
        }
    }
}
