/// The bounds on connections and failed authentications of one address at a relay. The unit is a prefix: an IPv4
/// address, or the upper 64 bits of an IPv6 address.
///
/// Clients behind one proxy or one translator of addresses share the bounds of its address. Loopback addresses are no
/// exception.
public struct PeerLimits: Equatable, Sendable {
    /// The maximum number of connections of a prefix. Further ones are closed at once (Specs/hostile.md row 51).
    public var maxConnections = 256
    /// The maximum number of connections of a prefix that are not authenticated yet. Further ones are closed at once
    /// (Specs/hostile.md row 52).
    public var maxHandshakes = 32
    /// The number of connections of all prefixes that are not authenticated yet, beyond which a prefix may have one
    /// such connection only (Specs/hostile.md row 52).
    public var maxTotalHandshakes = 1_024
    /// The maximum number of authentications of a prefix in progress, without renewals. Further ones are refused for a
    /// time (C-67, Specs/hostile.md row 64).
    public var maxAuthentications = 8
    /// The number of recent failed authentications of a prefix, 1 to 16, from which on the prefix is refused for a time
    /// (C-67). With a larger number prefixes are never refused. The authenticator decides as many messages of a
    /// prefix at a time as failures remain, but at least one; the others wait (Specs/hostile.md row 64).
    public var maxFailures = 5
    /// The minimum duration for which a prefix is refused after `maxFailures` failures, at most 60 s. It doubles with
    /// each further failure, up to 60 s (C-67).
    public var minRefusal: Duration = .seconds(1)
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
        limits.maxAuthentications = .max
        limits.maxFailures = .max
        limits.maxAuthenticationDelay = .zero
        return limits
    }
}
