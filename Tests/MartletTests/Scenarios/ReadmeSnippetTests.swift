// snippet:begin
import Martlet

func chat(as name: String, at relay: String, lines: AsyncStream<String>, show: (String) -> Void) async throws {
    let client = try Client(to: relay, as: .anonymous(name))
    try await withClient(client) { client in
        let lobby = try await client.open(room: "lobby")
        async let typing: Void = {
            for await line in lines { try await lobby.send(line) }
            await client.stop()  // waits until the relay has accepted all messages
        }()
        for try await message in lobby.messages {
            show("\(message.sender): \(message.text ?? "")")
        }
        try await typing
    }
}
// snippet:end
