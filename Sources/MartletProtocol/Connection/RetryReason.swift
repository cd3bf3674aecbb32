/// Why the next attempt to connect is made when it is.
public enum RetryReason: Hashable, Sendable {
    /// So many attempts in a row failed, counting from 1; the wait is drawn below a ceiling that doubles with each.
    case backoff(attempt: Int)
    /// A path to the network appeared.
    case pathUp(PathKind)
    /// The server asked for this wait.
    case serverAsked
    /// The server named another endpoint: dial that one. For every other reason dial the endpoint that was configured.
    case redirected
    /// The user asked.
    case userAsked
}

/// Why no attempt is made for now; it ends without the user.
public enum PauseReason: Hashable, Sendable {
    /// There is no path to the network.
    case noPath
}

/// Why no further attempt is made until the user says so (C-44).
public enum StopReason: Hashable, Sendable {
    /// The server refused the credential twice in a row, though a fresh one was asked for.
    case unauthenticated
    /// The account may not use this server.
    case forbidden
    /// The credential was revoked.
    case revoked
    /// Another connection of the same device took the link; retrying would take it back and forth for ever (C-39).
    case replaced
    /// The server speaks none of our versions.
    case unsupportedVersion
    /// As many retries as were allowed have failed.
    case attemptLimit
}

/// How an attempt to connect or a connection ended, as far as trying again is concerned.
public enum ConnectionFailure: Hashable, Sendable {
    /// The attempt ended before welcome: no address, no carrier, no handshake.
    case unreachable
    /// A carrier with TLS was called for and could not be had: the server's certificate, its version, or none here at
    /// all (`tlsFailure`, C-12).
    case tlsFailure
    /// The connection was established and then fell silent or failed on this side.
    case lost
    /// The connection was established and the peer ended it (end of stream or reset). It may be ending everybody's.
    case closedByPeer
    /// The server is there and cannot serve now (busy, draining, too many); it may have said when to come back.
    case refused(retryAfter: Duration?)
    /// The server named another endpoint; it may have said when to come back.
    case redirected(retryAfter: Duration?)
    /// The server did not accept the credential.
    case unauthenticated
    /// The account may not use this server.
    case forbidden
    /// The credential was revoked.
    case revoked
    /// Another connection of the same device took the link.
    case replaced
    /// The server speaks none of our versions.
    case unsupportedVersion
}
