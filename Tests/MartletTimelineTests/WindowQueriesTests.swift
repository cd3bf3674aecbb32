import Martlet
import MartletLink
import MartletWire
import Testing

@testable import MartletTimeline

@Suite("Windows of a timeline")
struct WindowQueriesTests {
    private func window(
        _ script: TimelineScript, _ first: TimelineEntry?, _ last: TimelineEntry?, limit: Int
    ) async throws -> TimelineWindow {
        try await script.timeline.window(
            WindowRequest(
                room: "a", first: first.map { WindowRequest.Anchor($0) }, last: last.map { WindowRequest.Anchor($0) },
                limit: limit))
    }

    @Test func `windows with and without ends → their entries, and what is beside them`() async throws {
        let script = try await TimelineScript()
        try await script.timeline.apply((1...10).map { script.text($0, "\($0)") }, in: "a")
        let all = try await script.timeline.page(of: "a")
        let end = try await window(script, nil, nil, limit: 3)
        #expect(end.entries.map(\.offset) == [8, 9, 10] && end.hasEarlier && !end.hasLater && end.unreadCount == 10)
        #expect(end.earliest == RoomCursor(log: TimelineScript.log, offset: 1))
        let middle = try await window(script, all[2], all[5], limit: 10)
        #expect(middle.entries.map(\.offset) == [3, 4, 5, 6] && middle.hasEarlier && middle.hasLater)
        let bounded = try await window(script, all[2], all[5], limit: 2)
        #expect(bounded.entries.map(\.offset) == [3, 4] && bounded.hasLater)
        let following = try await window(script, all[2], nil, limit: 2)
        #expect(following.entries.map(\.offset) == [9, 10])
        #expect(try await window(script, all[0], nil, limit: 50).hasEarlier == false)
        #expect(
            try await script.timeline.window(WindowRequest(room: "b", first: nil, last: nil, limit: 1))
                == TimelineWindow())
    }

    @Test func `a first entry that moves → the window follows it; one that is removed → its earlier place`()
        async throws
    {
        let script = try await TimelineScript()
        for counter in 1...3 as ClosedRange<UInt64> {
            try await script.timeline.add(script.id(counter, "ada"), MessageContent(text: "\(counter)"), in: "a")
        }
        let first = try await script.timeline.page(of: "a")[1]
        for counter in 1...3 as ClosedRange<UInt64> {
            try await script.timeline.settle(script.id(counter, "ada"), in: "a", as: .accepted(offset: counter))
        }
        #expect(try await window(script, first, nil, limit: 9).entries.map(\.offset) == [2, 3])
        try await script.timeline.add(script.id(9, "ada"), MessageContent(text: "9"), in: "a")
        let pending = try #require(try await script.timeline.page(of: "a").last)
        try await script.timeline.remove(script.id(9, "ada"), in: "a")
        #expect(try await window(script, pending, nil, limit: 9).entries.isEmpty)
    }
}
