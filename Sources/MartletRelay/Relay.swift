public import MartletProtocol
public import MartletTransport
public import MartletWire

/// A relay server to embed: listens, lets clients in, keeps rooms and passes messages on.
///
/// ```swift
/// let relay = Relay(configuration: try .init(port: 7227), store: InMemoryStore(), authenticator: .allowAll)
/// try await relay.run()
/// ```
///
/// A relay is started once, by `start()` or `run()`, and ends with `shutdown()`, or when the last reference to it goes.
/// It runs on loops of its own; all methods may be called from anywhere else.
///
/// | phase | ends with |
/// |---|---|
/// | idle: nothing listens | `start()`, `run()`, `shutdown()` |
/// | running | `shutdown()`, no reference left |
/// | stopping: `shutdown()` is under way, and further calls wait for it | nothing of the relay runs any more |
/// | stopped | |
public final class Relay: Sendable {
    private enum Phase {
        case idle
        /// `isAwaited`: a call of `run()` waits for the end.
        case running(Running, isAwaited: Bool)
        /// Who waits for the end besides the call that brings it about.
        case stopping([CheckedContinuation<Void, Never>])
        case stopped
    }

    private struct Running: Sendable {
        var loops: EventLoopGroup
        /// One on each loop; the first has the listeners.
        var drivers: [RelayDriver]
        var listeners: [TCPListener]

        /// Runs `work` on every loop, one after the other, and brings the answers back.
        func onLoops<Answer: Sendable>(_ work: @escaping @Sendable (RelayDriver) -> Answer) async -> [Answer] {
            var answers: [Answer] = []
            for driver in drivers {
                answers.append(
                    await withCheckedContinuation { continuation in
                        driver.loop.execute { continuation.resume(returning: work(driver)) }
                    })
            }
            return answers
        }

        /// Waits until no loop has anything left: connections go from one to the other, so what was found idle is asked
        /// once more.
        func untilIdle(atMost limit: Duration?) async -> Bool {
            let end = limit.map { drivers[0].loop.deadline(after: $0) }
            for driver in drivers.count > 1 ? drivers + drivers : drivers {
                let isIdle = await withCheckedContinuation { continuation in
                    driver.loop.execute { driver.waitUntilIdle(until: end, continuation) }
                }
                guard isIdle else { return false }
            }
            return true
        }

        func shutDown() async {
            for listener in listeners { await listener.closeAndWait() }
            _ = await onLoops { $0.closeAll() }
            _ = await untilIdle(atMost: nil)
            _ = await onLoops { $0.join([]) }
            await loops.shutdown()
        }
    }

    private let parts: RelayParts
    private let phase = Guarded<Phase>(.idle)
    private let stopped = AsyncStream<Never>.makeStream()

    /// A relay that has not started.
    ///
    /// - Parameters:
    ///   - store: where messages are kept.
    ///   - authenticator: who is let in.
    ///   - requestHandler: answers requests that name no recipient, beside `RelayMethod`.
    ///   - onEvent: told what is worth a log line, on the relay's loop or on a task's thread; it must not take long.
    public init(
        configuration: Configuration, store: any RoomStore, authenticator: any Authenticator,
        requestHandler: (any RequestHandler)? = nil, onEvent: @escaping @Sendable (RelayEvent) -> Void = { _ in }
    ) {
        parts = RelayParts(configuration, store, authenticator, requestHandler, onEvent)
    }

    deinit {
        // Nothing else could end it any more, and its ports would be taken as long as the process runs.
        guard let running else { return }
        Task { await running.shutDown() }
    }

    private var running: Running? {
        phase.withLock { if case .running(let running, _) = $0 { running } else { nil } }
    }

    // MARK: Life

    /// Listens from now on, and returns where: with the ports that the system chose.
    ///
    /// The relay runs as long as there is a reference to it, unless it is shut down before.
    ///
    /// Throws `RelayError.alreadyStarted`, `RelayError.cannotListen` when an address cannot be listened on, and
    /// `TransportError` when the system has no thread or descriptor left: then the relay listens nowhere, nothing of it
    /// runs, and it may be started again.
    @discardableResult
    public func start() throws -> [SocketAddress] {
        try phase.withLock { phase in
            guard case .idle = phase else { throw RelayError.alreadyStarted }
            let running = try listen()
            phase = .running(running, isAwaited: false)
            return running.listeners.map(\.localAddress)
        }
    }

    /// Nothing runs before everything listens, so that an address that cannot be had leaves nothing behind.
    private func listen() throws -> Running {
        var options = TCPListener.Options()
        options.connection = parts.configuration.connection
        options.maxAcceptsPerSecond = parts.configuration.maxAcceptsPerSecond
        options.onAcceptingPaused = { [onEvent = parts.onEvent] in onEvent(.acceptingPaused($0)) }
        var sockets: [TCPListener.Socket] = []
        for address in parts.configuration.addresses {
            options.acceptsBothFamilies = !parts.configuration.addresses.contains(
                SocketAddress(.anyV4, port: address.port))
            do throws(TransportError) {
                sockets.append(try TCPListener.Socket(listeningOn: address, options: options))
            } catch {
                throw RelayError.cannotListen(address, error)
            }
        }
        // What hashes tokens is loaded before anybody waits for it.
        _ = TokenGrant.fresh()
        let count = min(max(parts.configuration.loopCount, 1), LoopPlace.maxCount)
        let group = try EventLoopGroup(
            count: count, name: "martlet-relay", spinLimit: parts.configuration.spinLimit)
        let drivers = group.loops.enumerated().map { index, loop in
            RelayDriver(parts, on: loop, place: LoopPlace(index: index, count: count))
        }
        for driver in drivers { driver.loop.execute { driver.join(drivers) } }
        let first = drivers[0]
        return Running(
            loops: group, drivers: drivers,
            listeners: sockets.map { TCPListener($0, on: first.loop, options: options) { first.accept($0) } })
    }

    /// Where the relay listens; empty when it does not.
    public var addresses: [SocketAddress] { running?.listeners.map(\.localAddress) ?? [] }

    /// The first address's port; nil when the relay does not listen.
    public var port: UInt16? { addresses.first?.port }

    /// Starts unless `start()` was called before, and returns when the relay has been shut down.
    ///
    /// When the task is cancelled, the relay drains for at most `Configuration.drainTimeout` and shuts down.
    /// Throws what `start()` throws, and `RelayError.alreadyStarted` when it is called twice.
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

    /// Lets nobody in any more and sends everybody away, to come back after a while or elsewhere.
    ///
    /// Returns true when all connections are gone and the store has answered, false when the time was up first.
    ///
    /// - Parameters:
    ///   - limit: how long to wait.
    ///   - retryAfter: how long clients are asked to stay away.
    ///   - redirect: the endpoint they are sent to, 1 to 512 bytes.
    @discardableResult
    public func drain(
        within limit: Duration, retryAfter: Duration? = .seconds(1), redirect: String? = nil
    ) async -> Bool {
        guard let running else { return true }
        let notice = Notice(code: .draining, retryAfter: retryAfter, redirect: redirect)
        for listener in running.listeners { listener.close() }
        _ = await running.onLoops { $0.drain(notice) }
        return await running.untilIdle(atMost: limit)
    }

    /// Ends everything at once: no goodbyes, but what is with the store is waited for.
    ///
    /// Returns when the ports are free and nothing of the relay runs any more, every call of several.
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

    // MARK: The operator

    /// Ends all connections and links of an account whose credential no longer holds.
    public func revoke(_ account: AccountName) async {
        guard let running else { return }
        // A connection that was let in just before may be on its way to another loop: then the second time finds it.
        for _ in running.drivers.count > 1 ? 0..<2 : 0..<1 { _ = await running.onLoops { $0.revoke(account) } }
    }

    /// What the relay has done; zeros when it does not run.
    public var statistics: RelayStatistics {
        get async {
            let each = await running?.onLoops { $0.engine.statistics } ?? []
            return each.reduce(RelayStatistics(), +)
        }
    }
}
