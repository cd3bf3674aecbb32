import Glibc
import MartletTransport
import Testing

private let anyPort = SocketAddress(.loopbackV4, port: 0)

@Suite(.timeLimit(.minutes(10)))
struct TCPListenerTests {
    @Test(arguments: EventLoop.Backend.allCases)
    func `bound port is in use until the listener closes`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            #if os(Linux)
                // No outgoing connection uses this address, so the freed port is not reassigned.
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
    func `listener on :: accepts IPv4 peers unless disabled`(
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
            // An address that no other socket of this machine is likely to use with this port.
            let unused = try #require(SocketAddress("127.77.0.1:\(six.port)"))
            let four = try TCPListener.bind(to: unused, on: loop) { _ in }
            #expect(four.port == six.port)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `inherited socket → accepts, and listens on for other processes after it is closed`(
        _ backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            let (number, address) = try listeningSocket()
            defer { close(number) }
            let peers = Events<SocketAddress?>()
            for _ in 0..<2 {
                let socket = try TCPListener.Socket(inheriting: dup(number))
                #expect(socket.localAddress == address)
                let listener = TCPListener(socket, on: loop) { peers.send($0.remoteAddress) }
                let raw = await RawSocket.connect(to: address)
                #expect(await peers.next()??.ip == .loopbackV4)
                raw.close()
                await listener.closeAndWait()
            }
        }
    }

    @Test func `descriptor that is no listening TCP socket → an error, and the descriptor stays open`() throws {
        var pair: [Int32] = [0, 0]
        let stream = Int32(SOCK_STREAM.rawValue)
        _ = unsafe socketpair(AF_UNIX, stream, 0, &pair)
        let idle = socket(AF_INET, stream, 0)
        let null = unsafe open("/dev/null", O_RDONLY)
        for number in [pair[0], pair[1], idle, null] {
            #expect(throws: TransportError.self) { _ = try TCPListener.Socket(inheriting: number) }
            #expect(close(number) == 0)
        }
        #expect(throws: TransportError.self) { _ = try TCPListener.Socket(inheriting: 9_999) }
    }

    /// A socket as a service manager opens it.
    private func listeningSocket() throws -> (Int32, SocketAddress) {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = unsafe bind(number, pointer, length)
                _ = listen(number, 8)
                _ = unsafe getsockname(number, pointer, &length)
            }
        }
        return (number, SocketAddress(.loopbackV4, port: UInt16(bigEndian: address.sin_port)))
    }

    @Test func `bind to a foreign address throws addressNotAvailable`() async throws {
        try await withLoop(.platformDefault) { loop in
            // TEST-NET-1 of RFC 5737.
            let address = try #require(SocketAddress("192.0.2.1:0"))
            #expect(throws: TransportError.addressNotAvailable) {
                _ = try TCPListener.bind(to: address, on: loop) { _ in }
            }
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `connections beyond the accept rate wait`(_ backend: EventLoop.Backend) async throws {
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
            // Two at once, the others at 30 a second. A slow machine only increases the difference.
            #expect(times[7] - times[0] >= 6 * 33_000_000)
            withExtendedLifetime(sockets) {}
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `accepted connection that is not started closes`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            let listener = try TCPListener.bind(to: anyPort, on: loop) { _ in }
            let raw = await RawSocket.connect(to: listener.localAddress)
            #expect(await raw.receiveAll() == [])
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `closed listener keeps accepted connections`(_ backend: EventLoop.Backend) async throws {
        try await withLoop(backend) { loop in
            // Pair closes its listener once both ends are connected.
            let pair = try await Pair.connect(on: loop, server: Peer(.echo))
            loop.execute { pair.client.send([5]) }
            await pair.client.receive(byteCount: 1)
        }
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `IPv6 connection delivers bytes`(_ backend: EventLoop.Backend) async throws {
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
