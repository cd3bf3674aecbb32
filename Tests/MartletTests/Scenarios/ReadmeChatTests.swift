import Martlet
import Testing

@Suite("The client of the README", .timeLimit(.minutes(10)))
struct ReadmeSnippetTests {
    @Test func `typed lines are sent, and the messages of others are shown`() async throws {
        try await withRelay { relay in
            let (lines, input) = AsyncStream.makeStream(of: String.self)
            input.yield("hello")
            let bob = try Client(to: relay, as: .anonymous("bob"))
            try await withClient(bob) { bob in
                let lobby = try await bob.open(room: "lobby")
                try await lobby.send("good morning")
                async let shown = shownLines(at: relay, lines, until: input)
                var messages = lobby.messages.makeAsyncIterator()
                #expect(try await messages.next()?.text == "hello")
                #expect(try await shown == ["bob: good morning"])
            }
        }
    }

    private func shownLines(
        at relay: String, _ lines: AsyncStream<String>, until input: AsyncStream<String>.Continuation
    ) async throws -> [String] {
        var shown: [String] = []
        try await chat(as: "alice", at: relay, lines: lines) { line in
            shown.append(line)
            input.finish()
        }
        return shown
    }
}
