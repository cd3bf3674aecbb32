import MartletLink
import MartletTransport

/// The handler of one connection. It reports events to the driver under the ID of the connection, so that the driver
/// recognizes the events of an earlier connection.
final class ConnectionHandler: TransportHandler {
    private let id: ConnectionID
    private let driver: ClientDriver

    init(_ id: ConnectionID, _ driver: ClientDriver) {
        self.id = id
        self.driver = driver
    }

    func transportDidConnect(_ transport: any Transport) {
        driver.connected(id, transport)
    }

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        driver.received(bytes, on: id)
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        driver.fill(&buffer, for: id)
    }

    func transportDidReceiveEndOfStream(_ transport: any Transport) {
        driver.closed(id, byPeer: true)
        transport.close(afterFlush: false)
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {
        driver.forget(id, reason)
    }
}
