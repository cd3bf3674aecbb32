package import MartletTransport
package import MartletWebSocket
import MartletWire

/// The engine of which a server's links are a part, as the driver of its connections sees it. All calls are made on the
/// loop.
package protocol LinkAcceptorOwner: AnyObject {
    /// Reports received bytes to the engine.
    func received(_ bytes: RawSpan, on key: ConnectionKey)

    /// Lets the engine write frames. Returns whether there may be more.
    func fill(_ buffer: inout OutputRawSpan, on key: ConnectionKey) -> Bool

    /// Reports that the peer sends no more.
    func ended(_ key: ConnectionKey)

    /// Reports that the handshake of the carrier is complete, by which a proxy can have stated a different address.
    func connected(_ connection: AcceptedConnection)

    /// Reports the last event of a connection.
    func closed(_ connection: AcceptedConnection, _ reason: CloseReason)
}

/// The accepted connections of a server's links on a loop. It performs the outputs of a `LinkServer`, and reports
/// events to the owner of the engine. It decides nothing.
///
/// | state of a connection | owns | ends |
/// |---|---|---|
/// | accepted | the carrier, from its start to its last event, and the object of the owner | `didClose`; `remove`, when it moves to another loop |
package final class LinkAcceptor {  // used on its loop
    private var connections = AcceptedConnections()
    /// Connections whose unsent bytes have not been reported to the engine since their last fill.
    private var filled: [ConnectionKey] = []

    /// An acceptor without connections.
    package init() {}

    /// Whether there is no connection.
    package var isEmpty: Bool { connections.isEmpty }

    /// The connection of a key; nil after its last event.
    package subscript(key: ConnectionKey) -> AcceptedConnection? { connections[key] }

    /// Starts a connection. Until its last event, it retains the owner.
    ///
    /// - Parameters:
    ///   - state: What the owner keeps for the connection.
    ///   - webSockets: The WebSockets that the connection may become; nil if it is one, or has no upgrade.
    package func start(
        _ transport: any Transport, _ key: ConnectionKey, _ state: AnyObject, of owner: any LinkAcceptorOwner,
        webSockets: WebSocketOptions? = nil
    ) {
        let connection = AcceptedConnection(key, on: transport, state, of: owner)
        connections.insert(connection)
        guard let webSockets else { return transport.start(connection) }
        CarrierDetector.start(transport, webSockets, handler: connection) { [weak connection] in
            connection?.transport = $0
        }
    }

    /// Makes the close frames of all WebSockets state that the server stops.
    package func noteStop() {
        connections.forEach { ($0.transport as? WebSocketTransport)?.closeCode = .goingAway }
    }

    /// Removes a connection that has closed or moves to another loop.
    package func remove(_ connection: AcceptedConnection) { connections.remove(connection) }

    /// Performs an output of the server. The owner handles `authenticate`, `continueExchange`, `transfer` and `note`,
    /// and calls `takeUnsent` after `transmit`.
    package func perform(_ output: LinkServerOutput) {
        switch output {
        case .transmit(let keys): for key in keys { connections[key]?.transport.flush() }
        case .close(let key, let afterFlush): connections[key]?.transport.close(afterFlush: afterFlush)
        case .pauseReading(let key): connections[key]?.isPaused = true
        case .resumeReading(let key): connections[key]?.isPaused = false
        case .authenticate, .continueExchange, .transfer, .note: break
        }
    }

    /// A connection's buffer is filled.
    package func noteFill(_ key: ConnectionKey) {
        if filled.last != key { filled.append(key) }
    }

    /// Passes the unsent bytes of the connections that were filled, which count in the engine's memory budget.
    package func takeUnsent(_ report: (_ byteCount: Int, _ key: ConnectionKey) -> Void) {
        for key in filled { report(connections[key]?.transport.unsentByteCount ?? 0, key) }
        filled.removeAll(keepingCapacity: true)
    }

    /// Aborts all connections.
    package func abortAll() { connections.forEach { $0.transport.abort() } }
}

/// An accepted connection. It reports the events of the transport to the owner under the engine's key.
package final class AcceptedConnection: TransportHandler {
    package let key: ConnectionKey
    /// The carrier: the accepted transport, or the WebSocket over it.
    package fileprivate(set) var transport: any Transport
    /// What the owner keeps for the connection.
    package let state: AnyObject
    /// Whether the engine has paused reading.
    fileprivate var isPaused = false { didSet { updateReading() } }
    /// Whether the owner throttles the connection.
    package var isThrottled = false { didSet { updateReading() } }
    private let owner: any LinkAcceptorOwner

    fileprivate init(
        _ key: ConnectionKey, on transport: any Transport, _ state: AnyObject, of owner: any LinkAcceptorOwner
    ) {
        (self.key, self.transport, self.state, self.owner) = (key, transport, state, owner)
    }

    private func updateReading() {
        if isPaused || isThrottled { transport.pauseReading() } else { transport.resumeReading() }
    }

    package func transportDidConnect(_ transport: any Transport) {
        owner.connected(self)
    }

    package func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        owner.received(bytes, on: key)
    }

    package func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        owner.fill(&buffer, on: key)
    }

    package func transportDidReceiveEndOfStream(_ transport: any Transport) {
        owner.ended(key)
    }

    package func transport(_ transport: any Transport, didClose reason: CloseReason) {
        owner.closed(self, reason)
    }
}

/// The connections by the slots of their keys, which the engine reuses.
///
/// The engine may reuse a slot while its previous connection is still closing here. The previous connection then moves
/// to `displaced`.
private struct AcceptedConnections {
    private var slots: ContiguousArray<AcceptedConnection?> = []
    private var displaced: [ConnectionKey: AcceptedConnection] = [:]
    private var count = 0

    var isEmpty: Bool { count == 0 }

    subscript(key: ConnectionKey) -> AcceptedConnection? {
        if key.index < slots.count, let found = slots[key.index], found.key == key { return found }
        return displaced.isEmpty ? nil : displaced[key]
    }

    mutating func insert(_ connection: AcceptedConnection) {
        while slots.count <= connection.key.index { slots.append(nil) }
        if let older = slots[connection.key.index] { displaced[older.key] = older }
        slots[connection.key.index] = connection
        count += 1
    }

    mutating func remove(_ connection: AcceptedConnection) {
        if slots[connection.key.index] === connection {
            slots[connection.key.index] = nil
        } else if displaced.removeValue(forKey: connection.key) == nil {
            return
        }
        count -= 1
    }

    func forEach(_ body: (AcceptedConnection) -> Void) {
        for connection in slots { if let connection { body(connection) } }
        for connection in displaced.values { body(connection) }
    }
}
