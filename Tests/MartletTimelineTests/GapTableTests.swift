import Martlet
import MartletLink
import MartletWire
import Testing

@testable import MartletTimeline

@Suite("Gaps of a timeline")
struct GapTableTests {
    private func apply(_ script: TimelineScript, _ offsets: ClosedRange<UInt64>, log: LogID = TimelineScript.log)
        async throws
        -> Bool
    {
        let messages = offsets.compactMap { offset -> RoomMessage? in
            if case .message(let message) = script.text(offset, "\(offset)", log: log) { message } else { nil }
        }
        return try await script.timeline.apply(
            HistoryPart(messages: messages, offsets: offsets, log: log), in: "a"
        ) { _ in false }
    }

    @Test func `pages at the end, in the middle and at the start of a gap → the offsets that are left`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(1, "1"), .gap(2...9), script.text(10, "10"))
        #expect(try await apply(script, 8...9))
        #expect(try await script.page() == ["1", "gap 2-7", "8", "9", "10"])
        #expect(try await apply(script, 4...5))
        #expect(try await script.page() == ["1", "gap 2-3", "4", "5", "gap 6-7", "8", "9", "10"])
        #expect(try await apply(script, 2...3))
        #expect(try await apply(script, 6...8))
        #expect(try await script.page() == (1...10).map { "\($0)" })
        #expect(try await script.timeline.cursor(of: "a")?.offset == 10)
    }

    @Test func `a page before the first known offset → a gap between them`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(9, "9"))
        #expect(try await apply(script, 1...2))
        #expect(try await script.page() == ["1", "2", "gap 3-8", "9"])
        for offset in [8, 7] as [UInt64] { #expect(try await apply(script, offset...offset)) }
        #expect(try await script.page() == ["1", "2", "gap 3-6", "7", "8", "9"])
    }

    @Test func `pages before the first item of a room → gaps between them`() async throws {
        let script = try await TimelineScript()
        for first in [1, 5] as [UInt64] { #expect(try await apply(script, first...first + 1)) }
        try await script.apply(script.text(9, "9"), script.text(10, "10"))
        #expect(try await script.page() == ["1", "2", "gap 3-4", "5", "6", "gap 7-8", "9", "10"])
    }

    @Test func `a page of another log → no effect`() async throws {
        let script = try await TimelineScript()
        try await script.apply(script.text(9, "9"))
        #expect(try await apply(script, 1...2, log: LogID(rawValue: 0xB)) == false)
        #expect(try await script.page() == ["9"])
    }
}
