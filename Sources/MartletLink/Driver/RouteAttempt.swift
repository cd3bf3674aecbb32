import MartletProxy
package import MartletTransport
import MartletWebSocket

/// An attempt to connect on the routes of a plan: TCP, the proxy, TLS and the WebSocket of each. The first route whose
/// handshake is complete ends the others. It decides nothing.
///
/// | state of a route | owns | ends |
/// |---|---|---|
/// | attempt | the connector of TCP | its result; the end of the race |
/// | transport | the carrier, from the start of the handshake | its completion, a failure; the end of the race |
package final class RouteAttempt: @unchecked Sendable {  // All state is accessed on its loop only.
    /// The options of an attempt.
    package struct Options: Sendable {
        package var timeout: Duration = .seconds(15)
        package var repeatDelay: Duration?
        package var usesMultipath = false
        /// The trusted certificates of connections that Network.framework makes.
        package var tls = TLSClientOptions()

        package init() {}
    }

    /// The end of a race before the timeout of the attempt, so that the failures of the routes are known by then.
    private static let deadlineMargin = 16

    /// Returns TLS over a transport to an endpoint.
    package typealias Secure = (_ lower: any Transport, _ endpoint: Endpoint) throws(TLSError) -> any Transport
    /// The result: the number of the route, and a started transport whose handler is to be replaced; or the failures.
    package typealias Completion = (Result<(index: Int, transport: any Transport), RouteFailures>) -> Void

    private enum Run {
        case attempt(any ConnectionAttempt)
        case transport(any Transport, proxy: ProxyTransport?)
    }

    package let plan: RoutePlan
    private let loop: EventLoop
    private let options: Options
    private let secure: Secure
    private let completion: Completion
    private var race: RouteRace
    private var runs: [Int: Run] = [:]
    private var failures: RouteFailures
    private var timer: LoopTimer?
    private var isAdvancing = false

    /// - Parameters:
    ///   - secure: Returns TLS over a transport.
    ///   - completion: Called once on the loop, unless the attempt is cancelled before.
    package init(
        _ plan: RoutePlan, on loop: EventLoop, options: Options, secure: @escaping Secure,
        _ completion: @escaping Completion
    ) {
        (self.plan, self.loop, self.options, self.secure) = (plan, loop, options, secure)
        self.completion = completion
        failures = RouteFailures(plan)
        let timeout = options.timeout - options.timeout / Self.deadlineMargin
        race = plan.race(deadline: Instant(nanoseconds: loop.deadline(after: timeout)))
    }

    /// Starts the first route, on the loop.
    package func start() { advance() }

    /// Ends all routes, on the loop. The completion is not called.
    package func cancel() {
        race.cancel()
        while case .abandon(let index) = race.nextOutput(now: Instant(nanoseconds: loop.now)) { abandon(index) }
        timer?.set(deadline: nil)
        timer = nil
    }

    /// What the attempt has not reached, for people.
    var missing: String {
        var missing = "no connection"
        for case .transport(let transport, let proxy) in runs.values {
            if transport is WebSocketTransport { return "no WebSocket" }
            missing = proxy === transport ? "no answer of the proxy" : "no TLS connection"
        }
        return missing
    }

    private func advance() {
        guard !isAdvancing else { return }
        isAdvancing = true
        defer { isAdvancing = false }
        while true {
            let output = race.nextOutput(now: Instant(nanoseconds: loop.now))
            for index in race.takeTimedOut() { failures.add(.timedOut, of: index) }
            switch output {
            case .start(let index): begin(index)
            case .abandon(let index): abandon(index)
            case .finish(let winner): return finish(winner)
            case .wait(let deadline):
                guard let deadline else { return timer?.set(deadline: nil) ?? () }
                if timer == nil { timer = LoopTimer(on: loop) { [weak self] in self?.advance() } }
                timer?.set(deadline: deadline.nanoseconds)
                return
            }
        }
    }

    private func finish(_ winner: Int?) {
        timer?.set(deadline: nil)
        timer = nil
        guard let winner else { return completion(.failure(failures)) }
        guard case .transport(let transport, _)? = runs.removeValue(forKey: winner) else { return }
        completion(.success((winner, transport)))
    }

    private func abandon(_ index: Int) {
        switch runs.removeValue(forKey: index) {
        case .attempt(let attempt)?: attempt.cancel()
        case .transport(let transport, _)?: transport.close(afterFlush: false)
        case nil: break
        }
    }

    // MARK: A route

    private func begin(_ index: Int) {
        let candidate = plan.candidates[index]
        guard let proxy = candidate.proxy else { return connect(index, to: candidate.endpoints) }
        var random = loop.random
        let words = [random.next(), random.next()]
        let nonce = words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) } }
        let handshake = ProxyHandshake(through: proxy.address, to: candidate.endpoints[0], nonce: nonce)
        connect(index, to: [proxy.address.endpoint], handshake)
    }

    private func connect(_ index: Int, to endpoints: [Endpoint], _ handshake: ProxyHandshake? = nil) {
        #if canImport(Network)
            let secured = endpoints.filter { $0.security == .tls }
            if loop.host == nil, !secured.isEmpty {
                return startSecured(index, to: secured[Int.random(in: 0..<secured.count)])
            }
        #endif
        var connection = TCPConnector.Options()
        connection.timeout = options.timeout
        connection.repeatDelay = options.repeatDelay ?? connection.repeatDelay
        connection.connection.usesMultipath = options.usesMultipath
        let attempt = loop.connect(to: endpoints, options: connection) { [weak self] result in
            self?.connected(index, result, handshake)
        }
        runs[index] = .attempt(attempt)
    }

    #if canImport(Network)
        /// Starts a connection with TLS on Apple systems, where one transport resolves the name, connects and performs
        /// the handshake, through the proxy of the system's settings if there is one.
        private func startSecured(_ index: Int, to endpoint: Endpoint) {
            do throws(TLSError) {
                start(index, try NetworkTransport(to: endpoint, tls: options.tls, on: loop), to: endpoint, nil)
            } catch {
                failed(index, .tls(error))
            }
        }
    #endif

    private func connected(
        _ index: Int, _ result: Result<EstablishedConnection, TransportError>, _ handshake: ProxyHandshake?
    ) {
        guard case .attempt? = runs.removeValue(forKey: index) else { return }
        switch result {
        case .failure(let error): failed(index, error)
        case .success(let connection):
            let proxy = handshake.map { ProxyTransport($0, over: connection.transport) }
            let endpoint = proxy == nil ? connection.endpoint : plan.candidates[index].endpoints[0]
            var transport: any Transport = proxy ?? connection.transport
            do throws(TLSError) {
                if let endpoint, endpoint.security == .tls { transport = try secure(transport, endpoint) }
                start(index, transport, to: endpoint, proxy)
            } catch {
                failed(index, .tls(error))
            }
        }
        advance()
    }

    /// Starts a transport, with a WebSocket over it if the endpoint has one (C-119).
    private func start(_ index: Int, _ lower: any Transport, to endpoint: Endpoint?, _ proxy: ProxyTransport?) {
        var transport = lower
        if let endpoint, endpoint.webSocketPath != nil { transport = WebSocketTransport(to: endpoint, over: lower) }
        runs[index] = .transport(transport, proxy: proxy)
        transport.start(RouteHandler(index, self))
    }

    private func failed(_ index: Int, _ error: TransportError) {
        failures.add(error, of: index)
        race.failed(index, endsRace: plan.endsRace(error, on: index))
    }

    fileprivate func established(_ index: Int, _ transport: any Transport) {
        race.connected(index)
        advance()
    }

    fileprivate func closed(_ index: Int, _ reason: CloseReason) {
        guard case .transport(_, let proxy)? = runs.removeValue(forKey: index) else { return }
        if let handshake = proxy?.continuation, let address = plan.candidates[index].proxy?.address {
            return connect(index, to: [address.endpoint], handshake)
        }
        if case .error(let error) = reason { failed(index, error) } else { failed(index, .reset) }
        advance()
    }
}

/// The handler of one route until the race ends.
final class RouteHandler: TransportHandler {
    private let index: Int
    private weak var attempt: RouteAttempt?

    init(_ index: Int, _ attempt: RouteAttempt) { (self.index, self.attempt) = (index, attempt) }

    func transportDidConnect(_ transport: any Transport) { attempt?.established(index, transport) }

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {}

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool { false }

    func transportDidReceiveEndOfStream(_ transport: any Transport) { transport.close(afterFlush: false) }

    func transport(_ transport: any Transport, didClose reason: CloseReason) { attempt?.closed(index, reason) }
}
