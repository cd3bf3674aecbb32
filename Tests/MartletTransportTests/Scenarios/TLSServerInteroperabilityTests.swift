import Foundation
import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTransport

/// `openssl s_client` as the client of a TLS server (C-65, C-73).
@Suite(.enabled(if: OpenSSLProgram.path != nil, "There is no program openssl."), .timeLimit(.minutes(10)))
struct TLSServerInteroperabilityTests {
    private let certificates = TestCertificates.shared

    /// Runs `s_client` with further words against a server.
    private func run(
        _ words: [String], to server: TLSServer? = nil, environment: [String: String] = [:],
        _ body: (OpenSSLProgram, Peer, EventLoop) async throws -> Void
    ) async throws {
        let server = try server ?? self.server()
        try await withLoop(.platformDefault) { loop in
            let peer = Peer()
            let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) {
                server.transport(over: $0)?.start(peer)
            }
            let common = [
                "s_client", "-connect", "127.0.0.1:\(listener.port)", "-servername", "localhost", "-verify_hostname",
                "localhost", "-verify_return_error",
            ]
            let trust = words.contains("-CAfile") ? [] : ["-CAfile", certificates.authority.certificateFile]
            try await OpenSSLProgram.run(common + trust + words, environment: environment) {
                try await body($0, peer, loop)
            }
            listener.close()
        }
    }

    private func server(_ change: (inout TLSServerOptions) -> Void = { _ in }) throws -> TLSServer {
        var options = TLSServerOptions(identity: certificates.server)
        change(&options)
        return try TLSServer(options)
    }

    /// Exchanges a line in each direction. The client sends `command` first, and waits for the line that answers it.
    private func exchangeLines(
        _ program: OpenSSLProgram, _ peer: Peer, _ loop: EventLoop, command: (text: String, answer: String)? = nil
    ) async {
        #expect(await peer.events.next() == .connected)
        if let command {
            program.write(command.text)
            #expect(await program.line(containing: command.answer) != nil)
        }
        program.write("hello\n")
        await peer.receive(byteCount: 6)
        loop.execute { peer.send(Array("world\n".utf8)) }
        #expect(await program.line(containing: "world") != nil)
        #expect(await loop.run { peer.received } == Array("hello\n".utf8))
    }

    /// The error of the server after a handshake that fails.
    private func serverError(_ words: [String], to server: TLSServer? = nil) async throws -> TLSError? {
        var error: TLSError?
        try await run(words, to: server) { program, peer, _ in
            if case .closed(.error(.tls(let failure))) = await peer.events.next() { error = failure }
            #expect(await program.exitCode() != 0)
        }
        return error
    }

    // MARK: Accepted

    @Test(arguments: [("-tls1_3", "TLSv1.3"), ("-tls1_2", "TLSv1.2")])
    func `a client of TLS 1.3 or 1.2 -> lines in both directions, equal secrets`(
        option: String, version: String
    ) async throws {
        let label = "EXPORTER-Channel-Binding"
        let words = [option, "-alpn", "martlet/1", "-keymatexport", label, "-keymatexportlen", "32"]
        try await run(words) { program, peer, loop in
            await exchangeLines(program, peer, loop)
            let (security, secret) = await loop.run {
                (peer.transport?.security, peer.transport?.exportSecret(label: label, byteCount: 32))
            }
            #expect(security?.version == version)
            #expect(program.output.contains("Verify return code: 0 (ok)"))
            #expect(program.output.contains("ALPN protocol: martlet/1"))
            #expect(program.output.contains("New, \(version), Cipher is \(security?.cipher ?? "")"))
            // RFC 9266 §2. The context of the program is absent and not empty, which TLS 1.2 distinguishes.
            let digits = (secret ?? []).map { String(format: "%02X", $0) }.joined()
            #expect(program.output.contains("Keying material: \(digits)") == (version == "TLSv1.3"))
        }
    }

    // RFC 7627
    @Test func `a client of TLS 1.2 without the extended master secret -> lines in both directions, no secret`()
        async throws
    {
        let text = """
            openssl_conf = start
            [start]
            ssl_conf = sections
            [sections]
            system_default = defaults
            [defaults]
            Options = -ExtendedMasterSecret

            """
        let environment = ["OPENSSL_CONF": try certificates.file(Array(text.utf8))]
        try await run(["-tls1_2", "-alpn", "martlet/1"], environment: environment) { program, peer, loop in
            await exchangeLines(program, peer, loop)
            #expect(program.output.contains("Extended master secret: no"))
            let label = "EXPORTER-Channel-Binding"
            let secret = await loop.run { peer.transport?.exportSecret(label: label, byteCount: 32) }
            #expect(secret == nil)
        }
    }

    // C-99
    @Test(arguments: ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"])
    func `each cipher suite of TLS 1.3 -> lines in both directions, a key update, equal secrets`(
        suite: String
    ) async throws {
        let label = "EXPORTER-Channel-Binding"
        let words = [
            "-tls1_3", "-ciphersuites", suite, "-alpn", "martlet/1", "-keymatexport", label, "-keymatexportlen", "100",
        ]
        try await run(words) { program, peer, loop in
            await exchangeLines(program, peer, loop, command: ("K\n", "KEYUPDATE"))
            let (security, secret) = await loop.run {
                (peer.transport?.security, peer.transport?.exportSecret(label: label, byteCount: 100))
            }
            #expect(security?.cipher == suite)
            let digits = (secret ?? []).map { String(format: "%02X", $0) }.joined()
            #expect(digits.count == 200 && program.output.contains("Keying material: \(digits)"))
        }
    }

    @Test(arguments: ["-tls1_3", "-tls1_2"])
    func `a session of an earlier connection -> resumed`(option: String) async throws {
        let server = try server()
        let session = try certificates.file([])
        for (use, isResumed) in [("-sess_out", false), ("-sess_in", true)] {
            try await run([option, "-alpn", "martlet/1", use, session], to: server) { program, peer, loop in
                await exchangeLines(program, peer, loop)
                #expect(await loop.run { peer.transport?.security?.isResumed } == isResumed)
                #expect(program.output.contains(isResumed ? "Reused, TLSv1." : "New, TLSv1."))
            }
        }
    }

    @Test(arguments: ["K\n", "k\n"])
    func `a key update -> lines in both directions with the next keys`(command: String) async throws {
        try await run(["-tls1_3", "-alpn", "martlet/1"]) { program, peer, loop in
            await exchangeLines(program, peer, loop, command: (command, "KEYUPDATE"))
        }
    }

    @Test func `33 key updates without data -> limitExceeded; with data between them -> accepted`() async throws {
        try await run(["-tls1_3", "-alpn", "martlet/1"]) { program, peer, _ in
            #expect(await peer.events.next() == .connected)
            for _ in 0..<33 {
                program.write("k\n")
                #expect(await program.line(containing: "KEYUPDATE") != nil)
            }
            let error = TLSError.limitExceeded("too many key updates")
            #expect(await peer.events.next() == .closed(.error(.tls(error))))
        }
        try await run(["-tls1_3", "-alpn", "martlet/1"]) { program, peer, _ in
            #expect(await peer.events.next() == .connected)
            for number in 1...40 {
                program.write("k\n")
                #expect(await program.line(containing: "KEYUPDATE") != nil)
                program.write("-\n")
                await peer.receive(byteCount: 2 * number)
            }
            #expect(peer.events.isEmpty)
        }
    }

    @Test func `a client certificate where one is required -> its names at the server`() async throws {
        let ada = try certificates.make("ada") { $0.emailAddresses = ["ada@example.com"] }
        let server = try server {
            $0.clientCertificates = .required(trustFile: certificates.authority.certificateFile)
        }
        let words = ["-alpn", "martlet/1", "-cert", ada.certificateFile, "-key", ada.keyFile]
        try await run(words, to: server) { program, peer, loop in
            await exchangeLines(program, peer, loop)
            let certificate = await loop.run { peer.transport?.security?.peerCertificate }
            #expect(certificate?.commonName == "ada" && certificate?.emailAddresses == ["ada@example.com"])
        }
    }

    // MARK: Refused

    @Test func `a client of TLS 1.1 -> noCommonVersion`() async throws {
        let words = ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0", "-alpn", "martlet/1"]
        #expect(try await serverError(words) == .noCommonVersion)
    }

    @Test(arguments: [["-alpn", "h2"], ["-alpn", "martlet/2,http/1.1"]])
    func `a client with other application protocols -> noCommonProtocol`(words: [String]) async throws {
        #expect(try await serverError(words) == .noCommonProtocol)
    }

    // C-65
    @Test(arguments: ["-tls1_3", "-tls1_2"])
    func `a client without application protocols -> it gets the certificate, then noCommonProtocol`(
        option: String
    ) async throws {
        var error: TLSError?
        try await run([option]) { program, peer, _ in
            if case .closed(.error(.tls(let failure))) = await peer.events.next() { error = failure }
            _ = await program.exitCode()
            #expect(program.output.contains("-----BEGIN CERTIFICATE-----"))
        }
        #expect(error == .noCommonProtocol)
    }

    @Test(arguments: ["AES256-SHA", "AES256-GCM-SHA384", "ECDHE-ECDSA-AES256-SHA"])
    func `ciphers of TLS 1.2 without forward secrecy or authenticated encryption -> protocolError`(
        cipher: String
    ) async throws {
        let words = ["-tls1_2", "-cipher", cipher, "-alpn", "martlet/1"]
        #expect(try await serverError(words) == .protocolError("no shared cipher"))
    }

    @Test func `a client that does not trust the server -> its alert`() async throws {
        let foreign = try certificates.make("foreign authority", issuer: .some(nil)) { $0.isAuthority = true }
        let words = ["-CAfile", foreign.certificateFile, "-alpn", "martlet/1"]
        #expect(try await serverError(words) == .alert("unknown CA"))
    }

    @Test(arguments: ["-tls1_3", "-tls1_2"])
    func `no client certificate where one is required -> missingCertificate`(option: String) async throws {
        let server = try server {
            $0.clientCertificates = .required(trustFile: certificates.authority.certificateFile)
        }
        #expect(try await serverError([option, "-alpn", "martlet/1"], to: server) == .missingCertificate)
    }

    @Test func `a client certificate that is foreign, self-signed, expired or a server's -> its error`() async throws {
        let server = try server {
            $0.clientCertificates = .optional(trustFile: certificates.authority.certificateFile)
        }
        let authority = try certificates.make("foreign authority", issuer: .some(nil)) { $0.isAuthority = true }
        let cases: [(TLSIdentity, (TLSError?) -> Bool)] = [
            (
                try certificates.make("mallory", issuer: authority),
                { $0 == .unknownIssuer(subject: "CN=mallory", issuer: "CN=foreign authority") }
            ),
            (try certificates.make("own", issuer: .some(nil)), { $0 == .selfSigned(subject: "CN=own") }),
            (
                try certificates.make("old") { $0.validity = -86_400..<(-3600) },
                { if case .expired("CN=old", on: _) = $0 { true } else { false } }
            ),
            (
                try certificates.make("relay") { $0.usage = .server },
                { if case .invalidCertificate("CN=relay", reason: _) = $0 { true } else { false } }
            ),
        ]
        for (identity, isExpected) in cases {
            let words = ["-alpn", "martlet/1", "-cert", identity.certificateFile, "-key", identity.keyFile]
            let error = try await serverError(words, to: server)
            #expect(isExpected(error), "\(String(describing: error))")
        }
    }

    @Test func `a renegotiation in TLS 1.2 -> refused, the client ends the connection`() async throws {
        try await run(["-tls1_2", "-alpn", "martlet/1"]) { program, peer, _ in
            #expect(await peer.events.next() == .connected)
            program.write("R\n")
            #expect(await peer.events.next() == .closed(.error(.tls(.alert("handshake failure")))))
            #expect(await program.exitCode() != 0 && program.output.contains("no renegotiation"))
        }
    }

    @Test func `an interrupted client -> reset, since close_notify is missing`() async throws {
        try await run(["-alpn", "martlet/1"]) { program, peer, loop in
            await exchangeLines(program, peer, loop)
            program.kill()
            #expect(await peer.events.next() == .closed(.reset))
        }
    }
}
