import MartletLink
import MartletToolTestSupport
import MartletTransport
import Testing

/// Links without rooms over sockets, with TLS or a proxy that cuts connections.
@Suite("Links without rooms over sockets", .timeLimit(.minutes(10)))
struct LinkTests {
    private let certificates = TestCertificates.shared

    /// Answers each message with the same one, until the listener is closed.
    private static func echo(_ listener: LinkListener) async {
        await withDiscardingTaskGroup { links in
            for await link in listener.links {
                links.addTask {
                    await withDiscardingTaskGroup { sessions in
                        while let session = try? await link.sessions.first(where: { _ in true }) {
                            sessions.addTask {
                                try? await {
                                    for try await message in session.messages { try await session.send(message) }
                                }()
                                session.close()
                            }
                        }
                    }
                }
            }
        }
    }

    /// A listener that admits clients with a certificate of the authority only.
    private func secureListener() -> LinkListener {
        var configuration = LinkListener.Configuration(addresses: [SocketAddress(.loopbackV4, port: 0)])
        var tls = TLSServerOptions(identity: certificates.server)
        tls.clientCertificates = .required(trustFile: certificates.authority.certificateFile)
        configuration.tls = tls
        return LinkListener(configuration) { request in
            guard request.certificate != nil else { throw AuthenticationFailure.unauthenticated }
            return Identity(request.account)
        }
    }

    @Test func `messages over TLS, with certificates of both sides -> answered`() async throws {
        let listener = secureListener()
        try listener.start()
        let port = try #require(listener.port)
        let serving = Task { await Self.echo(listener) }
        var configuration = LinkClient.Configuration()
        configuration.tls.trust = .file(certificates.authority.certificateFile)
        configuration.tls.identity = try certificates.make("alice")
        let client = try LinkClient(to: "martlets://127.0.0.1:\(port)", as: "alice", configuration: configuration)
        let session = try await client.open("a", kind: .file)
        let long = [UInt8](repeating: 7, count: 300_000)
        async let sent: Void = session.send(long)
        #expect(try await session.messages.first { _ in true } == long)
        try await sent
        await client.close()
        await listener.close()
        await serving.value
    }

    @Test func `a certificate of an unknown authority, or a client without TLS -> no session is opened`() async throws {
        let listener = secureListener()
        try listener.start()
        let port = try #require(listener.port)
        var configuration = LinkClient.Configuration()
        configuration.tls.trust = .file(try certificates.make("foreign", issuer: .some(nil)).certificateFile)
        let distrusting = try LinkClient(
            to: "martlets://127.0.0.1:\(port)", as: "alice", configuration: configuration)
        let plain = try LinkClient(to: "martlet://127.0.0.1:\(port)", as: "alice")
        for client in [distrusting, plain] {
            let opening = Task { try await client.open("a") }
            var statuses = client.status.makeAsyncIterator()
            var failure: ConnectionFailure?
            while failure == nil, let status = await statuses.next() {
                failure = status.lastFailure
                #expect(!status.isOnline)
            }
            if client === distrusting { #expect(failure == .tlsFailure) }
            opening.cancel()
            await #expect(throws: CancellationError.self) { _ = try await opening.value }
            await client.close()
        }
        await listener.close()
    }

    @Test func `a proxy that cuts the connection while four sessions send -> messages once and in order`() async throws
    {
        let listener = LinkListener(port: 0)
        try listener.start()
        let serving = Task { await Self.echo(listener) }
        try await withProxy(to: "martlet://127.0.0.1:\(try #require(listener.port))") { proxy in
            var configuration = LinkClient.Configuration()
            configuration.reconnect.base = .milliseconds(1)
            configuration.reconnect.peerClosedBase = .milliseconds(1)
            let client = try LinkClient(to: proxy.endpoint, as: "alice", configuration: configuration)
            let kinds: [SessionKind] = [.signaling, .chat, .media, .file]
            try await withThrowingDiscardingTaskGroup { group in
                for kind in kinds {
                    group.addTask {
                        let session = try await client.open("\(kind)", kind: kind)
                        async let sending: Void = {
                            for number in 0..<200 {
                                try await session.send([UInt8(number)] + [UInt8](repeating: 0, count: 5000))
                            }
                            session.close()
                        }()
                        var numbers: [Int] = []
                        for try await message in session.messages {
                            numbers.append(Int(message[0]))
                            if kind == .chat, numbers.count == 100 { await proxy.cut() }
                        }
                        try await sending
                        #expect(numbers == Array(0..<200))
                    }
                }
            }
            let last = try await client.open("last")
            for number in 0..<3 {
                try await last.send([UInt8(number)])
                await proxy.cut()
                try await last.send([UInt8(10 + number)])
                #expect(try await last.messages.first { _ in true } == [UInt8(number)])
                #expect(try await last.messages.first { _ in true } == [UInt8(10 + number)])
            }
            await client.close()
        }
        await listener.close()
        await serving.value
    }
}
