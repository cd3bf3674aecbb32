import MartletLink

/// The rate at which an account publishes over all of its links, or all members of a room together. Credit beyond it is
/// withheld (R-54, R-95, Specs/hostile.md row 54).
///
/// Credit that was given before remains valid: a publisher may exceed a burst by the windows of its sessions and its
/// link (`Limits`), which is thousands of small messages, and then waits until the average is that of the rate.
public struct MessageRate: Equatable, Sendable {
    /// Messages a second, 1 to 1,000,000.
    public var messagesPerSecond = 500
    /// Messages at once before credit is withheld, 1 to 1,000,000,000.
    public var messageBurst = 5_000
    /// Bytes of messages a second, 1 to 64 MiB.
    public var bytesPerSecond = 8 * 1024 * 1024
    /// Bytes of messages at once before credit is withheld, 1 to 1 GiB.
    public var byteBurst = 64 * 1024 * 1024

    /// The default rate.
    public init() {}
}

/// The rest of a rate: two token buckets, which may be overdrawn.
///
/// | state | ends |
/// |---|---|
/// | in credit | messages beyond the burst |
/// | overdrawn: the relay returns no credit and opens no sessions | `creditAt` |
struct MessageAllowance: Equatable, Sendable {
    private var messages: TokenBucket
    private var bytes: TokenBucket

    init(_ rate: MessageRate) {
        messages = TokenBucket(
            burst: min(max(rate.messageBurst, 1), 1_000_000_000),
            perMinute: 60 * min(max(rate.messagesPerSecond, 1), 1_000_000))
        bytes = TokenBucket(
            burst: min(max(rate.byteBurst, 1), 1 << 30), perMinute: 60 * min(max(rate.bytesPerSecond, 1), 64 << 20))
    }

    /// Takes messages from both buckets.
    mutating func spend(messageCount: Int = 1, byteCount: Int, now: Instant) {
        messages.spend(messageCount, now: now)
        bytes.spend(byteCount, now: now)
    }

    /// The instant from which on no bucket is overdrawn.
    var creditAt: Instant { max(messages.availableAt(0), bytes.availableAt(0)) }

    /// The instant from which on both buckets are full.
    var fullAt: Instant { max(messages.fullAt, bytes.fullAt) }
}
