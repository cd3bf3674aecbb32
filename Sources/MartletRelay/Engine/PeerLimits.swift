import MartletLink

/// The bounds on connections and failed authentications of one address at a relay. The unit is a prefix: an IPv4
/// address, or the upper 64 bits of an IPv6 address.
///
/// Clients behind one proxy or one translator of addresses share the bounds of its address. Loopback addresses are no
/// exception. `Relay.Configuration` names addresses without bounds, and proxies that state the addresses of clients.
public struct PeerLimits: Equatable, Sendable {
    /// The maximum of `failureBurst`, unless it is `.max`, and of `failuresPerMinute`.
    package static let maxFailureRate = 1_000_000
    /// The maximum number of connections of a prefix. Further ones are closed at once (Specs/hostile.md row 51).
    public var maxConnections = 256
    /// The maximum number of connections of a prefix that are not authenticated yet. Further ones are closed at once
    /// (Specs/hostile.md row 52).
    public var maxHandshakes = 128
    /// The number of connections of all prefixes that are not authenticated yet, beyond which a prefix may have one
    /// such connection only (Specs/hostile.md row 52).
    public var maxTotalHandshakes = 1_024
    /// The number of recent failed authentications of an account from a prefix, 1 to 16, from which on the account is
    /// refused there for a time (C-67). With a larger number it is never refused. The authenticator decides as many
    /// messages of an account from a prefix at a time as failures remain, but at least one; the others wait
    /// (Specs/hostile.md row 64). A device that was authenticated from the prefix in the last day is counted apart.
    public var maxFailures = 5
    /// The minimum duration for which an account is refused at a prefix after `maxFailures` failures, at most 60 s. It
    /// doubles with each further failure, up to 60 s (C-67).
    public var minRefusal: Duration = .seconds(1)
    /// The number of failed authentications of a prefix under all names that have their full effect at once, at most
    /// 1,000,000, or `.max` for any number. Beyond it accounts wait that were not authenticated from the prefix in the
    /// last day (C-113, Specs/hostile.md row 104).
    public var failureBurst = 64
    /// The number of failed authentications of a prefix that are forgotten in a minute, 1 to 1,000,000 (C-113).
    public var failuresPerMinute = 30
    /// The maximum delay of an authentication, for an account with 10 recent failures (C-67).
    public var maxAuthenticationDelay: Duration = .seconds(2)

    /// The default bounds.
    public init() {}

    /// No bounds, for tests and for relays behind a proxy that has its own.
    public static var unlimited: PeerLimits {
        var limits = PeerLimits()
        limits.maxConnections = .max
        limits.maxHandshakes = .max
        limits.maxTotalHandshakes = .max
        limits.maxFailures = .max
        limits.failureBurst = .max
        limits.maxAuthenticationDelay = .zero
        return limits
    }
}
