import CMartletSystem

extension EventLoop {
    /// The monotonic clock in nanoseconds. On Linux and Apple systems it includes the time that the machine sleeps.
    package static var clock: UInt64 { martlet_clock() }

    /// The wall clock in milliseconds since 1970, for dates only: it may be set at any time.
    package static var wallClock: UInt64 { martlet_wall_clock() }

    /// The instant `timeout` after `now`, at most the clock's maximum.
    package func deadline(after timeout: Duration) -> UInt64 {
        now.addingSaturated(timeout.nanosecondCount)
    }
}

extension UInt64 {
    /// The sum, clamped to `UInt64.max`.
    func addingSaturated(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

extension Duration {
    /// The duration in nanoseconds, clamped to the range of `UInt64`.
    var nanosecondCount: UInt64 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let (scaled, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : scaled.addingSaturated(UInt64(attoseconds) / 1_000_000_000)
    }
}
