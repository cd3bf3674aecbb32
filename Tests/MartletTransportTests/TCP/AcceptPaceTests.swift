import Testing

@testable import MartletTransport

@Suite struct AcceptPaceTests {
    private static let second: UInt64 = 1_000_000_000

    /// The times of the tokens for a listener that requests one every `step` nanoseconds and waits until `readyAt`.
    private func times(of pace: AcceptPace, from start: UInt64, until end: UInt64, step: UInt64) -> [UInt64] {
        var pace = pace
        var times: [UInt64] = []
        var now = start
        while now < end {
            if pace.take(at: now) { times.append(now) } else { now = max(now, pace.readyAt) }
            now += step
        }
        return times
    }

    @Test(arguments: [2, 3, 16, 100, 1500, 100_000])
    func `any second has at most the bound, and the long run nearly the bound`(count: Int) {
        let start: UInt64 = 5 * Self.second
        let times = times(of: AcceptPace(maxPerSecond: count), from: start, until: start + 4 * Self.second, step: 1000)
        var first = 0
        for (index, time) in times.enumerated() {
            while time - times[first] >= Self.second { first += 1 }
            #expect(index - first < count)
        }
        #expect(times.count >= 3 * (count - count / 16 - 1))
    }

    @Test func `one sixteenth is accepted at once, again after a pause`() {
        var pace = AcceptPace(maxPerSecond: 1600)
        func atOnce(_ now: UInt64) -> Int {
            var count = 0
            while pace.take(at: now) { count += 1 }
            return count
        }
        #expect(atOnce(Self.second) == 100)
        #expect(pace.readyAt > Self.second)
        #expect(atOnce(pace.readyAt) == 50)
        #expect(atOnce(3 * Self.second) == 100)
    }

    @Test func `rate below two traps`() async {
        await #expect(processExitsWith: .failure) { _ = AcceptPace(maxPerSecond: 1) }
    }
}
