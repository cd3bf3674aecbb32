import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTransport

/// Handshakes, records and failures of TLS in memory (C-65).
@Suite struct TLSConnectionTests {
    private let certificates = TestCertificates.shared

    private func pair(
        trust: TLSClientOptions.Trust? = nil, client: TLSIdentity? = nil, server: TLSIdentity? = nil,
        host: String = "localhost", _ change: (inout TLSServerOptions) -> Void = { _ in }
    ) throws -> TLSPair {
        var options = TLSServerOptions(identity: server ?? certificates.server)
        change(&options)
        return try TLSPair(
            client: TLSClientOptions(
                trust: trust ?? .file(certificates.authority.certificateFile), identity: client),
            server: options, host: host)
    }

    /// The error of the client after a handshake with a server.
    private func clientError(
        trust: TLSClientOptions.Trust? = nil, server: TLSIdentity, host: String = "localhost"
    ) throws -> TLSError? {
        let pair = try pair(trust: trust, server: server, host: host)
        pair.exchange()
        #expect(pair.server.state != .open || pair.client.state == .open)
        return pair.client.state == .failed ? pair.client.error : nil
    }

    // MARK: - Accepted

    @Test(arguments: [1, 2, 7, 100, Int.max])
    func `a handshake and data in pieces of any size -> both sides open, all data received`(byteCount: Int) throws {
        let pair = try pair()
        pair.exchange(pieces: byteCount)
        #expect(pair.client.state == .open && pair.server.state == .open)
        #expect(pair.client.version == "TLSv1.3" && !pair.client.isResumed)
        let data = pattern(byteCount: 70_000)
        var records = pair.records(of: data, from: pair.client)[...]
        while !records.isEmpty {
            pair.give(Array(records.prefix(byteCount)), to: pair.server)
            records = records.dropFirst(byteCount)
        }
        pair.give(pair.records(of: [1, 2, 3], from: pair.server), to: pair.client)
        #expect(pair.receivedByServer == data && pair.receivedByClient == [1, 2, 3])
    }

    @Test(arguments: [0, 1, 5, 100, 16_384, 16_406])
    func `records with less room than their size -> the rest is pending, in order`(room: Int) throws {
        let pair = try pair()
        pair.exchange()
        let data = pattern(byteCount: 40_000)
        pair.give(pair.records(of: data, from: pair.client, room: room), to: pair.server)
        #expect(pair.receivedByServer == data)
    }

    @Test func `data behind pending records of which a part was taken -> all data, in order`() throws {
        let pair = try pair()
        pair.exchange()
        let (first, second) = (pattern(byteCount: 100), pattern(byteCount: 5000))
        var records = pair.send(first, from: pair.client, room: 1)
        records += filledBytes(capacity: 60) { pair.client.takePending(into: &$0) }
        // These records need more memory, to which the rest of the first one moves.
        records += pair.send(second, from: pair.client, room: 1)
        pair.give(records + pair.take(from: pair.client), to: pair.server)
        #expect(pair.receivedByServer == first + second)
    }

    @Test(arguments: ["127.0.0.1", "::1", "localhost", "LOCALHOST"])
    func `a host that is a name of the certificate -> open`(host: String) throws {
        #expect(try clientError(server: certificates.server, host: host) == nil)
    }

    @Test func `a wildcard certificate -> open for a host with one more label`() throws {
        let wildcard = try certificates.make("wildcard") { $0.hosts = ["*.example.com"] }
        #expect(try clientError(server: wildcard, host: "chat.example.com") == nil)
    }

    @Test func `a pinned key -> open without an authority; the backup pin too`() throws {
        let own = try certificates.make("pinned", issuer: .some(nil))
        let pin = try TLSPin(ofCertificate: own.certificateFile)
        let other = try TLSPin(ofCertificate: certificates.server.certificateFile)
        #expect(try clientError(trust: .pins(pin, backup: other), server: own) == nil)
        #expect(try clientError(trust: .pins(other, backup: pin), server: own) == nil)
        #expect(TLSPin(hexadecimal: pin.description) == pin)
    }

    @Test func `an RSA certificate of 2048 bits -> open`() throws {
        #expect(try clientError(server: certificates.make("rsa") { $0.rsaBitCount = 2048 }) == nil)
    }

    @Test func `a client certificate of the authority -> its name at the server`() throws {
        let alice = try certificates.make("alice")
        for isRequired in [false, true] {
            let pair = try pair(client: alice) { options in
                let file = certificates.authority.certificateFile
                options.clientCertificates = isRequired ? .required(trustFile: file) : .optional(trustFile: file)
            }
            pair.exchange()
            #expect(pair.server.state == .open && pair.server.peerCertificate?.commonName == "alice")
        }
    }

    @Test func `a certificate that is valid for 100 days -> its end of validity at the client, none at the server`()
        throws
    {
        let days = try certificates.make("days") { $0.validity = -3600..<(100 * 86_400) }
        let pair = try pair(server: days)
        #expect(pair.client.peerCertificate == nil)
        pair.exchange()
        let rest = try #require(pair.client.peerCertificate).notAfter - Int64(EventLoop.wallClock / 1000)
        #expect((99 * 86_400...100 * 86_400).contains(rest))
        #expect(pair.server.peerCertificate == nil && pair.client.cipher == pair.server.cipher)
    }

    @Test func `no client certificate where it is optional -> open, no name`() throws {
        let pair = try pair { $0.clientCertificates = .optional(trustFile: certificates.authority.certificateFile) }
        pair.exchange()
        #expect(pair.server.state == .open && pair.server.peerCertificate == nil)
    }

    // RFC 9266 §2
    @Test func `exported secrets -> equal on both sides, different for other labels and connections`() throws {
        let pair = try pair()
        #expect(pair.client.exportSecret(label: "EXPORTER-Channel-Binding", byteCount: 32) == nil)
        pair.exchange()
        let binding = pair.client.exportSecret(label: "EXPORTER-Channel-Binding", byteCount: 32)
        #expect(binding?.count == 32)
        #expect(binding == pair.server.exportSecret(label: "EXPORTER-Channel-Binding", byteCount: 32))
        #expect(binding != pair.client.exportSecret(label: "EXPORTER-Other", byteCount: 32))
        let other = try self.pair()
        other.exchange()
        #expect(binding != other.client.exportSecret(label: "EXPORTER-Channel-Binding", byteCount: 32))
    }

    // MARK: - Resumption

    /// The session of a completed handshake.
    private func session(ticketKeys: [UInt8] = TLSPair.ticketKeys(1)) throws -> TLSSession {
        let pair = try TLSPair(
            client: TLSClientOptions(trust: .file(certificates.authority.certificateFile)),
            server: TLSServerOptions(identity: certificates.server), ticketKeys: ticketKeys)
        pair.exchange()
        // The connection is lost without close_notify.
        return try #require(pair.client.takeSession())
    }

    private func isResumed(_ session: TLSSession, ticketKeys: [UInt8]) throws -> Bool {
        let pair = try TLSPair(
            client: TLSClientOptions(trust: .file(certificates.authority.certificateFile)),
            server: TLSServerOptions(identity: certificates.server), resuming: session, ticketKeys: ticketKeys)
        pair.exchange()
        #expect(pair.client.state == .open && pair.client.isResumed == pair.server.isResumed)
        #expect(pair.client.takeSession() != nil)
        return pair.client.isResumed
    }

    @Test func `a session of a lost connection -> resumed, one new ticket`() throws {
        #expect(try isResumed(session(), ticketKeys: TLSPair.ticketKeys(1)))
    }

    @Test func `a ticket of a rotated key -> resumed while the key is kept, else a full handshake`() throws {
        #expect(try isResumed(session(), ticketKeys: TLSPair.ticketKeys(2, 1)))
        #expect(try !isResumed(session(), ticketKeys: TLSPair.ticketKeys(2)))
    }

    /// The session of a client with a certificate.
    private func session(of client: TLSIdentity, trust: TLSServerOptions.ClientCertificates) throws -> TLSSession {
        let pair = try pair(client: client) { $0.clientCertificates = trust }
        pair.exchange()
        return try #require(pair.client.takeSession())
    }

    /// The server's side of a handshake that presents a session.
    private func server(
        resuming session: TLSSession, of client: TLSIdentity?, trust: TLSServerOptions.ClientCertificates
    ) throws -> TLSConnection {
        var options = TLSServerOptions(identity: certificates.server)
        options.clientCertificates = trust
        let pair = try TLSPair(
            client: TLSClientOptions(trust: .file(certificates.authority.certificateFile), identity: client),
            server: options, resuming: session)
        pair.exchange()
        return pair.server
    }

    // C-73
    @Test func `a resumed session with a client certificate -> the certificate of the first handshake`() throws {
        let alice = try certificates.make("alice")
        let trust = TLSServerOptions.ClientCertificates.required(trustFile: certificates.authority.certificateFile)
        let server = try server(resuming: session(of: alice, trust: trust), of: nil, trust: trust)
        #expect(server.isResumed && server.peerCertificate?.commonName == "alice")
    }

    // C-73, Specs/hostile.md row 57
    @Test func `a session of other authorities or another requirement of certificates -> a full handshake`() throws {
        let alice = try certificates.make("alice")
        let file = certificates.authority.certificateFile
        let other = try certificates.make("other authority", issuer: .some(nil)) { $0.isAuthority = true }
        let ignored = try session(of: alice, trust: .ignored)
        let trusted = try session(of: alice, trust: .required(trustFile: file))
        let refused = try server(resuming: ignored, of: nil, trust: .required(trustFile: file))
        #expect(!refused.isResumed && refused.error == .missingCertificate)
        let foreign = try server(
            resuming: trusted, of: alice, trust: .required(trustFile: other.certificateFile))
        #expect(foreign.error == .unknownIssuer(subject: "CN=alice", issuer: "CN=Test Authority"))
        let optional = try server(resuming: trusted, of: nil, trust: .optional(trustFile: file))
        #expect(optional.state == .open && !optional.isResumed && optional.peerCertificate == nil)
    }

    // MARK: - Refused certificates

    @Test func `an expired certificate -> expired with its date`() throws {
        let expired = try certificates.make("expired") { $0.validity = -86_400..<(-3600) }
        guard case .expired("CN=expired", let date) = try clientError(server: expired) else {
            return #expect(Bool(false))
        }
        #expect(date.hasSuffix("GMT"))
    }

    @Test func `a certificate of tomorrow -> notYetValid with its date`() throws {
        let future = try certificates.make("future") { $0.validity = 86_400..<172_800 }
        guard case .notYetValid("CN=future", let date) = try clientError(server: future) else {
            return #expect(Bool(false))
        }
        #expect(date.hasSuffix("GMT"))
    }

    @Test(arguments: [
        ("localhost", "example.com"), ("*.example.com", "example.com"), ("*.example.com", "a.b.example.com"),
        ("ch*.example.com", "chat.example.com"), ("localhost", "127.0.0.2"), ("localhost", "::2"),
        ("*", "localhost"), ("*.com", "example.com"), ("*.*.example.com", "a.b.example.com"),
        ("chat.*.com", "chat.example.com"), ("127.0.0.1", "127.0.0.1"), ("example.com", "example.com.evil.org"),
    ])
    func `a host that the certificate does not name -> wrongHost`(name: String, host: String) throws {
        let server = try certificates.make("localhost") { $0.hosts = [name] }
        #expect(try clientError(server: server, host: host) == .wrongHost(host: host, names: name))
    }

    @Test func `a certificate with the host as its common name only -> wrongHost`() throws {
        let server = try certificates.make("chat.example.com") { $0.hosts = [] }
        let error = try clientError(server: server, host: "chat.example.com")
        #expect(error == .wrongHost(host: "chat.example.com", names: ""))
    }

    @Test func `an unknown issuer -> unknownIssuer`() throws {
        let foreign = try certificates.make("foreign authority", issuer: .some(nil)) { $0.isAuthority = true }
        let server = try certificates.make("foreign", issuer: foreign)
        #expect(
            try clientError(server: server)
                == .unknownIssuer(subject: "CN=foreign", issuer: "CN=foreign authority"))
        #expect(
            try clientError(trust: .system, server: certificates.server)
                == .unknownIssuer(subject: "CN=server", issuer: "CN=Test Authority"))
    }

    @Test func `a self-signed certificate -> selfSigned`() throws {
        let own = try certificates.make("own", issuer: .some(nil))
        #expect(try clientError(server: own) == .selfSigned(subject: "CN=own"))
    }

    @Test func `a key that is not pinned -> pinMismatch; a pinned key with a wrong host or date -> its error`() throws {
        let pin = try TLSPin(ofCertificate: certificates.authority.certificateFile)
        #expect(
            try clientError(trust: .pins(pin, backup: pin), server: certificates.server)
                == .pinMismatch(subject: "CN=server"))
        let own = try TLSPin(ofCertificate: certificates.server.certificateFile)
        #expect(
            try clientError(trust: .pins(own, backup: pin), server: certificates.server, host: "example.com")
                == .wrongHost(host: "example.com", names: "localhost, 127.0.0.1, ::1"))
        let expired = try certificates.make("expired") { $0.validity = -86_400..<(-3600) }
        let expiredPin = try TLSPin(ofCertificate: expired.certificateFile)
        guard case .expired = try clientError(trust: .pins(expiredPin, backup: pin), server: expired) else {
            return #expect(Bool(false))
        }
    }

    @Test func `a pinned key with a certificate of tomorrow, or for another numeric address -> its error`() throws {
        let future = try certificates.make("future") { $0.validity = 86_400..<172_800 }
        let futurePin = try TLSPin(ofCertificate: future.certificateFile)
        guard case .notYetValid = try clientError(trust: .pins(futurePin, backup: futurePin), server: future) else {
            return #expect(Bool(false))
        }
        let pin = try TLSPin(ofCertificate: certificates.server.certificateFile)
        let trust = TLSClientOptions.Trust.pins(pin, backup: pin)
        #expect(try clientError(trust: trust, server: certificates.server, host: "127.0.0.1") == nil)
        #expect(
            try clientError(trust: trust, server: certificates.server, host: "127.0.0.2")
                == .wrongHost(host: "127.0.0.2", names: "localhost, 127.0.0.1, ::1"))
    }

    @Test func `a certificate with a key of 1024 bits -> weakKey when it is loaded`() throws {
        let weak = try certificates.make("weak") { $0.rsaBitCount = 1024 }
        let error = #expect(throws: TLSError.self) { try pair(server: weak) }
        guard case .weakKey = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `a client certificate of another authority -> unknownIssuer at the server, an alert at the client`()
        throws
    {
        let foreign = try certificates.make("foreign authority", issuer: .some(nil)) { $0.isAuthority = true }
        let client = try certificates.make("mallory", issuer: foreign)
        let pair = try pair(client: client) {
            $0.clientCertificates = .required(trustFile: certificates.authority.certificateFile)
        }
        pair.exchange()
        #expect(pair.server.error == .unknownIssuer(subject: "CN=mallory", issuer: "CN=foreign authority"))
        #expect(pair.client.error == .alert("unknown CA") && pair.server.peerCertificate == nil)
    }

    @Test func `no client certificate where it is required -> missingCertificate`() throws {
        let pair = try pair { $0.clientCertificates = .required(trustFile: certificates.authority.certificateFile) }
        pair.exchange()
        #expect(pair.server.state == .failed && pair.server.error == .missingCertificate)
        #expect(pair.client.state == .failed)
    }

    // MARK: - Invalid files

    @Test func `a missing or invalid file -> invalidFile; a key of another certificate -> keyMismatch`() throws {
        let garbage = try certificates.file([1, 2, 3])
        let server = certificates.server
        for path in ["/nonexistent", garbage] {
            #expect(throws: TLSError.self) {
                try TLSServer(TLSServerOptions(identity: TLSIdentity(certificateFile: path, keyFile: server.keyFile)))
            }
            #expect(throws: TLSError.self) { try TLSClient(TLSClientOptions(trust: .file(path))) }
            let reason = path == garbage ? "no certificate" : "No such file or directory"
            #expect(throws: TLSError.invalidFile(path: path, reason: reason)) { try TLSPin(ofCertificate: path) }
            #expect(throws: TLSError.self) {
                var options = TLSServerOptions(identity: server)
                options.ticketKeyFile = path
                return try TLSServer(options)
            }
        }
        #expect(throws: TLSError.invalidFile(path: "/nonexistent", reason: "No such file or directory")) {
            try TLSClient(TLSClientOptions(trust: .file("/nonexistent")))
        }
        for (certificate, key, reason) in [
            (garbage, server.keyFile, "not a PEM certificate"),
            (server.certificateFile, garbage, "not a PEM key without a password"),
        ] {
            #expect(throws: TLSError.invalidFile(path: garbage, reason: reason)) {
                try TLSServer(TLSServerOptions(identity: TLSIdentity(certificateFile: certificate, keyFile: key)))
            }
        }
        let mixed = TLSIdentity(
            certificateFile: server.certificateFile, keyFile: certificates.authority.keyFile)
        #expect(throws: TLSError.keyMismatch(path: mixed.keyFile)) {
            try TLSServer(TLSServerOptions(identity: mixed))
        }
    }

    @Test(arguments: ["", "zz", "0:1", String(repeating: "ab", count: 33)])
    func `an invalid text of a pin -> nil`(text: String) {
        #expect(TLSPin(hexadecimal: text) == nil)
    }

    // MARK: - Invalid records

    @Test func `bytes of another protocol -> notTLS or a protocol error, nothing received`() throws {
        for text in ["GET / HTTP/1.1\r\n\r\n", "MRTL", String(repeating: "x", count: 20_000)] {
            let pair = try pair()
            pair.give(Array(text.utf8), to: pair.server)
            // Four bytes are not yet the header of a record.
            #expect(pair.server.state == (text == "MRTL" ? .handshaking : .failed))
            if text.hasPrefix("GET") { #expect(pair.server.error == .notTLS) }
            #expect(pair.receivedByServer.isEmpty)
        }
    }

    @Test func `a changed byte in any record -> failed, nothing received`() throws {
        let reference = try pair()
        reference.exchange()
        let count = reference.records(of: pattern(byteCount: 50), from: reference.client).count
        for position in stride(from: 5, to: count, by: 3) {
            let pair = try pair()
            pair.exchange()
            var records = pair.records(of: pattern(byteCount: 50), from: pair.client)
            records[position] ^= 0x40
            pair.give(records, to: pair.server)
            #expect(pair.server.state == .failed && pair.receivedByServer.isEmpty)
        }
    }

    @Test func `a handshake that ends after any byte -> no crash, not open, nothing received`() throws {
        let hello = try pair()
        let clientHello = hello.take(from: hello.client)
        hello.give(clientHello, to: hello.server)
        let serverFlight = hello.take(from: hello.server)
        for count in clientHello.indices {
            let pair = try pair()
            pair.give(Array(pair.take(from: pair.client).prefix(count)), to: pair.server)
            #expect(pair.server.state == .handshaking)
        }
        for count in stride(from: 0, to: serverFlight.count - 300, by: 7) {
            let pair = try pair()
            pair.give(pair.take(from: pair.client), to: pair.server)
            pair.give(Array(pair.take(from: pair.server).prefix(count)), to: pair.client)
            #expect(pair.client.state == .handshaking)
        }
    }

    @Test func `close_notify -> peerClosed, and the other direction stays open`() throws {
        let pair = try pair()
        pair.exchange()
        pair.client.close()
        pair.give(pair.take(from: pair.client), to: pair.server)
        #expect(pair.server.state == .peerClosed)
        pair.give(pair.records(of: [1], from: pair.server), to: pair.client)
        #expect(pair.receivedByClient == [1])
        pair.client.close()
        #expect(pair.client.pendingByteCount == 0)
    }
}
