import MartletLink
import Testing

@testable import Martlet

@Suite("Handled mark") struct HandledMarkTests {
    /// Raises a mark in groups and polls it twice after each group. Returns whether each raise required a notification,
    /// and the polled offsets.
    private func run(_ groups: [UInt64]...) -> (notified: [Bool], found: [UInt64?]) {
        var mark = HandledMark()
        var notified: [Bool] = []
        var found: [UInt64?] = []
        for group in groups {
            for offset in group { notified.append(mark.raise(to: RoomCursor(offset: offset))) }
            for _ in 1...2 { found.append(mark.takeOrUnwatch()?.offset) }
        }
        return (notified, found)
    }

    @Test func `the first raise notifies the loop, a later one only after a poll without result`() {
        let (notified, found) = run([1, 2, 3], [4, 5], [])
        #expect(notified == [true, false, false, true, false])
        #expect(found == [3, nil, 5, nil, nil, nil])
    }

    @Test func `a raise to a lower offset does not change the mark`() {
        #expect(run([9, 4]).found == [9, nil])
    }

    @Test func `a mark is watched after a take without result`() {
        var mark = HandledMark()
        _ = mark.raise(to: RoomCursor(offset: 1))
        let found = [mark.take()?.offset, mark.take()?.offset]
        #expect(found == [1, nil])
        let isWatched = mark.isWatched
        #expect(isWatched)
    }
}
