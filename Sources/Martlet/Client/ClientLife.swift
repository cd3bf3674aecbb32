import MartletLink
import MartletTransport
import MartletWire

/// The account, relay addresses and configuration of a client.
struct ClientIdentity: Sendable {
    let account: AccountName
    let endpoints: [Endpoint]
    let proof: LinkProof
    let configuration: Client.Configuration
    /// Present if an endpoint uses TLS.
    let tls: TLSClient?
}

/// The lifecycle of a client: it opens the outbox, creates the driver, and keeps the final status and metrics.
///
/// | state | left by |
/// |---|---|
/// | idle | start, to starting; stop |
/// | starting | the outbox has opened, to running; it is in use, has failed or has another account, to idle; stop |
/// | running | the end of the driver, which closes the outbox |
/// | stopped | nothing |
final class ClientLife: Sendable {
    private enum State: Sendable {
        case idle
        /// The task that opens the outbox, and the callers that wait for it.
        case starting(Task<Void, Never>, [Promise<Void>])
        case running
        /// The task that closes the outbox; nil if the client did not run.
        case stopped(Task<Void, Never>?)
    }

    let identity: ClientIdentity
    let loop: EventLoop
    let outbox: any Outbox
    let mailbox: Mailbox
    let status = Latest(Client.Status())
    let rooms = RoomListCore()
    let keptOutcomes = KeptOutcomes()
    /// The points of the application; nil if it records none.
    let telemetry: TelemetryCore?
    private let state = Guarded(State.idle)
    /// The use of the outbox, from the start to the end of the task that closes it.
    private let use = Guarded<OutboxUse?>(nil)
    private let metrics = Guarded(ClientMetrics(ConnectionMetrics(now: .zero), now: .zero))

    init(_ identity: ClientIdentity, outbox: any Outbox, loop: EventLoop) {
        self.identity = identity
        self.outbox = outbox
        self.loop = loop
        mailbox = Mailbox(loop: loop)
        let configuration = identity.configuration
        telemetry = configuration.telemetry.map { TelemetryCore($0, agent: configuration.agent, loop: loop) }
    }

    /// The metrics of a client that has not started, or has stopped.
    var lastMetrics: ClientMetrics { metrics.withLock { $0 } }

    /// The number of callers of `start` that wait for the outbox.
    var startingCount: Int {
        state.withLock { if case .starting(_, let waiting) = $0 { waiting.count } else { 0 } }
    }

    // MARK: Start

    private enum Start: Sendable {
        case waits
        case done
    }

    nonisolated(nonsending) func start() async throws {
        try Task.checkCancellation()
        let promise = Promise<Void>()
        let start = try state.withLock { (state) throws(MartletError) -> Start in
            switch state {
            case .idle:
                let opening = loop.startTask { await self.openOutbox() }
                state = .starting(opening, [promise])
                return .waits
            case .starting(let opening, let waiting):
                state = .starting(opening, waiting + [promise])
                return .waits
            case .running: return .done
            case .stopped: throw .stopped
            }
        }
        if case .waits = start { try await promise.value { self.abandonStart(promise) } }
    }

    /// Ends the call of a cancelled caller of `start`. The cancellation of the last caller also cancels the opening of
    /// the outbox.
    private func abandonStart(_ promise: Promise<Void>) {
        let opening = state.withLock { state -> Task<Void, Never>? in
            // If the outbox has opened meanwhile, the caller receives the result of the start.
            guard case .starting(let opening, let waiting) = state else { return nil }
            let rest = waiting.filter { $0 !== promise }
            guard rest.isEmpty, !waiting.isEmpty else {
                state = .starting(opening, rest)
                promise.resolve(.failure(CancellationError()))
                return nil
            }
            return opening
        }
        opening?.cancel()
    }

    private func openOutbox() async {
        do {
            let begun = try await OutboxUse.begin(outbox)
            use.withLock { $0 = begun }
            let opened: OutboxState
            do { opened = try await outbox.open() } catch {
                begun.end()
                throw error
            }
            do { try await claim(opened) } catch {
                await closeOutbox()
                throw error
            }
            if !begin(opened) { await closeOutbox() }
        } catch {
            let error = error is CancellationError ? error : MartletError(outbox: error)
            let waiting = state.withLock { state -> [Promise<Void>] in
                guard case .starting(_, let waiting) = state else { return [] }
                state = .idle
                return waiting
            }
            for promise in waiting { promise.resolve(.failure(error)) }
        }
    }

    private func closeOutbox() async {
        let last = use.withLock { $0.take() }
        last?.willEnd()
        await outbox.close()
        last?.end()
    }

    /// Checks that the outbox belongs to this account.
    private func claim(_ opened: OutboxState) async throws {
        try await outbox.claim(for: identity.account)
        if let other = opened.pending.first(where: { $0.id.sender != identity.account }) {
            throw MartletError.outboxOfAnotherAccount(other.id.sender)
        }
    }

    /// Starts the driver. Returns false if the client was stopped before.
    private func begin(_ opened: OutboxState) -> Bool {
        let driver = ClientDriver(self, opened)
        let waiting = state.withLock { state -> [Promise<Void>]? in
            guard case .starting(_, let waiting) = state else { return nil }
            mailbox.open(for: driver)
            state = .running
            return waiting
        }
        guard let waiting else { return false }
        // Iterations that began before the start could not post this command.
        if rooms.hasSubscribers { mailbox.post(.watchRooms) }
        loop.execute {
            let isStarted = driver.start()
            for promise in waiting { promise.resolve(isStarted ? .success(()) : .failure(MartletError.stopped)) }
        }
        return true
    }

    // MARK: End

    private enum Stop: Sendable {
        case stopDriver
        case ended
        case closing(Task<Void, Never>)
        case endedWhileStarting(Task<Void, Never>, [Promise<Void>])
    }

    nonisolated(nonsending) func stop() async {
        let stop = state.withLock { state -> Stop in
            switch state {
            case .starting(let opening, let waiting):
                state = .stopped(nil)
                willEnd()
                return .endedWhileStarting(opening, waiting)
            case .running:
                willEnd()
                return .stopDriver
            case .stopped(let closing?): return .closing(closing)
            case .idle, .stopped(nil):
                state = .stopped(nil)
                return .ended
            }
        }
        switch stop {
        case .stopDriver:
            let promise = Promise<Void>()
            if mailbox.post(.stop(promise)) == .posted { try? await promise.value() }
            if case .stopped(let closing?) = state.withLock({ $0 }) { await closing.value }
        case .ended: finish()
        case .closing(let closing): await closing.value
        case .endedWhileStarting(let opening, let waiting):
            opening.cancel()
            finish()
            for promise in waiting { promise.resolve(.failure(MartletError.stopped)) }
        }
    }

    /// Stops the client after the release of its last reference. The client is not starting, because a caller of
    /// `start` holds a reference.
    func abandon() {
        willEnd()
        guard mailbox.post(.abandon) == .notStarted else { return }
        state.withLock { $0 = .stopped(nil) }
        finish()
    }

    /// Reports the end of the driver, with its final metrics.
    func ended(_ last: ClientMetrics) {
        metrics.withLock { $0 = last }
        willEnd()
        let closing = loop.startTask { await self.closeOutbox() }
        state.withLock { $0 = .stopped(closing) }
        finish()
    }

    private func willEnd() {
        use.withLock { $0 }?.willEnd()
    }

    private func finish() {
        var last = status.value
        last.phase = .stopped(last.phase.stopReason)
        last.nextAttempt = nil
        if last.phase == .stopped(nil) { last.explanation = "stopped" }
        status.set(last)
        status.finish()
        rooms.finish()
        keptOutcomes.finish()
        for command in mailbox.close() { command.refuse(lastMetrics) }
    }
}
