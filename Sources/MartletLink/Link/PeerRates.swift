import MartletWire

/// Rates of events that a peer may cause without using credit. They outlive connections.
///
/// Each method counts one event, and throws when the peer exceeds its rate.
struct PeerRates: Sendable {
    private var pings = TokenBucket(burst: 100, perMinute: 600)
    private var opens = TokenBucket(burst: Link.openBurst, perMinute: Link.opensPerMinute)
    private var unknownFrames = TokenBucket(burst: 32, perMinute: 32)
    var unproductive = Link.unproductiveBucket

    mutating func countPing(now: Instant) throws(LinkError) {  // W-71, Specs/hostile.md row 17
        guard pings.take(now: now) else { throw .peer(.controlFlood) }
    }

    /// Counts a session that the peer opens or uses as an open one.
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
