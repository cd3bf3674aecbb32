/// How often a peer did something lately: a count over a window that slides, so that no two bursts pass for one.
///
/// What is owned is an instant for each of the last `maxCount` times; the latest has its place here, so that what is
/// done seldom takes no other memory.
struct RecentCount: Sendable {
    /// How often it may be done within the window.
    private let maxCount: UInt32
    /// How far back is counted, in milliseconds.
    private let windowMilliseconds: UInt32
    @Compact private var latest: Instant? = nil
    /// Those before the latest.
    private var earlier = Deque<Instant>()

    init(maxCount: Int, window: Duration) {
        precondition(maxCount > 0 && window > .zero, "something may be done within some time")
        self.maxCount = UInt32(maxCount)
        windowMilliseconds = UInt32(window.milliseconds)
    }

    /// Counts one more; false when there were as many as may be within the window that ends now.
    mutating func take(now: Instant) -> Bool {
        let window = Duration.milliseconds(windowMilliseconds)
        while let oldest = earlier.first, now - oldest >= window { _ = earlier.popFirst() }
        guard let last = latest, now - last < window else {
            earlier.releaseIfEmpty()
            latest = now
            return true
        }
        guard earlier.count + 1 < Int(maxCount) else { return false }
        earlier.append(last)
        latest = now
        return true
    }
}
