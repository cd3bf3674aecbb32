import Testing

@testable import MartletTransport

extension TCPConnector.Options {
    /// No time of its own ends it.
    fileprivate static var patient: Self {
        var options = Self()
        options.timeout = .seconds(3600)
        options.repeatDelay = .seconds(3600)
        return options
    }
}

@Suite(.timeLimit(.minutes(10)))
struct TCPConnectorTests {
    /// An endpoint where nobody listens, and nobody else will while `holder` lives.
    private func refusing() throws -> (endpoint: Endpoint, address: SocketAddress, holder: RawSocket) {
        let (holder, address) = RawSocket.bound()
        return (try Endpoint(host: "127.0.0.1", port: address.port), address, holder)
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `where nobody listens is refused, with the address`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let nobody = try refusing()
            let failure = ConnectFailure(endpoint: nobody.endpoint, address: nobody.address, error: .refused)
            await #expect(throws: TransportError.connectFailed([failure])) {
                try await TCPConnector.connect(to: [nobody.endpoint], on: loop)
            }
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `the endpoint that answers wins over one that refuses`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let nobody = try refusing()
            let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { _ in }
            let endpoint = try Endpoint(host: "127.0.0.1", port: listener.port)
            let connection = try await TCPConnector.connect(to: [nobody.endpoint, endpoint], on: loop)
            #expect(connection.remoteAddress == listener.localAddress)
        }
    }

    // C-59
    @Test(arguments: EventLoop.Backend.allCases)
    func `the endpoint that answers wins over one that is silent`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let hole = await RawSocket.blackHole()
            let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { _ in }
            let dark = try Endpoint(host: "127.0.0.1", port: hole.address.port)
            let light = try Endpoint(host: "127.0.0.1", port: listener.port)
            var options = TCPConnector.Options()
            options.attemptDelay = .milliseconds(1)
            options.timeout = .seconds(3600)
            let connection = try await TCPConnector.connect(to: [dark, light], on: loop, options: options)
            #expect(connection.remoteAddress == listener.localAddress)
            withExtendedLifetime(hole) {}
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `silence ends with the timeout`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let hole = await RawSocket.blackHole()
            let dark = try Endpoint(host: "127.0.0.1", port: hole.address.port)
            var options = TCPConnector.Options()
            options.timeout = .milliseconds(20)
            let failure = ConnectFailure(endpoint: dark, address: hole.address, error: .timedOut)
            let error = await #expect(throws: TransportError.self) {
                try await TCPConnector.connect(to: [dark], on: loop, options: options)
            }
            // On a busy machine the time may be over before the attempt has begun.
            #expect(error == .connectFailed([failure]) || error == .timedOut)
            withExtendedLifetime(hole) {}
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `cancelling the task cancels the race`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let hole = await RawSocket.blackHole()
            let dark = try Endpoint(host: "127.0.0.1", port: hole.address.port)
            let task = Task { try await TCPConnector.connect(to: [dark], on: loop, options: .patient) }
            // The attempt is under way.
            await loop.turn { loop.hasSources }
            task.cancel()
            await #expect(throws: TransportError.cancelled) { try await task.value }
            await loop.turn { !loop.hasSources }
            withExtendedLifetime(hole) {}
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `a connector cancelled before or inside its turn answers once, and not from inside`(
        _ backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            let nobody = try refusing()
            let answers = Events<TransportError?>()
            let isInside = await loop.run {
                var isInside = true
                for isEarly in [true, false] {
                    let connector = TCPConnector(to: [nobody.endpoint], on: loop)
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
    func `a name that does not resolve is told with the resolver's words`(_ backend: EventLoop.Backend) async throws {
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
    func `a race that is over leaves nothing in the resolver's queue`(_ backend: EventLoop.Backend) async throws {
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
            let race = Task { try await TCPConnector.connect(to: [abandoned], on: loop, resolver: resolver) }
            race.cancel()
            await #expect(throws: TransportError.cancelled) { try await race.value }
            for _ in 0..<3 { gate.open() }
            _ = try await resolver.resolve(host: "next.example", port: 1)
            #expect(await isBusy.next() == "next.example")
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `a name with a dead first address is reached at its second`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let server = Peer(.echo)
            let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { $0.start(server) }
            // Nobody listens on that port of ::1, or there is no ::1.
            let resolver = Resolver { _ in .success([.loopbackV6, .loopbackV4]) }
            let endpoint = try Endpoint(host: "chat.example", port: listener.port)
            let connection = try await TCPConnector.connect(to: [endpoint], on: loop, resolver: resolver)
            #expect(connection.remoteAddress == listener.localAddress)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `shutting the loop down ends a race`(_ backend: EventLoop.Backend) async throws {
        let loop = try EventLoop(backend: backend, name: "test")
        let hole = await RawSocket.blackHole()
        let dark = try Endpoint(host: "127.0.0.1", port: hole.address.port)
        let task = Task { try await TCPConnector.connect(to: [dark], on: loop, options: .patient) }
        await loop.turn { loop.hasSources }
        await loop.shutdown()
        let failure = ConnectFailure(endpoint: dark, address: hole.address, error: .loopStopped)
        await #expect(throws: TransportError.connectFailed([failure])) { try await task.value }
    }
}
