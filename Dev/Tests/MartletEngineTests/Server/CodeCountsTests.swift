import MartletWire
import Testing

@testable import MartletLink

@Suite struct CodeCountsTests {
    @Test func `registered codes → counts by name in the order of the codes; all others → one count`() {
        var counts = CodeCounts()
        for code: ErrorCode in [.resumeRejected, .badChecksum, .resumeRejected] { counts.count(code) }
        for number: UInt16 in [0xF000, 0xF001] { counts.count(ErrorCode(rawValue: number)) }
        #expect(counts.byName.map(\.name) == ["badChecksum", "resumeRejected", "other"])
        #expect(counts.byName.map(\.count) == [1, 2, 2])
        #expect(counts[.resumeRejected] == 2)
        #expect(counts.total == 5)
    }

    @Test func `two counts → their sum by code`() {
        var (one, other) = (CodeCounts(), CodeCounts())
        one.count(.forbidden)
        other.count(.forbidden)
        other.count(.revoked)
        one += other
        #expect((one[.forbidden], one[.revoked], one[.kicked]) == (2, 1, 0))
    }
}
