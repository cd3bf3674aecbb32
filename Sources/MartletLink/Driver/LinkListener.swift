public import MartletTransport
public import MartletWebSocket
public import MartletWire

/// The server's end of links: it listens for the connections of ``LinkClient``.
///
/// ```swift
/// let listener = try LinkListener(port: 7300)
/// try listener.start()
/// for await link in listener.links {
///     Task { for try await session in link.sessions { Task { await serve(session) } } }
/// }
/// ```
///
/// A listener is started once. It ends with ``close()``, with its last reference, those of its links and sessions
/// included, or with its loop. Its memory is bounded by the configuration: each link holds at most its window of
/// messages that the application has not taken, and those of its sessions that the device has not acknowledged. The
/// links of an account, and its attempts to authenticate, have no bound of their own.
public final class LinkListener: Sendable {
    /// Returns the identity of a client: the account, usually the requested one, and its claims (C-26).
    ///
    /// It is called for each connection, and for each renewal of a credential. An `AuthenticationFailure` refuses the
    /// client; after any other error the client receives `serverBusy` and connects again.
    public typealias Authenticate = @Sendable (AuthenticationRequest) async throws -> Identity

    /// The addresses and bounds of a listener.
    public struct Configuration: Sendable {
        /// The addresses to listen on. Port 0 lets the system choose.
        public var addresses: [SocketAddress]
        /// The bounds of links and connections.
        public var link = LinkServerConfiguration()
        /// The certificate and other options of TLS; nil for connections in the clear.
        public var tls: TLSServerOptions?
        /// Whether a listener without TLS may listen on addresses other than loopback addresses. Anybody on the network
        /// path can then read and change messages, and take over links.
        public var allowsPlaintext = false
        /// The WebSockets that are accepted beside connections without HTTP, on the same addresses; nil for none.
        public var webSockets: WebSocketOptions? = WebSocketOptions()
        /// The options of accepted connections.
        public var connection = TCPOptions()
        /// The maximum number of connections accepted at each address in any second; nil for no maximum.
        public var maxAcceptsPerSecond: Int? = 1500
        /// The maximum number of concurrent calls of ``Authenticate``. A further client receives `serverBusy`.
        public var maxAuthentications = 1024
        /// The maximum duration for which ``LinkListener/close()`` waits until the connected devices have acknowledged
        /// all messages.
        public var flushTimeout: Duration = .seconds(5)

        /// Creates a configuration with these addresses.
        public init(addresses: [SocketAddress]) {
            self.addresses = addresses
        }
    }

    private enum Phase {
        case idle
        case running([SocketAddress])
        case closed
    }

    private let configuration: Configuration
    private let authenticate: Authenticate?
    private let phase = Guarded(Phase.idle)
    fileprivate let driver: LinkListenerDriver

    /// Creates a listener that is not started.
    ///
    /// - Parameters:
    ///   - configuration: The addresses and bounds.
    ///   - loop: The loop on which the listener runs.
    ///   - authenticate: Verifies clients. Without it every account is accepted, on loopback addresses only.
    public init(
        _ configuration: Configuration, on loop: EventLoop = .shared, authenticate: Authenticate? = nil
    ) {
        self.configuration = configuration
        self.authenticate = authenticate
        driver = LinkListenerDriver(configuration, authenticate ?? { Identity($0.account) }, on: loop)
    }

    /// Creates a listener on `127.0.0.1`. Port 0 lets the system choose.
    public convenience init(port: UInt16, on loop: EventLoop = .shared, authenticate: Authenticate? = nil) {
        self.init(
            Configuration(addresses: [SocketAddress(.loopbackV4, port: port)]), on: loop, authenticate: authenticate)
    }

    deinit {
        driver.loop.execute { [driver] in driver.abandon() }
    }

    /// Starts to listen, and returns the addresses with the ports that the system chose.
    ///
    /// - Throws: `noAddresses`, `plaintextNotAllowed`, `authenticationRequired`, `invalidTLS`, `cannotListen`, after
    ///   which the listener can be started again; `alreadyStarted`.
    @discardableResult
    public func start() throws(LinkSetupError) -> [SocketAddress] {
        try phase.withLock { phase throws(LinkSetupError) in
            guard case .idle = phase else { throw .alreadyStarted }
            let (sockets, tls) = try listen()
            let addresses = sockets.map(\.localAddress)
            driver.loop.execute { [driver] in driver.start(sockets, tls) }
            phase = .running(addresses)
            return addresses
        }
    }

    private func listen() throws(LinkSetupError) -> ([any ListeningSocket], TLSServer?) {
        guard !configuration.addresses.isEmpty else { throw .noAddresses }
        if let exposed = configuration.addresses.first(where: { !$0.ip.isLoopback }) {
            guard configuration.tls != nil || configuration.allowsPlaintext else {
                throw .plaintextNotAllowed("\(exposed)")
            }
            guard authenticate != nil else { throw .authenticationRequired(exposed) }
        }
        var tls: TLSServer?
        if let options = configuration.tls {
            do throws(TLSError) {
                tls = try TLSServer(options, acceptsWeb: configuration.webSockets != nil) { _ in }
            } catch {
                throw .invalidTLS(error)
            }
        }
        var sockets: [any ListeningSocket] = []
        for address in configuration.addresses {
            do throws(TransportError) {
                if let host = driver.loop.host {
                    sockets.append(try host.listen(on: address))
                } else {
                    sockets.append(try TCPListener.Socket(listeningOn: address, options: driver.listenerOptions))
                }
            } catch {
                throw .cannotListen(address, error)
            }
        }
        return (sockets, tls)
    }

    /// The addresses on which the listener listens; empty unless it runs.
    public var addresses: [SocketAddress] {
        phase.withLock { if case .running(let addresses) = $0 { addresses } else { [] } }
    }

    /// The port of the first address; nil unless the listener runs.
    public var port: UInt16? { addresses.first?.port }

    /// The links that begin, one for each device, until the listener is closed.
    public var links: Links { Links(listener: self) }

    /// Closes all sessions, waits until the connected devices have acknowledged all messages, at most for
    /// `Configuration.flushTimeout`, and ends all links. It returns when the ports are free. Cancellation of the task
    /// has no effect.
    nonisolated(nonsending) public func close() async {
        phase.withLock { $0 = .closed }
        let promise = Promise<Void>()
        driver.loop.execute { [driver] in driver.close(promise) }
        try? await promise.value()
    }

    /// An asynchronous sequence of links; see ``LinkListener/links``.
    public struct Links: AsyncSequence, Sendable {
        let listener: LinkListener

        /// Creates an iterator. All iterators take from one queue.
        public func makeAsyncIterator() -> Iterator { Iterator(listener: listener) }

        /// An iterator over the links.
        public struct Iterator: AsyncIteratorProtocol {
            let listener: LinkListener

            /// Takes the next link; nil when the listener was closed or the task is cancelled.
            public mutating func next() async -> AcceptedLink? { await next(isolation: nil) }

            /// Takes the next link, as ``next()`` does.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> AcceptedLink? {
                let driver = listener.driver
                let promise = Promise<SessionResult>()
                driver.loop.execute { driver.takeLink(promise) }
                let result = try? await promise.value { driver.loop.execute { driver.cancel(promise, on: nil) } }
                guard case .link(let key, let id, let who, let claims) = result else { return nil }
                return AcceptedLink(key, id, who, claims, of: listener)
            }
        }
    }
}

/// The server's end of a link with one device. It outlives the connections of the device.
///
/// The link ends when the device ends it or begins a different one, when it has had no connection for
/// `LinkServerConfiguration.resumeLifetime`, and with the last reference to this object, those of its sessions
/// included. Its sessions then fail with `LinkFailure.linkEnded`, behind the messages that have arrived. A device whose
/// link was ended by the server begins a different one after five seconds; ``LinkListener/Authenticate`` can refuse it.
public final class AcceptedLink: Sendable {
    /// The number of the link.
    public let id: LinkID
    /// The account that was authenticated, and its device.
    public let peer: DeviceKey
    /// The claims of the account when the link began.
    public let claims: Claims
    private let key: LinkKey
    private let listener: LinkListener
    private var caller: LinkCaller { LinkCaller(driver: listener.driver, link: key, owner: self) }

    fileprivate init(_ key: LinkKey, _ id: LinkID, _ peer: DeviceKey, _ claims: Claims, of listener: LinkListener) {
        (self.key, self.id, self.peer, self.claims, self.listener) = (key, id, peer, claims, listener)
    }

    deinit {
        listener.driver.loop.execute { [driver = listener.driver, key] in driver.releaseLink(key) }
    }

    /// The sessions that the device opens, until the link ends.
    public var sessions: LinkSessionSequence { LinkSessionSequence(caller: caller) }

    /// Opens a session, as ``LinkClient/open(_:kind:)`` does.
    ///
    /// - Throws: `LinkFailure`, `CancellationError`.
    nonisolated(nonsending) public func open(_ name: String, kind: SessionKind = .chat) async throws -> LinkSession {
        try await caller.open(name, kind)
    }
}

/// The driver of a listener: the outputs of its engine at the end of the turn, its timer and the calls that wait.
///
/// | phase | left by |
/// |---|---|
/// | running | `close`; `abandon` and the shutdown of the loop lead to over |
/// | flushing | the connected devices have acknowledged all messages, or the timeout has passed |
/// | closing | all connections are closed, within `TCPOptions.closeTimeout` |
/// | over | nothing |
final class LinkListenerDriver: LinkAcceptorOwner, LinkDriver, TurnEndHandler, LoopStopHandler, @unchecked Sendable {
    private enum Phase {
        case running
        case flushing
        case closing
        case over
    }

    /// What the driver keeps for a connection: the call of the authenticator.
    private final class Peer {
        var authentication: Task<Void, Never>?
    }

    let loop: EventLoop
    private let configuration: LinkListener.Configuration
    private let authenticate: LinkListener.Authenticate
    private var engine: LinkListenerEngine
    private let acceptor = LinkAcceptor()
    private var listeners: [any TransportListener] = []
    private var calls = PendingCalls()
    private var phase = Phase.running
    private var authentications = 0
    private var timer: LoopTimer?
    private var flushTimer: LoopTimer?
    private var closers: [Promise<Void>] = []
    private var isTurnEndPending = false

    init(
        _ configuration: LinkListener.Configuration, _ authenticate: @escaping LinkListener.Authenticate,
        on loop: EventLoop
    ) {
        (self.loop, self.configuration, self.authenticate) = (loop, configuration, authenticate)
        var link = configuration.link
        link.features.subtract([.attachments, .accountSession])
        var random = loop.random
        engine = LinkListenerEngine(link, seed: random.next())
    }

    var listenerOptions: TCPListener.Options {
        var options = TCPListener.Options()
        options.connection = configuration.connection
        options.maxAcceptsPerSecond = configuration.maxAcceptsPerSecond
        options.acceptsBothFamilies = !configuration.addresses.contains { $0.ip == .anyV4 }
        return options
    }

    private var now: Instant { Instant(nanoseconds: loop.now) }

    func start(_ sockets: [any ListeningSocket], _ tls: TLSServer?) {
        guard phase == .running else { return }
        guard loop.add(self) else { return loopWillStop() }
        timer = LoopTimer(on: loop) { [weak self] in self?.deadlinePassed() }
        flushTimer = LoopTimer(on: loop) { [weak self] in self?.endLinks() }
        listeners = sockets.map { socket in
            socket.accept(on: loop, options: listenerOptions) { [self] transport in
                guard let tls else { return accept(transport) }
                if let secured = tls.transport(over: transport) { accept(secured) }
            }
        }
    }

    /// A connection beyond the maximum is released and thereby closed (C-11).
    private func accept(_ transport: any Transport) {
        guard phase == .running, let key = engine.accepted(now: enter()) else { return }
        acceptor.start(transport, key, Peer(), of: self, webSockets: configuration.webSockets)
    }

    // MARK: Turns

    /// Starts an event. The first event of a turn requests the end of the turn.
    @discardableResult
    private func enter() -> Instant {
        if !isTurnEndPending {
            isTurnEndPending = true
            engine.wallClock = loop.wallTime
            loop.onTurnEnd(self)
        }
        return now
    }

    func loopTurnWillEnd() {
        noteUnsent()
        while let output = engine.nextOutput(now: now) {
            switch output {
            case .result(let call, let result): calls.finish(call, result)
            case .link(.authenticate(let key, let request)): ask(key, request)
            case .link(.continueExchange), .link(.transfer), .link(.note): break
            case .link(let output):
                acceptor.perform(output)
                noteUnsent()
            }
        }
        isTurnEndPending = false
        timer?.set(deadline: phase == .over ? nil : engine.deadline?.nanoseconds)
        engine.turnEnded(begunAt: now, now: Instant(nanoseconds: loop.currentTime))
        if phase == .flushing, engine.isFlushed { endLinks() }
        if phase == .closing, acceptor.isEmpty { finish() }
    }

    private func noteUnsent() {
        acceptor.takeUnsent { engine.noteUnsent($0, on: $1) }
    }

    private func deadlinePassed() { engine.deadlinePassed(now: enter()) }

    // MARK: Connections

    func received(_ bytes: RawSpan, on key: ConnectionKey) { engine.receive(bytes, on: key, now: enter()) }

    func fill(_ buffer: inout OutputRawSpan, on key: ConnectionKey) -> Bool {
        acceptor.noteFill(key)
        return engine.transmit(on: key, into: &buffer, now: enter())
    }

    func ended(_ key: ConnectionKey) { engine.endOfStream(key, now: enter()) }

    func connected(_ connection: AcceptedConnection) {}

    func closed(_ connection: AcceptedConnection, _ reason: CloseReason) {
        (connection.state as? Peer)?.authentication?.cancel()
        acceptor.remove(connection)
        engine.closed(connection.key, now: enter())
    }

    private func ask(_ key: ConnectionKey, _ claim: AuthenticationRequest) {
        guard let connection = acceptor[key], let peer = connection.state as? Peer else { return }
        let busy = Notice(code: .serverBusy, retryAfter: configuration.link.busyRetryAfter)
        guard authentications < configuration.maxAuthentications else { return answer(key, .refused(busy)) }
        guard claim.mechanism == nil else {
            return answer(key, .refused(Notice(code: .unauthenticated, reason: "the server supports no mechanisms")))
        }
        var request = claim
        let security = connection.transport.security
        request.hasTLS = security != nil
        request.certificate = security?.peerCertificate
        authentications += 1
        peer.authentication = loop.startTask { [loop, authenticate, request] in
            let answer: AuthenticationAnswer
            do {
                let identity = try await authenticate(request)
                let presented = request.presentedToken.map { TokenDigest(of: $0) }
                answer = .accepted(identity, .fresh(using: loop.random), presented: presented)
            } catch let failure as AuthenticationFailure {
                answer = .refused(failure.notice, cause: failure.cause)
            } catch {
                answer = .refused(busy)
            }
            loop.execute {
                self.authentications -= 1
                self.answer(key, answer)
            }
        }
    }

    private func answer(_ key: ConnectionKey, _ answer: AuthenticationAnswer) {
        engine.authenticated(key, answer, now: enter())
    }

    // MARK: Calls

    func begin(_ call: SessionCall, on link: LinkKey?, _ promise: Promise<SessionResult>?) {
        guard let link else { return }
        engine.begin(call, calls.add(promise), on: link, now: enter())
    }

    func cancel(_ promise: Promise<SessionResult>, on link: LinkKey?) {
        enter()
        if let id = calls.id(of: promise) { engine.cancel(id, on: link) }
    }

    func takeLink(_ promise: Promise<SessionResult>) {
        enter()
        engine.takeLink(calls.add(promise))
    }

    func releaseLink(_ key: LinkKey) { engine.releaseLink(key, now: enter()) }

    // MARK: End

    func close(_ promise: Promise<Void>) {
        enter()
        if phase == .over {
            promise.resolve(.success(()))
        } else {
            closers.append(promise)
        }
        guard phase == .running else { return }
        phase = .flushing
        acceptor.noteStop()
        for listener in listeners { listener.close() }
        engine.closeAll()
        flushTimer?.set(deadline: loop.deadline(after: configuration.flushTimeout))
    }

    func abandon() {
        enter()
        if phase == .running || phase == .flushing { endLinks() }
        acceptor.abortAll()
    }

    private func endLinks() {
        guard phase == .running || phase == .flushing else { return }
        phase = .closing
        engine.end(now: enter())
    }

    func loopWillStop() {
        abandon()
        finish()
    }

    private func finish() {
        guard phase != .over else { return }
        phase = .over
        timer?.set(deadline: nil)
        flushTimer?.set(deadline: nil)
        loop.remove(self)
        let (listeners, closers) = (listeners, closers)
        (self.listeners, self.closers) = ([], [])
        for listener in listeners { listener.close() }
        guard !closers.isEmpty else { return }
        loop.startTask {
            for listener in listeners { await listener.closeAndWait() }
            for promise in closers { promise.resolve(.success(())) }
        }
    }
}
