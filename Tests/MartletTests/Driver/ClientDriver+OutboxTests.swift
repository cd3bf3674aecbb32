import MartletWire
import Testing

@testable import Martlet

@Suite("The outbox of a client's driver", .timeLimit(.minutes(10)))
struct ClientDriverOutboxTests {
    // M-26
    @Test func `a message with a file that is cancelled while the outbox stores it → those behind it are accepted`()
        async throws
    {
        let outbox = GroupingTestOutbox()
        var storing: Task<Void, Never>?
        // The stop of the client waits for the outbox, too.
        defer { storing?.cancel() }
        try await withRelay { relay in
            try await withClient("alice", at: relay, outbox: outbox) { alice in
                let room = try await alice.open(room: "lobby")
                var message = try OutgoingMessage(text: "with a file")
                message.file = "/none"
                let (first, core) = (message, room.core)
                let sending = Task { try await core.send(first) }
                let call = try #require(await outbox.next())
                let isCancelled = await room.pending.first?.cancel()
                call.complete(nil)
                #expect(try await sending.value.state == .failed(.cancelled) && isCancelled == true)
                storing = Task { while let call = await outbox.next() { call.complete(nil) } }
                #expect(try await room.send("behind it").accepted() == 1)
            }
        }
    }
}
