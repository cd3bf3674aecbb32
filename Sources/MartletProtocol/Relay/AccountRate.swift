/// The rate at which an account may publish over all of its links. Credit beyond it is withheld (R-54, Specs/hostile.md
/// row 54).
public struct AccountRate: Equatable, Sendable {
    /// Messages a second, 1 to 1,000,000.
    public var messagesPerSecond = 500
    /// Messages at once, 1 to 1,000,000,000.
    public var messageBurst = 5_000
    /// Bytes of messages a second, 1 to 64 MiB.
    public var bytesPerSecond = 8 * 1024 * 1024
    /// Bytes of messages at once, 1 to 1 GiB.
    public var byteBurst = 64 * 1024 * 1024

    /// The default rate.
    public init() {}
}

/// The rest of an account's rate: two token buckets, which may be overdrawn.
///
/// | state | ends |
/// |---|---|
/// | in credit | messages beyond the burst |
/// | overdrawn: the relay returns no credit and opens no sessions | `creditAt` |
struct AccountAllowance: Equatable, Sendable {
    private var messages: TokenBucket
    private var bytes: TokenBucket

    init(_ rate: AccountRate) {
        messages = TokenBucket(
            burst: min(max(rate.messageBurst, 1), 1_000_000_000),
            perMinute: 60 * min(max(rate.messagesPerSecond, 1), 1_000_000))
        bytes = TokenBucket(
            burst: min(max(rate.byteBurst, 1), 1 << 30), perMinute: 60 * min(max(rate.bytesPerSecond, 1), 64 << 20))
    }

    /// Takes a message from both buckets.
    mutating func spend(byteCount: Int, now: Instant) {
        messages.spend(1, now: now)
        bytes.spend(byteCount, now: now)
    }

    /// The instant from which on no bucket is overdrawn.
    var creditAt: Instant { max(messages.availableAt(0), bytes.availableAt(0)) }
}
