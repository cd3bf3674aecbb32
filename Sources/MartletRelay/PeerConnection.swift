import MartletLink
import MartletTransport
import MartletWire

/// An accepted connection: forwards the transport's callbacks to the driver under the engine's key.
final class PeerConnection: TransportHandler {
    let key: ConnectionKey
    let transport: any Transport
    /// The share of the connection in the limits of its address.
    let admitted: AdmittedPeer
    /// The delay before the call of the authenticator; nil while there is none.
    var authenticationDelay: LoopTimer? { didSet { oldValue?.set(deadline: nil) } }
    /// The call of the authenticator, cancelled when the connection closes.
    var authentication: Task<Void, Never>?
    /// The authentication exchange that waits for the client's next message.
    var exchange: PendingExchange?
    /// Whether the engine has paused reading.
    var isPaused = false { didSet { updateReading() } }
    /// Whether the traffic to another loop throttles the connection.
    var isThrottled = false { didSet { updateReading() } }
    /// The driver retains this connection until it is closed.
    private let driver: RelayDriver

    init(_ key: ConnectionKey, on transport: any Transport, _ admitted: AdmittedPeer, of driver: RelayDriver) {
        self.key = key
        self.admitted = admitted
        self.transport = transport
        self.driver = driver
    }

    private func updateReading() {
        if isPaused || isThrottled { transport.pauseReading() } else { transport.resumeReading() }
    }

    func transportDidConnect(_ transport: any Transport) {}

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        driver.received(bytes, on: key)
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        driver.fill(&buffer, on: key)
    }

    func transportDidReceiveEndOfStream(_ transport: any Transport) {
        driver.ended(key)
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {
        if case .error(.tls(let error)) = reason {
            driver.parts.onEvent(.tlsFailed(error, peer: transport.remoteAddress))
        }
        driver.closed(self)
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
