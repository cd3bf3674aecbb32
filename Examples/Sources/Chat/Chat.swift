import Dispatch
import Martlet
import MartletSQLite

/// A chat on the terminal: it sends the lines of its standard input, and prints the messages of others.
@main
struct Chat {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 4 else { return print("usage: chat RELAY ACCOUNT FILE") }
        try await chat(as: words[2], at: words[1], outbox: words[3])
    }

    // snippet:begin
    static func chat(as account: String, at relay: String, outbox: String) async throws {
        let client = try Client(to: relay, as: .anonymous(account), outbox: .sqlite(at: outbox))
        try await withClient(client) { client in
            let options = Room.Options(waitsForRelay: false)  // lines can be typed without a connection
            let lobby = try await client.open(room: "lobby", options: options)
            async let typing: Void = {
                while let line = await nextLine() { try await lobby.send(line) }
                await client.stop()  // waits 5 s for the relay; the outbox keeps the rest for the next start
            }()
            for try await message in lobby.messages {
                print("\(message.sender): \(message.text ?? "a message of another kind")")
                lobby.markRead(upTo: message)
            }
            try await typing
        }
    }
    // snippet:end

    /// `readLine` blocks, so it runs outside of the tasks' threads.
    private static func nextLine() async -> String? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: readLine()) }
        }
    }
}
