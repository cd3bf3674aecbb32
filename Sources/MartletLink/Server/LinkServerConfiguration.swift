public import MartletWire

/// The bounds of the links and connections of a server. Each has a default.
public struct LinkServerConfiguration: Sendable {
    /// The offered limits; the lower limit of both sides applies.
    public var limits = Limits(maxSessions: Link.maxSessions)
    /// The offered features; those of both sides apply.
    public var features = Features.all
    /// Whether packets to clients pass through a deflate stream, if the client supports it; 39 KiB for each busy link.
    public var deflatesPackets = false
    /// The duration from the accept to a whole hello (W-75, Specs/hostile.md row 5).
    public var handshakeTimeout: Duration = .seconds(5)
    /// The duration from the accept to an accepted hello, regardless of other input (Specs/hostile.md row 6).
    public var authTimeout: Duration = .seconds(10)
    /// The duration from a frame's first byte to its last (C-60, Specs/hostile.md row 5).
    public var frameTimeout: Duration = .seconds(30)
    /// The duration for which a peer may read nothing while output is queued for it (W-75, Specs/hostile.md row 20).
    public var slowConsumerTimeout: Duration = .seconds(10)
    /// The duration for which a connection may be silent; longer than any client's heartbeat interval (C-52).
    public var idleTimeout: Duration = .seconds(1500)
    /// The duration for which a link without a connection is kept for a resume.
    public var resumeLifetime: Duration = .seconds(300)
    /// The maximum number of connections, in all phases. The last sixteenth is for links that are resumed.
    public var maxConnections = 100_000
    /// The maximum number of links, with a connection or without.
    public var maxLinks = 100_000
    /// The maximum number of suspended links; beyond it the longest suspended link ends, at a relay that of the account
    /// that has most (C-62).
    public var maxSuspendedLinks = 20_000
    /// The maximum number of refused resumes of a connection (Specs/hostile.md row 23).
    public var maxResumeAttempts = 5
    /// The duration after which a client that was rejected with `serverBusy` may connect again (C-27).
    package var busyRetryAfter: Duration = .seconds(5)
    /// The sequence of each session's first frame, as at the clients (W-11).
    package var firstSequence: UInt64 = 1
    /// The account as which no peer signs in; nil if there is none.
    package var reservedAccount: AccountName?

    /// The default configuration.
    public init() {}
}
