/// The reason for the time of the next connection attempt.
public enum RetryReason: Hashable, Sendable {
    /// Consecutive attempts have failed. The number counts from 1, and the ceiling of the wait doubles with each
    /// attempt.
    case backoff(attempt: Int)
    /// A path to the network has appeared.
    case pathUp(PathKind)
    /// The server required the wait.
    case serverRequired
    /// The server named another endpoint for the next attempt. All other attempts use the configured endpoint.
    case redirected
    /// The user requested an attempt.
    case userRequested
}

/// The reason why attempts are delayed.
public enum PauseReason: Hashable, Sendable {
    /// There is no path to the network.
    case noPath
}

/// The reason why there is no further attempt until the user resumes (C-44).
public enum StopReason: Hashable, Sendable {
    /// The server refused the credential twice in a row, although the second one was new.
    case unauthenticated
    /// The account lacks the permission to use this server.
    case forbidden
    /// The credential was revoked.
    case revoked
    /// Another client with the same account and device ID has connected. Further attempts would make both connections
    /// replace each other (C-39).
    case replaced
    /// The server supports none of the client's versions.
    case unsupportedVersion
    /// The server has not proved that it knows the password's keys: it is an impostor, or its password file is damaged
    /// (C-70).
    case serverUnverified
    /// The maximum number of failed attempts was reached.
    case attemptLimit
}

extension StopReason {
    /// A stable key for translations and logs, the name of the case.
    public var key: String {
        switch self {
        case .unauthenticated: "unauthenticated"
        case .forbidden: "forbidden"
        case .revoked: "revoked"
        case .replaced: "replaced"
        case .unsupportedVersion: "unsupportedVersion"
        case .serverUnverified: "serverUnverified"
        case .attemptLimit: "attemptLimit"
        }
    }
}

extension StopReason: CustomStringConvertible {
    /// A clause for people.
    public var description: String {
        switch self {
        case .unauthenticated: "the credential was refused"
        case .forbidden: "the account may not use this server"
        case .revoked: "the credential was revoked"
        case .replaced: "another client with the same account and device ID has connected"
        case .unsupportedVersion: "the server supports no version of this client"
        case .serverUnverified: "the server has not proved that it knows the password"
        case .attemptLimit: "the maximum number of failed attempts was reached"
        }
    }
}

/// The failure of a connection attempt or a connection, as input of the reconnect policy.
public enum ConnectionFailure: Hashable, Sendable {
    /// The attempt ended before welcome, during the name lookup, the connection or the handshake.
    case unreachable
    /// The host of the server answered that no server listens on the port (ECONNREFUSED).
    case notListening
    /// The application has provided no credential for the attempt: its closure has thrown an error, or the credential
    /// is too long.
    case credentialUnavailable
    /// A required TLS connection failed because of the server's certificate or version, because TLS is not available,
    /// or because the server refused the client's certificate (`tlsFailure`, C-12).
    case tlsFailure
    /// The proxy on the way to the server is not reachable, refused the connection, or did not accept the credentials
    /// for it.
    case proxyFailure
    /// A captive portal of the network answered in place of the server.
    case captivePortal
    /// The established connection became silent or failed locally.
    case lost
    /// The peer ended the established connection (end of stream or reset). It may have ended all its connections.
    case closedByPeer
    /// The server is temporarily unable to accept the connection, and may have required a wait.
    case refused(retryAfter: Duration?)
    /// The server named another endpoint, and may have required a wait.
    case redirected(retryAfter: Duration?)
    /// The server did not accept the credential.
    case unauthenticated
    /// The account lacks the permission to use this server.
    case forbidden
    /// The credential was revoked.
    case revoked
    /// Another client with the same account and device ID has connected.
    case replaced
    /// The server supports none of the client's versions.
    case unsupportedVersion
    /// The server has not proved that it knows the password's keys (C-70).
    case serverUnverified
}
