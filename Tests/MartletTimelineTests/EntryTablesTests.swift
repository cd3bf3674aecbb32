import Martlet
import MartletLink
import MartletWire
import Testing

@testable import MartletTimeline

@Suite("Entries of a timeline")
struct EntryTablesTests {
    @Test func `a message after its outcome → place, time and content of the log, in the same entry`() async throws {
        let script = try await TimelineScript()
        let own = script.id(1, "ada")
        try await script.timeline.add(own, MessageContent(text: "old"), in: "a")
        try await script.timeline.settle(own, in: "a", as: .accepted(offset: 3), log: TimelineScript.log)
        let settled = try #require(try await script.timeline.entry(own, in: "a"))
        let other = LogID(rawValue: 0xB)
        try await script.apply(
            .logReplaced(
                previous: RoomCursor(log: TimelineScript.log, offset: 3), current: RoomCursor(log: other, offset: 0)),
            script.message(2, MessageContent(text: "new"), by: "ada", counter: 1, log: other))
        let entry = try #require(try await script.timeline.entry(own, in: "a"))
        #expect(entry.id == settled.id && entry.offset == 2 && entry.time == 1002)
        #expect(try await script.page() == ["log", "new"])
        #expect(try await script.timeline.search("old").isEmpty)
        // Only the first message from the log counts.
        try await script.apply(script.message(9, MessageContent(text: "newer"), by: "ada", counter: 1, log: other))
        #expect(try await script.page() == ["log", "new"])
    }

    @Test func `an acceptance without an offset → behind the last item, and no offset`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "a"))
        try await script.timeline.add(script.id(1, "ada"), MessageContent(text: "own"), in: "a")
        try await script.timeline.settle(script.id(1, "ada"), in: "a", as: .accepted(offset: 0))
        try await script.apply(script.text(2, "b"))
        #expect(try await script.page() == ["a", "own", "b"])
        #expect(try await script.timeline.page(of: "a")[1].offset == nil)
    }

    // M-10
    @Test func `an edit that was accepted without an offset → in the order of the log`() async throws {
        let script = try await TimelineScript()
        let target = script.reference(1, "ada")
        let own = MessageID(sender: AccountName("ada"), device: DeviceID(rawValue: 1), counter: 2)
        try await script.apply(
            script.text(1, "one", by: "ada"), script.body(6, .edit(of: target, text: "six"), by: "ada"))
        let edit = try MessageBody.edit(of: target, text: "seven").content
        try await script.timeline.add(own, edit, in: "a")
        try await script.timeline.settle(own, in: "a", as: .accepted(offset: 0))
        try await script.apply(
            .message(
                RoomMessage(
                    id: own, at: RoomCursor(log: TimelineScript.log, offset: 7), content: edit, acceptedAt: 1007)))
        #expect(try await script.page() == ["seven*"])
    }

    @Test
    func `a failed message that is replaced by one that is still pending → pending, with the changes of the new one`()
        async throws
    {
        let script = try await TimelineScript()
        let (old, new) = (script.id(1, "ada"), script.id(2, "ada"))
        let content = MessageContent(text: "own")
        try await script.timeline.add(old, content, in: "a")
        let reaction = try MessageBody.reaction("!", to: MessageReference(old), isRemoved: false).content
        try await script.timeline.add(script.id(3, "ada"), reaction, in: "a")
        try await script.timeline.settle(old, in: "a", as: .failed(.closed))
        try await script.timeline.add(new, content, in: "a")
        #expect(try await script.page() == ["own! !1+", "own…"])
        try await script.timeline.perform([.replace(old, by: new, content)], in: "a")
        #expect(try await script.page() == ["own…"])
        try await script.timeline.settle(new, in: "a", as: .accepted(offset: 4), log: TimelineScript.log)
        #expect(try await script.timeline.page(of: "a").map(\.offset) == [4])
    }

    @Test func `a deleted message after its outcome → its content is not restored by the log`() async throws {
        let script = try await TimelineScript()
        let own = script.id(1, "ada")
        try await script.timeline.add(own, MessageContent(text: "own"), in: "a")
        try await script.timeline.settle(own, in: "a", as: .accepted(offset: 1), log: TimelineScript.log)
        try await script.apply(try script.body(2, .delete(script.reference(1, "ada")), by: "ada"))
        try await script.apply(script.message(1, MessageContent(text: "own"), by: "ada", counter: 1))
        #expect(try await script.page() == ["deleted"])
        #expect(try await script.timeline.search("own").isEmpty)
    }

    @Test func `a message under another ID, before or after the log has it → the same entry`() async throws {
        for isFirst in [true, false] {
            let script = try await TimelineScript()
            let (old, new) = (script.id(1, "ada"), script.id(2, "ada"))
            let content = MessageContent(text: "own")
            try await script.timeline.add(old, content, in: "a")
            try await script.timeline.settle(old, in: "a", as: .failed(.closed))
            let entry = try await script.timeline.entry(old, in: "a")
            let accepted = script.message(1, content, by: "ada", counter: 2)
            if isFirst { try await script.apply(accepted) }
            try await script.timeline.perform([.mark(old, .retry), .replace(old, by: new, content)], in: "a")
            if !isFirst {
                #expect(try await script.page() == ["own…"])
                try await script.apply(accepted)
            }
            #expect(try await script.page() == ["own"])
            #expect(try await script.timeline.entry(new, in: "a")?.id == entry?.id)
            #expect(try await script.timeline.entry(old, in: "a") == nil)
        }
    }

    @Test func `marked messages → retried ones are pending, removed ones unchanged, and all without the mark`()
        async throws
    {
        let script = try await TimelineScript()
        let ids = (1...3 as ClosedRange<UInt64>).map { script.id($0, "ada") }
        for id in ids { try await script.timeline.add(id, MessageContent(text: "\(id.counter)"), in: "a") }
        for id in ids[1...] { try await script.timeline.settle(id, in: "a", as: .failed(.expired)) }
        try await script.timeline.perform(
            [.mark(ids[0], .removal), .mark(ids[1], .retry), .mark(ids[2], .removal)], in: "a")
        #expect(try await script.page() == ["1…", "2…", "3!"])
        let unsettled = try await script.timeline.unsettled(in: "a")
        #expect(unsettled.map(\.intent) == [.removal, .retry, .removal])
        #expect(unsettled.map(\.hasFailed) == [false, true, true])
        try await script.timeline.perform(ids.map { .unmark($0) }, in: "a")
        #expect(try await script.page() == ["1…", "2!", "3!"])
    }
}
