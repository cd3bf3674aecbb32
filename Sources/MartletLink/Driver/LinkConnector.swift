package import MartletAuthentication
package import MartletTransport
package import MartletWire

/// The proof of a client's identity. Closures keep secrets out of descriptions and dumps.
package enum LinkProof: Sendable {
    /// Returns the credential for one connection attempt.
    package typealias Provider = @Sendable () async throws -> Credential
    /// Creates the machine of one exchange, with its nonce.
    package typealias ExchangeMaker =
        @Sendable (_ nonce: [UInt8], ChannelBinding) throws(SCRAMError) -> SCRAMClient

    case none
    case provider(Provider)
    case exchange(ExchangeMaker)
}

/// The engine of which a client's link is a part, as the driver of its connections sees it. All calls are made on the
/// loop.
package protocol LinkConnectorOwner: AnyObject {
    /// The state of the client.
    var status: LinkStatus { get }

    /// Whether a connection is established and the server has not sent welcome.
    func isAwaitingWelcome(on id: ConnectionID) -> Bool

    /// Whether the server has answered on the latest connection: by welcome, a refusal or a message of an exchange.
    func hasAnswer(on id: ConnectionID) -> Bool

    /// Reports an event to the engine.
    func handle(_ input: LinkInput)

    /// Reports received bytes to the engine.
    func receive(_ bytes: RawSpan, on id: ConnectionID)

    /// Lets the engine write frames.
    func transmit(on id: ConnectionID, into out: inout OutputRawSpan) -> Bool

    /// Lets the engine process its deadlines.
    func deadlinePassed()

    /// Performs the outputs of the engine.
    func settle()
}

/// The connections of a client's link on a loop: attempts to connect, TLS, credentials, and the monitor of the path. It
/// performs the link's outputs, and reports events to the owner of the engine. It decides nothing.
///
/// | state | owns | ends |
/// |---|---|---|
/// | attempt | the race of the routes, up to the handshake of one | its result; `close`; a later attempt |
/// | transport | the carrier, from the end of its handshake to its last event | `didClose` |
/// | credential task | the call of the provider, or the computation of an answer | its outcome; `close` |
///
/// `end` ends all of them, and the reference to the owner.
package final class LinkConnector: @unchecked Sendable {  // all state is used on its loop only
    /// The addresses of the server, and how they are reached.
    package struct Configuration: Sendable {
        package var endpoints: [Endpoint]
        package var proof = LinkProof.none
        /// The trusted certificates and the sessions of TLS, shared by clients; nil if no endpoint uses TLS.
        package var tls: TLSClient?
        package var tlsOptions = TLSClientOptions()
        /// The timeouts of the states of a connection.
        package var deadlines = ConnectionMachine.Deadlines()
        /// Whether the client connects to other machines without TLS.
        package var allowsPlaintext = false
        /// Whether connections use Multipath TCP (RFC 8684) where both machines support it.
        package var usesMultipath = false
        /// The proxies on the way to the server.
        package var proxies = ProxyConfiguration.automatic
        /// Whether a WebSocket on port 443 of the server's host may carry the connection.
        package var usesWebSocketFallback = true
        /// Whether the path is monitored, unless all endpoints are on this machine.
        package var watchesPath = true

        package init(endpoints: [Endpoint]) {
            self.endpoints = endpoints
        }

        /// Whether a WebSocket on port 443 may be tried. A proxy in front of the server may end TLS there, and with it
        /// the binding of passwords and certificates of clients to the connection (C-127).
        fileprivate var permitsWebSocket: Bool {
            if case .exchange = proof { return false }
            return usesWebSocketFallback && tlsOptions.identity == nil
        }

        /// Whether all addresses of the server are loopback addresses.
        package var isOnThisMachine: Bool { endpoints.allSatisfy(\.isLoopback) }
    }

    /// An attempt in progress.
    private struct Attempt {
        let id: ConnectionID
        let race: RouteAttempt
    }

    /// The outcome of a credential task.
    private enum CredentialOutcome: Sendable {
        case credential(Credential?)
        case failed(String)
        case answer(Credential, serverFinal: Credential)
        case unanswerable(String)
    }

    /// The lateness of a timer beyond which the process is assumed to have been suspended (C-51).
    package static let wakeLateness: Duration = .seconds(5)

    private let configuration: Configuration
    private let loop: EventLoop
    private var owner: (any LinkConnectorOwner)?
    private var transports: [ConnectionID: any Transport] = [:]
    private var attempt: Attempt?
    /// Calls of the credential provider, or computations of messages of an exchange, in progress.
    private var credentialTasks: [ConnectionID: Task<Void, Never>] = [:]
    /// Connections that are up, TLS included.
    private var established: Set<ConnectionID> = []
    /// Exchanges that wait for the server's message.
    private var exchanges: [ConnectionID: PasswordExchange] = [:]
    /// The proxies; none on a loop with a host, whose network has no environment.
    private let proxies: ProxySelector
    private var memory = RouteMemory()
    /// The network of the path; zero while it is unknown.
    private var network = NetworkID(rawValue: 0)
    /// The route of each connection that is up, and whether errors name it.
    private var routes: [ConnectionID: (key: RouteMemory.Key, route: ConnectionRoute, isNamed: Bool)] = [:]
    /// The trusted certificates and the sessions of TLS; created with the first endpoint that uses TLS.
    private var tls: TLSClient?
    /// The last error, and the connection or attempt to which it belongs; nil while the client is online.
    private var latestError: (id: ConnectionID, text: String)?

    package init(_ configuration: Configuration, on loop: EventLoop) {
        self.configuration = configuration
        self.loop = loop
        tls = configuration.tls
        proxies = loop.host == nil ? ProxySelector(configuration.proxies) : ProxySelector()
    }

    /// The variables of the environment that would choose a proxy, and are ignored because they are invalid.
    package var proxyFaults: Set<ProxySelector.Fault> { Set(configuration.endpoints.flatMap(proxies.faults)) }

    /// The route of the connection that was established last; nil while there is none.
    package var route: ConnectionRoute? { routes.max { $0.key.rawValue < $1.key.rawValue }?.value.route }

    /// Begins to report events. Until `end`, the connector retains the owner.
    package func start(_ owner: any LinkConnectorOwner) {
        self.owner = owner
        guard configuration.watchesPath, !configuration.isOnThisMachine else { return }
        PathWatch.add(self, on: loop) { [weak self] status in
            self?.network = status.network
            self?.handle(.pathChanged(to: status))
            self?.owner?.settle()
        }
    }

    /// Aborts all connections and connection attempts. No event is reported after the call.
    package func end() {
        owner = nil
        PathWatch.remove(self, on: loop)
        cancelAttempt()
        for (_, task) in credentialTasks.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { task.cancel() }
        credentialTasks = [:]
        for (_, transport) in transports.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { transport.abort() }
    }

    /// Performs an output of the link. The owner handles `status` and `stopped`.
    package func perform(_ output: LinkOutput) {
        switch output {
        case .connect(let id, let redirect): connect(id, redirect: redirect)
        case .startBackup(let id, let current): connectBackup(id, beside: current)
        case .fetchCredential(let id): fetchCredential(id)
        case .answerChallenge(let id, let message): answerChallenge(id, message)
        case .close(let id, let graceful): close(id, afterFlush: graceful)
        case .transmit(let id): transports[id]?.setNeedsWrite()
        case .status, .stopped: break
        }
    }

    /// The numbers of carriers, attempts and credential tasks.
    package var heldCount: Int { transports.count + (attempt == nil ? 0 : 1) + credentialTasks.count }

    private func handle(_ input: LinkInput) { owner?.handle(input) }

    /// Records the error of a connection or attempt, unless a later one has an error.
    private func note(_ text: String, of id: ConnectionID) {
        if let latestError, latestError.id.rawValue > id.rawValue { return }
        latestError = (id, text)
    }

    /// Returns the error of the connection or attempt that ended with the last failure; nil if it has none.
    package func detail(of id: ConnectionID?) -> String? {
        if let latestError, latestError.id == id { latestError.text } else { nil }
    }

    /// Discards the errors, because the client is online.
    package func discardErrors() { latestError = nil }

    // MARK: Outputs of the engine

    private func connect(_ id: ConnectionID, redirect: String?) {
        cancelAttempt()
        switch redirect.map({
            RedirectTarget($0, from: configuration.endpoints, allowsPlaintext: configuration.allowsPlaintext)
        }) {
        case nil:
            let plan = memory.plan(
                to: configuration.endpoints, proxies: proxies, usesWebSocket: usesWebSocket, on: network)
            start(id, plan)
        case .endpoint(let endpoint):
            // A connection without the proxy may be what the user has to prevent (C-126).
            if let fault = Set(proxies.faults(for: endpoint)).subtracting(proxyFaults).first {
                return connectFailed(id, .proxyFailure, "the server redirects to \(endpoint): \(fault)")
            }
            start(id, RoutePlan(to: [endpoint], proxies: proxies, usesWebSocket: usesWebSocket))
        case .refused(let failure, let detail): connectFailed(id, failure, detail)
        }
    }

    /// Whether attempts have a WebSocket on port 443. A loop with a host has none, like proxies.
    private var usesWebSocket: Bool { configuration.permitsWebSocket && loop.host == nil }

    /// Opens a backup connection only if TCP has made no progress on the current one. Otherwise a second connection
    /// would add load to a slow relay and retransmissions to a slow path (C-63).
    private func connectBackup(_ id: ConnectionID, beside current: ConnectionID) {
        guard transports[current]?.isStalled == true else { return handle(.connectFailed(id)) }
        fetchCredential(id)
        var plan = RoutePlan(
            to: configuration.endpoints, proxies: proxies, turn: Int(id.rawValue), usesWebSocket: usesWebSocket)
        if let route = routes[current]?.key { plan.keep(route) }
        start(id, plan, repeatDelay: .milliseconds(500))
    }

    /// Starts an attempt on the routes of a plan.
    private func start(_ id: ConnectionID, _ plan: RoutePlan, repeatDelay: Duration? = nil) {
        cancelAttempt()
        var options = RouteAttempt.Options()
        options.timeout = configuration.deadlines.connecting
        options.repeatDelay = repeatDelay
        options.usesMultipath = configuration.usesMultipath
        options.tls = configuration.tlsOptions
        let secure: RouteAttempt.Secure = { [weak self] lower, endpoint throws(TLSError) in
            guard let self else { throw .protocolError("the client has ended") }
            return try self.secured(lower, to: endpoint)
        }
        let race = RouteAttempt(plan, on: loop, options: options, secure: secure) { [weak self] result in
            self?.attemptEnded(id, plan, result)
        }
        attempt = Attempt(id: id, race: race)
        race.start()
    }

    private func cancelAttempt() {
        let attempt = attempt.take()
        attempt?.race.cancel()
    }

    private func fetchCredential(_ id: ConnectionID) {
        switch configuration.proof {
        case .none: handle(.credential(id, nil))
        case .provider(let provider):
            run(for: id) {
                do { return .credential(try await provider()) } catch { return .failed("\(error)") }
            }
        case .exchange(let make):
            // The proof is bound to the TLS connection, so the exchange begins after the TLS handshake.
            if established.contains(id) { startExchange(id, make) }
        }
    }

    private func run(for id: ConnectionID, _ work: @escaping @Sendable () async -> CredentialOutcome) {
        credentialTasks[id]?.cancel()
        credentialTasks[id] = loop.startTask { [loop] in
            let outcome = await work()
            loop.execute { self.take(outcome, for: id) }
        }
    }

    private func startExchange(_ id: ConnectionID, _ make: LinkProof.ExchangeMaker) {
        guard let transport = transports[id] else { return }
        do {
            var exchange = try PasswordExchange(make, on: transport, allowsPlaintext: configuration.allowsPlaintext)
            handle(.credential(id, exchange.start(), mechanism: exchange.mechanism))
            exchanges[id] = exchange
        } catch {
            note("\(error)", of: id)
            handle(.credentialFailed(id))
        }
    }

    /// Computes the answer in a task: the relay chooses the number of iterations.
    private func answerChallenge(_ id: ConnectionID, _ message: Credential) {
        guard let exchange = exchanges.removeValue(forKey: id) else { return handle(.exchangeFailed(id)) }
        run(for: id) {
            var exchange = exchange
            do {
                let answer = try exchange.answer(message)
                return .answer(answer.message, serverFinal: answer.serverFinal)
            } catch {
                return .unanswerable("\(error)")
            }
        }
    }

    private func close(_ id: ConnectionID, afterFlush: Bool) {
        if let attempt, attempt.id == id {
            self.attempt = nil
            attempt.race.cancel()
        }
        cancelCredential(for: id)
        transports[id]?.close(afterFlush: afterFlush)
    }

    private func cancelCredential(for id: ConnectionID) {
        credentialTasks.removeValue(forKey: id)?.cancel()
        exchanges[id] = nil
    }

    // MARK: Events

    private func take(_ outcome: CredentialOutcome, for id: ConnectionID) {
        guard credentialTasks.removeValue(forKey: id) != nil else { return }
        switch outcome {
        case .credential(let credential): handle(.credential(id, credential))
        case .failed(let text):
            note("no credential: \(text)", of: id)
            handle(.credentialFailed(id))
        case .answer(let message, let serverFinal):
            handle(.answer(id, message, expecting: serverFinal))
        case .unanswerable(let text):
            note("invalid message of the relay: \(text)", of: id)
            handle(.exchangeFailed(id))
        }
        owner?.settle()
    }

    private func attemptEnded(
        _ id: ConnectionID, _ plan: RoutePlan, _ result: Result<(index: Int, transport: any Transport), RouteFailures>
    ) {
        guard let attempt, attempt.id == id else { return }
        self.attempt = nil
        switch result {
        case .success(let (index, transport)):
            memory.opened(id, on: index, of: plan, network: network)
            routes[id] = (plan.candidates[index].key, plan.route(index), plan.hasChoice)
            transports[id] = transport
            transport.replaceHandler(ConnectionHandler(id, self))
            connected(id, transport)
        case .failure(let failures):
            let failure = failures.failure
            memory.failed(plan, isRefusal: failure == .notListening, on: network)
            let isTimeout = failures.entries.count == 1 && failures.entries[0].error == .timedOut
            let detail = isTimeout ? "no connection within \(configuration.deadlines.connecting)" : failures.detail
            connectFailed(id, failure, detail)
            owner?.settle()
        }
    }

    /// Returns TLS over a transport to the endpoint. A redirect can lead from an endpoint without TLS to one with TLS.
    private func secured(_ lower: any Transport, to endpoint: Endpoint) throws(TLSError) -> any Transport {
        if let tls = tls { return try tls.transport(over: lower, to: endpoint) }
        let new = try TLSClient(configuration.tlsOptions)
        tls = new
        return try new.transport(over: lower, to: endpoint)
    }

    private func connectFailed(_ id: ConnectionID, _ failure: ConnectionFailure, _ detail: String) {
        note(detail, of: id)
        cancelCredential(for: id)
        handle(.connectFailed(id, failure))
    }

    fileprivate func connected(_ id: ConnectionID, _ transport: any Transport) {
        // Loopback and link-local addresses belong to no path.
        let local = transport.localAddress.flatMap { $0.ip.isLoopback || $0.ip.isLinkLocal ? nil : $0.ip.description }
        handle(.connected(id, localAddress: local))
        established.insert(id)
        if case .exchange(let make) = configuration.proof { startExchange(id, make) }
        owner?.settle()
    }

    fileprivate func received(_ bytes: RawSpan, on id: ConnectionID) {
        guard let owner else { return }
        let awaitsWelcome = owner.isAwaitingWelcome(on: id)
        owner.receive(bytes, on: id)
        if awaitsWelcome, owner.hasAnswer(on: id) { memory.answered(id) }
        if awaitsWelcome, owner.status.failedConnection == id { noteRefusal(of: id) }
        owner.settle()
    }

    fileprivate func fill(_ buffer: inout OutputRawSpan, for id: ConnectionID) -> Bool {
        guard let owner else { return false }
        let mayHaveMore = owner.transmit(on: id, into: &buffer)
        owner.settle()
        return mayHaveMore
    }

    fileprivate func closed(_ id: ConnectionID, byPeer: Bool) {
        guard transports[id] != nil else { return }
        if byPeer { noteEndByPeer(of: id) }
        handle(.closed(id, byPeer: byPeer))
        owner?.settle()
    }

    /// Handles the last event of a connection.
    fileprivate func forget(_ id: ConnectionID, _ reason: CloseReason) {
        guard transports[id] != nil else { return }
        if case .error(let error) = reason { noteEnd("\(error)", of: id) }
        let isTLSFailure = if case .error(.tls) = reason { true } else { false }
        if isTLSFailure { handle(.connectFailed(id, .tlsFailure)) }
        let byPeer = reason == .endOfStream || reason == .reset
        if byPeer { noteEndByPeer(of: id) }
        handle(.closed(id, byPeer: byPeer, isTLSFailure: isTLSFailure))
        transports[id] = nil
        routes[id] = nil
        memory.ended(id)
        established.remove(id)
        cancelCredential(for: id)
        owner?.settle()
    }
    // MARK: Details of failures

    private static let lateCredential = "the peer ended the connection before the credential was available"

    /// Passes a deadline of the engine that was due at an instant. It reports a suspension of the process, and names
    /// the step of an attempt that ends by its timeout.
    package func passDeadline(due: Instant, now: Instant) {
        guard let owner else { return }
        if now - due > Self.wakeLateness { owner.handle(.wake) }
        let earlier = owner.status
        owner.deadlinePassed()
        let status = owner.status
        guard !earlier.isOnline, status.lastCode == nil, let id = status.failedConnection,
            id != earlier.failedConnection
        else { return }
        let deadlines = configuration.deadlines
        if credentialTasks[id] != nil, established.contains(id) {
            note("no credential within \(deadlines.handshake)", of: id)
        } else if established.contains(id) {
            routeFailed(id, "no answer to the hello within \(deadlines.handshake)")
        } else {
            note("\(attempt?.race.missing ?? "no connection") within \(deadlines.connecting)", of: id)
        }
    }

    /// Records that no relay has answered on the route of a connection, which its error names (C-127).
    private func routeFailed(_ id: ConnectionID, _ text: String) {
        memory.failed(id)
        let route = routes[id].flatMap { $0.isNamed ? "\($0.route.name): " : nil }
        note("\(route ?? "")\(text)", of: id)
    }

    /// Records the error that ends a connection.
    private func noteEnd(_ text: String, of id: ConnectionID) {
        if owner?.isAwaitingWelcome(on: id) == true { routeFailed(id, text) } else { note(text, of: id) }
    }

    /// Records that the peer ends a connection before welcome.
    private func noteEndByPeer(of id: ConnectionID) {
        guard let owner, owner.isAwaitingWelcome(on: id) else { return }
        if credentialTasks[id] != nil { return routeFailed(id, Self.lateCredential) }
        let isAnswered = owner.hasAnswer(on: id)
        let text = isAnswered ? "welcome" : "its first frame\(adviceOfTLS(id))"
        routeFailed(id, "the peer ended the connection before \(text)")
    }

    /// Records the cause of a failure by bytes that were received before welcome. An answer has a code.
    private func noteRefusal(of id: ConnectionID) {
        guard let owner, !owner.hasAnswer(on: id) else {
            return credentialTasks[id] == nil ? () : note(Self.lateCredential, of: id)
        }
        let isForeign = owner.status.lastCode == .badMagic
        routeFailed(id, "the peer sends \(isForeign ? "no" : "invalid") frames\(isForeign ? adviceOfTLS(id) : "")")
    }

    private func adviceOfTLS(_ id: ConnectionID) -> String {
        transports[id]?.security == nil ? "; it may require TLS" : ""
    }
}

/// The handler of one connection. It reports events under the ID of the connection, so that the events of an earlier
/// connection are recognized.
final class ConnectionHandler: TransportHandler {
    private let id: ConnectionID
    private let connector: LinkConnector

    init(_ id: ConnectionID, _ connector: LinkConnector) {
        self.id = id
        self.connector = connector
    }

    func transportDidConnect(_ transport: any Transport) {
        connector.connected(id, transport)
    }

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        connector.received(bytes, on: id)
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        connector.fill(&buffer, for: id)
    }

    func transportDidReceiveEndOfStream(_ transport: any Transport) {
        connector.closed(id, byPeer: true)
        transport.close(afterFlush: false)
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {
        connector.forget(id, reason)
    }
}
