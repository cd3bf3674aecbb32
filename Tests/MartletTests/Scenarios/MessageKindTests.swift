import Martlet
import MartletRelay
import MartletWire
import Testing

@Suite("Kinds of messages over sockets", .timeLimit(.minutes(10)))
struct MessageKindTests {
    private struct Command: Codable, Equatable {
        var name: String
        var arguments: [Int]
    }

    // M-1
    @Test func `messages that refer to another, and a value → the same bodies at the other member`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let hers = try await alice.open(room: "lobby")
                try await withClient("bob", at: relay) { bob in
                    let his = try await bob.open(room: "lobby")
                    try await hers.send("Which?")
                    let target = try #require(try await his.messages.first(1).first).reference
                    let command = Command(name: "roll", arguments: [6])
                    try await hers.send(try .reply(to: target, text: "This."))
                    try await hers.send(try .reaction("👍", to: target))
                    try await hers.send(try .edit(of: target, text: "Which one?"))
                    try await hers.send(try .attachment(Attachment(data: [1, 2], name: "a.bin")))
                    try await hers.send(try OutgoingMessage(command))
                    let received = try await his.messages.first(5)
                    let bodies = try received.dropLast().map { message in try message.body }
                    #expect(
                        bodies == [
                            .reply(to: target, text: "This."), .reaction("👍", to: target, isRemoved: false),
                            .edit(of: target, text: "Which one?"),
                            .attachment(Attachment(data: [1, 2], name: "a.bin")),
                        ])
                    #expect(try received.last?.decode(Command.self) == command)
                    try await hers.send(try .delete(target))
                    #expect(try await his.messages.first(1).first?.body == .delete(target))
                }
            }
        }
    }
}
