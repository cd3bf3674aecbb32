import Martlet
import MartletLink
import MartletWire
import Testing

@testable import MartletTimeline

@Suite("The account's list in a timeline")
struct ListTableTests {
    private func summary(
        _ name: String, text: String = "last", offset: UInt64 = 9, unread: UInt32 = 3,
        log: LogID? = TimelineScript.log, _ membership: RoomMembershipState = .joined, content: MessageContent? = nil
    ) throws -> RoomSummary {
        let stamp = RelayStamp(
            offset: offset, acceptedAt: 1000 + offset, sender: AccountName("bob"), device: DeviceID(rawValue: 7))
        let body = Message(counter: offset, content: content ?? MessageContent(text: text), relay: stamp).encode()
        return try #require(
            RoomSummary(
                bytes: RoomUpdate(
                    RoomEntry(
                        room: RoomName(name)!, membership: membership, changedAt: 1, log: log, lastOffset: offset,
                        message: body, unreadCount: unread)
                ).encode()))
    }

    private func list(_ script: TimelineScript) async throws -> [String] {
        try await script.timeline.rooms().map { room in
            "\(room.name) \(room.lastEntry.map(TimelineScript.short) ?? "-") \(room.unreadCount)"
        }
    }

    // M-27, M-28
    @Test func `rooms of the relay's list that were never opened → last message and unread count of the list`()
        async throws
    {
        let script = try await TimelineScript()
        try await script.timeline.apply(.list([summary("a"), summary("b", text: "hi", offset: 10, .invited)]))
        #expect(try await list(script) == ["b hi 3", "a last 3"])
        #expect(try await script.timeline.rooms().map(\.membership) == [.invited(by: nil), .joined(invitedBy: nil)])
        #expect(try await script.timeline.cursor(of: "a") == nil)
        try await script.timeline.apply(.changed(summary("a", text: "more", offset: 11, unread: 4)))
        #expect(try await list(script) == ["a more 4", "b hi 3"])
    }

    // M-28, M-37
    @Test func `a room that was never opened, whose last message the relay has erased → deleted`() async throws {
        let script = try await TimelineScript()
        let erased = try MessageContent(kind: .erased, bytes: [])
        try await script.timeline.apply(.list([summary("a", content: erased)]))
        #expect(try await script.timeline.rooms().map(\.lastEntry?.content) == [.deleted])
    }

    // M-27, M-28
    @Test func `a room that has the messages of the list → its own last message and count; behind it → the list's`()
        async throws
    {
        let script = try await TimelineScript()
        try await script.apply(script.text(8, "x"), script.text(9, "own view"))
        try await script.timeline.apply(.changed(summary("a")))
        #expect(try await list(script) == ["a own view 2"])
        try await script.timeline.apply(.changed(summary("a", text: "ahead", offset: 12, unread: 5)))
        #expect(try await list(script) == ["a ahead 5"])
        try await script.timeline.add(script.id(1, "ada"), MessageContent(text: "mine"), in: "a")
        #expect(try await list(script) == ["a mine… 5"])
    }

    @Test func `a list of an earlier log → the room's own messages; of a new one → the list's`() async throws {
        let script = try await TimelineScript()
        let new = LogID(rawValue: 0xB)
        try await script.apply(
            script.text(9, "old"),
            .logReplaced(
                previous: RoomCursor(log: TimelineScript.log, offset: 9), current: RoomCursor(log: new, offset: 0)),
            script.text(1, "new", log: new))
        try await script.timeline.apply(.changed(summary("a", text: "stale", offset: 20)))
        #expect(try await list(script) == ["a new 1"])
        try await script.timeline.apply(.changed(summary("a", text: "newest", offset: 1, log: LogID(rawValue: 0xC))))
        #expect(try await list(script) == ["a newest 3"])
    }

    @Test func `a room that the account leaves → not listed, until it is joined or opened again`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "x"))
        try await script.timeline.apply(.list([summary("a"), summary("b")]))
        try await script.timeline.apply([script.text(1, "never joined")], in: "c")
        try await script.timeline.apply(.removed(RoomName("a")))
        #expect(try await script.timeline.rooms().map(\.name) == ["b", "c"])
        #expect(try await script.timeline.room("a") == nil)
        try await script.timeline.apply(.list([]))
        #expect(try await script.timeline.rooms().map(\.name) == ["c"])
        try await script.timeline.list("a")
        #expect(try await script.timeline.rooms().map(\.name) == ["a", "c"])
        try await script.timeline.apply(.changed(summary("b")))
        #expect(try await script.timeline.rooms().map(\.name) == ["b", "a", "c"])
    }

    @Test func `a room that is removed → nothing of it, and it can be applied again`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "x"), script.body(2, .delete(script.reference(9))))
        try await script.timeline.remove(room: "a")
        #expect(try await list(script).isEmpty)
        #expect(try await script.timeline.search("x").isEmpty)
        #expect(try await script.timeline.cursor(of: "a") == nil)
        try await script.apply(script.text(1, "x"))
        #expect(try await list(script) == ["a x 1"])
    }
}
