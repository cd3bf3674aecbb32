import Martlet
import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct StartingPointTests {
    private let log = LogID(rawValue: 7)

    @Test func `a stored cursor has precedence over the option`() {
        let kept = RoomCursor(log: log, offset: 3)
        #expect(StartingPoint(.cursor(100), kept: kept).from == .cursor(kept))
        #expect(StartingPoint(.start, kept: kept).from == .cursor(kept))
        #expect(StartingPoint(.start).from == .start)
        #expect(StartingPoint(.latest).from == .latest(count: 0))
        #expect(StartingPoint(.cursor(100)).from == .cursor(RoomCursor(offset: 100)))
    }

    @Test func `the offset 100 of the user in a room of 5 messages is beyond the end`() {
        #expect(StartingPoint(.cursor(100)).isBeyondEnd(replaced: RoomCursor(offset: 100)))
    }

    @Test func `a replaced cursor with a log is a lost log`() {
        #expect(!StartingPoint(.cursor(100)).isBeyondEnd(replaced: RoomCursor(log: log, offset: 100)))
        #expect(!StartingPoint(.cursor(100)).isBeyondEnd(replaced: RoomCursor(log: log, offset: 5)))
        #expect(!StartingPoint(.start).isBeyondEnd(replaced: RoomCursor(log: log, offset: 5)))
    }

    @Test func `a replaced stored cursor without a log is a lost log`() {
        let start = StartingPoint(.cursor(100), kept: RoomCursor(offset: 100))
        #expect(!start.isBeyondEnd(replaced: RoomCursor(offset: 100)))
    }
}
