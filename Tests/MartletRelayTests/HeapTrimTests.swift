import MartletLink
import Testing

@testable import MartletRelay

@Suite struct HeapTrimTests {
    private static let start = Instant(nanoseconds: 1_000_000_000)

    @Test func `fall of the used memory by an eighth of the budget makes a trim due`() {
        var trim = HeapTrim(budget: 800)
        var answers = [500, 700, 600, 599].map { trim.isDue($0, now: Self.start) }
        #expect(answers == [false, false, false, true])
        #expect(trim.deadline == nil)
        answers = [599, 400].map { trim.isDue($0, now: Self.start + HeapTrim.interval) }
        #expect(answers == [false, true])
    }

    @Test func `fall within the interval makes a trim due at its end, reported as deadline`() {
        var trim = HeapTrim(budget: 800)
        for byteCount in [700, 500] { _ = trim.isDue(byteCount, now: Self.start) }
        let soon = trim.isDue(300, now: Self.start + .seconds(1))
        #expect(!soon && trim.deadline == Self.start + HeapTrim.interval)
        let later = trim.isDue(300, now: Self.start + HeapTrim.interval)
        #expect(later && trim.deadline == nil)
    }
}
