import MartletLink
public import MartletTransport
public import MartletWire

/// An event for a relay's log.
public enum RelayEvent: Sendable {
    /// A note of the engine about links, refusals or peers' faults, with the peer's address unless its connection has
    /// closed.
    case note(RelayNote, peer: SocketAddress?)
    /// A number of connections were closed at once because of the limits of their addresses, since the last such event,
    /// with the address of the latest one. There is at most one such event a second (C-11, C-67).
    case connectionsRefused(Int, latest: SocketAddress?)
    /// A connection of one of `Relay.Configuration.proxies` was closed, because it had no valid header in time, or too
    /// many others had none yet.
    case proxyRefused(SocketAddress?)
    /// `Relay.revoke(_:)` ended the links of an account.
    case revoked(AccountName)
    /// `Relay.revokeRoomDecisions(of:in:)` requested new decisions of the room policy; nil for all accounts, or all
    /// rooms.
    case roomDecisionsRevoked(of: AccountName?, in: RoomName?)
    /// A relay of the bus with this name has requested the end of the links of an account, which this relay has
    /// performed.
    case kicked(AccountName, by: String)
    /// A relay of the bus with this name has requested that this one drains, which it does.
    case drainRequested(by: String)
    /// A datagram of the bus was ignored. There is one event for each relay, and one for datagrams without a known
    /// relay.
    case busFaulted(RelayID?, BusFault)
    /// A relay of the bus has the name of this one, so that neither can be drained by it. There is one event
    /// for each such relay.
    case busNameShared(RelayID)
    /// The system has no resources to accept connections. Accepting resumes without intervention.
    case acceptingPaused(TransportError)
    /// A TLS handshake or connection failed. Without a peer, the relay has read a certificate of its own that is not
    /// currently valid, or could not replace ticket keys that are 12 hours old.
    case tlsFailed(TLSError, peer: SocketAddress?)
    /// A request for a WebSocket was refused, or a client violated the protocol of one.
    case webSocketFailed(WebSocketError, peer: SocketAddress?)
    /// The store threw an error. The affected sessions were reset with `storeUnavailable`.
    case storeFailed(RoomName, any Error)
    /// The store has appended messages again, after an append that threw an error.
    case storeRecovered
    /// The store threw an error when the rooms of an account were read. The request was answered with
    /// `storeUnavailable`.
    case membershipsFailed(AccountName, any Error)
    /// The attachment store threw an error when it removed expired attachments. It is called again.
    case attachmentsFailed(any Error)
    /// The free space of the store's file system has reached another state.
    case diskSpaceChanged(DiskSpace.Level, freeByteCount: UInt64)
    /// The authenticator threw an error other than `AuthenticationFailure`. The client received `serverBusy`.
    case authenticatorFailed(AccountName, any Error)
    /// The authenticator refused a credential. The cause is not sent to the client.
    case authenticationRefused(AccountName, cause: String)
    /// The room policy threw an error, or exceeded its timeout: `RoomPolicyTimeout`. The session was reset with
    /// `serverBusy`.
    case policyFailed(RoomName, any Error)
    /// The handler of undelivered messages threw an error for a report of this room. The report is lost.
    case undeliveredFailed(RoomName, any Error)
    /// A number of reports of undelivered messages were dropped since the last such event, because too many waited.
    /// There is at most one such event of a loop in 10 seconds.
    case undeliveredReportsDropped(Int)
}

/// An error that prevents the start of a relay.
public enum RelayError: Error, Equatable, Sendable {
    /// The relay was started or shut down before.
    case alreadyStarted
    /// The configuration has no address to listen on.
    case noAddresses
    /// A property of the configuration is out of its range. The text names the property and the range.
    case invalidConfiguration(String)
    /// The text is not an IP address.
    case invalidAddress(String)
    /// The relay cannot listen on the address.
    case cannotListen(SocketAddress, TransportError)
    /// The relay would listen without TLS on an address that is not a loopback address; see
    /// `Relay.Configuration.allowsPlaintext`.
    case plaintextNotAllowed(SocketAddress)
    /// The certificate or another file of TLS is not valid.
    case invalidTLS(TLSError)
    /// The relay has no TLS to reload.
    case noTLS
    /// The relay does not run.
    case notRunning
    /// The configuration has `RelayConfiguration.roomRoles`, and the store keeps no roles.
    case rolesNotKept
    /// The relay has a handler of undelivered messages, and the store keeps no membership records.
    case membershipsNotKept
}

extension RelayError: CustomStringConvertible {
    /// A description in one line.
    public var description: String {
        switch self {
        case .alreadyStarted: "the relay was started or shut down before"
        case .noAddresses: "the relay has no address to listen on"
        case .invalidConfiguration(let text): "the configuration is not valid: \(text)"
        case .invalidAddress(let text): "\"\(text)\" is not an IP address"
        case .cannotListen(let address, let error): "cannot listen on \(address): \(error)"
        case .plaintextNotAllowed(let address): "without TLS a relay does not listen on \(address)"
        case .invalidTLS(let error): "\(error)"
        case .noTLS: "the relay does not use TLS"
        case .notRunning: "the relay does not run"
        case .rolesNotKept: "the store keeps no roles of rooms"
        case .membershipsNotKept: "the store keeps no membership records"
        }
    }
}
