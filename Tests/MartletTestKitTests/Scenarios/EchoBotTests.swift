import Martlet
import MartletTestKit
import Testing

@Suite("The echo bot of the README")
struct EchoBotTests {
    // snippet:begin
    func echo(on client: Client) async throws {
        let room = try await client.open(room: "lobby")
        for try await delivery in room.deliveries {
            try await delivery.done(sending: [OutgoingMessage(text: "echo: \(delivery.message.text ?? "")")])
        }
    }

    @Test("a bot that is killed answers the message once after its restart")
    func killedBot() throws {
        let world = TestWorld(seed: 1)
        try world.run {
            try world.startRelay()
            let (bot, alice) = (world.device("bot"), world.device("alice"))
            world.startTask { try? await echo(on: bot.start()) }
            let room = try await alice.start().open(room: "lobby")
            try await room.send("hello")
            await bot.kill()  // as kill -9 does; the outbox remains
            world.startTask { try? await echo(on: bot.start()) }
            #expect(try await room.messages.first { _ in true }?.text == "echo: hello")
        }
    }
    // snippet:end
}
