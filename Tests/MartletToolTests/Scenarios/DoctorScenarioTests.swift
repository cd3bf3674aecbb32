import Foundation
import Martlet
import MartletAuthentication
import MartletRelay
import MartletToolTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletTool
@testable import MartletToolSupport

/// `martlet doctor` against relays and other servers on the loopback interface.
@Suite(.timeLimit(.minutes(10))) struct DoctorScenarioTests {
    private let certificates = TestCertificates.shared

    /// The exit code and the lines of a run.
    private struct Outcome {
        var code: ExitCode
        var lines: [DoctorLine] = []

        /// The marks and checks of all lines.
        var summary: [String] { lines.map { "\($0.mark) \($0.check)" } }
        /// The name of the error in the last line.
        var error: String? {
            if case .string(let name)? = lines.last?.json["error"] { name } else { nil }
        }
    }

    private func check(_ words: String...) async throws -> Outcome { try await check(words) }

    private func check(_ words: [String]) async throws -> Outcome {
        var parser = ArgumentParser(for: DoctorCommand.spec)
        // A busy machine answers late.
        let timeout = words.contains("--timeout") ? [] : ["--timeout", "600"]
        guard case .run(let arguments) = try parser.parse(words + timeout) else { throw UsageError(message: "help") }
        var outcome = Outcome(code: .success)
        outcome.code = try await DoctorCommand.check(arguments) { outcome.lines.append($0) }
        return outcome
    }

    /// Runs `body` with the port of a relay.
    private func withRelay(
        certificate: TLSIdentity? = nil, clientTrust: String? = nil,
        authenticator: any Authenticator = AllowAllAuthenticator(),
        _ body: (UInt16, Relay) async throws -> Void
    ) async throws {
        var configuration = try Relay.Configuration(port: 0)
        configuration.tls = certificate.map { TLSServerOptions(identity: $0) }
        if let clientTrust { configuration.tls?.clientCertificates = .required(trustFile: clientTrust) }
        // A busy machine signs in late.
        configuration.engine.link.handshakeTimeout = .seconds(600)
        configuration.engine.link.authTimeout = .seconds(600)
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: authenticator, policy: .allowAll)
        let port = try #require(try relay.start().first).port
        do { try await body(port, relay) } catch {
            await relay.shutdown()
            throw error
        }
        await relay.shutdown()
    }

    /// Runs `body` with the port of a server that answers as `answer` does.
    private func withServer(
        _ answer: @escaping @Sendable ([UInt8]) -> [UInt8], _ body: (UInt16) async throws -> Void
    ) async throws {
        let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: .shared) {
            $0.start(AnsweringPeer(answer))
        }
        do { try await body(listener.port) } catch {
            await listener.closeAndWait()
            throw error
        }
        await listener.closeAndWait()
    }

    // MARK: Relays

    @Test func `a relay without TLS → ok, and no link stays`() async throws {
        try await withRelay { port, relay in
            let outcome = try await check("martlet://127.0.0.1:\(port)", "--account", "ada")
            #expect(outcome.code == .success)
            #expect(outcome.summary == ["ok address", "ok name", "ok connect", "ok welcome", "ok ping", "ok clock"])
            #expect(outcome.lines.last?.found.contains("the relay's clock is") == true)
            #expect(outcome.lines[3].found.hasPrefix("account ada, version 1.1, features "))
            #expect(await relay.statistics.links == 0)
        }
    }

    @Test func `a relay with TLS → ok, with a resumed session`() async throws {
        try await withRelay(certificate: certificates.server) { port, _ in
            let outcome = try await check(
                "127.0.0.1:\(port)", "--account", "ada", "--trust", certificates.authority.certificateFile)
            #expect(outcome.code == .success)
            #expect(
                outcome.summary == [
                    "ok address", "ok name", "ok connect", "ok tls", "ok certificate", "ok welcome", "ok ping",
                    "ok clock", "ok resumption",
                ])
            #expect(outcome.lines[3].found.contains("TLSv1.3"))
        }
    }

    @Test func `a certificate that expires in 3 days → a warning`() async throws {
        let soon = try certificates.make("soon") { $0.validity = -3600..<(3 * 86_400 + 3600) }
        try await withRelay(certificate: soon) { port, _ in
            let outcome = try await check(
                "localhost:\(port)", "--account", "ada", "--trust", certificates.authority.certificateFile)
            #expect(outcome.code == .success)
            let line = try #require(outcome.lines.first { $0.check == .certificate })
            #expect(line.mark == .warn && line.json["days"] == .integer(3))
            // The relay listens on 127.0.0.1 only, and localhost has two addresses.
            #expect(outcome.lines.filter { $0.check == .connect }.map(\.mark) == [.warn, .ok])
        }
    }

    @Test func `a wrong token → noPermission; the token → ok`() async throws {
        let tokens = try #require(TokenAuthenticator(["ada": "secret"]))
        try await withRelay(authenticator: tokens) { port, _ in
            let address = "martlet://127.0.0.1:\(port)"
            let wrong = try await check(address, "--account", "ada", "--token", "guess")
            #expect(wrong.code == .noPermission && wrong.error == ErrorCode.unauthenticated.name)
            #expect(wrong.summary.last == "fail welcome")
            #expect(try await check(address, "--account", "ada", "--token", "secret").code == .success)
        }
    }

    @Test func `a password → ok; a wrong one, and one beside a token → typed errors`() async throws {
        var file = PasswordFile()
        let salt = [UInt8](repeating: 3, count: 16)
        try file.add("ada", SCRAMRecord(password: "open sesame", salt: salt, iterations: 4096))
        let passwords = SCRAMAuthenticator(passwordFile: file)
        let folder = FileManager.default.temporaryDirectory
        let files = (0..<2).map { _ in folder.appending(path: "martlet-\(UUID().uuidString)").path }
        defer { for file in files { try? FileManager.default.removeItem(atPath: file) } }
        try "open sesame\n".write(to: URL(filePath: files[0]), atomically: true, encoding: .utf8)
        try "open pumpkin\n".write(to: URL(filePath: files[1]), atomically: true, encoding: .utf8)
        try await withRelay(certificate: certificates.server, authenticator: passwords) { port, _ in
            let words = [
                "127.0.0.1:\(port)", "--account", "ada", "--trust", certificates.authority.certificateFile,
                "--password-file",
            ]
            #expect(try await check(words + [files[0]]).code == .success)
            let refused = try await check(words + [files[1]])
            #expect(refused.code == .noPermission)
            #expect(refused.error == ErrorCode.unauthenticated.name)
            await #expect(throws: UsageError.self) { try await check(words + [files[0], "--token", "secret"]) }
        }
    }

    // C-68
    @Test func `a password to a relay without TLS on this machine → the failed check of the address`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "open sesame\n".write(to: URL(filePath: file), atomically: true, encoding: .utf8)
        try await withRelay { port, _ in
            let outcome = try await check(
                "martlet://127.0.0.1:\(port)", "--account", "ada", "--password-file", file)
            #expect(outcome.code == .usage && outcome.summary == ["fail address"])
        }
    }

    /// A relay that accepts every proof without knowing the password.
    private struct Impostor: Authenticator, AuthenticationExchange {
        var isChallenged = false

        func authenticate(_ request: AuthenticationRequest) async throws -> Identity { Identity(request.account) }
        func exchange(for request: AuthenticationRequest) throws -> (any AuthenticationExchange)? { self }

        mutating func step(_ message: [UInt8]) async throws -> AuthenticationStep {
            guard !isChallenged else {
                let final = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
                return .accepted(Identity(AccountName("ada")), final: Array(final.utf8))
            }
            isChallenged = true
            let nonce = String(decoding: message, as: UTF8.self).split(separator: "r=").last ?? ""
            return .challenge(Array("r=\(nonce)impostor,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".utf8))
        }
    }

    // C-70
    @Test func `a password to a relay that does not know it → serverUnverified`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "open sesame\n".write(to: URL(filePath: file), atomically: true, encoding: .utf8)
        try await withRelay(certificate: certificates.server, authenticator: Impostor()) { port, _ in
            let outcome = try await check(
                "127.0.0.1:\(port)", "--account", "ada", "--trust", certificates.authority.certificateFile,
                "--password-file", file)
            #expect(outcome.code == .protocolError && outcome.error == "serverUnverified")
            #expect(outcome.summary.last == "fail welcome")
        }
    }

    @Test func `no client certificate where it is required → a failure of tls; with one → ok`() async throws {
        let trust = certificates.authority.certificateFile
        let ada = try certificates.make("ada")
        try await withRelay(certificate: certificates.server, clientTrust: trust) { port, _ in
            let address = "127.0.0.1:\(port)"
            let refused = try await check(address, "--account", "ada", "--trust", trust)
            #expect(refused.code == .protocolError && refused.error == "alert")
            #expect(refused.summary.last == "fail tls")
            let accepted = try await check(
                address, "--account", "ada", "--trust", trust, "--certificate", ada.certificateFile, "--key",
                ada.keyFile)
            #expect(accepted.code == .success)
        }
    }

    // MARK: Certificates

    @Test func `other authority, other host, expired certificate → the failed check of TLS`() async throws {
        let trust = certificates.authority.certificateFile
        let foreign = try certificates.make("foreign", issuer: .some(nil)) { $0.isAuthority = true }
        let other = try certificates.make("other") { $0.hosts = ["example.com"] }
        let expired = try certificates.make("expired") { request in
            request.addresses = ["127.0.0.1"]
            request.validity = -86_400..<(-3600)
        }
        let cases = [
            (certificates.server, foreign.certificateFile, "unknownIssuer"), (other, trust, "wrongHost"),
            (expired, trust, "expired"),
        ]
        for (certificate, trust, error) in cases {
            try await withRelay(certificate: certificate) { port, _ in
                let outcome = try await check("127.0.0.1:\(port)", "--account", "ada", "--trust", trust)
                #expect(outcome.code == .protocolError && outcome.error == error)
                #expect(outcome.summary.last == "fail tls")
            }
        }
    }

    // MARK: The wrong security

    @Test func `TLS to a relay without it → notTLS; no TLS to a relay with it → the advice to use it`() async throws {
        try await withRelay { port, _ in
            let outcome = try await check(
                "127.0.0.1:\(port)", "--account", "ada", "--trust", certificates.authority.certificateFile)
            #expect(outcome.code == .protocolError && outcome.error == "notTLS")
        }
        try await withRelay(certificate: certificates.server) { port, _ in
            let outcome = try await check("martlet://127.0.0.1:\(port)", "--account", "ada")
            #expect(outcome.summary.last == "fail welcome")
            #expect(outcome.lines.last?.advice?.contains("martlets://") == true)
        }
    }

    // MARK: Other servers

    @Test func `nothing listens → refused`() async throws {
        // No test has a relay on port 1, while a port that was in use can be that of the next relay.
        let outcome = try await check("martlet://127.0.0.1:1", "--account", "ada")
        #expect(outcome.code == .unavailable && outcome.error == "refused")
        #expect(outcome.summary.last == "fail connect")
    }

    @Test func `an echo server → an unexpected frame; with TLS a failed handshake`() async throws {
        try await withServer {
            $0
        } _: { port in
            let plain = try await check("martlet://127.0.0.1:\(port)", "--account", "ada")
            #expect(plain.code == .protocolError && plain.error == "unexpectedFrame")
            let tls = try await check("127.0.0.1:\(port)", "--account", "ada")
            #expect(tls.code == .protocolError && tls.summary.last == "fail tls")
        }
    }

    @Test func `a web server → badMagic; a TLS alert → isTLS`() async throws {
        let answers = [(Array("HTTP/1.1 400 Bad\r\n\r\n".utf8), "badMagic"), ([0x15, 3, 3, 0, 2, 2, 70], "isTLS")]
        for (answer, error) in answers {
            try await withServer { _ in
                answer
            } _: { port in
                let outcome = try await check("martlet://127.0.0.1:\(port)", "--account", "ada")
                #expect(outcome.code == .protocolError && outcome.error == error)
            }
        }
    }

    @Test func `a silent server → timedOut`() async throws {
        try await withServer { _ in
            []
        } _: { port in
            for address in ["martlet://127.0.0.1:\(port)", "127.0.0.1:\(port)"] {
                let outcome = try await check(address, "--account", "ada", "--timeout", "200ms")
                #expect(outcome.code == .unavailable && outcome.error == "timedOut")
            }
        }
    }

    @Test func `a flood of frames → a failure`() async throws {
        let frame = FrameHeader(type: .reject).frame(body: Reject(Notice(code: .draining)).encode().rawBytes)
        try await withServer { _ in
            Array((0..<1000).map { _ in frame }.joined())
        } _: { port in
            let outcome = try await check("martlet://127.0.0.1:\(port)", "--account", "ada")
            #expect(outcome.code == .unavailable && outcome.error == ErrorCode.draining.name)
        }
    }
}

/// A server's end of a connection, which answers each received piece.
private final class AnsweringPeer: TransportHandler, @unchecked Sendable {  // The loop accesses all state.
    private let answer: @Sendable ([UInt8]) -> [UInt8]
    private var outgoing: [UInt8] = []

    init(_ answer: @escaping @Sendable ([UInt8]) -> [UInt8]) { self.answer = answer }

    func transportDidConnect(_ transport: any Transport) {}

    func transport(_ transport: any Transport, didReceive bytes: RawSpan) {
        outgoing += answer([UInt8](copying: bytes))
        transport.setNeedsWrite()
    }

    func transport(_ transport: any Transport, fill buffer: inout OutputRawSpan) -> Bool {
        let count = min(buffer.freeCapacity, outgoing.count)
        buffer.append(bytes: outgoing.rawBytes.extracting(first: count))
        outgoing.removeFirst(count)
        return !outgoing.isEmpty
    }

    func transport(_ transport: any Transport, didClose reason: CloseReason) {}
}
