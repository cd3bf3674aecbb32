/// How fast a listener accepts: a token bucket, so that in no second it is more than a bound.
///
/// A sixteenth of the bound may come at once, the rest at an even pace. Kept as the time at which the bucket is full
/// again (the generic cell rate algorithm of ITU-T I.371), so there is nothing to fill up.
struct AcceptPace {
    private let burst: UInt64
    /// Nanoseconds from one token to the next.
    private let interval: UInt64
    /// When there are as many tokens as there may be.
    private var fullAt: UInt64 = 0

    /// At most `count` in any second, 2 or more.
    init(maxPerSecond count: Int) {
        precondition(count >= 2, "a listener accepts two connections in a second at the least")
        let count = UInt64(count)
        burst = max(count / 16, 1)
        interval = (1_000_000_000 + count - burst - 1) / (count - burst)
    }

    /// Takes a token; false when there is none.
    mutating func take(at now: UInt64) -> Bool {
        let full = max(fullAt, now)
        guard full - now <= (burst - 1) * interval else { return false }
        fullAt = full + interval
        return true
    }

    /// When half of the bucket is full, so that who waits comes in groups.
    var readyAt: UInt64 {
        fullAt - min(fullAt, burst / 2 * interval)
    }
}
