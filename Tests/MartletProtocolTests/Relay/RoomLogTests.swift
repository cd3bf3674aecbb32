import MartletWire
import Testing

@testable import MartletProtocol

@Suite struct RoomLogTests {
    private func entry(_ offset: UInt64, byteCount: Int = 10) -> LogEntry {
        LogEntry(
            offset: offset, sender: .alice, device: DeviceID(rawValue: 1), counter: offset, acceptedAt: 0,
            body: EncodedBody([UInt8](repeating: 1, count: byteCount)))
    }

    @Test func `entries are found by offset, those before and behind are not there`() {
        var tail = LogTail(first: 5)
        #expect(tail.end == 5 && tail[5] == nil)
        for offset in 5...7 as ClosedRange<UInt64> { tail.append(entry(offset)) }
        #expect([4, 5, 7, 8, 0, .max].map { tail[$0]?.offset } == [nil, 5, 7, nil, nil, nil])
        #expect(tail.byteCount == 30)
    }

    //
    @Test func `the oldest go when there are too many or they are too large, but none that is not durable`() {
        var tail = LogTail(first: 1)
        for offset in 1...UInt64(LogTail.maxCount + 10) { tail.append(entry(offset)) }
        tail.trim(durable: 4)
        #expect(tail.first == 5)
        tail.trim(durable: 5000)
        #expect(tail.first == 11)
        var large = LogTail(first: 1)
        for offset in 1...3 as ClosedRange<UInt64> { large.append(entry(offset, byteCount: 500_000)) }
        large.trim(durable: 3)
        #expect(large.first == 2 && large.byteCount == 1_000_000)
    }

    @Test func `what the store did not take is taken back`() {
        var tail = LogTail(first: 1)
        for offset in 1...5 as ClosedRange<UInt64> { tail.append(entry(offset)) }
        tail.rollBack(to: 3)
        #expect(tail.end == 4 && tail.byteCount == 30)
        tail.rollBack(to: 3)
        tail.append(entry(4))
        #expect(tail[4]?.offset == 4)
    }
}
