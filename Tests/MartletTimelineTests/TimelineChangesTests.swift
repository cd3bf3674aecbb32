import Martlet
import MartletLink
import Testing

@testable import MartletTimeline

@Suite("Reports of changed rooms")
struct TimelineChangesTests {
    @Test func `rooms that change before they are read → one element with each once`() async throws {
        let script = try await TimelineScript()
        var changes = script.timeline.changes.makeAsyncIterator()
        for room in ["b", "c", "b"] as [RoomName] { try await script.timeline.apply([script.text(1, "a")], in: room) }
        #expect(await changes.next() == ["b", "c"])
        try await script.timeline.markRead(upTo: RoomCursor(offset: 1), in: "c")
        #expect(await changes.next() == ["c"])
        await script.timeline.close()
        #expect(await changes.next() == nil)
        var late = script.timeline.changes.makeAsyncIterator()
        #expect(await late.next() == nil)
    }
}
