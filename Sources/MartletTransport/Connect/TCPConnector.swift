/// Connects to one of several endpoints with Happy Eyeballs (RFC 8305): resolves their names and runs the attempts. A
/// connector is used once.
package final class TCPConnector: @unchecked Sendable {  // All state is accessed on its loop only.
    /// The options of a connector.
    package struct Options: Sendable {
        /// The Connection Attempt Delay of RFC 8305 §5: the time before the next attempt starts beside a running one
        /// (C-59).
        package var attemptDelay: Duration = .milliseconds(250)
        /// The time without an answer from any address before an address is tried again (C-59).
        package var repeatDelay: Duration = .seconds(1)
        /// The timeout of the connect, including name resolution.
        package var timeout: Duration = .seconds(15)
        /// The options of the sockets, set before they connect.
        package var connection = TCPOptions()

        /// Creates the default options.
        package init() {}
    }

    private let endpoints: [Endpoint]
    private let loop: EventLoop
    private let resolver: Resolver
    private let options: Options

    // The loop accesses all properties below.
    private var happyEyeballs: HappyEyeballs
    private var attempts: [Int: ConnectAttempt] = [:]
    private var connections: [Int: TCPConnection] = [:]
    private var resolutions: [Resolver.Request] = []
    private var isStarted = false
    private var timer: LoopTimer?
    private var completion: ((Result<TCPConnection, TransportError>) -> Void)?

    /// Creates a connector for one of `endpoints`. The timeout starts now.
    package init(
        to endpoints: [Endpoint], on loop: EventLoop, resolver: Resolver = .shared, options: Options = Options()
    ) {
        self.endpoints = endpoints
        self.loop = loop
        self.resolver = resolver
        self.options = options
        happyEyeballs = HappyEyeballs(
            endpoints: endpoints, attemptDelay: options.attemptDelay.nanosecondCount,
            repeatDelay: options.repeatDelay.nanosecondCount,
            deadline: loop.deadline(after: options.timeout))
    }

    /// Connects to the first endpoint that answers and returns a connection that is not started. May be called from any
    /// task.
    ///
    /// Throws `.cancelled` when the task is cancelled, `.timedOut`, or `.connectFailed` with the failures of all
    /// attempts.
    package static func connect(
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

    /// Starts the connect, once, on the loop. `completion` is called exactly once, on the loop, after this call
    /// returns.
    package func start(_ completion: @escaping (Result<TCPConnection, TransportError>) -> Void) {
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

    /// Cancels the connect, on the loop. The result is `.cancelled` unless there was one. May be called before `start`.
    package func cancel() {
        loop.preconditionOnLoop()
        happyEyeballs.cancel()
        loop.onTurnEnd { self.advance() }
    }

    private func resolved(_ index: Int, _ result: Result<[SocketAddress], TransportError>) {
        switch result {
        case .success(let addresses): happyEyeballs.resolved(endpoint: index, addresses)
        case .failure(let error): happyEyeballs.resolutionFailed(endpoint: index, error)
        }
        advance()
    }

    private func ended(_ attempt: Int, _ result: Result<TCPConnection, TransportError>) {
        attempts[attempt] = nil
        switch result {
        case .success(let connection):
            connection.endpoint = happyEyeballs.endpoint(ofAttempt: attempt)
            connections[attempt] = connection
            happyEyeballs.connected(attempt: attempt)
        case .failure(let error): happyEyeballs.failed(attempt: attempt, error)
        }
        advance()
    }

    private func advance() {
        guard completion != nil else { return }
        while true {
            switch happyEyeballs.nextOutput(now: loop.now) {
            case .start(let attempt, let address): begin(attempt, address)
            case .abandon(let attempt): attempts.removeValue(forKey: attempt)?.abandon()
            case .finish(let outcome): return finish(outcome)
            case .wait(let deadline): return timer?.set(deadline: deadline) ?? ()
            }
        }
    }

    private func begin(_ number: Int, _ address: SocketAddress) {
        let attempt = ConnectAttempt(to: address, on: loop, options: options.connection) { [weak self] result in
            self?.ended(number, result)
        }
        do throws(TransportError) {
            try attempt.begin()
            attempts[number] = attempt
        } catch {
            happyEyeballs.failed(attempt: number, error)
        }
    }

    private func finish(_ outcome: HappyEyeballs.Outcome) {
        timer?.set(deadline: nil)
        timer = nil
        let result: Result<TCPConnection, TransportError>
        switch outcome {
        case .connected(let attempt): result = connections[attempt].map { .success($0) } ?? .failure(.cancelled)
        case .failed(let error): result = .failure(error)
        }
        connections = [:]
        for resolution in resolutions { resolution.cancel() }
        resolutions = []
        let completion = completion
        self.completion = nil
        completion?(result)
    }
}
