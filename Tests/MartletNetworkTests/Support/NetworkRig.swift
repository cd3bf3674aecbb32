import MartletNetworkStandIn
import MartletToolTestSupport
import MartletTransport
import MartletWire

@testable import MartletNetworkTransport

/// A transport over the stand-in, whose other side is the test.
final class NetworkRig: Sendable {
    let loop: EventLoop
    let transport: NetworkTransport
    let connection: NWConnection
    let handler = RecordingHandler()

    private static let ports = Guarded<UInt16>(1)

    /// Creates and starts a transport to localhost, by default with the authority of the test certificates.
    init(_ tls: TLSClientOptions? = nil, identity: SecIdentity? = nil, on loop: EventLoop) async throws {
        self.loop = loop
        let port = Self.ports.withLock { port in
            port += 1
            return port
        }
        let trust = TLSClientOptions.Trust.file(TestCertificates.shared.authority.certificateFile)
        transport = try NetworkTransport(
            to: Endpoint(host: "localhost", port: port), tls: tls ?? TLSClientOptions(trust: trust),
            identity: identity, on: loop)
        guard let connection = NWConnection.takeConnection(to: "localhost:\(port)") else { throw NoConnection() }
        self.connection = connection
        loop.execute { [transport, handler] in transport.start(handler) }
        guard await connection.events.first(where: { $0 == .started }) != nil else { throw NoConnection() }
    }

    private struct NoConnection: Error {}

    /// Completes the handshake, and awaits the first receive.
    func connect(applicationProtocol: String? = "martlet/1") async {
        connection.negotiated.setApplicationProtocol(applicationProtocol)
        connection.enter(.ready)
        await expect(.receiving)
    }

    /// Awaits an event of the connection.
    func expect(_ event: NWConnection.Event) async {
        for await next in connection.events where next == event { return }
    }

    /// Runs `body` on the loop.
    func run<Value: Sendable>(_ body: @escaping @Sendable (NetworkTransport) -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            loop.execute { [transport] in continuation.resume(returning: body(transport)) }
        }
    }
}

/// Records the calls of a transport. `outgoing` is sent.
final class RecordingHandler: TransportHandler, @unchecked Sendable {  // The loop accesses all state.
    enum Event: Equatable, Sendable {
        case connected
        case received([UInt8])
        case endOfStream
        case closed(CloseReason)
    }

    let events: AsyncStream<Event>
    private let event: AsyncStream<Event>.Continuation
    var outgoing: [UInt8] = []

    init() {
        (events, event) = AsyncStream.makeStream(of: Event.self)
    }

    func next() async -> Event? {
        for await event in events { return event }
        return nil
    }

    func transportDidConnect(_ transport: any Transport) { event.yield(.connected) }

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        event.yield(.received(unsafe bytes.withUnsafeBytes { unsafe Array($0) }))
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        let count = min(buffer.freeCapacity, outgoing.count)
        buffer.append(bytes: outgoing.rawBytes.extracting(first: count))
        outgoing.removeFirst(count)
        return !outgoing.isEmpty
    }

    func transportDidReceiveEndOfStream(_ transport: any Transport) { event.yield(.endOfStream) }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {
        event.yield(.closed(reason))
        event.finish()
    }
}

/// Runs `body` with a loop, which is shut down afterwards.
func withLoop(_ body: (EventLoop) async throws -> Void) async throws {
    let loop = try EventLoop(name: "test")
    do { try await body(loop) } catch {
        await loop.shutdown()
        throw error
    }
    await loop.shutdown()
}
