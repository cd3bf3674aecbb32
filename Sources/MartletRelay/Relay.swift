package import MartletLink
public import MartletMetrics
public import MartletTransport
public import MartletWire
import Synchronization

/// A relay server: accepts clients, keeps rooms, and forwards messages.
///
/// ```swift
/// let relay = Relay(
///     configuration: try .init(port: 7227), store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
/// try await relay.run()
/// ```
///
/// A relay is started once, by `start()` or `run()`. It ends with `shutdown()` or with its last reference. It runs on
/// loops of its own. Its methods may be called from any task that does not run on these loops.
///
/// | phase | left by |
/// |---|---|
/// | idle: not listening | `start()`, `run()`, `shutdown()` |
/// | running | `shutdown()`, release of the last reference |
/// | stopping: `shutdown()` is in progress, and further calls wait for it | completion |
/// | stopped | |
public final class Relay: Sendable {
    private enum Phase {
        case idle
        /// `isAwaited`: a call of `run()` waits for the end.
        case running(Running, isAwaited: Bool)
        /// The waiting calls of `shutdown()`, except the one that performs it.
        case stopping([CheckedContinuation<Void, Never>])
        case stopped
    }

    private struct Running: Sendable {
        /// The connection to the bus; nil without one.
        var port: RelayBusPort?
        var loops: EventLoopGroup
        /// One driver for each loop. The first one has the listeners.
        var drivers: [RelayDriver]
        var listeners: [any TransportListener]
        var tls: TLSServer?
        /// Milliseconds since 1970.
        let since: UInt64

        /// Runs `work` on one loop after another and returns the results.
        func onLoops<Answer: Sendable>(_ work: @escaping @Sendable (RelayDriver) -> Answer) async -> [Answer] {
            var answers: [Answer] = []
            for driver in drivers { answers.append(await driver.onLoop(work)) }
            return answers
        }

        /// Waits until all loops are idle. A connection may move between loops, so with several loops each is checked
        /// twice.
        /// The deadline of the loops' clock.
        func deadline(after timeout: Duration) -> UInt64 { drivers[0].loop.deadline(after: timeout) }

        func wait(for condition: RelayDriver.Condition, until end: UInt64?) async -> Bool {
            for driver in drivers.count > 1 ? drivers + drivers : drivers {
                let isIdle = await withCheckedContinuation { continuation in
                    driver.loop.execute { driver.wait(for: condition, until: end, continuation) }
                }
                guard isIdle else { return false }
            }
            return true
        }

        func shutDown() async {
            for listener in listeners { await listener.closeAndWait() }
            _ = await onLoops { $0.closeAll() }
            _ = await wait(for: .isIdle, until: nil)
            _ = await onLoops { $0.setDrivers([]) }
            await port?.stop()
            // The store may outlive the relay.
            drivers[0].parts.store.observe { _ in }
            await loops.shutdown()
        }
    }

    let parts: RelayParts
    private let phase = Guarded<Phase>(.idle)
    private let stopped = AsyncStream<Never>.makeStream()

    /// Creates a relay that is not started.
    ///
    /// - Parameters:
    ///   - configuration: The addresses and bounds of the relay.
    ///   - store: The storage of messages.
    ///   - authenticator: Determines the identities of clients.
    ///   - policy: Decides who may enter which room.
    ///   - requestHandler: Responds to requests without a recipient, except the methods of ``RelayMethod``.
    ///   - telemetry: Takes the points that clients record; nil if the relay takes none.
    ///   - attachments: The storage of attachments; nil if the relay serves none.
    ///   - onUndelivered: Takes reports of messages that were not delivered to accounts that have joined the room; nil
    ///     if there are none. The store has to keep membership records.
    ///   - bus: The bus between the relays that share the store; nil if there are none, or if they share messages only
    ///
    ///   - onEvent: A closure that receives events for a log, on a loop of the relay or on the thread of a task. It
    ///     must not block.
    public init(
        configuration: Configuration, store: any RoomStore, authenticator: any Authenticator,
        policy: any RoomPolicy, requestHandler: (any RequestHandler)? = nil,
        telemetry: (any TelemetrySink)? = nil, attachments: (any AttachmentStore)? = nil,
        onUndelivered: (any UndeliveredHandler)? = nil, bus: (any RelayBus)? = nil,
        onEvent: @escaping @Sendable (RelayEvent) -> Void = { _ in }
    ) {
        parts = RelayParts(
            configuration, store, authenticator, policy, requestHandler, telemetry, attachments, onUndelivered, bus,
            onEvent)
        parts.relay.withLock { $0.relay = self }
    }

    deinit {
        // Without this the ports would stay in use until the process exits.
        guard let running else { return }
        running.drivers[0].loop.startTask { await running.shutDown() }
    }

    private var running: Running? {
        phase.withLock { if case .running(let running, _) = $0 { running } else { nil } }
    }

    /// The start of the relay, in milliseconds since 1970; 0 while it does not run.
    var since: UInt64 { running?.since ?? 0 }

    /// The drivers of all loops; empty while the relay does not run.
    var drivers: [RelayDriver] { running?.drivers ?? [] }

    /// The connection to the bus; nil without one, and while the relay does not run.
    var busPort: RelayBusPort? { running?.port }

    /// The driver of the loop of a room; nil while the relay does not run.
    func driver(of room: RoomName) -> RelayDriver? {
        guard let drivers = running?.drivers else { return nil }
        return drivers[LoopPlace(index: 0, count: drivers.count).loop(of: room)]
    }

    // MARK: - Life cycle

    /// Starts to listen.
    ///
    /// The relay runs while a reference to it exists, unless it is shut down. After an error the relay does not run and
    /// can be started again.
    ///
    /// - Returns: The addresses, with the ports that the system chose.
    /// - Throws: `RelayError.alreadyStarted`; `RelayError.noAddresses`; `RelayError.invalidConfiguration`;
    ///   `RelayError.rolesNotKept`; `RelayError.membershipsNotKept`; `RelayError.invalidTLS`;
    ///   `RelayError.plaintextNotAllowed`; `RelayError.cannotListen` if an address is not available; `TransportError`
    ///   if the system has no thread or descriptor left.
    @discardableResult
    public func start() throws -> [SocketAddress] {
        let running: Running = try phase.withLock { phase in
            guard case .idle = phase else { throw RelayError.alreadyStarted }
            let running = try listen()
            phase = .running(running, isAwaited: false)
            return running
        }
        if let tls = running.tls { reportCertificate(of: tls) }
        return running.listeners.map(\.localAddress)
    }

    /// No loop starts before all sockets listen, so a failure needs no cleanup.
    private func listen() throws -> Running {
        guard !parts.configuration.addresses.isEmpty else { throw RelayError.noAddresses }
        if let fault = parts.configuration.fault { throw RelayError.invalidConfiguration(fault) }
        guard parts.configuration.engine.roomRoles == nil || parts.store.features.contains(.roles) else {
            throw RelayError.rolesNotKept
        }
        guard parts.undeliveredHandler == nil || parts.store.features.contains(.memberships) else {
            throw RelayError.membershipsNotKept
        }
        let tls = try makeTLS()
        var options = TCPListener.Options()
        options.connection = parts.configuration.connection
        options.maxAcceptsPerSecond = parts.configuration.maxAcceptsPerSecond
        options.onAcceptingPaused = { [onEvent = parts.onEvent] in onEvent(.acceptingPaused($0)) }
        var sockets: [any ListeningSocket] = []
        for address in parts.configuration.addresses {
            options.acceptsBothFamilies = !parts.configuration.addresses.contains(
                SocketAddress(.anyV4, port: address.port))
            do throws(TransportError) {
                sockets.append(try listen(on: address, options))
            } catch {
                throw RelayError.cannotListen(address, error)
            }
        }
        // The first token loads the hash implementation before a client waits for it.
        _ = TokenGrant.fresh()
        let count = parts.configuration.loopCount
        let group =
            if let host = parts.configuration.host {
                EventLoopGroup(count: count, on: host, name: "martlet-relay")
            } else {
                try EventLoopGroup(count: count, name: "martlet-relay", spinLimit: parts.configuration.spinLimit)
            }
        let port = parts.bus.map { bus in
            var random = group.loops[0].random
            let name = parts.configuration.name ?? "\(sockets[0].localAddress)"
            let id = RelayID(rawValue: random.next())
            return RelayBusPort(bus, parts, name: name, id: id, key: parts.store.beginBus())
        }
        let drivers = group.loops.enumerated().map { index, loop in
            RelayDriver(parts, on: loop, place: LoopPlace(index: index, count: count), port)
        }
        port?.start(drivers)
        for driver in drivers { driver.loop.execute { driver.setDrivers(drivers) } }
        parts.store.observe { revisions in
            let places = Dictionary(grouping: revisions) { LoopPlace(index: 0, count: count).loop(of: $0.room) }
            for (loop, revisions) in places { drivers[loop].loop.execute { drivers[loop].changed(revisions) } }
        }
        let first = drivers[0]
        let acceptor = ProxyAcceptor(
            proxies: parts.configuration.proxies, timeout: parts.configuration.engine.link.handshakeTimeout
        ) { [onEvent = parts.onEvent] in onEvent(.proxyRefused($0)) }
        return Running(
            port: port, loops: group, drivers: drivers,
            listeners: sockets.map { socket in
                socket.accept(on: first.loop, options: options) { connection in
                    acceptor.accept(connection) { connection in
                        guard let peer = first.admit(connection.remoteAddress) else { return }
                        guard let tls else { return first.accept(connection, peer) }
                        if let secure = tls.transport(over: connection) { first.accept(secure, peer) }
                    }
                }
            }, tls: tls, since: first.loop.wallTime)
    }

    private func listen(
        on address: SocketAddress, _ options: TCPListener.Options
    ) throws(TransportError) -> any ListeningSocket {
        if let host = parts.configuration.host { return try host.listen(on: address) }
        if let socket = parts.configuration.sockets.first(where: { $0.localAddress == address }) { return socket }
        return try TCPListener.Socket(listeningOn: address, options: options)
    }

    private func makeTLS() throws(RelayError) -> TLSServer? {
        let configuration = parts.configuration
        if let options = configuration.tls {
            do throws(TLSError) {
                return try TLSServer(options, acceptsWeb: configuration.webSockets != nil) {
                    [onEvent = parts.onEvent] in onEvent(.tlsFailed($0, peer: nil))
                }
            } catch {
                throw .invalidTLS(error)
            }
        }
        let exposed = configuration.addresses.first { !$0.ip.isLoopback }
        if let exposed, !configuration.allowsPlaintext { throw .plaintextNotAllowed(exposed) }
        return nil
    }

    /// Reads the certificate, its key, the authorities of client certificates and the ticket keys again. Existing
    /// connections are not affected.
    ///
    /// A certificate that is not currently valid is used, and reported as `RelayEvent.tlsFailed` without a peer.
    ///
    /// - Throws: `RelayError.invalidTLS`, after which the earlier certificate remains in use; `RelayError.notRunning`;
    ///   `RelayError.noTLS` if the relay does not use TLS.
    public func reloadTLS() throws(RelayError) {
        guard let running else { throw .notRunning }
        guard let tls = running.tls else { throw .noTLS }
        do { try tls.reload() } catch { throw .invalidTLS(error) }
        reportCertificate(of: tls)
    }

    private func reportCertificate(of tls: TLSServer) {
        if let fault = tls.certificateFault { parts.onEvent(.tlsFailed(fault, peer: nil)) }
    }

    /// The addresses on which the relay listens; empty while it is not running.
    public var addresses: [SocketAddress] { running?.listeners.map(\.localAddress) ?? [] }

    /// The port of the first address; nil while the relay is not running.
    public var port: UInt16? { addresses.first?.port }

    /// Starts the relay unless it is running, and returns after its shutdown.
    ///
    /// When the task is cancelled, the relay drains for at most `Configuration.drainTimeout` and shuts down. The method
    /// then returns without an error, whereas `Client.run()` throws `CancellationError`.
    ///
    /// - Throws: The errors of ``start()``, and `RelayError.alreadyStarted` for a second call.
    public func run() async throws {
        if running == nil { try start() }
        try phase.withLock { phase throws(RelayError) in
            guard case .running(let running, let isAwaited) = phase else { return }
            guard !isAwaited else { throw .alreadyStarted }
            phase = .running(running, isAwaited: true)
        }
        for await _ in stopped.stream {}
        if Task.isCancelled {
            await drain(within: parts.configuration.drainTimeout)
            await shutdown()
        }
    }

    /// Stops accepting and closes all connections with a notice, which requests clients to connect later or to another
    /// endpoint.
    ///
    /// - Parameters:
    ///   - timeout: The maximum duration of the wait.
    ///   - retryAfter: The duration after which clients may connect again.
    ///   - redirect: The endpoint for clients, of 1 to 512 bytes.
    /// - Returns: True when all connections are closed and the store is idle; false when the timeout expires first.
    @discardableResult
    public func drain(within timeout: Duration, retryAfter: Duration?, redirect: String? = nil) async -> Bool {
        await drain(within: timeout, retryAfter: retryAfter, redirect: redirect) {}
    }

    private func drain(
        within timeout: Duration, retryAfter: Duration?, redirect: String?, whenClosed: @Sendable () async -> Void
    ) async -> Bool {
        guard let running else { return true }
        let end = running.deadline(after: timeout)
        let notice = Notice(code: .draining, retryAfter: retryAfter, redirect: redirect)
        parts.isDraining.store(true, ordering: .relaxed)
        running.port?.announceDrain()
        for listener in running.listeners { listener.close() }
        _ = await running.onLoops { $0.drain(notice) }
        guard await running.wait(for: .hasNoConnection, until: end) else { return false }
        await whenClosed()
        return await running.wait(for: .isIdle, until: end)
    }

    /// Drains the relay. Clients may connect again after a second, or at once if other relays share the store. In both
    /// cases they spread their attempts (C-92).
    ///
    /// - Parameter timeout: The maximum duration of the wait.
    /// - Returns: True when all connections are closed and the store is idle; false when the timeout expires first.
    @discardableResult
    public func drain(within timeout: Duration) async -> Bool {
        await drain(within: timeout) {}
    }

    /// Drains the relay, and calls `whenClosed` when only calls of the store remain: a store whose database is away
    /// can fail them then.
    @discardableResult
    package func drain(within timeout: Duration, whenClosed: @Sendable () async -> Void) async -> Bool {
        let retryAfter: Duration? = parts.store.features.contains(.shared) ? nil : .seconds(1)
        return await drain(within: timeout, retryAfter: retryAfter, redirect: nil, whenClosed: whenClosed)
    }

    /// Closes all connections without a notice, and waits for calls of the store.
    ///
    /// Each call returns after the ports are free and the relay has stopped.
    public func shutdown() async {
        let ending: Running? = phase.withLock { phase in
            switch phase {
            case .running(let running, _):
                phase = .stopping([])
                return running
            case .idle: phase = .stopped
            case .stopping, .stopped: break
            }
            return nil
        }
        guard let ending else { return await untilStopped() }
        await ending.shutDown()
        let waiters = phase.withLock { phase in
            defer { phase = .stopped }
            if case .stopping(let waiters) = phase { return waiters }
            return []
        }
        for waiter in waiters { waiter.resume() }
        stopped.continuation.finish()
    }

    private func untilStopped() async {
        await withCheckedContinuation { continuation in
            let isStopping = phase.withLock { phase in
                guard case .stopping(let waiters) = phase else { return false }
                phase = .stopping(waiters + [continuation])
                return true
            }
            if !isStopping { continuation.resume() }
        }
    }

    // MARK: - Operator

    /// Ends all connections and links of an account whose credential is no longer valid, also at the other relays of
    /// the bus.
    ///
    /// The relay keeps no list of revoked accounts. The authenticator must refuse the credential before this call, or
    /// the account signs in again at once.
    public func revoke(_ account: AccountName) async {
        perform(.revoke(account))
        await revokeHere(account)
    }

    /// Ends all connections and links of an account at this relay.
    func revokeHere(_ account: AccountName) async {
        guard let running else { return }
        // A connection authenticated just before may be moving to another loop. The second pass finds it.
        for _ in running.drivers.count > 1 ? 0..<2 : 0..<1 { _ = await running.onLoops { $0.revoke(account) } }
        parts.onEvent(.revoked(account))
    }

    /// Asks the room policy again about the sessions of an account, or of all accounts, in a room, or in all rooms.
    ///
    /// Sessions that the policy refuses are reset. The earlier decisions stay in effect until the answers.
    public func revokeRoomDecisions(of account: AccountName? = nil, in room: RoomName? = nil) async {
        guard let running else { return }
        _ = await running.onLoops { $0.revokeRoomDecisions(of: account, in: room) }
        parts.onEvent(.roomDecisionsRevoked(of: account, in: room))
    }

    /// The measurements of the relay, which Guides/metrics.md lists; those of a relay without connections while it is
    /// not running.
    public var metrics: MetricsSnapshot {
        get async {
            var sum = RelayMetrics()
            sum.memoryBudget = parts.configuration.engine.memoryBudget
            sum.freeByteCount = parts.configuration.disk?.freeByteCount
            sum.certificateValidity = running?.tls?.certificateExpiry.map { expiry in
                expiry - Int64(clamping: EventLoop.wallClock / 1000)
            }
            sum.telemetry = parts.telemetry?.metrics
            for metrics in await running?.onLoops({ $0.metrics }) ?? [] { sum += metrics }
            sum.engine.statistics.server.connectionsRefused += parts.limiter.withLock { $0.refusedCount }
            return sum.snapshot
        }
    }

    /// What prevents the relay from serving its clients fully; empty if nothing does.
    public var impediments: [RelayImpediment] {
        get async {
            guard let running else { return [.notRunning] }
            var found: [RelayImpediment] = []
            if parts.isDraining.load(ordering: .relaxed) { found.append(.draining) }
            if parts.isStoreFailing { found.append(.storeFailing) }
            if parts.configuration.disk?.level == .exhausted { found.append(.diskFull) }
            if await running.onLoops({ $0.engine.isMemoryFull }).contains(true) { found.append(.memoryFull) }
            return found
        }
    }

    /// Reads a page of a room's messages from an offset, without the loop of the room; nil if the store has failed. The
    /// page has at most 256 messages, and beyond the first one at most 256 KiB.
    package func messages(of room: RoomName, from offset: UInt64) async -> [LogEntry]? {
        let range = ReadRange(from: offset, maxCount: 256, maxByteCount: 256 << 10)
        return try? await parts.store.call { .read(range, of: room, $0) }.entries
    }

    /// The counters of the relay; zero while it is not running.
    package var statistics: RelayStatistics {
        get async {
            guard let running else { return RelayStatistics() }
            var sum = await running.onLoops { $0.statistics }.reduce(RelayStatistics(), +)
            sum.server.connectionsRefused += parts.limiter.withLock { $0.refusedCount }
            return sum
        }
    }
}
