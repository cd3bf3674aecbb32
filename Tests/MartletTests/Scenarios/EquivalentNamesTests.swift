import MartletWire
import Testing

@testable import Martlet

/// Names that Unicode regards as equivalent are different names: é as one code point, and as e with a combining accent.
@Suite("Canonically equivalent names", .timeLimit(.minutes(10)))
struct EquivalentNamesTests {
    private let composed: RoomName = "caf\u{E9}"
    private let decomposed: RoomName = "cafe\u{301}"

    /// The texts that a new client receives in a room.
    private func texts(in room: RoomName, _ count: Int, at relay: String) async throws -> [String?] {
        try await withClient("reader", at: relay) { reader in
            try await reader.open(room: room).messages.first(count).map(\.text)
        }
    }

    // W-31
    @Test func `messages of an earlier client for two equivalent rooms → each in the log of its room`() async throws {
        let outbox = InMemoryOutbox()
        var configuration = Client.Configuration.hasty
        configuration.flushTimeout = .zero
        try await withBarredRelay { _, proxy in
            try await withClient("alice", at: proxy.endpoint, outbox: outbox, configuration: configuration) { alice in
                try await alice.open(room: composed, options: .offline).send("public")
                try await alice.open(room: decomposed, options: .offline).send("secret")
            }
        }
        #expect(outbox.open().pending.map(\.room) == [composed, decomposed])
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: outbox) { alice in
                let room = try await alice.open(room: composed)
                #expect(room.pending.count <= 1)
                try await room.send("end")
                #expect(try await texts(in: composed, 2, at: relay) == ["public", "end"])
                #expect(try await texts(in: decomposed, 1, at: relay) == ["secret"])
            }
        }
    }

    // W-31
    @Test func `equivalent names in a transaction → separate cursors, marks, outcomes and dead letters`() async throws {
        let outbox = InMemoryOutbox(device: DeviceID(rawValue: 1))
        func id(_ counter: UInt64) -> MessageID {
            MessageID(sender: "alice", device: DeviceID(rawValue: 1), counter: counter)
        }
        var transaction = OutboxTransaction()
        transaction.appended = [
            OutboxEntry(id: id(1), room: composed, content: MessageContent(text: "public")),
            OutboxEntry(id: id(2), room: decomposed, content: MessageContent(text: "secret")),
        ]
        transaction.outcomes = [OutboxOutcome(id: id(2), room: decomposed, result: .failed(.expired))]
        transaction.cursors = [composed: RoomCursor(offset: 1), decomposed: RoomCursor(offset: 2)]
        outbox.commit(transaction)
        #expect(outbox.open().cursors == transaction.cursors && outbox.open().cursors.count == 2)
        #expect(outbox.deadLetters(in: decomposed).map(\.id) == [id(2)])
        #expect(outbox.deadLetters(in: composed) == [])
    }
}
