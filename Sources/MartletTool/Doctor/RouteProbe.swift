import MartletLink
import MartletTransport

/// An attempt of `martlet doctor` on the routes of a plan.
///
/// | state | owns | ends |
/// |---|---|---|
/// | running | the attempt, its timer, the caller that waits | its result, the timeout |
/// | over | nothing | |
final class RouteProbe: @unchecked Sendable {  // The loop accesses all state.
    /// The number of the route and its connection, or the failures of all routes; nil after the timeout.
    typealias Result = Swift.Result<(index: Int, probe: RelayProbe), RouteFailures>?

    private let loop: EventLoop
    private var attempt: RouteAttempt?
    private var timer: LoopTimer?
    private var waiter: CheckedContinuation<Result, Never>?

    private init(on loop: EventLoop) { self.loop = loop }

    /// Connects on the first route that answers.
    static func connect(
        _ plan: RoutePlan, tls: TLSClient?, within timeout: Duration, on loop: EventLoop
    ) async -> Result {
        let probe = RouteProbe(on: loop)
        return await withCheckedContinuation { continuation in
            loop.execute {
                probe.waiter = continuation
                probe.start(plan, tls, timeout)
            }
        }
    }

    private func start(_ plan: RoutePlan, _ tls: TLSClient?, _ timeout: Duration) {
        var options = RouteAttempt.Options()
        options.timeout = timeout
        let secure: RouteAttempt.Secure = { lower, endpoint throws(TLSError) in
            guard let tls else { throw .protocolError("the address has no TLS") }
            return try tls.transport(over: lower, to: endpoint)
        }
        // Both closures end with the attempt.
        let attempt = RouteAttempt(plan, on: loop, options: options, secure: secure) { [self] result in
            end(result.map { ($0.index, RelayProbe(started: $0.transport)) })
        }
        let timer = LoopTimer(on: loop) { [self] in
            attempt.cancel()
            end(nil)
        }
        (self.attempt, self.timer) = (attempt, timer)
        timer.set(deadline: loop.deadline(after: timeout))
        attempt.start()
    }

    private func end(_ result: Result) {
        timer?.set(deadline: nil)
        (attempt, timer) = (nil, nil)
        waiter.take()?.resume(returning: result)
    }
}
