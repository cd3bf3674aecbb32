public import MartletProtocol
public import MartletTransport
public import MartletWire

/// Something worth a line in a relay's log.
public enum RelayEvent: Sendable {
    /// What the engine noticed: links, refusals, faults of peers; and the address of the peer, unless its connection
    /// is gone.
    case note(RelayNote, peer: SocketAddress?)
    /// The system has nothing left to accept connections with; accepting goes on by itself when it has.
    case acceptingPaused(TransportError)
    /// The store threw; the sessions concerned were reset with `storeUnavailable`.
    case storeFailed(RoomName, any Error)
    /// The authenticator threw what is no `AuthenticationFailure`; the client was told `serverBusy`.
    case authenticatorFailed(AccountName, any Error)
}

/// Why a relay does not start.
public enum RelayError: Error, Equatable, Sendable {
    /// It was started before; a relay is started once.
    case alreadyStarted
    /// The text is no IP address.
    case invalidAddress(String)
    /// The address cannot be listened on.
    case cannotListen(SocketAddress, TransportError)
}

extension RelayError: CustomStringConvertible {
    /// A short text for people.
    public var description: String {
        switch self {
        case .alreadyStarted: "the relay was started before"
        case .invalidAddress(let text): "\"\(text)\" is no IP address"
        case .cannotListen(let address, let error): "cannot listen on \(address): \(error)"
        }
    }
}
