/// How often a peer may do something that costs us: a burst, refilled at a steady rate.
///
/// Kept as the instant at which the bucket will be full again (the generic cell rate algorithm), so nothing is lost to
/// rounding however often it is asked.
struct TokenBucket: Equatable, Sendable {
    /// Tokens in a full bucket.
    let burst: Int
    /// Tokens that come back in a minute.
    let perMinute: Int
    private var fullAt = Instant.zero

    init(burst: Int, perMinute: Int) {
        precondition(burst > 0 && perMinute > 0, "a bucket holds something and is refilled")
        self.burst = burst
        self.perMinute = perMinute
    }

    /// Takes a token; false when none is left.
    mutating func take(now: Instant) -> Bool {
        let interval = Duration.seconds(60) / perMinute
        let start = max(fullAt, now)
        guard start - now <= interval * (burst - 1) else { return false }
        fullAt = start + interval
        return true
    }

    /// When `take` succeeds next, if nothing is taken before.
    func availableAt(now: Instant) -> Instant {
        max(now, fullAt + (.zero - Duration.seconds(60) / perMinute * (burst - 1)))
    }

    /// What there is beside the bounds.
    mutating func pass(_ packer: inout Packer) {
        packer.pass(&fullAt)
    }
}
