import MartletLink
import MartletWire
import Testing

@Suite struct JitterTests {
    @Test func `the lowest random word gives zero, the highest a duration below the bound`() {
        #expect(Duration.uniform(below: .seconds(1), random: 0) == .zero)
        #expect(Duration.uniform(below: .seconds(1), random: .max) == .nanoseconds(999_999_999))
        #expect(Duration.uniform(below: .seconds(1), random: 1 << 63) == .milliseconds(500))
        #expect(Duration.uniform(below: .zero, random: .max) == .zero)
        #expect(Duration.uniform(below: .seconds(-1), random: .max) == .zero)
    }

    @Test func `jitter of 10 % gives 0.9 to 1.1 times the duration`() {
        let second = Duration.seconds(1)
        #expect(second.jittered(percent: 10, random: 0) == .milliseconds(900))
        #expect(second.jittered(percent: 10, random: 1 << 63) == second)
        #expect(second.jittered(percent: 10, random: .max) == .nanoseconds(1_099_999_999))
    }

    @Test func `random durations are distributed evenly`() {
        var random = SeededRandom(seed: 7)
        var tenths = [Int](repeating: 0, count: 10)
        for _ in 0..<10_000 {
            tenths[Int(Duration.uniform(below: .milliseconds(10), random: random.next()).milliseconds)] += 1
        }
        #expect(tenths.allSatisfy { (850...1150).contains($0) })
    }

    @Test func `a duration outside of the range is clamped to the nearest bound`() {
        let bounds = Duration.seconds(2)...Duration.seconds(4)
        #expect(Duration.seconds(1).clamped(to: bounds) == .seconds(2))
        #expect(Duration.seconds(3).clamped(to: bounds) == .seconds(3))
        #expect(Duration.seconds(5).clamped(to: bounds) == .seconds(4))
    }
}
