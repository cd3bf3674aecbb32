import MartletWire

/// Rates of events that a peer may cause without using credit. They outlive connections.
///
/// Each has a method that counts one event and throws when the peer exceeds its rate.
struct PeerRates: Sendable {
    private var pings = RecentCount(maxCount: 100, window: .seconds(10))
    private var opens = TokenBucket(burst: Link.openBurst, perMinute: Link.opensPerMinute)
    private var unknownFrames = RecentCount(maxCount: 32, window: .seconds(60))
    var unproductive = Link.unproductiveBucket

    mutating func countPing(now: Instant) throws(LinkError) {  // W-71, Specs/hostile.md row 17
        guard pings.take(now: now) else { throw .peer(.controlFlood) }
    }

    /// Counts a session that the peer opens or means to have opened.
    mutating func countOpen(now: Instant) throws(LinkError) {  // S-4, Specs/hostile.md row 18
        guard opens.take(now: now) else { throw .peer(.churnLimit) }
    }

    mutating func countUnknownFrame(now: Instant) throws(LinkError) {  // W-73, Specs/hostile.md row 10
        guard unknownFrames.take(now: now) else { throw .peer(.unknownFlood) }
    }

    mutating func countUnproductive(_ count: Int, now: Instant) throws(LinkError) {  // S-59, Specs/hostile.md row 43
        guard unproductive.take(min(count, Link.unproductiveBurst), now: now) else { throw .peer(.controlFlood) }
    }
}

/// A bound on events within a sliding window.
///
/// The state is the instant of each of the last `maxCount` events. The latest is stored in place, so rare events take
/// no other memory.
struct RecentCount: Sendable {
    /// Events that are allowed within the window.
    private let maxCount: UInt32
    private let windowMilliseconds: UInt32
    @Compact private var latest: Instant? = nil
    /// The events before the latest.
    private var earlier = Deque<Instant>()

    init(maxCount: Int, window: Duration) {
        precondition(maxCount > 0 && window > .zero, "a bound of events allows at least one in some time")
        self.maxCount = UInt32(maxCount)
        windowMilliseconds = UInt32(window.milliseconds)
    }

    /// Counts an event; false, and the event is not counted, when the window that ends now holds `maxCount`.
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
