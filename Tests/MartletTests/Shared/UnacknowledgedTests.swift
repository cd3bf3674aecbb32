import MartletLink
import Testing

@testable import Martlet

@Suite("Unacknowledged deliveries") struct UnacknowledgedTests {
    private func queue(_ offsets: UInt64...) -> Unacknowledged {
        var queue = Unacknowledged()
        for offset in offsets { queue.append(.gap(offset...offset)) }
        return queue
    }

    private func cursor(_ offset: UInt64) -> RoomCursor { RoomCursor(offset: offset) }

    @Test func `begin → false for an unknown cursor and for one that is being stored or before one`() {
        var queue = queue(1, 2, 3)
        let begun = [4, 2, 2, 1, 3].map { queue.begin(upTo: cursor($0)) }
        #expect(begun == [false, true, false, false, true])
    }

    @Test func `a stored acknowledgement removes its item and all before it`() {
        var queue = queue(1, 2, 3)
        _ = queue.begin(upTo: cursor(2))
        _ = queue.end(upTo: cursor(2), isStored: true)
        #expect(queue.takeReturned().map(\.cursor.offset) == [3])
        #expect(queue.isEmpty)
    }

    @Test func `a failed acknowledgement can be repeated, and keeps its item`() {
        var queue = queue(1, 2)
        _ = queue.begin(upTo: cursor(1))
        _ = queue.end(upTo: cursor(1), isStored: false)
        let isFirst = queue.begin(upTo: cursor(1))
        #expect(isFirst)
        _ = queue.end(upTo: cursor(1), isStored: false)
        #expect(queue.takeReturned().map(\.cursor.offset) == [1, 2])
    }

    @Test func `items that are being stored are not returned again until that fails`() {
        var queue = queue(1, 2, 3)
        _ = queue.begin(upTo: cursor(2))
        #expect(queue.takeReturned().map(\.cursor.offset) == [3])
        _ = queue.end(upTo: cursor(2), isStored: false)
        #expect(queue.takeReturned().map(\.cursor.offset) == [1, 2])
    }

    @Test func `two acknowledgements in progress, the first fails → the second covers both`() {
        var queue = queue(1, 2, 3)
        _ = queue.begin(upTo: cursor(1))
        _ = queue.begin(upTo: cursor(2))
        _ = queue.end(upTo: cursor(1), isStored: false)
        let begun = queue.begin(upTo: cursor(1))
        #expect(!begun)
        _ = queue.end(upTo: cursor(2), isStored: true)
        #expect(queue.takeReturned().map(\.cursor.offset) == [3])
    }
}
