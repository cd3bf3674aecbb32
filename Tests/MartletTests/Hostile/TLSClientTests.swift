import Martlet
import MartletRelay
import MartletToolTestSupport
import MartletTransport
import Testing

/// Clients and relays with TLS (C-12, Specs/hostile.md row 25).
@Suite("A client with TLS", .timeLimit(.minutes(10)))
struct TLSClientTests {
    private let certificates = TestCertificates.shared

    private func relay(
        _ identity: TLSIdentity? = nil, authenticator: any Authenticator = .allowAll,
        _ change: (inout Relay.Configuration) -> Void = { _ in }
    ) throws -> (relay: Relay, port: UInt16) {
        var configuration = try Relay.Configuration(port: 0)
        configuration.tls = TLSServerOptions(identity: identity ?? certificates.server)
        change(&configuration)
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: authenticator, policy: .allowAll)
        return (relay, try relay.start()[0].port)
    }

    private func client(
        to endpoint: String, _ name: String = "alice", identity: TLSIdentity? = nil, waits: Bool = false
    ) throws -> Client {
        var configuration = Client.Configuration()
        configuration.tls.trust = .file(certificates.authority.certificateFile)
        configuration.tls.identity = identity
        // The long wait before the next attempt keeps a failure in the status.
        if waits {
            configuration.reconnect.base = .seconds(86_400)
            configuration.reconnect.cap = .seconds(86_400)
        }
        return try Client(to: endpoint, as: .anonymous(name), configuration: configuration)
    }

    /// The status after the first failure with TLS.
    private func failure(of client: Client) async -> String? {
        for await status in client.status where status.lastFailure == .tlsFailure { return status.explanation }
        return nil
    }

    @Test func `a relay with a trusted certificate -> messages in both directions, and a resume after a loss`()
        async throws
    {
        let (relay, port) = try relay()
        let alice = try client(to: "localhost:\(port)")
        let bob = try client(to: "martlets://127.0.0.1:\(port)", "bob")
        var rooms: [Room] = []
        for client in [alice, bob] {
            try await client.start()
            rooms.append(try await client.open(room: "lobby"))
        }
        for (sender, receiver) in [(rooms[0], rooms[1]), (rooms[1], rooms[0])] {
            _ = try await sender.send("hello").accepted()
            for try await message in receiver.messages {
                #expect(message.text == "hello")
                break
            }
        }
        await alice.stop()
        await bob.stop()
        await relay.shutdown()
    }

    @Test func `a relay whose certificate is for another host -> tlsFailure that names both`() async throws {
        let other = try certificates.make("other") { $0.hosts = ["chat.example.com"] }
        let (relay, port) = try relay(other)
        let client = try client(to: "localhost:\(port)", waits: true)
        try await client.start()
        let explanation = try #require(await failure(of: client))
        #expect(explanation.contains("localhost") && explanation.contains("chat.example.com"))
        await client.stop()
        await relay.shutdown()
    }

    @Test func `a relay with an expired certificate -> tlsFailure with the date`() async throws {
        let expired = try certificates.make("expired") { $0.validity = -86_400..<(-3600) }
        let (relay, port) = try relay(expired)
        let client = try client(to: "localhost:\(port)", waits: true)
        try await client.start()
        #expect(await failure(of: client)?.contains("expired on") == true)
        await client.stop()
        await relay.shutdown()
    }

    @Test func `a relay without TLS -> tlsFailure, and the credential is not sent`() async throws {
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: InMemoryStore(), authenticator: .allowAll,
            policy: .allowAll)
        let port = try relay.start()[0].port
        let client = try client(to: "localhost:\(port)", waits: true)
        try await client.start()
        #expect(await failure(of: client) != nil)
        #expect(await relay.statistics.links == 0)
        await client.stop()
        await relay.shutdown()
    }

    // C-73
    @Test func `a client certificate of the account -> online; of another account, and none -> unauthenticated`()
        async throws
    {
        let (relay, port) = try relay(authenticator: CertificateAuthenticator()) { configuration in
            let file = certificates.authority.certificateFile
            configuration.tls?.clientCertificates = .optional(trustFile: file)
        }
        let alice = try certificates.make("Alice") { $0.emailAddresses = ["alice@example.com"] }
        let admitted = try client(to: "localhost:\(port)", "alice@example.com", identity: alice)
        try await admitted.start()
        _ = try await admitted.open(room: "lobby")
        for identity in [alice, nil] {
            let refused = try client(to: "localhost:\(port)", "bob", identity: identity)
            try await refused.start()
            await #expect(throws: MartletError.gaveUp(.unauthenticated)) { try await refused.open(room: "lobby") }
            await refused.stop()
        }
        #expect(await relay.statistics.links == 1)
        await admitted.stop()
        await relay.shutdown()
    }

    // C-73
    @Test func `no client certificate where the relay requires one -> tlsFailure with the alert`() async throws {
        let (relay, port) = try relay(authenticator: CertificateAuthenticator()) { configuration in
            let file = certificates.authority.certificateFile
            configuration.tls?.clientCertificates = .required(trustFile: file)
        }
        let client = try client(to: "localhost:\(port)", waits: true)
        try await client.start()
        // In TLS 1.3 the relay answers after the handshake of the client is complete.
        let explanation = try #require(await failure(of: client))
        #expect(explanation.contains("the alert certificate required"))
        await client.stop()
        await relay.shutdown()
    }

    @Test func `a redirect from a relay without TLS to one with TLS -> followed`() async throws {
        let (secure, port) = try relay()
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: InMemoryStore(), authenticator: .allowAll,
            policy: .allowAll)
        let first = try relay.start()[0].port
        let client = try client(to: "martlet://127.0.0.1:\(first)")
        try await client.start()
        _ = try await client.open(room: "lobby")
        await relay.drain(within: .seconds(60), retryAfter: .zero, redirect: "martlets://localhost:\(port)")
        for await status in client.status where status.phase == .online && status.reconnects == 1 { break }
        #expect(await secure.statistics.connections == 1)
        await client.stop()
        await relay.shutdown()
        await secure.shutdown()
    }

    @Test func `a relay without TLS on all addresses -> plaintextNotAllowed unless the configuration allows it`()
        async throws
    {
        var configuration = try Relay.Configuration(address: "0.0.0.0", port: 0)
        let refused = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        #expect(throws: RelayError.plaintextNotAllowed(configuration.addresses[0])) { try refused.start() }
        configuration.allowsPlaintext = true
        let allowed = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        try allowed.start()
        #expect(throws: RelayError.noTLS) { try allowed.reloadTLS() }
        await allowed.shutdown()
        #expect(throws: RelayError.notRunning) { try allowed.reloadTLS() }
        await refused.shutdown()
        #expect(throws: RelayError.alreadyStarted) { try refused.start() }
        #expect(RelayError.alreadyStarted.description == "the relay was started or shut down before")
    }

    @Test func `a reload with an expired certificate, and one that is not valid yet -> used and reported`()
        async throws
    {
        let identity = try certificates.make("valid")
        let reports = Guarded<[String]>([])
        var configuration = try Relay.Configuration(port: 0)
        configuration.tls = TLSServerOptions(identity: identity)
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll,
            onEvent: { event in
                if case .tlsFailed(let error, peer: nil) = event { reports.withLock { $0.append("\(error)") } }
            })
        try relay.start()
        try relay.reloadTLS()
        let early = reports.withLock { $0 }
        #expect(early.isEmpty)
        var request = TLSCertificateRequest(commonName: "server")
        request.issuer = certificates.authority
        request.validity = -86_400..<(-3600)
        try request.make(identity)
        try relay.reloadTLS()
        request.validity = 3600..<86_400
        try request.make(identity)
        try relay.reloadTLS()
        let texts = reports.withLock { $0 }
        #expect(texts.count == 2)
        #expect(texts.first?.hasPrefix("the certificate of CN=server expired on ") == true)
        #expect(texts.last?.hasPrefix("the certificate of CN=server is not valid before ") == true)
        await relay.shutdown()
    }

    @Test func `a reload with a valid certificate -> used for new connections; with an invalid one -> kept`()
        async throws
    {
        let identity = try certificates.make("first")
        let (relay, port) = try relay(identity)
        var request = TLSCertificateRequest(commonName: "second")
        request.hosts = ["example.com"]
        request.issuer = certificates.authority
        try request.make(identity)
        try relay.reloadTLS()
        let refused = try client(to: "localhost:\(port)", waits: true)
        try await refused.start()
        #expect(await failure(of: refused)?.contains("example.com") == true)
        await refused.stop()
        request.hosts = ["localhost"]
        try request.make(identity)
        try relay.reloadTLS()
        try request.make(TLSIdentity(certificateFile: identity.certificateFile, keyFile: identity.keyFile + ".other"))
        #expect(throws: RelayError.self) { try relay.reloadTLS() }
        let admitted = try client(to: "localhost:\(port)")
        try await admitted.start()
        _ = try await admitted.open(room: "lobby")
        await admitted.stop()
        await relay.shutdown()
    }
}
