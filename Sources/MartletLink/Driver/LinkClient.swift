public import MartletTransport
public import MartletWire

/// The client's end of a link: it connects to a ``LinkListener``, reconnects, and carries sessions.
///
/// ```swift
/// let client = try LinkClient(to: "martlets://example.com:7300", as: "alice")
/// let session = try await client.open("signaling", kind: .signaling)
/// try await session.send(Array("hello".utf8))
/// await client.close()
/// ```
///
/// A client begins to connect when it is created. It resumes the link on each later connection, so its sessions
/// continue. If the server refuses that, all sessions end with `LinkFailure.linkEnded`, and a different link begins, on
/// which further sessions are opened. The client ends with ``close()``, with its last reference, those of its sessions
/// included, or with its loop. Only ``close()`` waits until the messages have arrived.
public final class LinkClient: Sendable {
    /// The options of a client.
    public struct Configuration: Sendable {
        /// The name and version of the program, for the server's log; at most 128 bytes.
        public var agent: String?
        /// The offered limits. For each, the lower one of both sides is in effect.
        public var limits = Limits()
        /// The intervals at which a silent server is sent pings.
        public var heartbeat = HeartbeatStrategy.balanced
        /// The times between connection attempts.
        public var reconnect = ReconnectPolicy.Configuration()
        /// The maximum duration of a connection attempt, including name resolution.
        public var connectTimeout: Duration = .seconds(15)
        /// The maximum duration for which ``LinkClient/close()`` waits until the server has acknowledged all messages.
        public var flushTimeout: Duration = .seconds(5)
        /// The trusted certificates and other options of TLS.
        public var tls = TLSClientOptions()
        /// Whether the client connects to other machines without TLS. Anybody on the network path can then read and
        /// change messages, and take over the link.
        public var allowsPlaintext = false
        /// Whether connections use Multipath TCP (RFC 8684) where both machines support it.
        public var usesMultipath = false
        /// The proxies on the way to other machines.
        public var proxies = ProxyConfiguration.automatic
        /// Whether the client tries a WebSocket on port 443 of the server's host, with the same verification of its
        /// certificate, if a connection with TLS to the default port fails or is not established at once. It does not
        /// with a password and with a certificate of its own, since a proxy in front of the server may end TLS there.
        public var usesWebSocketFallback = true
        /// Whether the client monitors the network interfaces, unless the server is on this machine.
        public var watchesPath = true

        /// Creates the default options.
        public init() {}
    }

    /// The account.
    public let account: AccountName
    /// The device. A server keeps one link for each device of an account (C-2).
    public let device: DeviceID
    private let driver: LinkClientDriver
    private var caller: LinkCaller { LinkCaller(driver: driver, link: nil, owner: self) }

    /// Creates a client, which begins to connect.
    ///
    /// - Parameters:
    ///   - endpoint: An address of the server, such as `martlets://example.com:7300`, or with the scheme `martlet://`
    ///     for one without TLS.
    ///   - others: Further addresses. The first connection that is established is used (RFC 8305).
    ///   - account: The name of the account, 1 to 128 bytes.
    ///   - device: The device; a random one by default.
    ///   - credential: Returns the credential for one connection attempt; nil if the server requires none. After an
    ///     error the next attempt calls it again.
    ///   - configuration: The limits and timeouts.
    ///   - loop: The loop on which the client runs.
    /// - Throws: `invalidEndpoint`, `invalidAccount`, `invalidTLS`; `plaintextNotAllowed` for an address of another
    ///   machine without TLS, unless the configuration allows it.
    public init(
        to endpoint: String, or others: [String] = [], as account: String, device: DeviceID? = nil,
        credential: (@Sendable () async throws -> Credential)? = nil, configuration: Configuration = Configuration(),
        on loop: EventLoop = .shared
    ) throws(LinkSetupError) {
        guard let name = AccountName(account) else { throw .invalidAccount(account) }
        var endpoints: [Endpoint] = []
        for text in [endpoint] + others {
            guard let parsed = try? Endpoint(parsing: text) else { throw .invalidEndpoint(text) }
            guard parsed.security == .tls || configuration.allowsPlaintext || parsed.isLoopback else {
                throw .plaintextNotAllowed(text)
            }
            endpoints.append(parsed)
        }
        self.account = name
        var random = loop.random
        self.device = device ?? DeviceID(rawValue: random.next())
        var link = LinkConfiguration(account: name, device: self.device, agent: configuration.agent)
        link.limits = configuration.limits
        link.features.insert(.compact)
        link.heartbeat = configuration.heartbeat
        link.reconnect = configuration.reconnect
        link.deadlines.connecting = configuration.connectTimeout
        var connections = LinkConnector.Configuration(endpoints: endpoints)
        if let credential { connections.proof = .provider(credential) }
        connections.tlsOptions = configuration.tls
        connections.deadlines = link.deadlines
        connections.allowsPlaintext = configuration.allowsPlaintext
        connections.usesMultipath = configuration.usesMultipath
        connections.proxies = configuration.proxies
        connections.usesWebSocketFallback = configuration.usesWebSocketFallback
        connections.watchesPath = configuration.watchesPath
        #if !canImport(Network)
            if endpoints.contains(where: { $0.security == .tls }) {
                do { connections.tls = try TLSClient(configuration.tls) } catch { throw .invalidTLS(error) }
            }
        #endif
        driver = LinkClientDriver(link, connections, flushTimeout: configuration.flushTimeout, on: loop)
        loop.execute { [driver] in driver.start() }
    }

    deinit {
        driver.loop.execute { [driver] in driver.abandon() }
    }

    /// Opens a session, and returns when it was queued on the link. The call waits until the link has had a connection,
    /// and, beyond 255 sessions, for the rate of 30 in a second (S-4).
    ///
    /// - Parameters:
    ///   - name: The name, 1 to 128 bytes. Several sessions can have one name.
    ///   - kind: The kind, which determines priority and window. Those of rooms, `attachment` and `account`, are reset
    ///     by the other side with `unsupportedKind`.
    /// - Throws: `LinkFailure`, `CancellationError`.
    nonisolated(nonsending) public func open(_ name: String, kind: SessionKind = .chat) async throws -> LinkSession {
        try await caller.open(name, kind)
    }

    /// The sessions that the server opens, until the client is closed.
    public var sessions: LinkSessionSequence { LinkSessionSequence(caller: caller) }

    /// The current status, followed by the latest one after each change. The stream ends with the client.
    public var status: AsyncStream<LinkStatus> {
        let (stream, continuation) = AsyncStream.makeStream(of: LinkStatus.self, bufferingPolicy: .bufferingNewest(1))
        driver.loop.execute { [driver] in driver.watch(continuation) }
        return stream
    }

    /// The way of the connection through the network, and why it is in use; nil while there is no connection.
    public var route: ConnectionRoute? {
        get async {
            let promise = Promise<ConnectionRoute?>()
            driver.loop.execute { [driver] in promise.resolve(.success(driver.route)) }
            return (try? await promise.value()) ?? nil
        }
    }

    /// Closes all sessions, waits until the server has acknowledged all messages, at most for
    /// `Configuration.flushTimeout`, and ends the link. Cancellation of the task has no effect.
    nonisolated(nonsending) public func close() async {
        let promise = Promise<Void>()
        driver.loop.execute { [driver] in driver.close(promise) }
        try? await promise.value()
    }

    /// The flight recording: the latest events of the connections, without names, contents, addresses and secrets. It
    /// is a file for `martlet replay` and `martlet decode`.
    public var flightRecording: [UInt8] {
        get async {
            let promise = Promise<[UInt8]>()
            driver.loop.execute { [driver] in promise.resolve(.success(driver.recording)) }
            return (try? await promise.value()) ?? []
        }
    }
}

/// The driver of a client's link with sessions: the outputs of its engine, its timer and the calls that wait.
///
/// | phase | left by |
/// |---|---|
/// | running | `close`, `abandon`; the shutdown of the loop leads from each phase to over |
/// | flushing | the server has acknowledged all messages, or the timeout has passed |
/// | stopping | the engine has ended the link, within its timeouts |
/// | over | nothing |
final class LinkClientDriver: LinkConnectorOwner, LinkDriver, LoopStopHandler, @unchecked Sendable {
    private enum Phase {
        case running
        case flushing
        case stopping
        case over
    }

    let loop: EventLoop
    private let connector: LinkConnector
    private let flushTimeout: Duration
    private var engine: LinkClientEngine
    private var calls = PendingCalls()
    private var phase = Phase.running
    private var timer: LoopTimer?
    private var flushTimer: LoopTimer?
    private var watchers: [AsyncStream<LinkStatus>.Continuation] = []
    private var closers: [Promise<Void>] = []
    private var isSettling = false

    init(
        _ link: LinkConfiguration, _ connections: LinkConnector.Configuration, flushTimeout: Duration,
        on loop: EventLoop
    ) {
        self.loop = loop
        self.flushTimeout = flushTimeout
        connector = LinkConnector(connections, on: loop)
        var random = loop.random
        engine = LinkClientEngine(link, seed: random.next(), now: Instant(nanoseconds: loop.currentTime))
    }

    private var now: Instant { Instant(nanoseconds: loop.now) }

    func start() {
        guard loop.add(self) else { return finish() }
        timer = LoopTimer(on: loop) { [weak self] in self?.timerFired() }
        flushTimer = LoopTimer(on: loop) { [weak self] in self?.endLink() }
        connector.start(self)
        handle(.start)
        settle()
    }

    // MARK: Calls

    func begin(_ call: SessionCall, on link: LinkKey?, _ promise: Promise<SessionResult>?) {
        engine.begin(call, calls.add(promise), now: now)
        settle()
    }

    func cancel(_ promise: Promise<SessionResult>, on link: LinkKey?) {
        if let id = calls.id(of: promise) { engine.cancel(id) }
        settle()
    }

    func watch(_ watcher: AsyncStream<LinkStatus>.Continuation) {
        watcher.yield(engine.status)
        if phase == .over { watcher.finish() } else { watchers.append(watcher) }
    }

    func close(_ promise: Promise<Void>) {
        if phase == .over {
            promise.resolve(.success(()))
        } else {
            closers.append(promise)
        }
        guard phase == .running else { return }
        phase = .flushing
        engine.closeAll()
        flushTimer?.set(deadline: loop.deadline(after: flushTimeout))
        settle()
    }

    var recording: [UInt8] { engine.recording(now: now) }

    var route: ConnectionRoute? { connector.route }

    func abandon() {
        guard phase == .running || phase == .flushing else { return }
        engine.closeAll()
        endLink()
    }

    private func endLink() {
        guard phase == .running || phase == .flushing else { return }
        phase = .stopping
        handle(.stop)
        settle()
    }

    func loopWillStop() { finish() }

    private func finish() {
        guard phase != .over else { return }
        phase = .over
        timer?.set(deadline: nil)
        flushTimer?.set(deadline: nil)
        loop.remove(self)
        connector.end()
        engine.end(.stopped)
        settle()
        for watcher in watchers { watcher.finish() }
        for promise in closers { promise.resolve(.success(())) }
        (watchers, closers) = ([], [])
    }

    // MARK: The connector

    var status: LinkStatus { engine.status }

    func isAwaitingWelcome(on id: ConnectionID) -> Bool { engine.isAwaitingWelcome(on: id) }

    func hasAnswer(on id: ConnectionID) -> Bool { engine.hasAnswer(on: id) }

    func handle(_ input: LinkInput) { engine.handle(input, now: now) }

    func receive(_ bytes: RawSpan, on id: ConnectionID) { engine.receive(bytes, on: id, now: now) }

    func transmit(on id: ConnectionID, into out: inout OutputRawSpan) -> Bool {
        engine.transmit(on: id, into: &out, now: now)
    }

    func deadlinePassed() { engine.deadlinePassed(now: now) }

    private func timerFired() {
        guard phase != .over, let deadline = engine.deadline else { return }
        connector.passDeadline(due: deadline, now: now)
        settle()
    }

    /// Performs the outputs of the engine until none is left.
    func settle() {
        guard !isSettling else { return }
        isSettling = true
        while let output = engine.nextOutput(now: now) {
            switch output {
            case .result(let call, let result): calls.finish(call, result)
            case .link where phase == .over: break
            case .link(.status(let status)):
                for watcher in watchers { watcher.yield(status) }
            case .link(.stopped):
                isSettling = false
                return finish()
            case .link(let output): connector.perform(output)
            }
        }
        isSettling = false
        guard phase != .over else { return }
        timer?.set(deadline: engine.deadline?.nanoseconds)
        if phase == .flushing, engine.isFlushed { endLink() }
    }
}
