import CMartletSystem

/// The clocks, the random numbers, the network and the executor of a loop, from its host or from the system.
extension EventLoop {
    /// The monotonic clock in nanoseconds, which advances during a turn.
    package var currentTime: UInt64 { host?.now ?? martlet_clock() }

    /// The wall clock in milliseconds since 1970.
    package var wallTime: UInt64 { host?.wallClock ?? martlet_wall_clock() }

    /// The current instant of the continuous clock.
    package var instant: ContinuousClock.Instant { host?.instant ?? .now }

    /// The random numbers of the loop.
    package var random: LoopRandom { LoopRandom(host: host) }

    /// Starts a task that runs on the executor of the host, if there is one.
    @discardableResult
    package func startTask<Success: Sendable>(
        _ work: @escaping @Sendable () async -> Success
    ) -> Task<Success, Never> {
        Task(executorPreference: host?.taskExecutor) { await work() }
    }

    /// Connects to one of the endpoints. The completion is called exactly once, on the loop, after this call returns.
    /// Must be called on the loop.
    package func connect(
        to endpoints: [Endpoint], options: TCPConnector.Options, _ completion: @escaping ConnectCompletion
    ) -> any ConnectionAttempt {
        if let host { return host.connect(to: endpoints, on: self, timeout: options.timeout, completion) }
        let connector = TCPConnector(to: endpoints, on: self, options: options)
        connector.start { result in
            completion(result.map { EstablishedConnection($0, to: $0.endpoint) })
        }
        return connector
    }
}

/// The random numbers of a loop: those of its host, or secure ones of the system.
package struct LoopRandom: RandomNumberGenerator {
    private let host: (any LoopHost)?
    private var system = SystemRandomNumberGenerator()

    init(host: (any LoopHost)?) {
        self.host = host
    }

    /// Returns the next 64 bits.
    package mutating func next() -> UInt64 { host?.nextRandom() ?? system.next() }
}
