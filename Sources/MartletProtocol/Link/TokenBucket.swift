/// How often a peer may do something that costs us: a burst, refilled at a steady rate.
struct TokenBucket: Equatable, Sendable {
    /// Tokens in a full bucket.
    let burst: Int
    /// Tokens that come back in a minute.
    let perMinute: Int
    /// Thousandths of tokens used and not yet come back.
    private var usedMillis: Int64 = 0
    private var updated = Instant.zero

    init(burst: Int, perMinute: Int) {
        self.burst = burst
        self.perMinute = perMinute
    }

    /// Takes a token; false when none is left.
    mutating func take(now: Instant) -> Bool {
        let elapsed = min((now - updated).milliseconds, 3_600_000)
        usedMillis = max(0, usedMillis - elapsed * Int64(perMinute) / 60)
        updated = now
        guard usedMillis + 1000 <= Int64(burst) * 1000 else { return false }
        usedMillis += 1000
        return true
    }
}
