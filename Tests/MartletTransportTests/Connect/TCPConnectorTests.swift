import Testing

@testable import MartletTransport

extension TCPConnector.Options {
    /// Options without timeouts that expire during a test.
    fileprivate static var withoutTimeout: Self {
        var options = Self()
        options.timeout = .seconds(3600)
        options.repeatDelay = .seconds(3600)
        return options
    }
}

@Suite(.timeLimit(.minutes(10)))
struct TCPConnectorTests {
    /// An endpoint without a listener. Its port is not reassigned while `holder` lives.
    private func refusing() throws -> (endpoint: Endpoint, address: SocketAddress, holder: RawSocket) {
        let (holder, address) = RawSocket.bound()
        return (try Endpoint(host: "127.0.0.1", port: address.port), address, holder)
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `connect to a closed port fails as refused with the address`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let closed = try refusing()
            let failure = ConnectFailure(endpoint: closed.endpoint, address: closed.address, error: .refused)
            await #expect(throws: TransportError.connectFailed([failure])) {
                try await TCPConnector.connect(to: [closed.endpoint], on: loop)
            }
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `connect to a refusing and a listening endpoint returns the listening one`(_ backend: EventLoop.Backend)
        async throws
    {
        try await withLoop(backend) { loop in
            let closed = try refusing()
            let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { _ in }
            let endpoint = try Endpoint(host: "127.0.0.1", port: listener.port)
            let connection = try await TCPConnector.connect(to: [closed.endpoint, endpoint], on: loop)
            #expect(connection.remoteAddress == listener.localAddress)
        }
    }

    // C-59
    @Test(arguments: EventLoop.Backend.allCases)
    func `connect to a silent and a listening endpoint returns the listening one`(_ backend: EventLoop.Backend)
        async throws
    {
        try await withLoop(backend) { loop in
            let silent = await RawSocket.silentListener()
            let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { _ in }
            let silentEndpoint = try Endpoint(host: "127.0.0.1", port: silent.address.port)
            let openEndpoint = try Endpoint(host: "127.0.0.1", port: listener.port)
            var options = TCPConnector.Options()
            options.attemptDelay = .milliseconds(1)
            options.timeout = .seconds(3600)
            let connection = try await TCPConnector.connect(
                to: [silentEndpoint, openEndpoint], on: loop, options: options)
            #expect(connection.remoteAddress == listener.localAddress)
            withExtendedLifetime(silent) {}
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `connect to a silent endpoint fails at the timeout`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let silent = await RawSocket.silentListener()
            let silentEndpoint = try Endpoint(host: "127.0.0.1", port: silent.address.port)
            var options = TCPConnector.Options()
            options.timeout = .milliseconds(20)
            let failure = ConnectFailure(endpoint: silentEndpoint, address: silent.address, error: .timedOut)
            let error = await #expect(throws: TransportError.self) {
                try await TCPConnector.connect(to: [silentEndpoint], on: loop, options: options)
            }
            // On a busy machine the timeout may expire before the attempt starts.
            #expect(error == .connectFailed([failure]) || error == .timedOut)
            withExtendedLifetime(silent) {}
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `cancelled task ends the connect as cancelled`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let silent = await RawSocket.silentListener()
            let silentEndpoint = try Endpoint(host: "127.0.0.1", port: silent.address.port)
            let task = Task { try await TCPConnector.connect(to: [silentEndpoint], on: loop, options: .withoutTimeout) }
            // The attempt is running.
            await loop.turn { loop.hasSources }
            task.cancel()
            await #expect(throws: TransportError.cancelled) { try await task.value }
            await loop.turn { !loop.hasSources }
            withExtendedLifetime(silent) {}
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `connector cancelled before or after start completes once, after the call`(
        _ backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            let closed = try refusing()
            let answers = Events<TransportError?>()
            let isInside = await loop.run {
                var isInside = true
                for isEarly in [true, false] {
                    let connector = TCPConnector(to: [closed.endpoint], on: loop)
                    if isEarly { connector.cancel() }
                    connector.start { result in
                        if isInside { answers.send(nil) }
                        if case .failure(let error) = result { answers.send(error) }
                    }
                    connector.cancel()
                    connector.cancel()
                }
                isInside = false
                return isInside
            }
            #expect(!isInside)
            #expect(await answers.next() == .cancelled)
            #expect(await answers.next() == .cancelled)
            _ = await loop.run {}
            #expect(answers.isEmpty)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `name that does not resolve fails with the resolver's error`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let error = TransportError.resolutionFailed(code: -2, text: "Name or service not known")
            let resolver = Resolver { _ in .failure(error) }
            let endpoint = try Endpoint(host: "nowhere.invalid")
            let failure = ConnectFailure(endpoint: endpoint, address: nil, error: error)
            await #expect(throws: TransportError.connectFailed([failure])) {
                try await TCPConnector.connect(to: [endpoint], on: loop, resolver: resolver)
            }
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `cancelled connect leaves the resolver's queue`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let gate = Gate()
            let isBusy = Events<String>()
            let resolver = Resolver(threadCount: 1) { host in
                isBusy.send(host)
                gate.wait()
                return .success([.loopbackV4])
            }
            resolver.resolve(host: "slow.example", port: 1) { _ in }
            #expect(await isBusy.next() == "slow.example")
            let abandoned = try Endpoint(host: "abandoned.example")
            let task = Task { try await TCPConnector.connect(to: [abandoned], on: loop, resolver: resolver) }
            task.cancel()
            await #expect(throws: TransportError.cancelled) { try await task.value }
            for _ in 0..<3 { gate.open() }
            _ = try await resolver.resolve(host: "next.example", port: 1)
            #expect(await isBusy.next() == "next.example")
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `name whose first address refuses connects to the second`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let server = Peer(.echo)
            let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { $0.start(server) }
            // The port of ::1 has no listener, or ::1 does not exist.
            let resolver = Resolver { _ in .success([.loopbackV6, .loopbackV4]) }
            let endpoint = try Endpoint(host: "chat.example", port: listener.port)
            let connection = try await TCPConnector.connect(to: [endpoint], on: loop, resolver: resolver)
            #expect(connection.remoteAddress == listener.localAddress)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `loop shutdown fails a running connect as loopStopped`(_ backend: EventLoop.Backend) async throws {
        let loop = try EventLoop(backend: backend, name: "test")
        let silent = await RawSocket.silentListener()
        let silentEndpoint = try Endpoint(host: "127.0.0.1", port: silent.address.port)
        let task = Task { try await TCPConnector.connect(to: [silentEndpoint], on: loop, options: .withoutTimeout) }
        await loop.turn { loop.hasSources }
        await loop.shutdown()
        let failure = ConnectFailure(endpoint: silentEndpoint, address: silent.address, error: .loopStopped)
        await #expect(throws: TransportError.connectFailed([failure])) { try await task.value }
    }
}
