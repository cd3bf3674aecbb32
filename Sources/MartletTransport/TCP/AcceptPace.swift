/// The accept rate of a listener: a token bucket with a maximum number of accepts in any second.
///
/// One sixteenth of the maximum may be accepted at once, the rest at an even rate. The state is the time at which the
/// bucket is full again (the generic cell rate algorithm of ITU-T I.371).
struct AcceptPace {
    private let burst: UInt64
    /// The time between two tokens, in nanoseconds.
    private let interval: UInt64
    /// The time at which the bucket is full.
    private var fullAt: UInt64 = 0

    /// Creates a bucket for at most `count` accepts in any second; `count` is 2 or more.
    init(maxPerSecond count: Int) {
        precondition(count >= 2, "a listener accepts at least two connections in a second")
        let count = UInt64(count)
        burst = max(count / 16, 1)
        interval = (1_000_000_000 + count - burst - 1) / (count - burst)
    }

    /// Takes a token; false if there is none.
    mutating func take(at now: UInt64) -> Bool {
        let full = max(fullAt, now)
        guard full - now <= (burst - 1) * interval else { return false }
        fullAt = full + interval
        return true
    }

    /// The time at which half of the bucket is full, so that waiting connections are accepted in groups.
    var readyAt: UInt64 {
        fullAt - min(fullAt, burst / 2 * interval)
    }
}
