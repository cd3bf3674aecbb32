import Testing

@testable import MartletProtocol

@Suite struct RecentCountTests {
    private func taken(_ count: inout RecentCount, _ number: Int, at milliseconds: Int64) -> Int {
        (0..<number).reduce(0) { sum, _ in sum + (count.take(now: .zero + .milliseconds(milliseconds)) ? 1 : 0) }
    }

    @Test func `any window of the duration holds at most the allowed events`() {
        var count = RecentCount(maxCount: 100, window: .seconds(10))
        #expect(taken(&count, 60, at: 0) == 60)
        #expect(taken(&count, 60, at: 9000) == 40)
        #expect(taken(&count, 1, at: 9999) == 0)
        // The window has passed the first sixty events, and contains the forty.
        #expect(taken(&count, 100, at: 10_000) == 60)
        #expect(taken(&count, 1, at: 18_999) == 0)
        #expect(taken(&count, 100, at: 19_000) == 40)
        #expect(taken(&count, 200, at: 3_600_000) == 100)
    }

    @Test func `a refused event does not count`() {
        var count = RecentCount(maxCount: 1, window: .seconds(1))
        #expect((0..<30).filter { taken(&count, 1, at: $0 * 100) == 1 } == [0, 10, 20])
    }
}
