import MartletLink
import MartletTransport
import MartletWire

/// What the driver keeps for an accepted connection.
final class RelayPeer {
    /// The share of the connection in the limits of its address.
    var admitted: AdmittedPeer
    /// The begin of the connection, in milliseconds since 1970.
    let since: UInt64
    /// The name of the program in the hello of the authentication; nil if there was none.
    var agent: String?
    /// The delay before the call of the authenticator; nil while there is none.
    var authenticationDelay: LoopTimer? { didSet { oldValue?.set(deadline: nil) } }
    /// The call of the authenticator, cancelled when the connection closes.
    var authentication: Task<Void, Never>?
    /// The authentication exchange that waits for the client's next message.
    var exchange: PendingExchange?

    init(_ admitted: AdmittedPeer, since: UInt64) {
        self.admitted = admitted
        self.since = since
    }
}

/// The parts of a request that are needed for the whole authentication.
struct AskedPeer: Sendable {
    let account: AccountName
    let device: DeviceID
    let presentedToken: ResumeToken?
    /// The delay of the authentication so far.
    var waited = Duration.zero

    init(_ request: AuthenticationRequest) {
        (account, device, presentedToken) = (request.account, request.device, request.presentedToken)
    }
}

/// An authentication exchange that waits for the client's next message. It is allocated apart from its connection,
/// which usually outlives it by hours.
final class PendingExchange {
    let peer: AskedPeer
    let exchange: any AuthenticationExchange

    init(_ exchange: any AuthenticationExchange, of peer: AskedPeer) {
        self.exchange = exchange
        self.peer = peer
    }
}
