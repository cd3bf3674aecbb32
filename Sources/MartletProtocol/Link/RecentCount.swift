/// How often a peer did something lately: a count over a window that slides, so that no two bursts pass for one.
///
/// What is owned is an instant for each of the last `maxCount` times.
struct RecentCount: Sendable {
    /// How often it may be done within `window`.
    let maxCount: Int
    /// How far back is counted.
    let window: Duration
    private var times = Deque<Instant>()

    init(maxCount: Int, window: Duration) {
        precondition(maxCount > 0 && window > .zero, "something may be done within some time")
        self.maxCount = maxCount
        self.window = window
    }

    /// Counts one more; false when there were as many as may be within the window that ends now.
    mutating func take(now: Instant) -> Bool {
        while let oldest = times.first, now - oldest >= window { _ = times.popFirst() }
        guard times.count < maxCount else { return false }
        times.append(now)
        return true
    }
}
