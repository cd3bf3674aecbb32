import Testing

@testable import MartletMetrics

@Suite struct HistogramTests {
    @Test func `no durations → no quantile, and no memory for buckets`() {
        let histogram = Histogram()
        #expect(histogram.quantile(0.5) == nil)
        #expect((histogram.count, histogram.sum, histogram.max) == (0, .zero, .zero))
    }

    @Test(arguments: [
        0, 1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 1000, 4095, 4096, 1_000_000, 60_000_000, 3_600_000_000, 60_000_000_000,
    ])
    func `one duration → every quantile is at most an eighth above it, and not above the maximum`(
        _ microseconds: Int64
    ) throws {
        var histogram = Histogram()
        histogram.record(.microseconds(microseconds))
        histogram.record(.seconds(100_000))
        for share in [0, 0.01, 0.5] {
            let found = try #require(histogram.quantile(share))
            #expect(found >= .microseconds(microseconds))
            #expect(found <= .microseconds(max(microseconds + 1, microseconds * 9 / 8 + 1)))
        }
        #expect(histogram.quantile(1) == .seconds(100_000))
    }

    @Test func `the durations 1 to 1,000 ms → quantiles near 500, 900 and 990 ms, the exact sum and maximum`() throws {
        var histogram = Histogram()
        for milliseconds in 1...1000 { histogram.record(.milliseconds(milliseconds)) }
        for (share, exact) in [(0.5, 500.0), (0.9, 900), (0.99, 990)] {
            let found = try #require(histogram.quantile(share)).inSeconds * 1000
            #expect(found >= exact && found <= exact * 1.125)
        }
        #expect(histogram.sum == .milliseconds(500_500))
        #expect(histogram.max == .seconds(1))
        #expect(histogram.count == 1000)
    }

    @Test func `durations below and above the range → counted in the first and last bucket`() {
        var histogram = Histogram()
        histogram.record(.seconds(-1))
        histogram.record(.seconds(Int64.max))
        histogram.record(.nanoseconds(999))
        #expect(histogram.count == 3)
        #expect(histogram.count(belowPower: 0) == 2)
        #expect(histogram.count(belowPower: 36) == 2)
        #expect(histogram.quantile(1) == .nanoseconds(1 << 62))
    }

    @Test func `a share outside of 0...1 → the nearest quantile`() {
        var histogram = Histogram()
        histogram.record(.microseconds(3))
        histogram.record(.microseconds(5))
        #expect(histogram.quantile(-1) == histogram.quantile(0))
        #expect(histogram.quantile(2) == histogram.quantile(1))
    }

    @Test func `the bounds of buckets → each number is in the bucket below its power of two`() {
        for power in 0...35 {
            var histogram = Histogram()
            histogram.record(.microseconds(1 << power))
            #expect(histogram.count(belowPower: power) == 0)
            #expect(histogram.count(belowPower: power + 1) == 1)
        }
    }

    @Test func `two histograms of different lengths → their sum has all durations`() {
        var (short, long, all) = (Histogram(), Histogram(), Histogram())
        for value: Int64 in [1, 2, 3] {
            short.record(.microseconds(value))
            all.record(.microseconds(value))
        }
        for value: Int64 in [4000, 5_000_000] {
            long.record(.microseconds(value))
            all.record(.microseconds(value))
        }
        var sum = short
        sum += long
        #expect(sum == all)
        sum = long
        sum += short
        #expect(sum == all)
    }

    @Test func `an earlier state subtracted → the count, the sum and the quantiles of the later durations`() {
        var (earlier, later) = (Histogram(), Histogram())
        for value: Int64 in [1, 2, 4000] { earlier.record(.microseconds(value)) }
        var all = earlier
        for value: Int64 in [2, 5] {
            all.record(.microseconds(value))
            later.record(.microseconds(value))
        }
        let rest = all.subtracting(earlier)
        #expect((rest.count, rest.sum, rest.max) == (2, later.sum, all.max))
        #expect(rest.quantile(0.5) == later.quantile(0.5))
    }

    @Test func `a share between two durations → the longer one`() {
        var histogram = Histogram()
        histogram.record(.microseconds(3))
        histogram.record(.microseconds(5))
        #expect(histogram.quantile(0.5) == .microseconds(4))
        #expect(histogram.quantile(0.51) == .microseconds(5))
    }
}
