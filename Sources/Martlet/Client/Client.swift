import MartletLink
public import MartletMetrics
public import MartletTransport
public import MartletWire

/// A client of a relay: one account on one device.
///
/// A client opens any number of rooms, up to `Configuration.maxRooms`. It connects and reconnects automatically, and
/// retains outgoing messages until the relay has accepted them. Its methods can be called from any task. It runs on one
/// event loop, which several clients can share.
///
/// A client is started once and stopped once; it cannot be started again. Its rooms, and iterations over their
/// sequences, keep it alive. The release of the last of these references stops the client without waiting for queued
/// messages. The shutdown of its loop also stops it.
///
/// Asynchronous methods throw ``MartletError``, or `CancellationError` when their task is cancelled. The documentation
/// of each method states its effect in that case.
public final class Client: Sendable {
    let life: ClientLife

    /// Creates a client of a relay with one address.
    ///
    /// - Parameters:
    ///   - endpoint: The address of the relay, such as `martlet://chat.example.com:7227`.
    ///   - credentials: The account and its proof of identity.
    ///   - outbox: The storage of unaccepted messages and cursors.
    ///   - configuration: The limits and timeouts of the client.
    ///   - loop: The event loop on which the client runs.
    /// - Throws: `invalidEndpoint`, `invalidName`, `invalidConfiguration`, `invalidTLS`; `plaintextNotAllowed` for an
    ///   address with the scheme `martlet://`, unless the configuration allows it, or the host is this machine and the
    ///   credentials contain no password. An address without a scheme uses TLS.
    public convenience init(
        to endpoint: String, as credentials: Credentials, outbox: some Outbox = .memory,
        configuration: Configuration = Configuration(), on loop: EventLoop = .shared
    ) throws(MartletError) {
        try self.init(to: [endpoint], as: credentials, outbox: outbox, configuration: configuration, on: loop)
    }

    /// Creates a client of a relay with several addresses.
    ///
    /// The client starts attempts to the addresses at short intervals and uses the first established connection
    /// (RFC 8305).
    ///
    /// - Parameters:
    ///   - endpoints: The addresses of the relay.
    ///   - credentials: The account and its proof of identity.
    ///   - outbox: The storage of unaccepted messages and cursors.
    ///   - configuration: The limits and timeouts of the client.
    ///   - loop: The event loop on which the client runs.
    /// - Throws: `invalidEndpoint`, with an empty text if `endpoints` is empty; `invalidName`, `invalidConfiguration`,
    ///   `invalidTLS`, `plaintextNotAllowed`.
    public init(
        to endpoints: [String], as credentials: Credentials, outbox: some Outbox = .memory,
        configuration: Configuration = Configuration(), on loop: EventLoop = .shared
    ) throws(MartletError) {
        if let fault = configuration.fault { throw .invalidConfiguration(fault) }
        guard !endpoints.isEmpty else { throw .invalidEndpoint("") }
        var parsed: [Endpoint] = []
        for text in endpoints { parsed.append(try endpoint(text, configuration, credentials)) }
        let account = try accountName(credentials.account)
        if let fault = credentials.fault { throw .invalidConfiguration(fault) }
        life = ClientLife(
            ClientIdentity(
                account: account, endpoints: parsed, proof: credentials.proof, configuration: configuration,
                tls: try tlsClient(for: parsed, configuration)),
            outbox: outbox, loop: loop)
    }

    deinit {
        life.abandon()
    }

    /// Starts a task on the executor of the client's loop.
    package func startTask(_ work: @escaping @Sendable () async -> Void) { life.loop.startTask(work) }

    /// The account of the client.
    public var account: AccountName { life.identity.account }

    // MARK: Lifecycle

    /// Opens the outbox and starts to connect.
    ///
    /// The method returns when the outbox is open. It does not wait for a connection, and has no effect on a running
    /// client.
    ///
    /// If the calling task is cancelled while the outbox opens, and no other call of this method waits for it, the
    /// opening is cancelled. The client is then not started if the `open` method of the outbox throws.
    ///
    /// - Throws: `outboxFailed`, after which the client can be started again; `outboxOfAnotherAccount` if the outbox
    ///   contains messages or cursors of another account; `stopped` if the client was stopped or its loop was shut
    ///   down.
    nonisolated(nonsending) public func start() async throws {
        defer { withExtendedLifetime(self) {} }
        try await life.start()
    }

    /// Starts the client unless it is running, and returns when the client has ended.
    ///
    /// ```swift
    /// try await client.start()
    /// let room = try await client.open(room: "lobby")
    /// try await withThrowingTaskGroup(of: Void.self) { group in
    ///     group.addTask { try await client.run() }
    ///     group.addTask { try await serve(room) }
    ///     defer { group.cancelAll() }
    ///     try await group.next()
    /// }
    /// ```
    ///
    /// The group ends with the first error: that of the client, or that of a room from which the account was removed.
    ///
    /// If the calling task is cancelled, or the client has stopped retrying to connect, the method calls ``stop()``.
    ///
    /// - Throws: The errors of ``start()``; `CancellationError` after a cancellation, whereas `Relay.run()` returns;
    ///   `gaveUp` when the client has stopped retrying. The method returns when the client is stopped by another call.
    nonisolated(nonsending) public func run() async throws {
        do { try await start() } catch {
            // Another task can have started the client.
            if error is CancellationError { await stop() }
            throw error
        }
        for await status in status {
            guard let reason = status.phase.stopReason else { continue }
            await stop()
            throw MartletError.gaveUp(reason)
        }
        guard Task.isCancelled else { return }
        await stop()
        throw CancellationError()
    }

    /// Stops the client.
    ///
    /// The method waits until the relay has accepted the queued messages, for at most `Configuration.flushTimeout`. It
    /// then ends the link, all pending calls, and all iterations. Unaccepted messages remain in the outbox.
    ///
    /// The client also waits for pending operations of the outbox, for at most `flushTimeout`. A `send` whose message
    /// the outbox is storing then still waits, and returns when the outbox has stored it. Cancellation of the calling
    /// task has no effect.
    nonisolated(nonsending) public func stop() async {
        await life.stop()
    }

    /// Opens a room.
    ///
    /// The method returns when the relay has opened the room, which includes the time until a connection is
    /// established: while the client is offline, it waits without a limit unless the options have a `timeout`. With
    /// `waitsForRelay` false it returns immediately, also offline. The room stays open when connections are lost. If
    /// the calling task is cancelled, the room is closed.
    ///
    /// With the default options, delivery begins after the cursor in the outbox. A new outbox has no cursor: the client
    /// receives all messages that the relay has stored for the room. ``Room/Options/From/latest(count:)`` begins later.
    ///
    /// - Parameters:
    ///   - room: The name of the room.
    ///   - options: The first message to receive, and other options.
    /// - Returns: The open room.
    /// - Throws: `invalidName`, `roomAlreadyOpen`, `tooManyRooms`; `roomClosed` if the relay refuses permanently;
    ///   `deadlineExceeded` after the timeout; `gaveUp` if the client has stopped retrying; `notStarted`, `stopped`.
    nonisolated(nonsending) public func open(room: String, options: Room.Options = Room.Options()) async throws -> Room
    {
        try await open(room: try roomName(room), options: options)
    }

    /// Opens a room, as ``open(room:options:)-(String,_)`` does.
    nonisolated(nonsending) public func open(
        room: RoomName, options: Room.Options = Room.Options()
    ) async throws -> Room {
        try Task.checkCancellation()
        let promise = Promise<RoomCore>()
        switch life.mailbox.post(.open(room, options, promise)) {
        case .posted: break
        case .notStarted: throw MartletError.notStarted
        case .stopped: throw MartletError.stopped
        }
        let core = try await promise.value { [mailbox = life.mailbox] in
            mailbox.post(.abandonOpen(promise))
        }
        return Room(core, of: self)
    }

    // MARK: Connection

    /// The current status, followed by the latest status after each change.
    ///
    /// The sequence omits statuses that are superseded before they are read. It supports any number of iterations. Each
    /// iteration ends when the client has stopped or its task is cancelled. An iteration does not retain the client,
    /// but the expression `client.status` in a task does: read the sequence before the task starts, or capture the
    /// client weakly.
    public var status: StatusUpdates { StatusUpdates(latest: life.status) }

    /// The current status.
    public var currentStatus: Status { life.status.value }

    /// Starts a connection attempt immediately if the client waits for its next attempt or has stopped retrying.
    public func retryNow() {
        life.mailbox.set { $0.retriesNow = true }
    }

    /// Reports that the application is visible to its user.
    ///
    /// Each call sends a ping to the relay to test the connection, or starts a connection attempt if the client waits
    /// for its next one. A wait that the relay has required continues; only ``retryNow()`` ends it.
    public func enterForeground() {
        life.mailbox.set { $0.mode = .foreground }
    }

    /// Reports that the application is in the background, where the client sends fewer pings.
    public func enterBackground() {
        life.mailbox.set { $0.mode = .background }
    }

    /// The measurements of the client since its start, which Guides/metrics.md lists. After the client has stopped,
    /// they remain constant.
    public var metrics: MetricsSnapshot {
        get async {
            let promise = Promise<ClientMetrics>()
            guard life.mailbox.post(.metrics(promise)) == .posted else { return life.lastMetrics.snapshot }
            return (try? await promise.value())?.snapshot ?? life.lastMetrics.snapshot
        }
    }

    /// The flight recording: the latest events of the client's connections, without names, contents, addresses and
    /// secrets. It is a file for `martlet replay` and `martlet decode`, and empty if the client is not running.
    public var flightRecording: [UInt8] {
        get async {
            let promise = Promise<[UInt8]>()
            guard life.mailbox.post(.recording(promise)) == .posted else { return [] }
            return (try? await promise.value()) ?? []
        }
    }
}

private func endpoint(
    _ text: String, _ configuration: Client.Configuration, _ credentials: Credentials
) throws(MartletError) -> Endpoint {
    guard let endpoint = try? Endpoint(parsing: text) else { throw .invalidEndpoint(text) }
    // Credentials and messages are not sent in the clear by mistake (W-1, C-12, C-68, Specs/hostile.md row 25).
    let mayBePlain = configuration.allowsPlaintext || endpoint.isLoopback && !credentials.isPassword
    guard endpoint.security == .tls || mayBePlain else { throw .plaintextNotAllowed(text) }
    return endpoint
}

/// Reads the files of the TLS options, if an endpoint uses TLS.
private func tlsClient(
    for endpoints: [Endpoint], _ configuration: Client.Configuration
) throws(MartletError) -> TLSClient? {
    #if canImport(Network)
        // The driver uses NetworkTransport.
        return nil
    #else
        guard endpoints.contains(where: { $0.security == .tls }) else { return nil }
        do { return try TLSClient(configuration.tls) } catch { throw .invalidTLS(error) }
    #endif
}
