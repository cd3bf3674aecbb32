import Testing

@testable import MartletLink
@testable import MartletRelay

@Suite struct FailureScoreTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    private func score(_ count: Int) -> FailureScore {
        var score = FailureScore()
        for _ in 0..<count { _ = score.add(now: Self.start) }
        return score
    }

    // C-67
    @Test func `8 failures → halved in each minute, and zero after four`() {
        let score = score(8)
        #expect(score.count(now: Self.start + .seconds(60) + .nanoseconds(-1)) == 8)
        #expect((1...4).map { score.count(now: Self.start + .seconds(60) * $0) } == [4, 2, 1, 0])
        #expect(score.end == Self.start + .seconds(240))
    }

    // C-67
    @Test func `a refusal of 30 s → the number halves a minute after its end`() {
        var score = score(8)
        score.hold(until: Self.start + .seconds(30))
        #expect(score.count(now: Self.start + .seconds(90) + .nanoseconds(-1)) == 8)
        #expect(score.count(now: Self.start + .seconds(90)) == 4)
        #expect(score.end == Self.start + .seconds(270))
    }

    @Test func `no failure → zero without an end`() {
        #expect(FailureScore().end == nil && FailureScore().count(now: .distantFuture) == 0)
    }

    @Test func `further failures → counted from the halved number, up to the maximum`() {
        var score = score(8)
        #expect(score.add(now: Self.start + .seconds(61)) == 5)
        #expect(self.score(100).count(now: Self.start) == FailureScore.maxCount)
    }

    @Test func `a failure at an earlier instant of another loop → counted now`() {
        var score = score(1)
        #expect(score.add(now: Self.start + .seconds(-1)) == 2)
        #expect(score.count(now: Self.start + .seconds(-1)) == 2)
        #expect(score.end == Self.start + .seconds(120))
    }
}
