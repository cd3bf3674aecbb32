import MartletLink

/// The bound on the transient frames of presence that a loop sends, over all of its rooms (R-37, Specs/hostile.md row
/// 44).
///
/// It owns the frames left in this turn, which `endTurn` renews, and a bucket.
struct PresenceBudget: Sendable {
    /// The maximum number of frames of presence of a loop in a turn. A turn reports at least one account.
    static let maxTurnFrames = 512
    /// The number of frames of presence of a loop that are sent at once.
    static let burst = 4096
    /// The number of frames of presence of a loop that are sent in a minute, beyond the burst.
    static let framesPerMinute = 2_457_600

    private var turnRest = PresenceBudget.maxTurnFrames
    private var frames = TokenBucket(burst: PresenceBudget.burst, perMinute: PresenceBudget.framesPerMinute)

    /// Takes the frames of as many accounts as possible, each of which costs this many. Returns the number of accounts.
    mutating func take(_ maxCount: Int, costing cost: Int, now: Instant) -> Int {
        let cost = max(cost, 1)
        var count = min(maxCount, turnRest / cost)
        while count > 0, !frames.take(count * cost, now: now) { count -= 1 }
        turnRest -= count * cost
        return count
    }

    /// The instant at which the bucket has the frames of an account.
    func availableAt(_ cost: Int) -> Instant { frames.availableAt(max(cost, 1)) }

    /// Ends the turn.
    mutating func endTurn() { turnRest = PresenceBudget.maxTurnFrames }
}
