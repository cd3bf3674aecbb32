import BenchHarness
import Testing

@Suite("Statistics")
struct StatisticsTests {
    @Test func `median of an odd number of samples is the middle one`() {
        #expect(Statistics([5, 1, 100]).median == 5)
    }

    @Test func `median of an even number of samples is between the middle two`() {
        #expect(Statistics([1, 2, 4, 100]).median == 3)
    }

    @Test func `spread is half the interquartile distance in medians`() {
        #expect(Statistics([8, 9, 10, 11, 12]).spread == 0.1)
        #expect(Statistics([7, 7, 7]).spread == 0)
    }

    @Test func `ratio is the quotient of medians with the range of the rounds`() throws {
        let ratio = try #require(Ratio([10, 20, 60], to: [10, 10, 20]))
        #expect(ratio.value == 2)
        #expect(ratio.lowest == 1)
        #expect(ratio.highest == 3)
    }

    @Test func `ratio to zero is nil`() {
        #expect(Ratio([1], to: []) == nil)
        #expect(Ratio([1], to: [0]) == nil)
    }
}
