import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct LogRowsTests {
    private func row(_ offsets: ClosedRange<UInt64>, byteCount: Int = 10) -> ArraySlice<LogEntry> {
        let entries = offsets.map { offset in
            LogEntry(
                offset: offset, sender: .alice, device: DeviceID(rawValue: 1), counter: offset, acceptedAt: 0,
                body: EncodedBody([UInt8](repeating: 1, count: byteCount)))
        }
        return entries[...]
    }

    private func offsets(_ row: ArraySlice<LogEntry>) -> [UInt64] { row.map(\.offset) }

    @Test func `messages are found by offset, offsets before and after them give none`() {
        var rows = LogRows(next: 5)
        #expect(rows.isEmpty && rows.end == 5 && rows[5] == nil)
        for some in [5...7, 8...8, 9...20, 21...22] as [ClosedRange<UInt64>] { rows.append(row(some)) }
        rows.append([])
        #expect(rows.count == 18 && rows.byteCount == 180 && rows.first == 5 && rows.end == 23)
        for offset in 5...22 as ClosedRange<UInt64> { #expect(rows[offset]?.offset == offset) }
        #expect([0, 4, 23, .max].allSatisfy { rows[$0] == nil && rows.row(from: $0).isEmpty })
    }

    @Test func `messages appended together are returned together`() {
        var rows = LogRows(next: 1)
        rows.append(row(1...3))
        rows.append(row(2...9).dropFirst(2))
        #expect(offsets(rows.row(from: 1)) == [1, 2, 3])
        #expect(offsets(rows.row(from: 3)) == [3])
        #expect(offsets(rows.row(from: 8)) == [8, 9])
    }

    //
    @Test func `messages beyond the maximum number are removed one by one, the oldest first`() {
        var rows = LogRows(next: 1)
        for some in [1...4, 5...5, 6...12] as [ClosedRange<UInt64>] { rows.append(row(some)) }
        for kept in stride(from: 12, through: 0, by: -1) {
            rows.trim(to: LogRows.Bounds(maxCount: kept, maxByteCount: .max))
            #expect(rows.count == kept && rows.byteCount == 10 * kept && rows.first == UInt64(13 - kept))
            #expect(rows[rows.first]?.offset == (kept > 0 ? rows.first : nil))
            #expect(rows[rows.first - 1] == nil && rows.end == 13)
        }
        rows.append(row(13...14))
        #expect(offsets(rows.row(from: 13)) == [13, 14])
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `rows are trimmed like single messages`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var rows = LogRows(next: 1)
        var lengths: [(offset: UInt64, byteCount: Int)] = []
        for _ in 0..<100 {
            let first = rows.end
            let byteCount = Int(random.next() % 20)
            let some = first...first + random.next() % 6
            rows.append(row(some, byteCount: byteCount))
            lengths += some.map { ($0, byteCount) }
            let bounds = LogRows.Bounds(
                minCount: Int(random.next() % 4), maxCount: 4 + Int(random.next() % 12),
                maxByteCount: Int(random.next() % 150))
            rows.trim(to: bounds)
            var sum = lengths.reduce(0) { $0 + $1.byteCount }
            while lengths.count > bounds.maxCount || sum > bounds.maxByteCount && lengths.count > bounds.minCount {
                sum -= lengths.removeFirst().byteCount
            }
            #expect(rows.count == lengths.count && rows.byteCount == sum)
            #expect(lengths.allSatisfy { rows[$0.offset]?.body.byteCount == $0.byteCount })
        }
    }

    @Test func `messages beyond the maximum of bytes are removed down to the minimum number`() {
        var rows = LogRows(next: 1)
        rows.append(row(1...3, byteCount: 500))
        rows.trim(to: LogRows.Bounds(maxCount: 9, maxByteCount: 1000))
        #expect(rows.first == 2 && rows.byteCount == 1000)
        rows.trim(to: LogRows.Bounds(minCount: 1, maxCount: 9, maxByteCount: 100))
        #expect(rows.first == 3 && rows.count == 1)
        rows.trim(to: LogRows.Bounds(maxCount: 9, maxByteCount: 100))
        #expect(rows.isEmpty && rows.first == 4 && rows.byteCount == 0)
    }
}
