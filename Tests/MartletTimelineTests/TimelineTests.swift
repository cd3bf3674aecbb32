import Foundation
import Martlet
import MartletDatabase
import MartletLink
import MartletWire
import Testing

@testable import MartletTimeline

@Suite("Timeline")
struct TimelineTests {
    // MARK: Log

    @Test func `an entry → its sender, text and date`() async throws {
        let script = try await TimelineScript()
        try await script.timeline.apply([script.text(1, "a")], in: "a")
        let entry = try #require(try await script.timeline.page(of: "a").first)
        #expect(entry.sender == entry.message?.sender && entry.text == "a")
        #expect(entry.date.map { UInt64(($0.timeIntervalSince1970 * 1000).rounded()) } == entry.time)
    }

    @Test func `messages in any order, and again → each once, in the order of their offsets`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(3, "c"), script.text(1, "a"), script.text(2, "b"))
        try await script.apply(script.text(1, "a"), script.text(3, "c"))
        #expect(try await script.page() == ["a", "b", "c"])
        #expect(try await script.timeline.cursor(of: "a") == RoomCursor(log: TimelineScript.log, offset: 3))
        #expect(try await script.timeline.cursor(of: "b") == nil)
    }

    @Test func `pages before and after an entry → the neighbours in ascending order`() async throws {
        let script = try await TimelineScript()
        try await script.timeline.apply((1...10).map { script.text($0, "\($0)") }, in: "a")
        let last = try await script.timeline.page(of: "a", limit: 3)
        #expect(last.map(TimelineScript.short) == ["8", "9", "10"])
        let before = try await script.timeline.page(of: "a", before: last.first?.position, limit: 4)
        #expect(before.map(TimelineScript.short) == ["4", "5", "6", "7"])
        let position = try #require(before.last?.position)
        let after = try await script.timeline.page(of: "a", after: position, limit: 2)
        #expect(after.map(TimelineScript.short) == ["8", "9"])
        #expect(try await script.timeline.page(of: "b").isEmpty)
        #expect(try await script.timeline.page(of: "a", limit: -1).isEmpty)
    }

    @Test func `a gap and a replaced log → entries between the messages, once`() async throws {
        let script = try await TimelineScript()
        let old = RoomCursor(log: TimelineScript.log, offset: 9)
        let new = LogID(rawValue: 0xB)
        let items: [RoomItem] = [
            script.text(5, "a"), .gap(6...8), script.text(9, "b"),
            .logReplaced(previous: old, current: RoomCursor(log: new, offset: 0)), script.text(1, "c", log: new),
        ]
        try await script.timeline.apply(items, in: "a")
        try await script.timeline.apply(items, in: "a")
        #expect(try await script.page() == ["a", "gap 6-8", "b", "log", "c"])
        #expect(try await script.timeline.cursor(of: "a") == RoomCursor(log: new, offset: 1))
    }

    @Test func `the end of a log was lost → the same offsets again, behind the marker`() async throws {
        let script = try await TimelineScript()
        let replaced = RoomItem.logReplaced(
            previous: RoomCursor(log: TimelineScript.log, offset: 2),
            current: RoomCursor(log: TimelineScript.log, offset: 1))
        try await script.apply(script.text(1, "a"), script.text(2, "b"), replaced)
        let again = script.message(2, MessageContent(text: "c"), counter: 9)
        try await script.apply(again)
        try await script.apply(replaced, again)
        #expect(try await script.page() == ["a", "b", "log", "c"])
    }

    //
    @Test func `a log that branches → messages behind the branch stay before the marker, and nothing is missing`()
        async throws
    {
        let script = try await TimelineScript()
        let new = LogID(rawValue: 0xB)
        let items: [RoomItem] = [
            script.text(1, "a"), script.text(2, "b"),
            .logReplaced(
                previous: RoomCursor(log: TimelineScript.log, offset: 2), current: RoomCursor(log: new, offset: 1)),
            script.message(2, MessageContent(text: "c"), counter: 9, log: new),
        ]
        for _ in 0..<2 { try await script.timeline.apply(items, in: "a") }
        #expect(try await script.page() == ["a", "b", "log", "c"])
        #expect(try await script.timeline.cursor(of: "a") == RoomCursor(log: new, offset: 2))
    }

    // R-156, M-13
    @Test func `a message that a new log has again at another offset → it moves there; those up to the branch stay`()
        async throws
    {
        let script = try await TimelineScript()
        let new = LogID(rawValue: 0xB)
        try await script.apply(script.text(1, "a"), script.text(2, "b"), script.text(3, "c"))
        try await script.apply(
            .logReplaced(
                previous: RoomCursor(log: TimelineScript.log, offset: 3), current: RoomCursor(log: new, offset: 1)),
            script.text(1, "a", log: new), script.message(2, MessageContent(text: "c"), counter: 3, log: new))
        #expect(try await script.page() == ["a", "b", "log", "c"])
        #expect(try await script.timeline.unreadCount(of: "a") == 2)
    }

    // R-156, M-27
    @Test func `a log that branches twice → unread messages up to the branches and behind them are counted`()
        async throws
    {
        let script = try await TimelineScript()
        let logs = [TimelineScript.log, LogID(rawValue: 0xB), LogID(rawValue: 0xC)]
        try await script.timeline.apply((1...5).map { script.text($0, "a") }, in: "a")
        for (number, branch) in [(1, 4), (2, 3)] as [(Int, UInt64)] {
            let counter = UInt64(10 * number)
            let next = script.message(branch + 1, MessageContent(text: "b"), counter: counter, log: logs[number])
            try await script.timeline.apply(
                [
                    .logReplaced(
                        previous: RoomCursor(log: logs[number - 1], offset: 5),
                        current: RoomCursor(log: logs[number], offset: branch)), next,
                ], in: "a")
        }
        #expect(try await script.page() == ["a", "a", "a", "a", "a", "log", "b", "log", "b"])
        #expect(try await script.timeline.unreadCount(of: "a") == 4)
        try await script.timeline.markRead(upTo: RoomCursor(log: logs[2], offset: 2), in: "a")
        #expect(try await script.timeline.unreadCount(of: "a") == 2)
    }

    //
    @Test func `a log that continues under another identity → no marker, and the messages follow`() async throws {
        let script = try await TimelineScript()
        let new = RoomCursor(log: LogID(rawValue: 0xB), offset: 2)
        let items: [RoomItem] = [
            script.text(1, "a"), script.text(2, "b"),
            .logReplaced(previous: RoomCursor(log: TimelineScript.log, offset: 2), current: new),
        ]
        for _ in 0..<2 { try await script.timeline.apply(items, in: "a") }
        #expect(try await script.timeline.cursor(of: "a") == new)
        try await script.apply(script.text(3, "c", log: new.log ?? TimelineScript.log))
        #expect(try await script.page() == ["a", "b", "c"])
    }

    // M-1
    @Test func `damaged contents and unknown kinds → shown; a damaged change → ignored`() async throws {
        let script = try await TimelineScript()
        try await script.apply(
            script.message(1, try MessageContent(kind: .reply, bytes: [])),
            script.message(2, try MessageContent(kind: .delete, bytes: [])),
            script.message(3, try MessageContent(kind: .image, bytes: [])))
        #expect(try await script.page() == ["damaged", "4098"])
    }

    // MARK: Outgoing messages

    @Test func `a pending message that is accepted → its place in the log, in place`() async throws {
        let script = try await TimelineScript()
        let own = script.id(1, "ada")
        try await script.timeline.add(own, MessageContent(text: "own"), in: "a")
        try await script.apply(script.text(1, "a"), script.text(3, "c"))
        #expect(try await script.page() == ["a", "c", "own…"])
        let number = try await script.timeline.entry(own, in: "a")?.id
        try await script.timeline.settle(own, in: "a", as: .accepted(offset: 2))
        #expect(try await script.page() == ["a", "own", "c"])
        #expect(try await script.timeline.entry(own, in: "a")?.id == number)
        try await script.apply(script.message(2, MessageContent(text: "own"), by: "ada", counter: 1))
        try await script.timeline.add(own, MessageContent(text: "own"), in: "a")
        #expect(try await script.page() == ["a", "own", "c"])
    }

    @Test func `a pending message that is added with another content → that content`() async throws {
        let script = try await TimelineScript()
        try await script.timeline.add(script.id(1, "ada"), MessageContent(text: "first"), in: "a")
        try await script.timeline.add(script.id(1, "ada"), MessageContent(text: "second"), in: "a")
        #expect(try await script.page() == ["second…"])
        #expect(try await script.timeline.search("first").isEmpty)
    }

    @Test func `a pending message that arrives from the relay → accepted`() async throws {
        let script = try await TimelineScript()
        try await script.timeline.add(script.id(1, "ada"), MessageContent(text: "own"), in: "a")
        try await script.apply(script.message(4, MessageContent(text: "own"), by: "ada", counter: 1))
        #expect(try await script.page() == ["own"])
        #expect(try await script.timeline.page(of: "a").first?.offset == 4)
    }

    @Test func `failed messages → the reason, until they are removed; cancelled ones → gone`() async throws {
        let script = try await TimelineScript()
        for counter in 1...3 as ClosedRange<UInt64> {
            try await script.timeline.add(script.id(counter, "ada"), MessageContent(text: "\(counter)"), in: "a")
        }
        let failure = SendFailure.refused(.forbidden, reason: "no")
        try await script.timeline.settle(script.id(1, "ada"), in: "a", as: .failed(failure))
        try await script.timeline.settle(script.id(2, "ada"), in: "a", as: .failed(.cancelled))
        #expect(try await script.page() == ["1!", "3…"])
        #expect(try await script.timeline.entry(script.id(1, "ada"), in: "a")?.state == .failed(failure))
        try await script.timeline.remove(script.id(1, "ada"), in: "a")
        try await script.timeline.settle(script.id(3, "ada"), in: "a", as: .accepted(offset: 0))
        #expect(try await script.page() == ["3"])
    }

    @Test func `pending changes → in effect at once; their failure → the earlier state`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "a", by: "ada"), script.text(2, "b", by: "ada"))
        try await script.apply(
            script.body(3, .edit(of: script.reference(1, "ada"), text: "x"), by: "ada"))
        let edit = try MessageBody.edit(of: script.reference(1, "ada"), text: "y").content
        let deletion = try MessageBody.delete(script.reference(2, "ada")).content
        try await script.timeline.add(script.id(11, "ada"), edit, in: "a")
        try await script.timeline.add(script.id(12, "ada"), deletion, in: "a")
        #expect(try await script.page() == ["y*", "deleted"])
        #expect(try await script.timeline.search("b").isEmpty)
        try await script.timeline.settle(script.id(11, "ada"), in: "a", as: .failed(.expired))
        try await script.timeline.settle(script.id(12, "ada"), in: "a", as: .failed(.expired))
        #expect(try await script.page() == ["x*", "b"])
        #expect(try await script.timeline.search("b").count == 1)
    }

    @Test func `an accepted change → in the order of its offset`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "a", by: "ada"))
        let edit = try MessageBody.edit(of: script.reference(1, "ada"), text: "y").content
        try await script.timeline.add(script.id(11, "ada"), edit, in: "a")
        try await script.apply(script.body(5, .edit(of: script.reference(1, "ada"), text: "z"), by: "ada"))
        try await script.timeline.settle(script.id(11, "ada"), in: "a", as: .accepted(offset: 4))
        #expect(try await script.page() == ["z*"])
    }

    // MARK: Unread messages and rooms

    @Test func `a read mark → the count of later messages of others`() async throws {
        let script = try await TimelineScript()
        try await script.apply(
            script.text(1, "a"), script.text(2, "b"), script.text(3, "c", by: "ada"), script.text(4, "d"))
        #expect(try await script.timeline.unreadCount(of: "a") == 3)
        try await script.timeline.markRead(upTo: RoomCursor(log: TimelineScript.log, offset: 2), in: "a")
        try await script.timeline.markRead(upTo: RoomCursor(log: TimelineScript.log, offset: 1), in: "a")
        try await script.timeline.markRead(upTo: RoomCursor(log: LogID(rawValue: 99), offset: 9), in: "a")
        #expect(try await script.timeline.unreadCount(of: "a") == 1)
        try await script.apply(script.body(5, .delete(script.reference(4))))
        #expect(try await script.timeline.unreadCount(of: "a") == 0)
        #expect(try await script.timeline.unreadCount(of: "b") == 0)
    }

    @Test func `the list of rooms → last entries and unread counts, the latest first`() async throws {
        let script = try await TimelineScript()
        try await script.timeline.apply([script.text(1, "old")], in: "b")
        try await script.timeline.apply([script.text(2, "new")], in: "c")
        let rooms = try await script.timeline.rooms()
        #expect(rooms.map(\.name) == ["c", "b"] && rooms.map(\.unreadCount) == [1, 1])
        #expect(rooms.first?.lastEntry.map(TimelineScript.short) == "new")
    }

    // M-27, M-28
    @Test func `changes, commands and system messages → not unread; the last message is the last listed one`()
        async throws
    {
        let script = try await TimelineScript()
        try await script.apply(
            script.text(1, "a"), script.body(2, .reply(to: script.reference(1), text: "b")),
            script.body(3, .system(event: EventName("renamed")!, text: "c")), script.body(4, .command(.null)),
            script.body(5, .reaction("!", to: script.reference(1), isRemoved: false)))
        let room = try #require(try await script.timeline.room("a"))
        #expect(room.unreadCount == 2 && room.lastEntry?.offset == 3)
        try await script.apply(script.text(6, "d"), script.body(7, .edit(of: script.reference(6), text: "e")))
        #expect(try await script.timeline.room("a")?.lastEntry.map(TimelineScript.short) == "e*")
        try await script.apply(script.body(8, .delete(script.reference(6))), .gap(9...12))
        let later = try #require(try await script.timeline.room("a"))
        #expect(later.unreadCount == 2 && later.lastEntry.map(TimelineScript.short) == "deleted")
    }

    // M-28
    @Test func `kinds of the registry that are no entries of a list → not the last message of a room`() async throws {
        for number in UInt16(0x1000)...0x3100 where !ContentKind(rawValue: number).isListed {
            let script = try await TimelineScript()
            try await script.apply(
                script.text(1, "a"), script.message(2, try MessageContent(kind: .init(rawValue: number), bytes: [])))
            #expect(try await script.timeline.room("a")?.lastEntry?.offset == 1)
        }
    }

    // M-27
    @Test func `earlier messages that are loaded → the same unread count`() async throws {
        let script = try await TimelineScript()
        let reaction = try MessageBody.reaction("!", to: script.reference(1), isRemoved: false).content
        try await script.timeline.apply(
            (745...1000).map { $0 % 16 == 0 ? script.text($0, "\($0)") : script.message($0, reaction) }, in: "a")
        #expect(try await script.timeline.unreadCount(of: "a") == 16)
        for first in stride(from: UInt64(545), through: 45, by: -100) {
            let messages = (first..<first + 200).compactMap { offset -> RoomMessage? in
                guard case .message(let message) = script.text(offset, "\(offset)") else { return nil }
                return message
            }
            let part = HistoryPart(
                messages: messages, offsets: first...first + 199, log: TimelineScript.log)
            #expect(try await script.timeline.apply(part, in: "a", isModerator: { _ in false }))
            #expect(try await script.timeline.unreadCount(of: "a") == 16)
        }
        try await script.timeline.apply((1001...1200).map { script.text($0, "\($0)") }, in: "a")
        #expect(try await script.timeline.unreadCount(of: "a") == RoomSummary.maxUnreadCount)
    }

    @Test func `a cleared room → its pending messages, and the log when it is applied again`() async throws {
        let script = try await TimelineScript()
        try await script.apply(
            script.text(1, "a"), script.body(2, .reaction("!", to: script.reference(1), isRemoved: false)))
        try await script.timeline.add(script.id(1, "ada"), MessageContent(text: "own"), in: "a")
        try await script.timeline.clear("a")
        #expect(try await script.page() == ["own…"])
        #expect(try await script.timeline.search("a").isEmpty)
        #expect(try await script.timeline.cursor(of: "a")?.offset == 0)
        try await script.apply(script.text(1, "a"))
        #expect(try await script.page() == ["a", "own…"])
    }

    // MARK: Search

    @Test func `words → the entries with all of them, in one room or all, the latest first`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "Über den Wolken"), script.text(2, "wolkig"), script.text(3, "Regen"))
        try await script.timeline.apply([script.text(1, "Wolken hier")], in: "b")
        #expect(try await script.timeline.search("wolken").map(\.room) == ["b", "a"])
        #expect(try await script.timeline.search("uber wolk", in: "a").count == 1)
        #expect(try await script.timeline.search("wolk", in: "a", limit: 1).map(\.entry.offset) == [2])
        #expect(try await script.timeline.search("wolken", in: "c").isEmpty)
        #expect(try await script.timeline.search("\" * ) OR", in: "a").isEmpty)
    }

    @Test func `an edited and a deleted text → found by the new text only`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "apple"), script.text(2, "pear"))
        try await script.apply(
            script.body(3, .edit(of: script.reference(1), text: "cherry")),
            script.body(4, .delete(script.reference(2))))
        #expect(try await script.timeline.search("apple").isEmpty)
        #expect(try await script.timeline.search("pear").isEmpty)
        #expect(try await script.timeline.search("cherry").count == 1)
    }

    // MARK: Read marks

    @Test func `a read mark at a pending message → the messages of others remain unread`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "a"))
        try await script.timeline.add(script.id(1, "ada"), MessageContent(text: "own"), in: "a")
        let pending = try #require(try await script.timeline.page(of: "a").last)
        try await script.timeline.markRead(upTo: pending, in: "a")
        try await script.apply(script.text(2, "b"))
        #expect(try await script.timeline.unreadCount(of: "a") == 2)
    }

    @Test func `a read mark of a log that was replaced → none in the current log`() async throws {
        let script = try await TimelineScript()
        let mark = RoomCursor(log: TimelineScript.log, offset: 1)
        let new = LogID(rawValue: 0xB)
        try await script.apply(script.text(1, "a"))
        try await script.timeline.markRead(upTo: mark, in: "a")
        #expect(try await script.timeline.readCursor(of: "a") == mark)
        try await script.apply(
            .logReplaced(previous: mark, current: RoomCursor(log: new, offset: 0)), script.text(1, "b", log: new))
        #expect(try await script.timeline.readCursor(of: "a") == nil)
    }

    // MARK: File

    @Test func `a closed timeline that is opened again → the same entries; a second one meanwhile → locked`()
        async throws
    {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "a"))
        let path = script.timeline.path
        await #expect(throws: DatabaseError.locked(path: path)) {
            try await Timeline(path: path, account: AccountName("ada"))
        }
        await script.timeline.close()
        await #expect(throws: DatabaseError.closed) { try await script.apply(script.text(2, "b")) }
        let again = try await Timeline(path: path, account: AccountName("ada"))
        #expect(try await again.page(of: "a").map(TimelineScript.short) == ["a"] && again.setAsidePath == nil)
        await again.close()
    }
}
