import Testing

@testable import Martlet

@Suite("An outbox in memory")
struct InMemoryOutboxTests {
    private func entry(_ counter: UInt64, _ room: String, of outbox: InMemoryOutbox) -> OutboxEntry {
        let id = MessageID(sender: AccountName("alice")!, device: outbox.open().device, counter: counter)
        return OutboxEntry(id: id, room: room, content: MessageContent(text: "hi"))
    }

    @Test func `an outbox returns the remaining entries in order, and the next counter`() {
        let outbox = InMemoryOutbox()
        let entries = [(1, "a"), (2, "b"), (3, "a"), (4, "a")].map { entry($0.0, $0.1, of: outbox) }
        outbox.append(entries)
        outbox.remove([entries[2].id], room: "a")
        outbox.remove([entries[0].id, entries[1].id], room: "a")
        #expect(outbox.open().pending == [entries[1], entries[3]])
        #expect(outbox.open().nextCounter == 5)
    }

    @Test func `a lower cursor of the same log is ignored, a cursor of another log is stored`() {
        let outbox = InMemoryOutbox()
        let log = LogID(rawValue: 7)
        outbox.saveCursor(RoomCursor(log: log, offset: 5), room: "a")
        outbox.saveCursor(RoomCursor(log: log, offset: 3), room: "a")
        #expect(outbox.open().cursors == ["a": RoomCursor(log: log, offset: 5)])
        outbox.saveCursor(RoomCursor(log: LogID(rawValue: 8), offset: 1), room: "a")
        #expect(outbox.open().cursors == ["a": RoomCursor(log: LogID(rawValue: 8), offset: 1)])
    }

    // W-34
    @Test func `two outboxes have different device IDs that do not change`() {
        let outbox = InMemoryOutbox()
        #expect(outbox.open().device == outbox.open().device)
        #expect(outbox.open().device != InMemoryOutbox().open().device)
    }
}
