import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite
struct UndeliveredScanTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let delay = Duration.seconds(10)

    private func step(
        _ scan: inout UndeliveredScan, _ lastOffset: UInt64, hasJoined: Bool = true, after seconds: Int
    ) -> ClosedRange<UInt64>? {
        scan.step(lastOffset: lastOffset, delay: delay, hasJoined: hasJoined, now: start + .seconds(seconds))
    }

    //
    @Test("messages of one delay are due together at its end, and those that follow at the end of the next one")
    func delays() {
        var scan = UndeliveredScan()
        #expect(step(&scan, 0, after: 0) == nil && scan.deadline == nil)
        #expect(step(&scan, 1, after: 0) == nil && scan.deadline == start + delay)
        #expect(step(&scan, 3, after: 5) == nil && scan.deadline == start + delay)
        #expect(step(&scan, 4, after: 10) == 1...1)
        #expect(scan.deadline == start + .seconds(20))
        #expect(step(&scan, 4, after: 21) == 2...4)
        #expect(scan.deadline == nil)
        #expect(step(&scan, 4, after: 100) == nil && scan.deadline == nil)
    }

    //
    @Test("the messages of a log with which a scan begins are not due")
    func begin() {
        var scan = UndeliveredScan()
        scan.begin(at: 7)
        #expect(step(&scan, 7, after: 0) == nil && scan.deadline == nil)
        #expect(step(&scan, 8, after: 1) == nil)
        #expect(step(&scan, 8, after: 11) == 8...8)
    }

    //
    @Test("without joined accounts no scan is scheduled, and messages until then are not due later")
    func withoutJoinedAccounts() {
        var scan = UndeliveredScan()
        #expect(step(&scan, 2, hasJoined: false, after: 0) == nil && scan.deadline == nil)
        #expect(step(&scan, 3, after: 1) == nil)
        #expect(step(&scan, 3, after: 11) == 3...3)
        #expect(step(&scan, 4, after: 12) == nil && scan.deadline != nil)
        #expect(step(&scan, 4, hasJoined: false, after: 22) == nil && scan.deadline == nil)
        #expect(step(&scan, 4, after: 40) == nil && scan.deadline == nil)
    }
}
