/// A bound on events that a peer causes: a burst, refilled at a constant rate.
///
/// The state is the instant at which the bucket will be full again (the generic cell rate algorithm), so no rounding
/// error accumulates.
package struct TokenBucket: Equatable, Sendable {
    /// Tokens in a full bucket.
    private let burst: UInt32
    /// Tokens that are refilled in a minute.
    private let perMinute: UInt32
    /// The instant at which the bucket is full again.
    package private(set) var fullAt = Instant.zero

    package init(burst: Int, perMinute: Int) {
        precondition(burst > 0 && perMinute > 0, "a bucket holds something and is refilled")
        self.burst = UInt32(burst)
        self.perMinute = UInt32(perMinute)
    }

    /// Takes tokens, at most as many as a full bucket has; false, and no token is taken, when fewer are left.
    package mutating func take(_ count: Int = 1, now: Instant) -> Bool {
        guard availableAt(count) <= now else { return false }
        fullAt = max(fullAt, now) + interval * count
        return true
    }

    /// Takes tokens, also more than are left. The bucket is then overdrawn until `availableAt(0)`.
    package mutating func spend(_ count: Int, now: Instant) {
        fullAt = max(fullAt, now) + interval * count
    }

    /// Whether the bucket has this many tokens. A full bucket does not have more than its burst.
    package func has(_ count: Int, now: Instant) -> Bool { count <= burst && availableAt(count) <= now }

    /// The instant at which the bucket has this many tokens, at most its burst, if none is taken before.
    package func availableAt(_ count: Int = 1) -> Instant {
        fullAt + (.zero - interval * (Int(burst) - count))
    }

    /// Whether another bucket with the same bounds has more tokens.
    package func isEmptier(than other: TokenBucket) -> Bool { fullAt > other.fullAt }

    /// Whether no token is missing.
    package func isFull(now: Instant) -> Bool { fullAt <= now }

    private var interval: Duration { Duration.seconds(60) / perMinute }
}
