import MartletProtocol
import MartletTransport
import MartletWire

/// The connections of a client's driver.
struct ClientConnections {
    /// An attempt in progress.
    struct Dial {
        let id: ConnectionID
        let connector: TCPConnector
    }

    /// The provider's call for an attempt's credential.
    struct CredentialTask {
        let id: ConnectionID
        let task: Task<Void, Never>
    }

    fileprivate(set) var transports: [ConnectionID: any Transport] = [:]
    fileprivate(set) var dial: Dial?
    fileprivate(set) var credentialTask: CredentialTask?
    /// The text of the last error, until the client is online.
    var detail: String?
}

extension ClientDriver {
    // MARK: Outputs of the engine

    func connect(_ id: ConnectionID, redirect: String?) {
        cancelDial()
        let endpoints: [Endpoint]
        switch redirect.map({ RedirectTarget($0, from: life.identity.endpoints) }) {
        case nil: endpoints = life.identity.endpoints
        case .endpoint(let endpoint): endpoints = [endpoint]
        case .refused(let failure, let detail): return connectFailed(id, failure, detail)
        }
        start(id, to: endpoints)
    }

    /// A backup connection is attempted only while TCP makes no progress: it would slow a slow relay down further, and
    /// a slow path would carry the same bytes twice (C-63).
    func connectBackup(_ id: ConnectionID, beside current: ConnectionID) {
        guard connections.transports[current]?.isStalled == true else {
            return engine.connectFailed(id, now: now)
        }
        fetchCredential(id)
        start(id, to: life.identity.endpoints, repeatDelay: .milliseconds(500))
    }

    private func start(_ id: ConnectionID, to endpoints: [Endpoint], repeatDelay: Duration? = nil) {
        cancelDial()
        var options = TCPConnector.Options()
        options.timeout = configuration.connectTimeout
        options.repeatDelay = repeatDelay ?? options.repeatDelay
        options.connection.usesMultipath = configuration.usesMultipath
        let connector = TCPConnector(to: endpoints, on: loop, options: options)
        connections.dial = ClientConnections.Dial(id: id, connector: connector)
        connector.start { [weak self] result in self?.dialled(id, result) }
    }

    private func cancelDial() {
        connections.dial?.connector.cancel()
        connections.dial = nil
    }

    func fetchCredential(_ id: ConnectionID) {
        connections.credentialTask?.task.cancel()
        connections.credentialTask = nil
        guard let provider = life.identity.provider else { return engine.credential(nil, for: id, now: now) }
        let task = Task { [mailbox] in
            let outcome: CredentialOutcome
            do { outcome = .credential(try await provider()) } catch { outcome = .failed("\(error)") }
            mailbox.post(.credential(id, outcome))
        }
        connections.credentialTask = ClientConnections.CredentialTask(id: id, task: task)
    }

    func close(_ id: ConnectionID, afterFlush: Bool) {
        if let dial = connections.dial, dial.id == id {
            connections.dial = nil
            dial.connector.cancel()
        }
        cancelCredential(for: id)
        connections.transports[id]?.close(afterFlush: afterFlush)
    }

    private func cancelCredential(for id: ConnectionID) {
        guard let credentialTask = connections.credentialTask, credentialTask.id == id else { return }
        connections.credentialTask = nil
        credentialTask.task.cancel()
    }

    /// Ends every connection and attempt.
    func endConnections() {
        cancelDial()
        connections.credentialTask?.task.cancel()
        connections.credentialTask = nil
        for transport in connections.transports.values { transport.abort() }
    }

    // MARK: Events

    func take(_ outcome: CredentialOutcome, for id: ConnectionID) {
        guard let credentialTask = connections.credentialTask, credentialTask.id == id else { return }
        connections.credentialTask = nil
        switch outcome {
        case .credential(let credential): engine.credential(credential, for: id, now: now)
        case .failed(let text):
            connections.detail = "no credential: \(text)"
            engine.credentialFailed(id, now: now)
        }
    }

    private func dialled(_ id: ConnectionID, _ result: Result<TCPConnection, TransportError>) {
        guard let dial = connections.dial, dial.id == id else { return }
        connections.dial = nil
        switch result {
        case .success(let connection):
            connections.transports[id] = connection
            connection.start(ConnectionHandler(id, self))
        case .failure(let error):
            connectFailed(id, .unreachable, "\(error)")
            settle()
        }
    }

    private func connectFailed(_ id: ConnectionID, _ failure: ConnectionFailure, _ detail: String) {
        connections.detail = detail
        cancelCredential(for: id)
        engine.connectFailed(id, failure, now: now)
    }

    func connected(_ id: ConnectionID, _ transport: any Transport) {
        // A local address is in no path's list, and no path change removes it.
        let local = transport.localAddress.flatMap { $0.ip.isLoopback || $0.ip.isLinkLocal ? nil : $0.ip.description }
        engine.connected(id, localAddress: local, now: now)
        settle()
    }

    func received(_ bytes: RawSpan, on id: ConnectionID) {
        engine.receive(bytes, on: id, now: now)
        settle()
    }

    func fill(_ buffer: inout OutputRawSpan, for id: ConnectionID) -> Bool {
        let mayHaveMore = engine.transmit(on: id, into: &buffer, now: now)
        settle()
        return mayHaveMore
    }

    func closed(_ id: ConnectionID, byPeer: Bool) {
        guard connections.transports[id] != nil else { return }
        engine.closed(id, byPeer: byPeer, now: now)
        settle()
    }

    /// The connection's last event.
    func forget(_ id: ConnectionID, _ reason: CloseReason) {
        guard connections.transports[id] != nil else { return }
        if case .error(let error) = reason { connections.detail = "\(error)" }
        engine.closed(id, byPeer: reason == .endOfStream || reason == .reset, now: now)
        connections.transports[id] = nil
        settle()
    }
}
