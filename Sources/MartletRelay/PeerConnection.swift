import MartletProtocol
import MartletTransport

/// One accepted connection: passes what its transport says on to the driver, under the engine's key.
final class PeerConnection: TransportHandler {
    let key: ConnectionKey
    let transport: any Transport
    /// The authenticator's work for this connection, which nobody waits for once it is closed.
    var authentication: Task<Void, Never>?
    /// Whether the engine reads no more for now, and whether another loop has to catch up first.
    var isPaused = false { didSet { updateReading() } }
    var isHeldUp = false { didSet { updateReading() } }
    /// Which has it until it is closed.
    private let driver: RelayDriver

    init(_ key: ConnectionKey, on transport: any Transport, of driver: RelayDriver) {
        self.key = key
        self.transport = transport
        self.driver = driver
    }

    private func updateReading() {
        if isPaused || isHeldUp { transport.pauseReading() } else { transport.resumeReading() }
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
        driver.closed(self)
    }
}
