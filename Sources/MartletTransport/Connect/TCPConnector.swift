/// Connects to the first of several endpoints that answers: resolves their names and runs a `ConnectionRace`.
/// One connector runs one race.
public final class TCPConnector: @unchecked Sendable {  // all state is touched on its loop only
    /// What can be set on a race.
    public struct Options: Sendable {
        /// How long one attempt is given before the next starts beside it (RFC 8305 §5, Connection Attempt Delay;
        /// C-59).
        public var attemptDelay: Duration = .milliseconds(250)
        /// How long all addresses may stay without an answer before one of them is tried again beside it (C-59).
        public var repeatDelay: Duration = .seconds(1)
        /// For all of it, resolution included.
        public var timeout: Duration = .seconds(15)
        /// For the sockets, set before they connect.
        public var connection = TCPOptions()

        /// The defaults.
        public init() {}
    }

    private let endpoints: [Endpoint]
    private let loop: EventLoop
    private let resolver: Resolver
    private let options: Options

    // All below belongs to the loop.
    private var race: ConnectionRace
    private var attempts: [Int: ConnectAttempt] = [:]
    private var connections: [Int: TCPConnection] = [:]
    private var resolutions: [Resolver.Request] = []
    private var isStarted = false
    private var timer: LoopTimer?
    private var completion: ((Result<TCPConnection, TransportError>) -> Void)?

    /// A race to any of `endpoints`. The timeout begins now.
    public init(
        to endpoints: [Endpoint], on loop: EventLoop, resolver: Resolver = .shared, options: Options = Options()
    ) {
        self.endpoints = endpoints
        self.loop = loop
        self.resolver = resolver
        self.options = options
        race = ConnectionRace(
            endpoints: endpoints, attemptDelay: options.attemptDelay.nanosecondCount,
            repeatDelay: options.repeatDelay.nanosecondCount,
            deadline: loop.deadline(after: options.timeout))
    }

    /// Connects to the first endpoint that answers. The connection is not started; that is done on its loop.
    ///
    /// From anywhere. Throws `.cancelled` when the task is, `.timedOut`, or `.connectFailed` with what went wrong
    /// where.
    public static func connect(
        to endpoints: [Endpoint], on loop: EventLoop, resolver: Resolver = .shared, options: Options = Options()
    ) async throws(TransportError) -> TCPConnection {
        let connector = TCPConnector(to: endpoints, on: loop, resolver: resolver, options: options)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.execute { connector.start { continuation.resume(returning: $0) } }
            }
        } onCancel: {
            loop.execute { connector.cancel() }
        }
        return try result.get()
    }

    /// Begins, once, on the loop. `completion` is called exactly once, on the loop, and not from inside this call.
    public func start(_ completion: @escaping (Result<TCPConnection, TransportError>) -> Void) {
        loop.preconditionOnLoop()
        precondition(!isStarted, "a connector is started once")
        isStarted = true
        self.completion = completion
        timer = LoopTimer(on: loop) { self.advance() }
        resolutions = endpoints.enumerated().map { index, endpoint in
            resolver.resolve(host: endpoint.host, port: endpoint.port) { result in
                self.loop.execute { self.resolved(index, result) }
            }
        }
        loop.onTurnEnd { self.advance() }
    }

    /// Gives up, on the loop: the answer is `.cancelled`, unless there was one. Before `start`, too.
    public func cancel() {
        loop.preconditionOnLoop()
        race.cancel()
        loop.onTurnEnd { self.advance() }
    }

    private func resolved(_ index: Int, _ result: Result<[SocketAddress], TransportError>) {
        switch result {
        case .success(let addresses): race.resolved(endpoint: index, addresses)
        case .failure(let error): race.resolutionFailed(endpoint: index, error)
        }
        advance()
    }

    private func answered(_ attempt: Int, _ result: Result<TCPConnection, TransportError>) {
        attempts[attempt] = nil
        switch result {
        case .success(let connection):
            connections[attempt] = connection
            race.connected(attempt: attempt)
        case .failure(let error): race.failed(attempt: attempt, error)
        }
        advance()
    }

    private func advance() {
        guard completion != nil else { return }
        while true {
            switch race.nextOutput(now: loop.now) {
            case .start(let attempt, let address): begin(attempt, address)
            case .abandon(let attempt): attempts.removeValue(forKey: attempt)?.abandon()
            case .finish(let outcome): return finish(outcome)
            case .wait(let deadline): return timer?.set(deadline: deadline) ?? ()
            }
        }
    }

    private func begin(_ number: Int, _ address: SocketAddress) {
        let attempt = ConnectAttempt(to: address, on: loop, options: options.connection) { [weak self] result in
            self?.answered(number, result)
        }
        do throws(TransportError) {
            try attempt.begin()
            attempts[number] = attempt
        } catch {
            race.failed(attempt: number, error)
        }
    }

    private func finish(_ outcome: ConnectionRace.Outcome) {
        timer?.set(deadline: nil)
        timer = nil
        let result: Result<TCPConnection, TransportError>
        switch outcome {
        case .won(let attempt): result = connections[attempt].map { .success($0) } ?? .failure(.cancelled)
        case .lost(let error): result = .failure(error)
        }
        connections = [:]
        for resolution in resolutions { resolution.cancel() }
        resolutions = []
        let answer = completion
        completion = nil
        answer?(result)
    }
}
