import MartletWire
import Testing

@testable import MartletLink

@Suite struct RTTHistogramTests {
    @Test func `no samples → no quantile`() {
        let histogram = RTTHistogram()
        #expect(histogram.count == 0)
        #expect(histogram.p50 == nil)
        #expect(histogram.p99 == nil)
    }

    @Test func `one sample → every quantile is at most an eighth above it`() {
        var histogram = RTTHistogram()
        histogram.record(.milliseconds(100))
        for percent in [-5, 0, 1, 50, 99, 100, 500] {
            let value = histogram.percentile(percent)!
            #expect(value >= .milliseconds(100))
            #expect(value <= .microseconds(112_500))
        }
    }

    @Test func `the median and the 99th percentile are at most an eighth above those of the samples`() {
        var histogram = RTTHistogram()
        for milliseconds in 1...1000 { histogram.record(.milliseconds(milliseconds)) }
        #expect(histogram.count == 1000)
        #expect(histogram.p50! >= .milliseconds(500))
        #expect(histogram.p50! <= .microseconds(562_500))
        #expect(histogram.p99! >= .milliseconds(990))
        #expect(histogram.p99! <= .microseconds(1_113_750))
    }

    @Test func `samples outside the range are counted at its ends`() {
        var histogram = RTTHistogram()
        histogram.record(.seconds(-1))
        #expect(histogram.p50 == .zero)
        histogram.record(.seconds(3600))
        #expect(histogram.percentile(100) == RTTHistogram.maximumSample)
    }

    @Test func `each bucket begins at the end of the previous one`() {
        var start: UInt64 = 0
        for bucket in 0..<RTTHistogram.bucketCount {
            let end = UInt64(RTTHistogram.upperEnd(of: bucket))
            #expect(RTTHistogram.bucket(of: start) == bucket)
            #expect(RTTHistogram.bucket(of: end) == bucket)
            #expect(end - start <= start / 8)
            start = end + 1
        }
        #expect(start == 1 << 26)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `each quantile of random samples is at most an eighth above the exact one`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var histogram = RTTHistogram()
        var samples: [Int64] = []
        for _ in 0..<487 {
            let sample = Int64.random(in: 0...(1 << Int64.random(in: 0...26, using: &random)) - 1, using: &random)
            samples.append(sample)
            histogram.record(.microseconds(sample))
        }
        samples.sort()
        for percent in 1...100 {
            let exact = samples[(percent * samples.count + 99) / 100 - 1]
            let value = histogram.percentile(percent)!
            #expect(value >= .microseconds(exact))
            #expect(value <= .microseconds(exact + exact / 8))
        }
    }
}
