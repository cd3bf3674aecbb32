/// How often a peer did something lately: a count over a window that slides, so that no two bursts pass for one.
///
/// What is owned is an instant for each of the last `maxCount` times; the latest has its place here, so that what is
/// done seldom takes no other memory.
struct RecentCount: Sendable {
    /// How often it may be done within `window`.
    let maxCount: Int
    /// How far back is counted.
    let window: Duration
    private var latest: Instant?
    /// Those before the latest.
    private var earlier = Deque<Instant>()

    init(maxCount: Int, window: Duration) {
        precondition(maxCount > 0 && window > .zero, "something may be done within some time")
        self.maxCount = maxCount
        self.window = window
    }

    /// Counts one more; false when there were as many as may be within the window that ends now.
    mutating func take(now: Instant) -> Bool {
        while let oldest = earlier.first, now - oldest >= window { _ = earlier.popFirst() }
        guard let last = latest, now - last < window else {
            latest = now
            return true
        }
        guard earlier.count + 1 < maxCount else { return false }
        earlier.append(last)
        latest = now
        return true
    }

    /// What there is beside the bounds.
    mutating func pass(_ packer: inout Packer) {
        packer.pass(&latest)
        packer.pass(&earlier, .zero) { $0.pass(&$1) }
    }
}
