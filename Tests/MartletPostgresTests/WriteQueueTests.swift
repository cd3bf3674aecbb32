import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletWire
import Testing

@testable import MartletPostgres

@Suite struct WriteQueueTests {
    private func append(_ room: Int64, _ number: Int64, byteCount: Int = 10, erases: Bool = false) -> StoreWrite {
        let erasure = MessageErasure(
            offset: 1, id: MessageID(sender: AccountName("alice"), device: DeviceID(rawValue: 1), counter: 1))
        var entry = entries(1...1)[0]
        entry.body = EncodedBody([UInt8](repeating: 0, count: byteCount))
        return .append(
            NumberedAppend(
                append: RoomAppend(room: .lobby, entries: [entry], erasures: erases ? [erasure] : []),
                room: KnownRoom(id: room, log: LogID(rawValue: 1)), number: number, reply: RoomStoreReply { _ in }))
    }

    private func numbers(_ group: [WriteQueue.Entry]) -> [Int64] {
        group.map { if case .append(let call) = $0.write { call.number } else { 0 } }
    }

    @Test func `calls of several rooms → one group; a second append of a room is in the next one`() {
        var queue = WriteQueue()
        for (number, room) in [1, 2, 3, 2, 4].enumerated() {
            #expect(queue.add(append(Int64(room), Int64(number))) == true)
        }
        #expect(numbers(queue.take()) == [0, 1, 2])
        #expect(queue.add(append(5, 9)) == true)
        #expect(numbers(queue.take()) == [3, 4, 9])
        #expect(queue.take().isEmpty && queue.isEmpty && queue.byteCount == 0)
    }

    //
    @Test func `an append that erases → a group of its own`() {
        var queue = WriteQueue()
        for (number, erases) in [false, true, false].enumerated() {
            #expect(queue.add(append(Int64(number), Int64(number), erases: erases)) == true)
        }
        #expect(numbers(queue.take()) == [0] && numbers(queue.take()) == [1] && numbers(queue.take()) == [2])
    }

    //
    @Test func `appends alone or with progress → the commit of refused ones is not synced; with other calls it is`() {
        let progress = StoreWrite.progress(
            [AccountName("alice"): AccountProgress(delivered: 1, read: 1)], .lobby, RoomStoreReply { _ in })
        let retention = StoreWrite.retention(RoomRetention(maxCount: 5), .lobby, RoomStoreReply { _ in })
        for (others, isRelaxed) in [([], 1), ([progress], 1), ([retention], 0), ([progress, retention], 0)] {
            var queue = WriteQueue()
            for write in others + [append(1, 1)] { #expect(queue.add(write) == true) }
            let group = WriteGroup(queue.take(), writer: [UInt8](repeating: 0, count: 16), earliestTime: 0)
            #expect(group.queries.last?.bytes.suffix(8) == [0, 0, 0, 0, 0, 0, 0, UInt8(isRelaxed)])
        }
    }

    @Test func `a lost answer → the same group again with others behind it, marked as repeated`() {
        var queue = WriteQueue()
        for number in 1...3 as ClosedRange<Int64> { #expect(queue.add(append(number, number)) == true) }
        let lost = queue.take()
        #expect(queue.add(append(4, 4)) == true)
        queue.putBack(lost)
        let again = queue.take()
        #expect(numbers(again) == [1, 2, 3, 4])
        #expect(again.map(\.isRepeated) == [true, true, true, false] && again.allSatisfy { $0.refusalCount == 0 })
    }

    @Test func `a refused group → each call alone`() {
        var queue = WriteQueue()
        for number in 1...3 as ClosedRange<Int64> { #expect(queue.add(append(number, number)) == true) }
        queue.putBack(queue.take(), isRefused: true, isSplit: true)
        #expect(queue.add(append(4, 4)) == true)
        for number in 1...4 as ClosedRange<Int64> { #expect(numbers(queue.take()) == [number]) }
    }

    @Test func `the bounds of a group and of the queue → further calls wait, or find no room`() {
        var queue = WriteQueue()
        for number in 0..<WriteQueue.maxGroupCount + 1 { #expect(queue.add(append(Int64(number), 0)) == true) }
        #expect(queue.take().count == WriteQueue.maxGroupCount && queue.take().count == 1)
        let half = WriteQueue.maxGroupByteCount / 2
        for number in 0..<3 { #expect(queue.add(append(Int64(number), 0, byteCount: half)) == true) }
        #expect(queue.take().count == 2)
        for number in 0..<WriteQueue.maxCount - 1 { #expect(queue.add(append(Int64(number), 0)) == true) }
        #expect(queue.add(append(0, 0)) == false)
        #expect(queue.removeAll().count == WriteQueue.maxCount && queue.isEmpty)
    }

    @Test func `more bytes than may wait → refused until some are taken`() {
        var queue = WriteQueue()
        let large = WriteQueue.maxByteCount / 2 - 100
        for number in 1...2 as ClosedRange<Int64> {
            #expect(queue.add(append(number, number, byteCount: large)) == true)
        }
        #expect(queue.add(append(3, 3, byteCount: 1000)) == false)
        _ = queue.take()
        #expect(queue.add(append(3, 3, byteCount: 1000)) == true)
    }
}
