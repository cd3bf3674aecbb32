import MartletLink
import MartletWire
import Testing

@testable import Martlet

@Suite("An outbox in memory")
struct InMemoryOutboxTests {
    //
    @Test func `a claim for another account than the first → outboxOfAnotherAccount`() async throws {
        let outbox = InMemoryOutbox()
        let alice = AccountName("alice")
        let bob = AccountName("bob")
        try await outbox.claim(for: alice)
        try await outbox.claim(for: alice)
        await #expect(throws: MartletError.outboxOfAnotherAccount("alice")) { try await outbox.claim(for: bob) }
    }

    // W-34
    @Test func `two outboxes have different device IDs that do not change`() {
        let outbox = InMemoryOutbox()
        #expect(outbox.open().device == outbox.open().device)
        #expect(outbox.open().device != InMemoryOutbox().open().device)
    }

    // C-103
    @Test func `a message that is stored behind the replacement of its device → it has the current one, and ends`() {
        let outbox = InMemoryOutbox(device: DeviceID(rawValue: 1))
        func id(_ device: UInt64) -> MessageID {
            MessageID(sender: AccountName("alice"), device: DeviceID(rawValue: device), counter: 1)
        }
        var transaction = OutboxTransaction()
        transaction.device = DeviceID(rawValue: 2)
        outbox.commit(transaction)
        transaction = OutboxTransaction()
        transaction.appended = [OutboxEntry(id: id(1), room: "a", content: MessageContent(text: "hi"))]
        outbox.commit(transaction)
        #expect(outbox.open().pending.map(\.id) == [id(2)])
        transaction = OutboxTransaction()
        transaction.outcomes = [OutboxOutcome(id: id(2), room: "a", result: .accepted(offset: 1))]
        outbox.commit(transaction)
        #expect(outbox.open().pending.isEmpty)
    }

    @Test func `more dead letters than the maximum → the oldest are removed`() {
        let outbox = InMemoryOutbox()
        let count = InMemoryOutbox.maxDeadLetterCount + 1
        let ids = (1...count).map {
            MessageID(sender: AccountName("alice"), device: outbox.open().device, counter: UInt64($0))
        }
        var transaction = OutboxTransaction()
        transaction.appended = ids.map { OutboxEntry(id: $0, room: "a", content: MessageContent(text: "hi")) }
        transaction.outcomes = ids.map { OutboxOutcome(id: $0, room: "a", result: .failed(.closed)) }
        outbox.commit(transaction)
        #expect(outbox.deadLetters(in: "a").map(\.id) == Array(ids.dropFirst()))
        #expect(outbox.open().pending.isEmpty)
    }

    // C-84
    @Test func `more bytes of dead letters than the maximum → the oldest are removed`() {
        let outbox = InMemoryOutbox()
        let content = MessageContent(text: String(repeating: "a", count: InMemoryOutbox.maxDeadLetterByteCount / 3))
        for counter in 1...4 as ClosedRange<UInt64> {
            let id = MessageID(sender: AccountName("alice"), device: outbox.open().device, counter: counter)
            var transaction = OutboxTransaction()
            transaction.appended = [OutboxEntry(id: id, room: "a", content: content)]
            transaction.outcomes = [OutboxOutcome(id: id, room: "a", result: .failed(.closed))]
            outbox.commit(transaction)
        }
        #expect(outbox.deadLetters(in: "a").map(\.id.counter) == [3, 4])
    }
}
