import MartletToolSupport
import Testing

@testable import MartletLab

@Suite struct TrendTests {
    @Test func `points on a line give its slope, and symmetric noise changes it little`() {
        var trend = Trend()
        #expect(trend.slope == nil)
        trend.add(1, 5)
        #expect(trend.slope == nil)
        trend.add(1, 7)
        #expect(trend.slope == nil)
        var line = Trend()
        for x in 0..<100 { line.add(Double(x), 3 * Double(x) + 10) }
        #expect(abs(line.slope! - 3) < 1e-9)
        var noisy = Trend()
        for x in 0..<1000 { noisy.add(Double(x) / 1000, 2 * Double(x) / 1000 + (x.isMultiple(of: 2) ? 0.5 : -0.5)) }
        #expect(abs(noisy.slope! - 2) < 0.01)
    }

    @Test func `the busiest second may begin at any millisecond`() {
        var busiest = BusiestSecond()
        #expect(busiest.count == 0)
        for time in [5000, 900, 950, 1800, 1899, 1901] as [Int64] { busiest.add(time) }
        #expect(busiest.count == 4)
    }
}
