import MartletTransport
import MartletWire

/// A proxy between clients and a relay, on its own loop. It can reset or refuse connections, and intercept TLS.
final class CuttableProxy: @unchecked Sendable {
    private let loop: EventLoop
    private let target: Endpoint
    private let tls: (server: TLSServer, client: TLSClient)?
    private var listener: TCPListener?
    // Accessed on the loop only:
    private var pipes: [ObjectIdentifier: Pipe] = [:]
    private var isRefusing = false
    private var accepted = 0

    /// - Parameter tls: Ends the TLS connections of clients and of the relay; nil to forward their bytes.
    init(to relay: String, tls: (server: TLSServer, client: TLSClient)? = nil) throws {
        target = try Endpoint(parsing: relay)
        self.tls = tls
        loop = try EventLoop(name: "proxy")
        let address = SocketAddress(.loopbackV4, port: 0)
        listener = try TCPListener.bind(to: address, on: loop) { [unowned self] in self.accept($0) }
    }

    /// The address for clients.
    var endpoint: String { "martlet://127.0.0.1:\(listener!.port)" }

    /// The number of accepted connections.
    var acceptedCount: Int {
        get async { await onLoop { $0.accepted } }
    }

    /// Resets each connection. New connections are forwarded.
    func cut() async {
        await onLoop { $0.cutAll() }
    }

    /// Resets each connection and each new one.
    func refuse() async {
        await onLoop { proxy in
            proxy.isRefusing = true
            proxy.cutAll()
        }
    }

    /// Forwards new connections again.
    func admit() async {
        await onLoop { $0.isRefusing = false }
    }

    func shutdown() async {
        listener?.close()
        await loop.shutdown()
    }

    private func onLoop<Answer: Sendable>(_ work: @escaping @Sendable (CuttableProxy) -> Answer) async -> Answer {
        await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: work(self)) }
        }
    }

    private func cutAll() {
        for pipe in pipes.values { pipe.transport?.abort() }
    }

    private func accept(_ connection: TCPConnection) {
        accepted += 1
        guard !isRefusing else { return connection.abort() }
        let client: any Transport
        if let tls {
            guard let transport = tls.server.transport(over: connection) else { return }
            client = transport
        } else {
            client = connection
        }
        let near = Pipe()
        let connector = TCPConnector(to: [target], on: loop)
        connector.start { [self] result in
            guard case .success(let socket) = result, !isRefusing else { return client.abort() }
            let relay: any Transport
            if let tls {
                guard let transport = try? tls.client.transport(over: socket, to: target) else { return client.abort() }
                relay = transport
            } else {
                relay = socket
            }
            let other = Pipe()
            near.begin(client, other: other, self.forget)
            other.begin(relay, other: near, self.forget)
            pipes[ObjectIdentifier(near)] = near
            pipes[ObjectIdentifier(other)] = other
        }
    }

    private func forget(_ pipe: Pipe) {
        pipes[ObjectIdentifier(pipe)] = nil
    }
}

/// One end of a connection through the proxy. The other end sends the bytes that this end receives.
private final class Pipe: TransportHandler {
    private(set) var transport: (any Transport)?
    private weak var other: Pipe?
    private var unsent: [UInt8] = []
    private var didEnd: ((Pipe) -> Void)?

    func begin(_ transport: any Transport, other: Pipe, _ didEnd: @escaping (Pipe) -> Void) {
        self.transport = transport
        self.other = other
        self.didEnd = didEnd
        transport.start(self)
    }

    func transportDidConnect(_ transport: any Transport) {
        if !unsent.isEmpty { transport.setNeedsWrite() }
    }

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        other?.send(bytes)
    }

    private func send(_ bytes: RawSpan) {
        unsent.append(bytes: bytes)
        transport?.setNeedsWrite()
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        let count = min(unsent.count, buffer.freeCapacity)
        for byte in unsent[..<count] { buffer.append(byte) }
        unsent.removeFirst(count)
        return true
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {
        self.transport = nil
        other?.transport?.close(afterFlush: reason == .endOfStream)
        didEnd?(self)
        didEnd = nil
    }
}
