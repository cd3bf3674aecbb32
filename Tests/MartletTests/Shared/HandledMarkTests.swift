import MartletProtocol
import Testing

@testable import Martlet

@Suite("How far an application is") struct HandledMarkTests {
    /// A mark that is raised in groups, with two looks behind each; answers whether each raise told the loop, and what
    /// the looks found.
    private func run(_ groups: [UInt64]...) -> (told: [Bool], found: [UInt64?]) {
        var mark = HandledMark()
        var told: [Bool] = []
        var found: [UInt64?] = []
        for group in groups {
            for offset in group { told.append(mark.raise(to: RoomCursor(offset: offset))) }
            for _ in 1...2 { found.append(mark.takeOrUnwatch()?.offset) }
        }
        return (told, found)
    }

    @Test func `the first raise tells the loop, later ones only once a look has found nothing`() {
        let (told, found) = run([1, 2, 3], [4, 5], [])
        #expect(told == [true, false, false, true, false])
        #expect(found == [3, nil, 5, nil, nil, nil])
    }

    @Test func `a raise to less does not lower the mark`() {
        #expect(run([9, 4]).found == [9, nil])
    }

    @Test func `a take that finds nothing leaves the mark watched`() {
        var mark = HandledMark()
        _ = mark.raise(to: RoomCursor(offset: 1))
        let found = [mark.take()?.offset, mark.take()?.offset]
        #expect(found == [1, nil])
        let isWatched = mark.isWatched
        #expect(isWatched)
    }
}
