import Testing

@testable import MartletRelay

@Suite struct ExpiryClockTests {
    private static let day: UInt64 = 24 * 3600 * 1000
    private let start = ContinuousClock.now

    /// Observes the wall clock, `offset` milliseconds ahead of the steady one, at these milliseconds.
    private func observe(_ clock: inout ExpiryClock, _ times: [UInt64], offset: Int64 = 0) -> [Int64?] {
        times.map { time in
            let wall = UInt64(Int64(100 * Self.day + time) + offset)
            return clock.observe(wall: wall, steady: start + .milliseconds(Int64(time)))
        }
    }

    private func clock(stored: UInt64? = nil) -> ExpiryClock {
        ExpiryClock(stored: stored, wall: 100 * Self.day, steady: start)
    }

    //
    @Test func `a wall clock 40 days ahead for two passes -> it advances like the steady clock, and one jump`() {
        var clock = clock()
        let ahead = Int64(40 * Self.day)
        #expect(observe(&clock, [60_000]) == [nil])
        #expect(observe(&clock, [120_000, 180_000], offset: ahead) == [ahead, nil])
        #expect(clock.now == 100 * Self.day + 180_000)
        #expect(observe(&clock, [240_000]) == [-ahead])
        #expect(clock.now == 100 * Self.day + 240_000)
    }

    //
    @Test func `a wall clock that jumps ahead and agrees for a day -> the time of the wall clock, and not before`() {
        var clock = clock()
        let ahead = Int64(40 * Self.day)
        _ = observe(&clock, [60_000, 60_000 + Self.day - 1], offset: ahead)
        #expect(clock.now == 101 * Self.day + 59_999)
        #expect(observe(&clock, [60_000 + Self.day], offset: ahead) == [nil])
        #expect(clock.now == 141 * Self.day + 60_000)
    }

    //
    @Test func `a wall clock that is behind for a minute -> the time falls behind, until a day of agreement`() {
        var clock = clock()
        let behind = -Int64(40 * Self.day)
        _ = observe(&clock, [60_000], offset: behind)
        #expect(clock.now == 60 * Self.day + 60_000)
        _ = observe(&clock, [120_000])
        #expect(clock.now == 60 * Self.day + 120_000)
        _ = observe(&clock, [120_000 + Self.day])
        #expect(clock.now == 101 * Self.day + 120_000)
    }

    //
    @Test func `a start with a wall clock beyond the stored time -> the stored time; with an earlier one -> that one`()
    {
        #expect(clock(stored: 60 * Self.day).now == 60 * Self.day)
        #expect(clock(stored: 140 * Self.day).now == 100 * Self.day)
        #expect(clock().now == 100 * Self.day)
    }

    //
    @Test func `a wall clock that gains a second in a minute -> a jump when it is more than a minute ahead`() {
        var clock = clock()
        var jumps = 0
        for minute in 1...61 as ClosedRange<UInt64> {
            jumps += observe(&clock, [minute * 60_000], offset: Int64(minute) * 1000).compactMap(\.self).count
        }
        #expect(jumps == 1)
        #expect(clock.now == 100 * Self.day + 61 * 60_000)
    }
}
