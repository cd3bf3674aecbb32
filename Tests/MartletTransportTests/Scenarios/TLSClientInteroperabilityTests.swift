import Foundation
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTransport

/// `openssl s_server` as the server of a TLS client (C-65).
@Suite(.enabled(if: OpenSSLProgram.path != nil, "There is no program openssl."), .timeLimit(.minutes(10)))
struct TLSClientInteroperabilityTests {
    private let certificates = TestCertificates.shared

    /// Runs `s_server` with further words. `body` receives its port.
    private func run(
        _ words: [String], identity: TLSIdentity? = nil, applicationProtocol: String? = "martlet/1",
        connections: Int = 1, _ body: (OpenSSLProgram, UInt16, EventLoop) async throws -> Void
    ) async throws {
        let identity = identity ?? certificates.server
        let common = [
            "s_server", "-accept", "127.0.0.1:0", "-naccept", "\(connections)", "-cert", identity.certificateFile,
            "-key", identity.keyFile,
        ]
        let alpn = applicationProtocol.map { ["-alpn", $0] } ?? []
        try await OpenSSLProgram.run(common + alpn + words) { program in
            let line = try #require(await program.line(containing: "ACCEPT "))
            let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) })
            try await withLoop(.platformDefault) { try await body(program, port, $0) }
        }
    }

    private func client(_ change: (inout TLSClientOptions) -> Void = { _ in }) throws -> TLSClient {
        var options = TLSClientOptions(trust: .file(certificates.authority.certificateFile))
        change(&options)
        return try TLSClient(options)
    }

    /// Connects a client and returns its peer.
    private func connect(_ client: TLSClient? = nil, to port: UInt16, on loop: EventLoop) async throws -> Peer {
        let client = try client ?? self.client()
        let endpoint = try Endpoint(host: "127.0.0.1", port: port, security: .plain)
        let connection = try await TCPConnector.connect(to: [endpoint], on: loop)
        let transport = try client.transport(over: connection, to: Endpoint(host: "localhost", port: port))
        let peer = Peer()
        loop.execute { transport.start(peer) }
        return peer
    }

    /// The error of the client after a handshake that fails.
    private func clientError(
        _ words: [String] = [], identity: TLSIdentity? = nil, applicationProtocol: String? = "martlet/1",
        client: TLSClient? = nil
    ) async throws -> TLSError? {
        var error: TLSError?
        try await run(words, identity: identity, applicationProtocol: applicationProtocol) { _, port, loop in
            let peer = try await connect(client, to: port, on: loop)
            if case .closed(.error(.tls(let failure))) = await peer.events.next() { error = failure }
        }
        return error
    }

    /// Exchanges a line in each direction. The server performs `command` first: it reads its terminal before a line of
    /// the client that arrives later.
    private func exchangeLines(
        _ program: OpenSSLProgram, _ peer: Peer, _ loop: EventLoop, command: String? = nil
    ) async {
        #expect(await peer.events.next() == .connected)
        if let command {
            program.write(command)
            loop.execute { peer.send(Array("first\n".utf8)) }
            #expect(await program.line(containing: "first") != nil)
        }
        program.write("world\n")
        await peer.receive(byteCount: 6)
        loop.execute { peer.send(Array("hello\n".utf8)) }
        #expect(await program.line(containing: "hello") != nil)
        #expect(await loop.run { peer.received } == Array("world\n".utf8))
    }

    /// Closes the connection of a peer.
    private func close(_ peer: Peer, on loop: EventLoop) async {
        loop.execute { peer.transport?.close(afterFlush: true) }
        #expect(await peer.events.next() == .closed(.local))
    }

    // MARK: Accepted

    @Test(arguments: [("-tls1_3", "TLSv1.3"), ("-tls1_2", "TLSv1.2")])
    func `a server of TLS 1.3 or 1.2 -> lines in both directions, its certificate`(
        option: String, version: String
    ) async throws {
        try await run([option]) { program, port, loop in
            let peer = try await connect(to: port, on: loop)
            await exchangeLines(program, peer, loop)
            let security = await loop.run { peer.transport?.security }
            #expect(security?.version == version && security?.isResumed == false)
            #expect(security?.peerCertificate?.commonName == "server")
            #expect(security?.peerCertificate?.hostNames == ["localhost"])
        }
    }

    @Test(arguments: ["-tls1_3", "-tls1_2"])
    func `a second connection to the server -> resumed`(option: String) async throws {
        let client = try client()
        try await run([option], connections: 2) { program, port, loop in
            for isResumed in [false, true] {
                let peer = try await connect(client, to: port, on: loop)
                await exchangeLines(program, peer, loop)
                #expect(await loop.run { peer.transport?.security?.isResumed } == isResumed)
                await close(peer, on: loop)
            }
        }
    }

    @Test(arguments: ["K\n", "k\n"])
    func `a key update of the server -> lines in both directions with the next keys`(command: String) async throws {
        try await run(["-tls1_3"]) { program, port, loop in
            let peer = try await connect(to: port, on: loop)
            await exchangeLines(program, peer, loop, command: command)
        }
    }

    @Test func `a server that requires a client certificate -> accepted with one, its alert without`() async throws {
        let trust = ["-Verify", "1", "-verify_return_error", "-CAfile", certificates.authority.certificateFile]
        let ada = try certificates.make("ada")
        try await run(trust) { program, port, loop in
            let peer = try await connect(client { $0.identity = ada }, to: port, on: loop)
            await exchangeLines(program, peer, loop)
            #expect(program.output.contains("CN = ada"))
        }
        // In TLS 1.3 the handshake of the client is complete before the server answers its certificate.
        try await run(trust + ["-tls1_3"]) { _, port, loop in
            let peer = try await connect(to: port, on: loop)
            #expect(await peer.events.next() == .connected)
            #expect(await peer.events.next() == .closed(.error(.tls(.alert("certificate required")))))
        }
        #expect(try await clientError(trust + ["-tls1_2"]) == .alert("handshake failure"))
    }

    // MARK: Refused

    @Test func `a server of TLS 1.1 -> noCommonVersion`() async throws {
        #expect(try await clientError(["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]) == .noCommonVersion)
    }

    @Test(arguments: [nil, "h2"])
    func `a server without the application protocol -> noCommonProtocol`(name: String?) async throws {
        #expect(try await clientError(applicationProtocol: name) == .noCommonProtocol)
    }

    @Test func `an expired certificate, and one for another host -> expired, wrongHost`() async throws {
        let expired = try certificates.make("expired") { $0.validity = -86_400..<(-3600) }
        guard case .expired("CN=expired", on: _) = try await clientError(identity: expired) else {
            return #expect(Bool(false))
        }
        let other = try certificates.make("other") { $0.hosts = ["example.com"] }
        #expect(try await clientError(identity: other) == .wrongHost(host: "localhost", names: "example.com"))
    }

    @Test func `an untrusted and a self-signed certificate -> unknownIssuer, selfSigned`() async throws {
        let authority = try certificates.make("foreign authority", issuer: .some(nil)) { $0.isAuthority = true }
        let foreign = try certificates.make("foreign", issuer: authority)
        #expect(
            try await clientError(identity: foreign)
                == .unknownIssuer(subject: "CN=foreign", issuer: "CN=foreign authority"))
        let own = try certificates.make("own", issuer: .some(nil))
        #expect(try await clientError(identity: own) == .selfSigned(subject: "CN=own"))
    }

    @Test func `a certificate with a key of 1024 bits or a signature of SHA-1 -> weakKey`() async throws {
        let small = try certificates.make("small") { $0.rsaBitCount = 1024 }
        let signed = try await certificate("", ["-sha1"])
        for identity in [small, signed] {
            let error = try await clientError(["-cipher", "ALL:@SECLEVEL=0"], identity: identity)
            guard case .weakKey = error else {
                Issue.record("\(identity.certificateFile): \(String(describing: error))")
                continue
            }
        }
    }

    /// A certificate for localhost by `openssl x509`, with a further extension.
    private func certificate(_ extensionLine: String, _ words: [String] = []) async throws -> TLSIdentity {
        let identity = TLSIdentity(
            certificateFile: try certificates.file([]), keyFile: certificates.server.keyFile)
        let (request, extensions) = (
            try certificates.file([]),
            try certificates.file(Array("subjectAltName=DNS:localhost\n\(extensionLine)\n".utf8))
        )
        let authority = certificates.authority
        let runs = [
            ["req", "-new", "-key", identity.keyFile, "-subj", "/CN=server", "-out", request],
            [
                "x509", "-req", "-in", request, "-CA", authority.certificateFile, "-CAkey", authority.keyFile, "-days",
                "1", "-extfile", extensions, "-out", identity.certificateFile,
            ] + words,
        ]
        for run in runs { try await OpenSSLProgram.run(run) { #expect(await $0.exitCode() == 0, "\($0.output)") } }
        return identity
    }

    @Test func `a critical extension that is unknown -> invalidCertificate`() async throws {
        let identity = try await certificate("1.2.3.4=critical,DER:0500")
        guard case .invalidCertificate("CN=server", reason: _) = try await clientError(identity: identity) else {
            return #expect(Bool(false))
        }
    }

    @Test func `a certificate for clients -> invalidCertificate`() async throws {
        let client = try certificates.make("client") { $0.usage = .client }
        guard case .invalidCertificate("CN=client", reason: _) = try await clientError(identity: client) else {
            return #expect(Bool(false))
        }
    }

    @Test func `a key that is not pinned -> pinMismatch; a pinned key -> accepted`() async throws {
        let pin = try TLSPin(ofCertificate: certificates.server.certificateFile)
        let other = try TLSPin(ofCertificate: certificates.authority.certificateFile)
        let refusing = try client { $0.trust = .pins(other, backup: other) }
        #expect(try await clientError(client: refusing) == .pinMismatch(subject: "CN=server"))
        let accepting = try client { $0.trust = .pins(other, backup: pin) }
        try await run([]) { program, port, loop in
            await exchangeLines(program, try await connect(accepting, to: port, on: loop), loop)
        }
    }

    @Test func `ciphers of TLS 1.2 without forward secrecy -> its alert`() async throws {
        let rsa = try certificates.make("rsa") { $0.rsaBitCount = 2048 }
        let words = ["-tls1_2", "-cipher", "AES256-GCM-SHA384"]
        #expect(try await clientError(words, identity: rsa) == .alert("handshake failure"))
    }

    @Test func `a renegotiation of the server in TLS 1.2 -> refused, the server ends the connection`() async throws {
        try await run(["-tls1_2"]) { program, port, loop in
            let peer = try await connect(to: port, on: loop)
            #expect(await peer.events.next() == .connected)
            program.write("r\n")
            #expect(await peer.events.next() == .closed(.error(.tls(.alert("handshake failure")))))
        }
    }
}
