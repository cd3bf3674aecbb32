import Martlet
import MartletAuthentication
import MartletLink
import MartletRelay
import MartletToolTestSupport
import MartletTransport
import Testing

/// Clients with passwords and relays with password files, over TLS.
@Suite("Passwords", .timeLimit(.minutes(10)))
struct PasswordTests {
    private let certificates = TestCertificates.shared

    private func authenticator(allowsPlaintext: Bool = false) throws -> SCRAMAuthenticator {
        var file = PasswordFile()
        let salt = [UInt8](repeating: 3, count: 16)
        try file.add("ada", SCRAMRecord(password: "open sesame", salt: salt, iterations: 4096))
        return SCRAMAuthenticator(passwordFile: file, allowsPlaintext: allowsPlaintext)
    }

    /// Runs a relay with TLS while `body` runs, with its address.
    private func withSecureRelay(
        _ authenticator: any Authenticator, _ body: (Relay, String) async throws -> Void
    ) async throws {
        var configuration = try Relay.Configuration(port: 0)
        configuration.tls = TLSServerOptions(identity: certificates.server)
        configuration.engine = .patient
        configuration.limits = .unlimited
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: authenticator, policy: .allowAll)
        let port = try relay.start()[0].port
        do {
            try await body(relay, "martlets://127.0.0.1:\(port)")
        } catch {
            await relay.shutdown()
            throw error
        }
        await relay.shutdown()
    }

    private func client(
        to relay: String, _ account: String = "ada", _ password: String = "open sesame", allowsPlaintext: Bool = false
    ) throws -> Client {
        var configuration = Client.Configuration.hasty
        configuration.tls.trust = .file(certificates.authority.certificateFile)
        configuration.allowsPlaintext = allowsPlaintext
        return try Client(to: relay, as: .password(account: account, password), configuration: configuration)
    }

    /// The reason for which a client with a password gives up.
    private func end(of client: Client) async throws -> (reason: StopReason?, status: Client.Status) {
        try await withClient(client) { client in
            let status = try await client.status.first(until: {
                if case .stopped(.some) = $0.phase { true } else { false }
            })
            guard let status, case .stopped(let reason) = status.phase else { return (nil, client.currentStatus) }
            return (reason, status)
        }
    }

    // C-68, C-70
    @Test func `the right password -> online, and again after a loss, with another exchange`() async throws {
        try await withSecureRelay(try authenticator()) { _, address in
            try await withProxy(to: address) { proxy in
                let ada = try client(to: proxy.endpoint.replacing("martlet:", with: "martlets:"))
                try await withClient(ada) { ada in
                    let lobby = try await ada.open(room: "lobby")
                    _ = try await lobby.send("one").accepted()
                    await proxy.cut()
                    try await ada.status.first(until: { $0.isOnline && $0.reconnects == 1 })
                    _ = try await lobby.send("two").accepted()
                    #expect(ada.currentStatus.resumes == 1)
                }
            }
        }
    }

    // C-34, C-69
    @Test func `a relay that has lost the link -> another exchange on the same connection`() async throws {
        try await withSecureRelay(try authenticator()) { relay, address in
            let ada = try client(to: address)
            try await withClient(ada) { ada in
                let lobby = try await ada.open(room: "lobby")
                _ = try await lobby.send("one").accepted()
                await relay.revoke(ada.account)
                try await ada.status.first(until: { $0.phase == .stopped(.revoked) })
                ada.retryNow()
                try await ada.status.first(until: { $0.isOnline && $0.reconnects == 1 })
                _ = try await lobby.send("two").accepted()
                #expect(ada.currentStatus.resumes == 0)
            }
        }
    }

    // C-43, C-69, Specs/hostile.md row 55
    @Test(arguments: [("ada", "open sesam"), ("nobody", "open sesame")])
    func `a wrong password and an unknown account -> the client stops with unauthenticated`(
        account: String, password: String
    ) async throws {
        try await withSecureRelay(try authenticator()) { _, address in
            let result = try await end(of: client(to: address, account, password))
            #expect(result.reason == .unauthenticated)
            #expect(result.status.lastReason == nil)
        }
    }

    // C-68, Specs/hostile.md row 55
    @Test func `a peer that ends both TLS connections with a trusted certificate -> the relay refuses`() async throws {
        try await withSecureRelay(try authenticator()) { _, address in
            let identity = try certificates.make("interceptor") { $0.addresses = ["127.0.0.1"] }
            var trust = TLSClientOptions()
            trust.trust = .file(certificates.authority.certificateFile)
            let interceptor = try CuttableProxy(
                to: address, tls: (TLSServer(TLSServerOptions(identity: identity)), TLSClient(trust)))
            let through = interceptor.endpoint.replacing("martlet:", with: "martlets:")
            let result = try await end(of: client(to: through))
            #expect(result.reason == .unauthenticated)
            #expect(await interceptor.acceptedCount >= 2)
            await interceptor.shutdown()
        }
    }

    // C-68
    @Test func `a relay without mechanisms -> the client stops, and uses no other proof`() async throws {
        try await withSecureRelay(try #require(TokenAuthenticator(["ada": "open sesame"]))) { _, address in
            let result = try await end(of: client(to: address))
            #expect(result.reason == .unauthenticated)
            #expect(result.status.lastReason == "the relay supports no mechanisms")
        }
    }

    /// A relay that answers each message of an exchange with the next of these messages, the last one in welcome.
    private struct Impostor: Authenticator, AuthenticationExchange {
        var answers: [@Sendable ([UInt8]) -> [UInt8]]

        func authenticate(_ request: AuthenticationRequest) async throws -> Identity { Identity(request.account) }
        func exchange(for request: AuthenticationRequest) throws -> (any AuthenticationExchange)? { self }

        mutating func step(_ message: [UInt8]) async throws -> AuthenticationStep {
            let answer = answers.removeFirst()(message)
            guard answers.isEmpty else { return .challenge(answer) }
            return .accepted(Identity(AccountName("ada")), final: answer.isEmpty ? nil : answer)
        }
    }

    /// A valid challenge that extends the nonce of the first message.
    private static let challenge: @Sendable ([UInt8]) -> [UInt8] = { message in
        let nonce = String(decoding: message, as: UTF8.self).split(separator: "r=").last ?? ""
        return Array("r=\(nonce)impostor,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".utf8)
    }

    // C-70, Specs/hostile.md row 55
    @Test(arguments: ["v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", "e=other-error", ""])
    func `a relay that accepts every proof without knowing the password -> the client stops`(final: String) async throws
    {
        try await withSecureRelay(Impostor(answers: [Self.challenge, { _ in Array(final.utf8) }])) { _, address in
            let result = try await end(of: client(to: address))
            #expect(result.reason == .serverUnverified)
            #expect(result.status.lastFailure == .serverUnverified)
        }
    }

    // C-70, Specs/hostile.md row 55
    @Test(arguments: [
        "r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonsense", "r=x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1", "e=no",
    ])
    func `a challenge without a valid answer -> the client stops, and its status has the cause`(
        challenge: String
    ) async throws {
        let impostor = Impostor(answers: [{ _ in Array(challenge.utf8) }, { _ in [] }])
        try await withSecureRelay(impostor) { _, address in
            let result = try await end(of: client(to: address))
            #expect(result.reason == .serverUnverified)
            #expect(result.status.detail?.contains("invalid message of the relay") == true)
        }
    }

    // C-69
    @Test func `a second challenge -> the client ends the connection`() async throws {
        let impostor = Impostor(answers: [Self.challenge, Self.challenge, { _ in [] }])
        try await withSecureRelay(impostor) { _, address in
            let ada = try client(to: address)
            try await withClient(ada) { ada in
                _ = try await ada.status.first(until: { $0.lastCode == .protocolViolation })
            }
        }
    }

    // MARK: Without TLS

    // C-68
    @Test func `without TLS -> used only if both sides permit it`() async throws {
        try await withRelay(authenticator: try authenticator(allowsPlaintext: true)) { address in
            #expect(throws: MartletError.plaintextNotAllowed(address)) { try client(to: address) }
            let ada = try client(to: address, allowsPlaintext: true)
            try await withClient(ada) { ada in _ = try await ada.open(room: "lobby") }
        }
        try await withRelay(authenticator: try authenticator()) { address in
            let result = try await end(of: client(to: address, allowsPlaintext: true))
            #expect(result.reason == .unauthenticated)
            #expect(result.status.lastReason == "a password requires TLS")
        }
    }

    /// Accepts tokens on connections with TLS, or on those without.
    private struct CarrierAuthenticator: Authenticator {
        let hasTLS: Bool

        func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
            guard request.hasTLS == hasTLS else { throw AuthenticationFailure.unauthenticated(because: "the carrier") }
            return Identity(request.account)
        }
    }

    // C-68
    @Test(arguments: [("martlets", true), ("wss", true), ("martlet", false), ("ws", false)])
    func `a request of a connection with or without TLS, also of a WebSocket -> the authenticator has it`(
        scheme: String, hasTLS: Bool
    ) async throws {
        func open(_ address: String) async throws {
            var configuration = Client.Configuration.hasty
            configuration.tls.trust = .file(certificates.authority.certificateFile)
            let authority = address.split(separator: "//")[1]
            let ada = try Client(
                to: "\(scheme)://\(authority)", as: .token(account: "ada", "a"), configuration: configuration)
            try await withClient(ada) { ada in _ = try await ada.open(room: "lobby") }
        }
        let authenticator = CarrierAuthenticator(hasTLS: hasTLS)
        if hasTLS {
            try await withSecureRelay(authenticator) { _, address in try await open(address) }
        } else {
            try await withRelay(authenticator: authenticator) { address in try await open(address) }
        }
    }

    @Test(arguments: ["", "a\nb", String(repeating: "x", count: 1025)])
    func `a password that is not valid -> invalidConfiguration`(password: String) {
        #expect(throws: MartletError.self) { try client(to: "localhost", "ada", password) }
    }
}
