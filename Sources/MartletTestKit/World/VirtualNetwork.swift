import MartletLink
import MartletTransport
import MartletWire

/// The network of a virtual world: its listeners, and the random numbers of its paths.
///
/// `@unchecked Sendable`: its state is used by the thread that runs the world.
final class VirtualNetwork: @unchecked Sendable {
    let scheduler: VirtualScheduler
    /// The continuous clock at the time zero of the world.
    let epoch = ContinuousClock.now
    private(set) var random: SeededRandom
    private var listeners: [SocketAddress: VirtualListener] = [:]
    private var streams: [VirtualStream] = []
    private var lastPort: UInt16 = 49_151
    /// The number of connections established so far.
    private(set) var connectionCount = 0

    init(_ scheduler: VirtualScheduler, seed: UInt64) {
        self.scheduler = scheduler
        random = SeededRandom(seed: seed)
    }

    func nextRandom() -> UInt64 { random.next() }

    /// A port for a connection of a client.
    func nextPort() -> UInt16 {
        lastPort = lastPort == .max ? 49_152 : lastPort + 1
        return lastPort
    }

    // MARK: - Connections

    func add(_ stream: VirtualStream) {
        streams.removeAll { $0.isOver }
        streams.append(stream)
        connectionCount += 1
    }

    func streams(on path: VirtualPath) -> [VirtualStream] { streams.filter { $0.path === path && !$0.isOver } }

    /// Ends all connections of a machine that has lost its power or its process.
    func sever(_ host: VirtualHost) {
        for stream in streams where !stream.isOver { stream.sever(from: host) }
    }

    // MARK: - Listeners

    func listen(on address: SocketAddress, of host: VirtualHost) throws(TransportError) -> VirtualListener {
        let bound = address.port == 0 ? SocketAddress(address.ip, port: nextPort()) : address
        guard listeners[bound] == nil else { throw .addressInUse }
        let listener = VirtualListener(host, on: bound)
        listeners[bound] = listener
        return listener
    }

    func listener(at endpoint: Endpoint) -> VirtualListener? {
        guard let ip = IPAddress(endpoint.host) else { return nil }
        return listeners[SocketAddress(ip, port: endpoint.port)]
    }

    func remove(_ listener: VirtualListener) {
        if listeners[listener.localAddress] === listener { listeners[listener.localAddress] = nil }
    }
}

/// A listening address. Connections arrive on the loop that accepts.
final class VirtualListener: ListeningSocket, TransportListener, @unchecked Sendable {
    // used by the thread that runs the world
    let host: VirtualHost
    let localAddress: SocketAddress
    private var loop: EventLoop?
    private var onAccept: (@Sendable (any Transport) -> Void)?

    init(_ host: VirtualHost, on address: SocketAddress) {
        self.host = host
        localAddress = address
    }

    func accept(
        on loop: EventLoop, options: TCPListener.Options, _ onAccept: @escaping @Sendable (any Transport) -> Void
    ) -> any TransportListener {
        self.loop = loop
        self.onAccept = onAccept
        return self
    }

    /// Whether connections are accepted.
    var isAccepting: Bool { onAccept != nil }

    /// Creates the relay's end of a stream, and passes it to the relay in a turn of its loop.
    func accept(_ stream: VirtualStream) {
        guard let loop, let onAccept else { return stream.cut() }
        let end = stream.makeEnd(atRelay: true, on: loop)
        loop.execute { onAccept(end) }
    }

    func close() {
        host.network.remove(self)
        loop = nil
        onAccept = nil
    }

    func closeAndWait() async {
        close()
    }
}

/// An attempt of a device to connect to a relay: a round trip on its path.
final class VirtualAttempt: ConnectionAttempt, @unchecked Sendable {  // used by the thread that runs the world
    private let host: VirtualHost
    private let endpoints: [Endpoint]
    private let loop: EventLoop
    private var completion: ConnectCompletion?
    private var events: [UInt64] = []

    init(
        from host: VirtualHost, to endpoints: [Endpoint], on loop: EventLoop, _ completion: @escaping ConnectCompletion
    ) {
        self.host = host
        self.endpoints = endpoints
        self.loop = loop
        self.completion = completion
    }

    func start(timeout: Duration) {
        host.path?.add(self)
        events.append(host.scheduler.schedule(after: timeout) { self.finish(.failure(.timedOut)) })
        proceed()
    }

    /// Establishes the connection after a round trip, if the path is not blocked then.
    func proceed() {
        guard completion != nil, let path = host.path else { return finish(.failure(.unreachable)) }
        guard path.isReachable else { return }
        events.append(host.scheduler.schedule(after: path.conditions.delay * 2) { self.establish(on: path) })
    }

    private func establish(on path: VirtualPath) {
        guard completion != nil, path.isReachable else { return }
        for endpoint in endpoints {
            guard let listener = host.network.listener(at: endpoint), listener.isAccepting else { continue }
            let stream = VirtualStream(on: path, from: host, to: listener.host, at: listener.localAddress)
            host.network.add(stream)
            let end = stream.makeEnd(atRelay: false, on: loop)
            listener.accept(stream)
            return finish(.success(EstablishedConnection(end, to: endpoint)))
        }
        finish(.failure(.refused))
    }

    func cancel() {
        finish(.failure(.cancelled))
    }

    private func finish(_ result: Result<EstablishedConnection, TransportError>) {
        guard let completion else { return }
        self.completion = nil
        for event in events { host.scheduler.cancel(event) }
        host.path?.remove(self)
        let delivery = Delivery(completion: completion, result: result)
        loop.execute { delivery.completion(delivery.result) }
    }

    /// A result on its way to the loop. It is used by the thread that runs the world.
    private final class Delivery: @unchecked Sendable {
        let completion: ConnectCompletion
        let result: Result<EstablishedConnection, TransportError>

        init(completion: @escaping ConnectCompletion, result: Result<EstablishedConnection, TransportError>) {
            self.completion = completion
            self.result = result
        }
    }
}
