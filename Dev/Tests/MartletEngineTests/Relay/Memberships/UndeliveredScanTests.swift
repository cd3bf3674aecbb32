import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite
struct UndeliveredScanTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let delay = Duration.seconds(10)

    private func step(
        _ scan: inout UndeliveredScan, _ offsets: ClosedRange<UInt64>? = nil, hasJoined: Bool = true,
        after seconds: Int
    ) -> [ClosedRange<UInt64>] {
        if let offsets { scan.note(offsets) }
        return scan.step(delay: delay, hasJoined: hasJoined, now: start + .seconds(seconds))
    }

    //
    @Test("messages of one delay are due together at its end, and those that follow at the end of the next one")
    func delays() {
        var scan = UndeliveredScan()
        #expect(step(&scan, after: 0) == [] && scan.deadline == nil)
        #expect(step(&scan, 1...1, after: 0) == [] && scan.deadline == start + delay)
        #expect(step(&scan, 2...3, after: 5) == [] && scan.deadline == start + delay)
        #expect(step(&scan, 4...4, after: 10) == [1...1])
        #expect(scan.deadline == start + .seconds(20))
        #expect(step(&scan, after: 21) == [2...4])
        #expect(scan.deadline == nil)
        #expect(step(&scan, after: 100) == [] && scan.deadline == nil)
    }

    //
    @Test("offsets of other relays between the noted ones are not due")
    func others() {
        var scan = UndeliveredScan()
        scan.note(8...8)
        scan.note(10...11)
        scan.note(12...12)
        #expect(step(&scan, after: 0) == [] && scan.byteCount == 2 * 16)
        #expect(step(&scan, after: 10) == [8...8, 10...12] && scan.byteCount == 0)
    }

    //
    @Test("of more than 256 ranges, the first ones are not due")
    func bound() {
        var scan = UndeliveredScan()
        for offset in stride(from: UInt64(2), through: 600, by: 2) { scan.note(offset...offset) }
        #expect(step(&scan, after: 0) == [])
        #expect(step(&scan, after: 10) == stride(from: UInt64(90), through: 600, by: 2).map { $0...$0 })
    }

    //
    @Test("without joined accounts no scan is scheduled, and messages until then are not due later")
    func withoutJoinedAccounts() {
        var scan = UndeliveredScan()
        #expect(step(&scan, 1...2, hasJoined: false, after: 0) == [] && scan.deadline == nil)
        #expect(step(&scan, 3...3, after: 1) == [])
        #expect(step(&scan, after: 11) == [3...3])
        #expect(step(&scan, 4...4, after: 12) == [] && scan.deadline != nil)
        #expect(step(&scan, hasJoined: false, after: 22) == [] && scan.deadline == nil)
        #expect(step(&scan, after: 40) == [] && scan.deadline == nil)
    }
}
