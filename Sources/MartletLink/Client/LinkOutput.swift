package import MartletWire

/// An event that the driver or the application reports to the client's end of a link.
package enum LinkInput: Sendable {
    /// Start a connection attempt, at once if the client waits for the next one. A stop in progress ends first, with
    /// the output `.stopped`.
    case start
    /// End the connection: send the remaining frames and goaway, and report `.stopped` (C-7). Later frames of the
    /// server are ignored. Unacknowledged frames are sent again after the next `start`.
    case stop
    /// Start an attempt at once, also after the client has stopped retrying.
    case retryNow
    /// The application is visible. The client probes the server at once, also if the application was in the foreground
    /// before (C-51).
    case enterForeground
    /// The use of the application has changed. The heartbeat has longer intervals in the background.
    case setMode(HeartbeatMode)
    /// The process was suspended and continues.
    case wake
    /// The status of the path monitor.
    case pathChanged(to: PathStatus)
    /// An attempt has succeeded. A path change that removes `localAddress` ends the connection.
    case connected(ConnectionID, localAddress: String?)
    /// An attempt has failed.
    case connectFailed(ConnectionID, ConnectionFailure = .unreachable)
    /// A connection has ended: by the peer, by the network, or as requested. `isTLSFailure` reports that TLS has
    /// failed. In TLS 1.3, an alert about the client's certificate follows the handshake of the client; before welcome
    /// it is a `tlsFailure`.
    case closed(ConnectionID, byPeer: Bool, isTLSFailure: Bool = false)
    /// The credential for an attempt, or for a renewal on an established connection; nil if the account needs none. The
    /// mechanism is that of the authentication exchange that the credential begins; nil for a token (C-68).
    case credential(ConnectionID, Credential?, mechanism: MechanismName? = nil)
    /// The answer to `answerChallenge`. `expecting` is the message with which the server proves its identity in
    /// welcome, if the answer is the client's last one; nil if a different challenge follows (C-70).
    case answer(ConnectionID, Credential, expecting: Credential?)
    /// The server's message in `answerChallenge` is not valid. The client stops.
    case exchangeFailed(ConnectionID)
    /// There is no credential for an attempt or a renewal. The next attempt requests it again.
    case credentialFailed(ConnectionID)
}

/// An action that the client's end of a link requests of its driver, or an event that it reports.
package enum LinkOutput: Equatable, Sendable {
    /// Connect to the configured endpoints, or to the one of a redirect. Report `connected` or `connectFailed`.
    case connect(ConnectionID, redirect: String?)
    /// Fetch the credential of this attempt, or of the renewal on this established connection. Report `credential` or
    /// `credentialFailed`. The attempt continues meanwhile.
    case fetchCredential(ConnectionID)
    /// Compute the answer to a message of the server in the authentication exchange. Report `answer` or
    /// `exchangeFailed`.
    case answerChallenge(ConnectionID, Credential)
    /// If the carrier of the current connection has made no progress, start a second attempt and fetch its credential,
    /// as for `connect`. Otherwise report `connectFailed` (C-63).
    case startBackup(ConnectionID, beside: ConnectionID)
    /// Close the connection or attempt, which may have ended already; if `graceful`, after the remaining bytes of
    /// `transmit` were sent.
    case close(ConnectionID, graceful: Bool)
    /// Call `transmit` when the connection has room for bytes.
    case transmit(ConnectionID)
    /// The status has changed.
    case status(LinkStatus)
    /// The last connection has ended after `stop`.
    case stopped
}
