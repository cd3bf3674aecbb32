import MartletLink
import MartletToolSupport
import MartletTransport
import MartletWebSocket
import MartletWire

/// Performs the steps of a `DoctorReport` on sockets.
struct DoctorRun: Sendable {
    /// The TLS client; nil if the endpoint does not use TLS.
    let tls: TLSClient?
    /// The hello without a credential.
    let hello: Hello
    let signIn: DoctorSignIn
    /// The routes to the relay; nil without an endpoint.
    let plan: RoutePlan?
    /// The timeout of each step.
    let timeout: Duration

    private var loop: EventLoop { .shared }

    /// Performs all steps, and reports each line when it is known.
    func run(_ report: DoctorReport, _ show: (DoctorLine) throws -> Void) async throws -> ExitCode {
        var report = report
        var probe: RelayProbe?
        // The routes that were not tried, and the number of the chosen one.
        var (plan, chosen) = (plan, Int?.none)
        // A route other than a direct connection.
        var route: RoutePlan?
        while true {
            let lines: [DoctorLine]
            switch report.step {
            case .route:
                probe?.abort()
                (probe, route) = (nil, nil)
                if let chosen { plan?.remove(chosen) }
                let result = await chooseRoute(plan)
                chosen = try? result?.get()
                if let chosen, let plan, !plan.route(chosen).isDirect { route = plan.only(chosen) }
                lines = report.routed(result, plan)
            case .resolve(let endpoint):
                let start = EventLoop.clock
                let result = await resolve(endpoint)
                lines = report.resolved(result, after: elapsed(since: start))
            case .connect(let addresses): lines = report.connected(await connect(to: addresses))
            case .secure(let address):
                let (opened, result, duration) = await open(address, of: report.endpoint, on: route)
                probe = opened
                lines = report.secured(result, after: duration, wallClock: EventLoop.wallClock)
            case .greet:
                let (result, duration) = await greet(probe)
                lines = report.greeted(result, after: duration)
            case .ping: lines = report.pinged(await ping(probe))
            case .compare: lines = report.compared(await compareClocks(probe))
            case .resume(let address):
                await probe?.leave(within: timeout)
                probe = nil
                let (opened, result, duration) = await open(address, of: report.endpoint, on: route)
                opened?.abort()
                lines = report.resumed(result, after: duration)
            case .end(let code):
                await probe?.leave(within: timeout)
                return code
            }
            for line in lines { try show(line) }
        }
    }

    private func elapsed(since start: UInt64) -> Duration { .nanoseconds(Int64(EventLoop.clock - start)) }

    private func resolve(_ endpoint: Endpoint) async -> Result<[SocketAddress], TransportError> {
        await withTaskGroup(of: Result<[SocketAddress], TransportError>.self) { group in
            group.addTask {
                do throws(TransportError) {
                    return .success(try await Resolver.shared.resolve(host: endpoint.host, port: endpoint.port))
                } catch { return .failure(error) }
            }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return .failure(.timedOut)
            }
            defer { group.cancelAll() }
            return await group.next() ?? .failure(.cancelled)
        }
    }

    /// Connects to all addresses at once, and returns the results in the order of the addresses.
    private func connect(to addresses: [SocketAddress]) async -> [DoctorReport.Connect] {
        await withTaskGroup(of: (Int, DoctorReport.Connect).self) { group in
            for (index, address) in addresses.enumerated() {
                group.addTask {
                    let start = EventLoop.clock
                    var result = DoctorReport.Connect(address: address, duration: .zero)
                    do throws(TransportError) { _ = try await connection(to: address) } catch { result.error = error }
                    result.duration = elapsed(since: start)
                    return (index, result)
                }
            }
            var results: [(Int, DoctorReport.Connect)] = []
            for await result in group { results.append(result) }
            return results.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// Connects to one address, with one attempt.
    private func connection(to address: SocketAddress) async throws(TransportError) -> TCPConnection {
        var options = TCPConnector.Options()
        options.timeout = timeout
        options.repeatDelay = timeout
        guard let endpoint = try? Endpoint(host: "\(address.ip)", port: address.port, security: .plain) else {
            throw .noAddresses
        }
        do throws(TransportError) {
            return try await TCPConnector.connect(to: [endpoint], on: loop, options: options)
        } catch {
            guard case .connectFailed(let failures) = error, let failure = failures.first else { throw error }
            throw failure.error
        }
    }

    private typealias Opened = (
        probe: RelayProbe?, result: Result<TransportSecurity?, DoctorFailure>, duration: Duration
    )

    /// Opens a connection, with TLS and a WebSocket if the endpoint uses them. The duration is that of their
    /// handshakes.
    private func open(
        _ address: SocketAddress?, of endpoint: Endpoint?, on route: RoutePlan?
    ) async -> Opened {
        if let route { return await open(route) }
        guard let address else { return (nil, .failure(.ended), .zero) }
        var transport: any Transport
        do throws(TransportError) {
            transport = try await connection(to: address)
            if let endpoint, let tls {
                do throws(TLSError) { transport = try tls.transport(over: transport, to: endpoint) } catch {
                    throw .tls(error)
                }
            }
        } catch { return (nil, .failure(.transport(error)), .zero) }
        if let endpoint, endpoint.webSocketPath != nil { transport = WebSocketTransport(to: endpoint, over: transport) }
        return await opened(RelayProbe(transport))
    }

    /// Opens a connection on a route. The duration is that of all its handshakes.
    private func open(_ route: RoutePlan) async -> Opened {
        let start = EventLoop.clock
        switch await RouteProbe.connect(route, tls: tls, within: timeout, on: loop) {
        case .success(let (_, probe))?:
            let duration = elapsed(since: start)
            let (opened, result, _) = await self.opened(probe)
            return (opened, result, duration)
        case .failure(let failures)?:
            return (nil, .failure(.transport(failures.entries.last?.error ?? .timedOut)), .zero)
        case nil: return (nil, .failure(.transport(.timedOut)), .zero)
        }
    }

    /// Returns the number of the first route that answers, or the failures of all; nil after the timeout.
    private func chooseRoute(_ plan: RoutePlan?) async -> Result<Int, RouteFailures>? {
        guard let plan else { return nil }
        return await RouteProbe.connect(plan, tls: tls, within: timeout, on: loop)?.map { index, probe in
            probe.abort()
            return index
        }
    }

    private func opened(_ probe: RelayProbe) async -> Opened {
        let reply = await probe.open(within: timeout)
        switch reply.answer {
        case .open(let security): return (probe, .success(security), reply.duration)
        case .failed(let failure):
            probe.abort()
            return (nil, .failure(failure), reply.duration)
        case .challenge, .welcome, .pong, .response: return (probe, .failure(.unexpected(.welcome)), reply.duration)
        }
    }

    private func greet(_ probe: RelayProbe?) async -> (Result<Welcome, DoctorFailure>, Duration) {
        guard let probe else { return (.failure(.ended), .zero) }
        do throws(DoctorFailure) {
            let (welcome, duration) = try await signIn.run(hello, on: probe, timeout: timeout)
            return (.success(welcome), duration)
        } catch { return (.failure(error), .zero) }
    }

    /// Measures the round trips, all within one timeout.
    private func ping(_ probe: RelayProbe?) async -> Result<[Duration], DoctorFailure> {
        guard let probe else { return .failure(.ended) }
        var times: [Duration] = []
        let start = EventLoop.clock
        for nonce in 1...UInt64(DoctorReport.pingCount) {
            let reply = await probe.send(Ping(nonce: nonce), within: max(timeout - elapsed(since: start), .zero))
            switch reply.answer {
            case .pong(nonce): times.append(reply.duration)
            case .failed(let failure): return .failure(failure)
            case .welcome: return .failure(.unexpected(.welcome))
            case .open, .challenge, .pong, .response: return .failure(.unexpected(.pong))
            }
        }
        return .success(times)
    }

    /// Requests the relay's time and returns the difference of the clocks; nil if the relay does not report its time.
    /// The relay's time is taken as that of the middle of the round trip.
    private func compareClocks(_ probe: RelayProbe?) async -> Result<Duration?, DoctorFailure> {
        guard let probe else { return .failure(.ended) }
        let request = Request(correlation: 1, method: RelayTime.method, deadline: timeout)
        let before = Int64(clamping: EventLoop.wallClock)
        let reply = await probe.send(request, within: timeout)
        switch reply.answer {
        case .response(let response):
            guard response.status == .none, let time = try? RelayTime(parsing: response.content) else {
                return .success(nil)
            }
            let middle = Duration.milliseconds(before) + reply.duration / 2
            return .success(.milliseconds(Int64(clamping: time.wallClock)) - middle)
        case .failed(let failure): return .failure(failure)
        case .welcome: return .failure(.unexpected(.welcome))
        case .open, .challenge, .pong: return .failure(.unexpected(.pong))
        }
    }
}
