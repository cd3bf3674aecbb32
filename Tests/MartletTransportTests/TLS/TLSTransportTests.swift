import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTransport

/// TLS over sockets of the loopback interface.
@Suite struct TLSTransportTests {
    private let certificates = TestCertificates.shared

    private func server(_ change: (inout TLSServerOptions) -> Void = { _ in }) throws -> TLSServer {
        var options = TLSServerOptions(identity: certificates.server)
        change(&options)
        return try TLSServer(options)
    }

    private func client() throws -> TLSClient {
        try TLSClient(TLSClientOptions(trust: .file(certificates.authority.certificateFile)))
    }

    /// Starts both ends of a connection.
    private func connect(
        on loop: EventLoop, _ client: TLSClient, _ server: TLSServer, _ clientPeer: Peer, _ serverPeer: Peer,
        options: TCPOptions = TCPOptions()
    ) async throws {
        var listening = TCPListener.Options()
        listening.connection = options
        let listener = try TCPListener.bind(
            to: SocketAddress(.loopbackV4, port: 0), on: loop, options: listening
        ) { server.transport(over: $0)?.start(serverPeer) }
        let endpoint = try Endpoint(host: "127.0.0.1", port: listener.port, security: .plain)
        var connecting = TCPConnector.Options()
        connecting.connection = options
        let connection = try await TCPConnector.connect(to: [endpoint], on: loop, options: connecting)
        let transport = try client.transport(over: connection, to: Endpoint(host: "127.0.0.1"))
        loop.execute { transport.start(clientPeer) }
        listener.close()
    }

    private func connected(
        on loop: EventLoop, options: TCPOptions = TCPOptions(), client clientPeer: Peer = Peer(),
        server serverPeer: Peer = Peer()
    ) async throws -> (client: Peer, server: Peer) {
        try await connect(on: loop, client(), server(), clientPeer, serverPeer, options: options)
        #expect(await clientPeer.events.next() == .connected)
        #expect(await serverPeer.events.next() == .connected)
        return (clientPeer, serverPeer)
    }

    @Test(arguments: EventLoop.Backend.allCases)
    func `bytes in both directions, also with small kernel buffers -> received in order`(
        backend: EventLoop.Backend
    ) async throws {
        try await withLoop(backend) { loop in
            for options in [TCPOptions(), .smallBuffers] {
                let (client, server) = try await connected(on: loop, options: options)
                loop.execute {
                    client.sendPattern(byteCount: 3_000_000)
                    server.sendPattern(byteCount: 1_000_000)
                }
                await server.receive(byteCount: 3_000_000)
                await client.receive(byteCount: 1_000_000)
                let isEqual = await loop.run { server.received == pattern(byteCount: 3_000_000) }
                #expect(isEqual)
                loop.execute { client.transport?.close(afterFlush: true) }
                #expect(await server.events.next() == .endOfStream)
                #expect(await server.events.next() == .closed(.endOfStream))
                #expect(await client.events.next() == .closed(.local))
            }
        }
    }

    // C-131
    @Test func `a close within a duration, and a slow reader after the close timeout -> all received`() async throws {
        try await withLoop(.platformDefault) { loop in
            var options = TCPOptions.smallBuffers
            options.closeTimeout = .zero
            let (client, server) = try await connected(on: loop, options: options)
            await loop.run {
                client.transport?.pauseReading()
                server.sendPattern(byteCount: 1_000_000)
                server.transport?.close(within: .seconds(300))
            }
            await loop.turn { (server.transport?.unsentByteCount ?? 0) > 0 }
            loop.execute { client.transport?.resumeReading() }
            await client.receive(byteCount: 1_000_000)
            #expect(await client.events.next() == .endOfStream)
        }
    }

    @Test func `the properties after the handshake -> version, cipher, the peer's certificate, equal secrets`()
        async throws
    {
        try await withLoop(.platformDefault) { loop in
            let (client, server) = try await connected(on: loop)
            let (security, secrets) = await loop.run {
                (
                    client.transport?.security,
                    [client, server].map { $0.transport?.exportSecret(label: "EXPORTER-Test", byteCount: 16) }
                )
            }
            #expect(security?.version == "TLSv1.3" && security?.isResumed == false)
            #expect(security?.cipher.hasPrefix("TLS_") == true && security?.applicationProtocol == "martlet/1")
            #expect(security?.peerCertificate?.commonName == "server")
            #expect(secrets[0] != nil && secrets[0] == secrets[1])
        }
    }

    @Test func `bytes sent before the handshake and a close at once -> all received`() async throws {
        try await withLoop(.platformDefault) { loop in
            let (client, server) = (Peer(), Peer(staysOpenAtEnd: true))
            client.send([1, 2, 3])
            try await connect(on: loop, self.client(), self.server(), client, server)
            #expect(await client.events.next() == .connected)
            await loop.run { client.transport?.setNeedsWrite() }
            await server.receive(byteCount: 3)
            await loop.run { client.transport?.close(afterFlush: true) }
            #expect(await server.events.next() == .connected)
            #expect(await server.events.next() == .endOfStream)
        }
    }

    @Test func `a certificate for another host -> both ends closed with its error`() async throws {
        try await withLoop(.platformDefault) { loop in
            let other = try certificates.make("other") { $0.hosts = ["example.com"] }
            let (client, server) = (Peer(), Peer())
            try await connect(
                on: loop, self.client(), TLSServer(TLSServerOptions(identity: other)), client, server)
            let error = TLSError.wrongHost(host: "127.0.0.1", names: "example.com")
            #expect(await client.events.next() == .closed(.error(.tls(error))))
            #expect(await server.events.next() == .closed(.error(.tls(.alert("bad certificate")))))
        }
    }

    @Test func `a connection that ends during the handshake -> truncatedHandshake`() async throws {
        try await withLoop(.platformDefault) { loop in
            let peer = Peer()
            let server = try server()
            let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) {
                server.transport(over: $0)?.start(peer)
            }
            let endpoint = try Endpoint(host: "127.0.0.1", port: listener.port, security: .plain)
            let connection = try await TCPConnector.connect(to: [endpoint], on: loop)
            let raw = Peer()
            loop.execute { connection.start(raw) }
            #expect(await raw.events.next() == .connected)
            loop.execute { raw.transport?.close(afterFlush: true) }
            #expect(await peer.events.next() == .closed(.error(.tls(.truncatedHandshake))))
            listener.close()
        }
    }

    @Test func `an abort by the peer after the handshake -> reset`() async throws {
        try await withLoop(.platformDefault) { loop in
            let (client, server) = try await connected(on: loop)
            loop.execute { server.transport?.abort() }
            #expect(await client.events.next() == .closed(.reset))
        }
    }

    @Test func `a second connection to the same server -> resumed, also after a reload with shared keys`() async throws
    {
        try await withLoop(.platformDefault) { loop in
            let file = try certificates.file(TLSPair.ticketKeys(7))
            let (client, server) = (try client(), try self.server { $0.ticketKeyFile = file })
            for isResumed in [false, true, true] {
                let (clientPeer, serverPeer) = (Peer(), Peer())
                try await connect(on: loop, client, server, clientPeer, serverPeer)
                #expect(await clientPeer.events.next() == .connected)
                #expect(await serverPeer.events.next() == .connected)
                // The ticket arrives before the byte.
                loop.execute { serverPeer.send([1]) }
                await clientPeer.receive(byteCount: 1)
                #expect(await loop.run { clientPeer.transport?.security?.isResumed } == isResumed)
                loop.execute { clientPeer.transport?.abort() }
                try server.reload()
            }
        }
    }

    @Test func `a move to another loop -> bytes go on in both directions`() async throws {
        try await withLoop(.platformDefault) { loop in
            try await withLoop(.platformDefault) { other in
                let (client, server) = try await connected(on: loop)
                let moved = Peer()
                let isMoved = await loop.run { () -> Bool in
                    guard let transport = server.transport?.move(to: other) else { return false }
                    other.execute { transport.start(moved) }
                    return true
                }
                #expect(isMoved)
                #expect(await moved.events.next() == .connected)
                loop.execute { client.send([1, 2]) }
                await moved.receive(byteCount: 2)
                other.execute { moved.send([3]) }
                await client.receive(byteCount: 1)
                #expect(await loop.run { client.received } == [3])
            }
        }
    }
}
