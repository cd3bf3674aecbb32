import MartletLink
import MartletTransport
import MartletWire

/// The connections of a client's driver.
struct ClientConnections {
    /// An attempt in progress.
    struct Attempt {
        let id: ConnectionID
        let connector: any ConnectionAttempt
    }

    fileprivate(set) var transports: [ConnectionID: any Transport] = [:]
    fileprivate(set) var attempt: Attempt?
    /// Calls of the credential provider, or computations of messages of an exchange, in progress.
    fileprivate(set) var credentialTasks: [ConnectionID: Task<Void, Never>] = [:]
    /// Connections that are up, TLS included.
    fileprivate var established: Set<ConnectionID> = []
    /// Exchanges that wait for the relay's message.
    fileprivate var exchanges: [ConnectionID: PasswordExchange] = [:]
    /// The trusted certificates and the sessions of TLS; created with the first endpoint that uses TLS.
    fileprivate var tls: TLSClient?
    /// The last error, and the connection or attempt to which it belongs; nil while the client is online.
    private var latestError: (id: ConnectionID, text: String)?

    init(tls: TLSClient?) {
        self.tls = tls
    }

    /// Records the error of a connection or attempt, unless a later one has an error.
    mutating func note(_ text: String, of id: ConnectionID) {
        if let latestError, latestError.id.rawValue > id.rawValue { return }
        latestError = (id, text)
    }

    /// Returns the error of the connection or attempt that ended with the last failure; nil if it has none.
    func detail(of id: ConnectionID?) -> String? {
        if let latestError, latestError.id == id { latestError.text } else { nil }
    }

    mutating func discardErrors() { latestError = nil }
}

extension ClientDriver {
    // MARK: Outputs of the engine

    func connect(_ id: ConnectionID, redirect: String?) {
        cancelAttempt()
        let endpoints: [Endpoint]
        switch redirect.map({
            RedirectTarget($0, from: life.identity.endpoints, allowsPlaintext: configuration.allowsPlaintext)
        }) {
        case nil: endpoints = life.identity.endpoints
        case .endpoint(let endpoint): endpoints = [endpoint]
        case .refused(let failure, let detail): return connectFailed(id, failure, detail)
        }
        start(id, to: endpoints)
    }

    /// Opens a backup connection only if TCP has made no progress on the current one. Otherwise a second connection
    /// would add load to a slow relay and retransmissions to a slow path (C-63).
    func connectBackup(_ id: ConnectionID, beside current: ConnectionID) {
        guard connections.transports[current]?.isStalled == true else {
            return engine.connectFailed(id, now: now)
        }
        fetchCredential(id)
        start(id, to: life.identity.endpoints, repeatDelay: .milliseconds(500))
    }

    private func start(_ id: ConnectionID, to endpoints: [Endpoint], repeatDelay: Duration? = nil) {
        cancelAttempt()
        #if canImport(Network)
            let secured = endpoints.filter { $0.security == .tls }
            if loop.host == nil, !secured.isEmpty {
                return startSecured(id, to: secured[Int(id.rawValue) % secured.count])
            }
        #endif
        var options = TCPConnector.Options()
        options.timeout = configuration.connectTimeout
        options.repeatDelay = repeatDelay ?? options.repeatDelay
        options.connection.usesMultipath = configuration.usesMultipath
        let connector = loop.connect(to: endpoints, options: options) { [weak self] result in
            self?.attemptEnded(id, result)
        }
        connections.attempt = ClientConnections.Attempt(id: id, connector: connector)
    }

    #if canImport(Network)
        /// Starts a connection with TLS on Apple systems, where one transport resolves the name, connects and performs
        /// the handshake. It ends with the deadline of the attempt.
        private func startSecured(_ id: ConnectionID, to endpoint: Endpoint) {
            do throws(TLSError) {
                let transport = try NetworkTransport(to: endpoint, tls: configuration.tls, on: loop)
                connections.transports[id] = transport
                transport.start(ConnectionHandler(id, self))
            } catch {
                connectFailed(id, .tlsFailure, "\(error)")
            }
        }
    #endif

    private func cancelAttempt() {
        connections.attempt?.connector.cancel()
        connections.attempt = nil
    }

    func fetchCredential(_ id: ConnectionID) {
        switch life.identity.proof {
        case .none: engine.credential(nil, for: id, now: now)
        case .provider(let provider):
            run(for: id) {
                do { return .credential(try await provider()) } catch { return .failed("\(error)") }
            }
        case .password(let make):
            // The proof is bound to the TLS connection, so the exchange begins after the TLS handshake.
            if connections.established.contains(id) { startExchange(id, make) }
        }
    }

    private func run(for id: ConnectionID, _ work: @escaping @Sendable () async -> CredentialOutcome) {
        connections.credentialTasks[id]?.cancel()
        connections.credentialTasks[id] = loop.startTask { [mailbox] in
            mailbox.post(.credential(id, await work()))
        }
    }

    private func startExchange(_ id: ConnectionID, _ make: Credentials.ExchangeMaker) {
        guard let transport = connections.transports[id] else { return }
        do {
            var exchange = try PasswordExchange(make, on: transport, allowsPlaintext: configuration.allowsPlaintext)
            engine.credential(exchange.start(), mechanism: exchange.mechanism, for: id, now: now)
            connections.exchanges[id] = exchange
        } catch {
            connections.note("\(error)", of: id)
            engine.credentialFailed(id, now: now)
        }
    }

    /// Computes the answer in a task: the relay chooses the number of iterations.
    func answerChallenge(_ id: ConnectionID, _ message: Credential) {
        guard let exchange = connections.exchanges.removeValue(forKey: id) else {
            return engine.exchangeFailed(id, now: now)
        }
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

    func close(_ id: ConnectionID, afterFlush: Bool) {
        if let attempt = connections.attempt, attempt.id == id {
            connections.attempt = nil
            attempt.connector.cancel()
        }
        cancelCredential(for: id)
        connections.transports[id]?.close(afterFlush: afterFlush)
    }

    private func cancelCredential(for id: ConnectionID) {
        connections.credentialTasks.removeValue(forKey: id)?.cancel()
        connections.exchanges[id] = nil
    }

    /// Aborts all connections and connection attempts.
    func endConnections() {
        cancelAttempt()
        for (_, task) in connections.credentialTasks.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { task.cancel() }
        connections.credentialTasks = [:]
        for (_, transport) in connections.transports.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            transport.abort()
        }
    }

    // MARK: Events

    func take(_ outcome: CredentialOutcome, for id: ConnectionID) {
        guard connections.credentialTasks.removeValue(forKey: id) != nil else { return }
        switch outcome {
        case .credential(let credential): engine.credential(credential, for: id, now: now)
        case .failed(let text):
            connections.note("no credential: \(text)", of: id)
            engine.credentialFailed(id, now: now)
        case .answer(let message, let serverFinal):
            engine.answer(message, expecting: serverFinal, for: id, now: now)
        case .unanswerable(let text):
            connections.note("invalid message of the relay: \(text)", of: id)
            engine.exchangeFailed(id, now: now)
        }
    }

    private func attemptEnded(_ id: ConnectionID, _ result: Result<EstablishedConnection, TransportError>) {
        guard let attempt = connections.attempt, attempt.id == id else { return }
        connections.attempt = nil
        switch result {
        case .success(let connection):
            do throws(TLSError) {
                let transport = try secured(connection)
                connections.transports[id] = transport
                transport.start(ConnectionHandler(id, self))
            } catch {
                connectFailed(id, .tlsFailure, "\(error)")
                settle()
            }
        case .failure(let error):
            let detail = error == .timedOut ? "no connection within \(configuration.connectTimeout)" : "\(error)"
            connectFailed(id, error.isRefusal ? .notListening : .unreachable, detail)
            settle()
        }
    }

    /// Returns the connection, with TLS if its endpoint uses it. A redirect can lead from an endpoint without TLS to
    /// one with TLS.
    private func secured(_ connection: EstablishedConnection) throws(TLSError) -> any Transport {
        guard let endpoint = connection.endpoint, endpoint.security == .tls else { return connection.transport }
        if let tls = connections.tls { return try tls.transport(over: connection.transport, to: endpoint) }
        let new = try TLSClient(configuration.tls)
        connections.tls = new
        return try new.transport(over: connection.transport, to: endpoint)
    }

    private func connectFailed(_ id: ConnectionID, _ failure: ConnectionFailure, _ detail: String) {
        connections.note(detail, of: id)
        cancelCredential(for: id)
        engine.connectFailed(id, failure, now: now)
    }

    func connected(_ id: ConnectionID, _ transport: any Transport) {
        // Loopback and link-local addresses belong to no path.
        let local = transport.localAddress.flatMap { $0.ip.isLoopback || $0.ip.isLinkLocal ? nil : $0.ip.description }
        engine.connected(id, localAddress: local, now: now)
        connections.established.insert(id)
        if case .password(let make) = life.identity.proof { startExchange(id, make) }
        settle()
    }

    func received(_ bytes: RawSpan, on id: ConnectionID) {
        let awaitsWelcome = engine.isAwaitingWelcome(on: id)
        engine.receive(bytes, on: id, now: now)
        if awaitsWelcome, engine.status.failedConnection == id { noteRefusal(of: id) }
        settle()
    }

    func fill(_ buffer: inout OutputRawSpan, for id: ConnectionID) -> Bool {
        let mayHaveMore = engine.transmit(on: id, into: &buffer, now: now)
        settle()
        return mayHaveMore
    }

    func closed(_ id: ConnectionID, byPeer: Bool) {
        guard connections.transports[id] != nil else { return }
        if byPeer { noteEndByPeer(of: id) }
        engine.closed(id, byPeer: byPeer, now: now)
        settle()
    }

    /// Handles the last event of a connection.
    func forget(_ id: ConnectionID, _ reason: CloseReason) {
        guard connections.transports[id] != nil else { return }
        if case .error(let error) = reason { connections.note("\(error)", of: id) }
        let isTLSFailure = if case .error(.tls) = reason { true } else { false }
        if isTLSFailure { engine.connectFailed(id, .tlsFailure, now: now) }
        let byPeer = reason == .endOfStream || reason == .reset
        if byPeer { noteEndByPeer(of: id) }
        engine.closed(id, byPeer: byPeer, isTLSFailure: isTLSFailure, now: now)
        connections.transports[id] = nil
        connections.established.remove(id)
        cancelCredential(for: id)
        settle()
    }
}

extension ClientDriver {
    // MARK: Details of failures

    private static let lateCredential = "the peer ended the connection before the credential was available"

    /// Names the step of an attempt that ends by its timeout.
    func passDeadline() {
        let earlier = engine.status
        engine.deadlinePassed(now: now)
        let status = engine.status
        guard !earlier.isOnline, status.lastCode == nil, let id = status.failedConnection,
            id != earlier.failedConnection
        else { return }
        let deadlines = engine.configuration.deadlines
        if connections.established.contains(id) {
            let missing = connections.credentialTasks[id] == nil ? "no answer to the hello" : "no credential"
            connections.note("\(missing) within \(deadlines.handshake)", of: id)
        } else {
            let missing = connections.transports[id] == nil ? "no connection" : "no TLS connection"
            connections.note("\(missing) within \(deadlines.connecting)", of: id)
        }
    }

    /// Records that the peer ends a connection before welcome.
    private func noteEndByPeer(of id: ConnectionID) {
        guard engine.isAwaitingWelcome(on: id) else { return }
        if connections.credentialTasks[id] != nil { return connections.note(Self.lateCredential, of: id) }
        connections.note("the peer ended the connection before its first frame\(adviceOfTLS(id))", of: id)
    }

    /// Records the cause of a failure by bytes that were received before welcome, if it is known.
    private func noteRefusal(of id: ConnectionID) {
        if connections.credentialTasks[id] != nil { return connections.note(Self.lateCredential, of: id) }
        guard engine.status.lastCode == .badMagic else { return }
        connections.note("the peer sends no frames\(adviceOfTLS(id))", of: id)
    }

    private func adviceOfTLS(_ id: ConnectionID) -> String {
        connections.transports[id]?.security == nil ? "; it may require TLS" : ""
    }
}

extension TransportError {
    /// Whether the host has answered that no server listens on the port (C-94).
    fileprivate var isRefusal: Bool {
        switch self {
        case .refused: true
        case .connectFailed(let failures): failures.contains { $0.error == .refused }
        default: false
        }
    }
}
