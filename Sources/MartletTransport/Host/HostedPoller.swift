/// The poller of a loop with a host. It has no descriptors; the host runs the turns.
final class HostedPoller: Poller, @unchecked Sendable {  // `loop` is set once, before the loop is used.
    private let host: any LoopHost
    private weak var loop: EventLoop?

    init(_ host: any LoopHost) {
        self.host = host
    }

    func start(_ loop: EventLoop) {
        self.loop = loop
    }

    func wake() {
        if let loop { host.wake(loop) }
    }

    func add(
        _ source: any PollSource, _ descriptor: SharedDescriptor, interest: Readiness
    ) throws(TransportError) -> PollKey {
        throw .system(errno: 0, call: "a loop with a host has no sockets")
    }

    func setInterest(_ interest: Readiness, of key: PollKey) {}

    func remove(_ key: PollKey) {}

    var sources: [any PollSource] { [] }

    var isIdle: Bool { true }
}

extension EventLoop {
    /// The state of a hosted loop after a turn.
    package enum AfterTurn {
        /// The loop has more to do at once.
        case ready
        /// The loop waits for a wake-up or a deadline; `UInt64.max` without a deadline.
        case sleeping(until: UInt64)
        /// The loop was shut down.
        case stopped
    }

    /// Runs one turn of a loop with a host, on any thread, one turn at a time.
    package func runTurn() -> AfterTurn {
        becomeCurrent()
        beginTurn()
        finishTurn()
        let waiters = stopIfDone()
        resignCurrent()
        if let waiters {
            for waiter in waiters { waiter.resume() }
            return .stopped
        }
        return prepareToSleep() ? .sleeping(until: nextDeadline) : .ready
    }
}
