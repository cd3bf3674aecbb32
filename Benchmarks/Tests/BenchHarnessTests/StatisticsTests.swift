import BenchHarness
import Testing

@Suite("Medians, spreads and ratios")
struct StatisticsTests {
    @Test func `the median of an odd number of samples is the one in the middle`() {
        #expect(Statistics([5, 1, 100]).median == 5)
    }

    @Test func `the median of an even number lies between the two in the middle`() {
        #expect(Statistics([1, 2, 4, 100]).median == 3)
    }

    @Test func `the spread is half the distance between the quartiles, in medians`() {
        #expect(Statistics([8, 9, 10, 11, 12]).spread == 0.1)
        #expect(Statistics([7, 7, 7]).spread == 0)
    }

    @Test func `a ratio is one of medians, and its range that of the rounds`() throws {
        let ratio = try #require(Ratio([10, 20, 60], to: [10, 10, 20]))
        #expect(ratio.value == 2)
        #expect(ratio.lowest == 1)
        #expect(ratio.highest == 3)
    }

    @Test func `there is no ratio to nothing`() {
        #expect(Ratio([1], to: []) == nil)
        #expect(Ratio([1], to: [0]) == nil)
    }
}
