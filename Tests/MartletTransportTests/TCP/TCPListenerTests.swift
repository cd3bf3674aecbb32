import Glibc
import MartletTransport
import Synchronization
import Testing

private let anyPort = SocketAddress(.loopbackV4, port: 0)

@Suite(.timeLimit(.minutes(10)))
struct TCPListenerTests {
    @Test(arguments: EventLoop.Backend.allCases)
    func `a port that is taken is refused, and free again after closing`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            #if os(Linux)
                // Nobody connects from here, so that nobody is given the port once it is free.
                let address = try #require(SocketAddress("127.0.0.3:0"))
            #else
                let address = anyPort
            #endif
            let first = try TCPListener.bind(to: address, on: loop) { _ in }
            #expect(first.port != 0)
            #expect(throws: TransportError.addressInUse) {
                _ = try TCPListener.bind(to: first.localAddress, on: loop) { _ in }
            }
            await first.closeAndWait()
            let second = try TCPListener.bind(to: first.localAddress, on: loop) { _ in }
            #expect(second.port == first.port)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `the unspecified IPv6 address takes IPv4 peers unless told otherwise`(
        _ backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            let any = SocketAddress(.anyV6, port: 0)
            let peers = Events<SocketAddress?>()
            guard let both = try? TCPListener.bind(to: any, on: loop, onAccept: { peers.send($0.remoteAddress) })
            else { try Test.cancel("no IPv6 here") }
            let raw = await RawSocket.connect(to: SocketAddress(.loopbackV4, port: both.port))
            #expect(await peers.next()??.ip == .loopbackV4)
            raw.close()
            await both.closeAndWait()
            var options = TCPListener.Options()
            options.acceptsBothFamilies = false
            let six = try TCPListener.bind(to: any, on: loop, options: options) { _ in }
            let four = try TCPListener.bind(to: SocketAddress(.anyV4, port: six.port), on: loop) { _ in }
            #expect(four.port == six.port)
        }
    }

    @Test func `an address that is not this machine's cannot be listened on`() async throws {
        try await withLoop(.platformDefault) { loop in
            // TEST-NET-1 of RFC 5737.
            let address = try #require(SocketAddress("192.0.2.1:0"))
            #expect(throws: TransportError.addressNotAvailable) {
                _ = try TCPListener.bind(to: address, on: loop) { _ in }
            }
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `a paused listener leaves connections waiting until it resumes`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let accepted = Events<Void>()
            let listener = try TCPListener.bind(to: anyPort, on: loop) { _ in accepted.send(()) }
            listener.pauseAccepting()
            let raw = await RawSocket.connect(to: listener.localAddress)
            // Other sockets' turns pass meanwhile.
            let pair = try await Pair.connect(on: loop, server: Peer(.echo))
            loop.execute { pair.client.send([1]) }
            await pair.client.receive(byteCount: 1)
            #expect(accepted.isEmpty)
            listener.resumeAccepting()
            await accepted.next()
            withExtendedLifetime(raw) {}
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `who comes faster than a listener accepts waits its turn`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let accepted = Events<UInt64>()
            var options = TCPListener.Options()
            options.maxAcceptsPerSecond = 32
            let listener = try TCPListener.bind(to: anyPort, on: loop, options: options) { _ in
                accepted.send(EventLoop.clock)
            }
            var sockets: [RawSocket] = []
            for _ in 0..<8 { sockets.append(await RawSocket.connect(to: listener.localAddress)) }
            var times: [UInt64] = []
            for _ in 0..<8 { times.append(try #require(await accepted.next())) }
            // Two at once, the others at 30 a second: never earlier, however slow the machine is.
            #expect(times[7] - times[0] >= 6 * 33_000_000)
            withExtendedLifetime(sockets) {}
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `connections are spread over loops in turn, each used on its own`(_ backend: EventLoop.Backend) async throws {
        let group = try EventLoopGroup(count: 2, backend: backend, name: "spread")
        try await withLoop(backend) { loop in
            let names = Events<String>()
            let listener = try TCPListener.bind(to: anyPort, on: loop, spreadingOver: group.loops) { connection in
                connection.loop.preconditionOnLoop()
                names.send(connection.loop.name)
            }
            var seen: [String?] = []
            for _ in 0..<4 {
                let raw = await RawSocket.connect(to: listener.localAddress)
                seen.append(await names.next())
                raw.close()
            }
            #expect(seen == ["spread-0", "spread-1", "spread-0", "spread-1"])
        }
        await group.shutdown()
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `two listeners share a port when both say so`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            var options = TCPListener.Options()
            options.reusePort = true
            let accepted = Events<Void>()
            let first = try TCPListener.bind(to: anyPort, on: loop, options: options) { _ in accepted.send(()) }
            let second = try TCPListener.bind(to: first.localAddress, on: loop, options: options) { _ in
                accepted.send(())
            }
            let raw = await RawSocket.connect(to: second.localAddress)
            await accepted.next()
            raw.close()
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `an accepted connection that nobody starts is closed`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let listener = try TCPListener.bind(to: anyPort, on: loop) { _ in }
            let raw = await RawSocket.connect(to: listener.localAddress)
            #expect(await raw.receiveAll() == [])
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `closing keeps accepted connections`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            // Pair closes its listener once both ends are connected.
            let pair = try await Pair.connect(on: loop, server: Peer(.echo))
            loop.execute { pair.client.send([5]) }
            await pair.client.receive(byteCount: 1)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `IPv6 works like IPv4`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let server = Peer(.echo)
            let address = SocketAddress(.loopbackV6, port: 0)
            guard let listener = try? TCPListener.bind(to: address, on: loop, onAccept: { $0.start(server) }) else {
                try Test.cancel("no IPv6 here")
            }
            let endpoint = try Endpoint(parsing: "[::1]:\(listener.port)")
            let connection = try await TCPConnector.connect(to: [endpoint], on: loop)
            #expect(connection.remoteAddress == listener.localAddress)
            let client = Peer()
            loop.execute { connection.start(client) }
            #expect(await client.events.next() == .connected)
            loop.execute { client.send([6]) }
            await client.receive(byteCount: 1)
        }
    }
}
