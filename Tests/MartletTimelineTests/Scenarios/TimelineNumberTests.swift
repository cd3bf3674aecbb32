import Martlet
import MartletDatabase
import MartletLink
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletTimeline

/// Each number of a message, a gap, a page or a list of a relay, replaced by the edges of arithmetic (Specs/hostile.md
/// row 95).
@Suite("Numbers of a relay in a timeline", .timeLimit(.minutes(10)))
struct TimelineNumberTests {
    private let script: TimelineScript
    private let tables: TimelineTables
    private let reader: TimelineReader
    private static let values = NumberEdges.values(byteCount: 8, near: 5)

    init() async throws {
        script = try await TimelineScript()
        try await script.apply(script.text(1, "one"), script.text(2, "two", by: "ada"), .gap(4...6))
        await script.timeline.close()
        let path = script.timeline.path
        tables = try TimelineTables(
            try Database(path: path), lock: try FileLock(path: path + "-lock", of: path), account: AccountName("ada"),
            aside: nil)
        reader = try TimelineReader(tables.database, account: AccountName("ada"))
    }

    /// Changes the room in a transaction, reads it and changes it again, and rolls back. Only errors of a database are
    /// thrown.
    private func use(_ change: @escaping () throws -> Void) throws {
        let database = tables.database
        try database.execute("BEGIN")
        defer { try? database.execute("ROLLBACK") }
        let operations: [() throws -> Void] = [
            change, { _ = try reader.list() },
            { for entry in try reader.page(of: "a", before: nil, limit: 9) { _ = entry.reference } },
            { _ = try reader.window(WindowRequest(room: "a", first: nil, last: nil, limit: 9)) },
            { _ = try reader.cursor(of: "a") }, { _ = try reader.unsettled(in: "a") },
            { _ = try reader.entry(acceptedFrom: 1, in: "a") },
            { try tables.apply([script.text(10, "ten"), .gap(11...12)], in: "a") { _ in false } },
            {
                let part = HistoryPart(messages: [], offsets: 3...5, log: TimelineScript.log)
                _ = try tables.apply(part, in: "a") { _ in false }
            },
            { _ = try reader.list() },
        ]
        for operation in operations {
            do { try operation() } catch { #expect(error is DatabaseError) }
        }
    }

    private static let contents: [String: MessageBody] = {
        let target = MessageReference(
            MessageID(sender: "bob", device: DeviceID(rawValue: 7), counter: 1), offset: 1)
        let digest = [UInt8](repeating: 7, count: Attachment.digestByteCount)
        return [
            "text": .text("hi"), "edit": .edit(of: target, text: "new"), "delete": .delete(target),
            "reaction": .reaction("!", to: target, isRemoved: false), "reply": .reply(to: target, text: "so"),
            "attachment": .attachment(
                Attachment(location: Attachment.relayLocation, byteCount: 9, name: "a", digest: digest)),
            "system": .system(event: EventName("joined")!, text: "joined"),
        ]
    }()

    private func body(_ body: MessageBody) throws -> [UInt8] {
        let stamp = RelayStamp(
            offset: 5, acceptedAt: 1000, sender: AccountName("bob"), device: DeviceID(rawValue: 7))
        return Message(counter: 5, content: try body.content, timeToLive: .seconds(9), relay: stamp).encode()
    }

    // Specs/hostile.md row 95
    @Test(arguments: contents.keys.sorted())
    func `a number of a message is an edge of arithmetic → a typed error or another entry`(name: String) throws {
        let body = try body(#require(Self.contents[name]))
        var count = 0
        for body in NumberEdges.bodies(of: body) {
            guard let message = try? Message(parsing: body.rawBytes), let stamp = message.relay else { continue }
            count += 1
            let id = MessageID(sender: stamp.sender, device: stamp.device, counter: message.counter)
            let received = RoomMessage(
                id: id, at: RoomCursor(log: TimelineScript.log, offset: stamp.offset), content: message.content,
                acceptedAt: stamp.acceptedAt, timeToLive: message.timeToLive)
            try use { try tables.apply([.message(received)], in: "a") { _ in false } }
            let part = HistoryPart(
                messages: [received], offsets: stamp.offset...stamp.offset, log: TimelineScript.log)
            try use { _ = try tables.apply(part, in: "a") { _ in false } }
        }
        #expect(count > 100)
    }

    // Specs/hostile.md row 95
    @Test func `a bound of a gap, a page or a cursor is an edge of arithmetic → a typed error or another entry`() throws
    {
        for lower in Self.values where lower > 0 {
            for upper in Self.values.filter({ $0 >= lower }).suffix(12) {
                try use { try tables.apply([.gap(lower...upper)], in: "a") { _ in false } }
                let part = HistoryPart(messages: [], offsets: lower...upper, log: TimelineScript.log)
                try use { _ = try tables.apply(part, in: "a") { _ in false } }
            }
        }
        for value in Self.values {
            let cursor = RoomCursor(log: TimelineScript.log, offset: value)
            let other = RoomCursor(log: LogID(rawValue: value), offset: value)
            for (one, two) in [(cursor, other), (other, cursor), (cursor, cursor)] {
                try use { try tables.apply([.logReplaced(previous: one, current: two)], in: "a") { _ in false } }
            }
            try use { _ = try tables.markRead(upTo: cursor, in: "a") }
            let own = script.id(max(value, 1), "ada")
            let steps: [OutgoingStep] = [
                .add(own, MessageContent(text: "own")), .settle(own, .accepted(offset: value), log: TimelineScript.log),
            ]
            try use { try tables.perform(steps, in: "a", time: value) { _ in false } }
        }
    }

    // Specs/hostile.md row 95
    @Test func `a number of an entry of the list is an edge of arithmetic → a typed error or another entry`() throws {
        let entry = RoomEntry(
            room: RoomName("a"), membership: .joined, changedAt: 5, log: TimelineScript.log, lastOffset: 9,
            firstOffset: 2, message: try body(.text("last")), delivered: 4, read: 3, unreadCount: 7)
        var count = 0
        for body in NumberEdges.bodies(of: RoomUpdate(entry).encode()) {
            guard let summary = RoomSummary(bytes: body) else { continue }
            count += 1
            try use { _ = try tables.apply(.changed(summary)) }
        }
        #expect(count > 100)
    }
}
