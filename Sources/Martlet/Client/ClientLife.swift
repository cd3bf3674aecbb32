import MartletProtocol
import MartletTransport
import MartletWire

/// Who a client is, to whom it connects, and how.
struct ClientIdentity: Sendable {
    let account: AccountName
    let endpoints: [Endpoint]
    let provider: Credentials.Provider?
    let configuration: Client.Configuration
}

/// A client's beginning and end, and what is left of it after.
///
/// | state | left by |
/// |---|---|
/// | idle | start: the outbox is being opened; stop |
/// | starting | the outbox is open: a driver runs; it failed: idle |
/// | running | the driver's end |
/// | stopped | nothing |
final class ClientLife: Sendable {
    private enum State: Sendable {
        case idle
        case starting([OneShot<Void>])
        case running
        case stopped
    }

    let identity: ClientIdentity
    let loop: EventLoop
    let outbox: any Outbox
    let mailbox: Mailbox
    let status = Latest(Client.Status())
    private let state = Guarded(State.idle)
    private let statistics = Guarded(Client.Statistics())

    init(_ identity: ClientIdentity, outbox: any Outbox, loop: EventLoop) {
        self.identity = identity
        self.outbox = outbox
        self.loop = loop
        mailbox = Mailbox(loop: loop)
    }

    var lastStatistics: Client.Statistics { statistics.withLock { $0 } }

    // MARK: The beginning

    private enum Start: Sendable {
        case begin
        case join(OneShot<Void>)
        case done
    }

    nonisolated(nonsending) func start() async throws {
        let start = try state.withLock { (state) throws(MartletError) -> Start in
            switch state {
            case .idle:
                state = .starting([])
                return .begin
            case .starting(let waiting):
                let shot = OneShot<Void>()
                state = .starting(waiting + [shot])
                return .join(shot)
            case .running: return .done
            case .stopped: throw .stopped
            }
        }
        switch start {
        case .done: return
        case .join(let shot): return try await shot.value { shot.resolve(.failure(CancellationError())) }
        case .begin: break
        }
        do {
            try Task.checkCancellation()
            begin(try await outbox.open())
        } catch {
            let error = error is CancellationError ? error : MartletError.outboxFailed("\(error)")
            finishStarting(.idle, .failure(error))
            throw error
        }
    }

    private func begin(_ opened: OutboxState) {
        let driver = ClientDriver(self, opened)
        mailbox.open(for: driver)
        loop.execute { driver.start() }
        finishStarting(.running, .success(()))
    }

    private func finishStarting(_ next: State, _ outcome: Result<Void, any Error>) {
        let waiting = state.withLock { state -> [OneShot<Void>] in
            guard case .starting(let waiting) = state else { return [] }
            state = next
            return waiting
        }
        for shot in waiting { shot.resolve(outcome) }
    }

    // MARK: The end

    private enum Stop: Sendable {
        case again(OneShot<Void>)
        case ask
        case done
    }

    nonisolated(nonsending) func stop() async {
        while true {
            let stop = state.withLock { state -> Stop in
                switch state {
                case .idle:
                    state = .stopped
                    return .done
                case .starting(let waiting):
                    let shot = OneShot<Void>()
                    state = .starting(waiting + [shot])
                    return .again(shot)
                case .running: return .ask
                case .stopped: return .done
                }
            }
            let shot: OneShot<Void>
            switch stop {
            case .done: return finish()
            case .again(let start):
                try? await start.value()
                continue
            case .ask:
                shot = OneShot()
                guard mailbox.post(.stop(shot)) == .posted else { return }
                try? await shot.value()
                return
            }
        }
    }

    /// The driver has ended.
    func ended(_ last: Client.Statistics) {
        statistics.withLock { $0 = last }
        state.withLock { $0 = .stopped }
        finish()
    }

    private func finish() {
        var last = status.value
        last.phase = .stopped(last.phase.givenUp)
        last.nextAttempt = nil
        if last.phase == .stopped(nil) { last.explanation = "stopped" }
        status.set(last)
        status.finish()
        refuseCommands()
    }

    private func refuseCommands() {
        for command in mailbox.close() { command.refuse(lastStatistics) }
    }
}
