import Martlet
import MartletWire
import Testing

@testable import MartletTimeline

@Suite("Changes in a timeline")
struct ChangeTablesTests {
    private func orders<Element>(of elements: [Element]) -> [[Element]] {
        guard !elements.isEmpty else { return [[]] }
        return elements.indices.flatMap { index in
            var rest = elements
            let first = rest.remove(at: index)
            return orders(of: rest).map { [first] + $0 }
        }
    }

    // M-4, M-9, M-10, M-12, M-13
    @Test func `a message and its changes in any order, twice → the same entry`() async throws {
        let script = try await TimelineScript()
        let target = script.reference(1)
        let items = [
            script.text(1, "a"),
            try script.body(2, .edit(of: target, text: "b")),
            try script.body(3, .edit(of: target, text: "c")),
            try script.body(4, .reaction("!", to: target, isRemoved: false), by: "ada"),
            try script.body(5, .edit(of: target, text: "d"), by: "eve"),
        ]
        for (index, order) in orders(of: items).enumerated() {
            let room = RoomName("room \(index)")!
            try await script.timeline.apply(order + order, in: room)
            #expect(try await script.page(room) == ["c* !1+"])
        }
    }

    // M-5, M-11
    @Test func `a deletion in any order with other changes → deleted, and the content is erased`() async throws {
        let script = try await TimelineScript()
        let target = script.reference(1)
        let items = [
            script.text(1, "secret"),
            try script.body(2, .edit(of: target, text: "other")),
            try script.body(3, .delete(target)),
            try script.body(4, .reaction("!", to: target, isRemoved: false)),
        ]
        for (index, order) in orders(of: items).enumerated() {
            let room = RoomName("room \(index)")!
            try await script.timeline.apply(order, in: room)
            #expect(try await script.page(room) == ["deleted"])
        }
        #expect(try await script.timeline.search("secret").isEmpty)
    }

    // M-9
    @Test func `deletions of a moderator and of another account → only the moderator's counts`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "a"), script.text(2, "b"))
        try await script.apply(
            script.body(3, .delete(script.reference(1)), by: "moderator"),
            script.body(4, .delete(script.reference(2)), by: "eve"))
        #expect(try await script.page() == ["deleted", "b"])
    }

    // M-12
    @Test func `reactions that are removed and repeated → one for each account`() async throws {
        let script = try await TimelineScript()
        let target = script.reference(1)
        try await script.apply(
            script.text(1, "a"), script.body(2, .reaction("!", to: target, isRemoved: false), by: "eve"),
            script.body(3, .reaction("!", to: target, isRemoved: false), by: "bob"),
            script.body(4, .reaction("?", to: target, isRemoved: false), by: "eve"),
            script.body(5, .reaction("?", to: target, isRemoved: true), by: "eve"),
            script.body(6, .reaction("!", to: target, isRemoved: false), by: "eve"))
        #expect(try await script.page() == ["a !2"])
    }

    // M-13
    @Test func `an edit at a lower offset of a later log → the later one counts`() async throws {
        let script = try await TimelineScript()
        let edit = MessageBody.edit(of: script.reference(1), text: "old")
        try await script.apply(script.text(1, "a"), script.body(90, edit))
        let later = try MessageBody.edit(of: script.reference(1), text: "new").content
        try await script.apply(script.message(2, later, log: LogID(rawValue: 0xB)), script.body(90, edit))
        #expect(try await script.page() == ["new*"])
    }

    // M-13
    @Test func `one change more than may wait → the one with the lowest offset is dropped`() async throws {
        let script = try await TimelineScript()
        let count = UInt64(ChangeTables.maxWaitingCount) + 1
        var items: [RoomItem] = []
        for number in 1...count {
            let target = script.reference(1_000_000 + number)
            items.append(try script.body(10 + number, .reaction("!", to: target, isRemoved: false)))
        }
        try await script.timeline.apply(items, in: "a")
        try await script.apply(
            script.message(1, MessageContent(text: "a"), counter: 1_000_001),
            script.message(2, MessageContent(text: "b"), counter: 1_000_002))
        #expect(try await script.page() == ["a", "b !1"])
    }

    // M-13
    @Test func `a change whose message has arrived → does not count as waiting, and stays`() async throws {
        let script = try await TimelineScript()
        try await script.apply(
            script.body(5, .reaction("!", to: script.reference(1_000_000), isRemoved: false)),
            script.message(6, MessageContent(text: "a"), counter: 1_000_000))
        var items: [RoomItem] = []
        for number in 1...UInt64(ChangeTables.maxWaitingCount) {
            let target = script.reference(1_000_000 + number)
            items.append(try script.body(10 + number, .reaction("!", to: target, isRemoved: false)))
        }
        items.append(script.message(10_000, MessageContent(text: "b"), counter: 1_000_001))
        try await script.timeline.apply(items, in: "a")
        #expect(try await script.page() == ["a !1", "b !1"])
    }

    @Test func `an edit of an attachment, a reply and a command → the texts of the first two`() async throws {
        let script = try await TimelineScript()
        try await script.apply(
            script.body(1, .attachment(Attachment(data: [1], name: "photo"))),
            script.body(2, .reply(to: script.reference(1), text: "reply")), script.body(3, .command(.null)))
        for counter in 1...3 as ClosedRange<UInt64> {
            try await script.apply(script.body(3 + counter, .edit(of: script.reference(counter), text: "edited")))
        }
        let entries = try await script.timeline.page(of: "a")
        #expect(entries.map(\.isEdited) == [true, true, false])
        guard case .message(.attachment(let attachment)) = entries[0].content else {
            Issue.record("no attachment")
            return
        }
        #expect(
            attachment.caption == "edited"
                && entries[1].content == .message(.reply(to: script.reference(1), text: "edited")))
        #expect(try await script.timeline.search("edited").count == 2)
    }
}
