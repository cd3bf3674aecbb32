import Foundation
import MartletToolTestSupport
import Testing

@testable import MartletTransport

/// Records and handshake messages that violate TLS or its limits (C-65).
@Suite struct TLSRecordTests {
    private let certificates = TestCertificates.shared

    private func pair(
        client: TLSIdentity? = nil, server: TLSIdentity? = nil, _ change: (inout TLSServerOptions) -> Void = { _ in }
    ) throws -> TLSPair {
        var options = TLSServerOptions(identity: server ?? certificates.server)
        change(&options)
        return try TLSPair(
            client: TLSClientOptions(trust: .file(certificates.authority.certificateFile), identity: client),
            server: options)
    }

    // MARK: Records

    @Test func `a record without its last byte -> nothing received, then all of it`() throws {
        let pair = try pair()
        pair.exchange()
        let records = pair.records(of: [1, 2, 3], from: pair.client)
        pair.give(Array(records.dropLast()), to: pair.server)
        #expect(pair.receivedByServer == [] && pair.server.state == .open)
        pair.give(Array(records.suffix(1)), to: pair.server)
        #expect(pair.receivedByServer == [1, 2, 3])
    }

    @Test func `a record that is sent twice or out of order -> failed, received once`() throws {
        let twice = try pair()
        twice.exchange()
        let record = twice.records(of: [1], from: twice.client)
        twice.give(record + record, to: twice.server)
        #expect(twice.receivedByServer == [1] && twice.server.state == .failed)
        let swapped = try pair()
        swapped.exchange()
        let first = swapped.records(of: [1], from: swapped.client)
        swapped.give(swapped.records(of: [2], from: swapped.client) + first, to: swapped.server)
        #expect(swapped.receivedByServer == [] && swapped.server.state == .failed)
    }

    @Test func `records of one connection on another -> failed, nothing received`() throws {
        let (one, other) = (try pair(), try pair())
        for pair in [one, other] { pair.exchange() }
        other.give(one.records(of: [1], from: one.client), to: other.server)
        #expect(other.receivedByServer == [] && other.server.state == .failed)
    }

    @Test(
        arguments: [
            [0x17, 0x03, 0x03, 0xFF, 0xFF], [0x17, 0x03, 0x03, 0x41, 0x01], [0x80, 0x03, 0x03, 0x00, 0x01, 0x00],
            [0x17, 0x09, 0x09, 0x00, 0x01, 0x00], [0x16, 0x03, 0x03, 0x00, 0x00],
            [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28],
        ] as [[UInt8]])
    func `a record that is too long, of another type or version, or in the clear -> protocolError`(
        record: [UInt8]
    ) throws {
        let pair = try pair()
        pair.exchange()
        for side in [pair.client, pair.server] {
            pair.give(record, to: side)
            #expect(side.state == .failed)
            guard case .protocolError = side.error else {
                Issue.record("\(side.error)")
                continue
            }
        }
        #expect(pair.receivedByClient == [] && pair.receivedByServer == [])
    }

    // MARK: Handshakes

    @Test(
        arguments: [
            // Application data and a ChangeCipherSpec before the hello; a ServerHello, a key update.
            [0x17, 0x03, 0x03, 0x00, 0x01, 0x41], [0x14, 0x03, 0x03, 0x00, 0x01, 0x01],
            [0x16, 0x03, 0x01, 0x00, 0x04, 0x02, 0x00, 0x00, 0x00],
            [0x16, 0x03, 0x01, 0x00, 0x05, 0x18, 0x00, 0x00, 0x01, 0x00],
            // An empty and a malformed ClientHello.
            [0x16, 0x03, 0x01, 0x00, 0x04, 0x01, 0x00, 0x00, 0x00],
            [0x16, 0x03, 0x01, 0x00, 0x06, 0x01, 0x00, 0x00, 0x02, 0x03, 0x03],
            // An alert, fatal and close_notify.
            [0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x28], [0x15, 0x03, 0x01, 0x00, 0x02, 0x01, 0x00],
        ] as [[UInt8]])
    func `another first record than a ClientHello -> failed`(record: [UInt8]) throws {
        let pair = try pair()
        pair.give(record, to: pair.server)
        #expect(pair.server.state == .failed)
        #expect(pair.server.error != .truncatedHandshake && !"\(pair.server.error)".contains("unknown error"))
    }

    @Test func `a ClientHello of 16 MiB -> limitExceeded, from its header`() throws {
        let pair = try pair()
        pair.give([0x16, 0x03, 0x01, 0x00, 0x06, 0x01, 0xFF, 0xFF, 0xFF, 0x03, 0x03], to: pair.server)
        #expect(pair.server.error == .limitExceeded("excessive message size"))
    }

    @Test func `random bytes in place of any flight -> failed, nothing received`() throws {
        var random = SplitMix(state: 1)
        for round in 0..<200 {
            let pair = try pair()
            let side = round % 2 == 0 ? pair.server : pair.client
            if round % 4 == 1 { pair.give(pair.take(from: pair.client), to: pair.server) }
            pair.give((0..<600).map { _ in UInt8(truncatingIfNeeded: random.next()) }, to: side)
            #expect(side.state == .failed || side.state == .handshaking)
            #expect(pair.receivedByClient == [] && pair.receivedByServer == [])
        }
    }

    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var bits = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
            return bits ^ (bits >> 31)
        }
    }

    // MARK: Chains

    /// A certificate with further ones in its file.
    private func chain(_ first: TLSIdentity, _ others: [TLSIdentity]) throws -> TLSIdentity {
        let texts = try ([first] + others).map { try String(contentsOfFile: $0.certificateFile, encoding: .utf8) }
        let file = try certificates.file(Array(texts.joined().utf8))
        return TLSIdentity(certificateFile: file, keyFile: first.keyFile)
    }

    @Test func `a certificate chain of more than 32 KiB, of a server or a client -> limitExceeded`() throws {
        let large = try certificates.make("large") { request in
            request.hosts = (0..<200).map { "host\($0).example.com" }
        }
        let long = try chain(certificates.server, Array(repeating: large, count: 10))
        let ofServer = try pair(server: long)
        ofServer.exchange()
        #expect(ofServer.client.error == .limitExceeded("excessive message size"))
        let ofClient = try pair(client: long) {
            $0.clientCertificates = .required(trustFile: certificates.authority.certificateFile)
        }
        ofClient.exchange()
        #expect(ofClient.server.error == .limitExceeded("excessive message size"))
    }

    @Test func `an intermediate certificate in the chain -> open; not in the chain -> unknownIssuer`() throws {
        let intermediate = try certificates.make("intermediate") { $0.isAuthority = true }
        let server = try certificates.make("leaf", issuer: intermediate)
        let complete = try pair(server: chain(server, [intermediate]))
        complete.exchange()
        #expect(complete.client.state == .open)
        let incomplete = try pair(server: server)
        incomplete.exchange()
        #expect(incomplete.client.error == .unknownIssuer(subject: "CN=leaf", issuer: "CN=intermediate"))
    }

    @Test func `an issuer that is no authority, in the chain or trusted -> invalidCertificate, unknownIssuer`() throws {
        let issuer = try certificates.make("issuer")
        let server = try certificates.make("leaf", issuer: issuer)
        let sent = try pair(server: chain(server, [issuer]))
        sent.exchange()
        guard case .invalidCertificate("CN=issuer", reason: _) = sent.client.error else {
            return #expect(Bool(false), "\(sent.client.error)")
        }
        let trusting = try TLSPair(
            client: TLSClientOptions(trust: .file(issuer.certificateFile)), server: TLSServerOptions(identity: server))
        trusting.exchange()
        #expect(trusting.client.error == .unknownIssuer(subject: "CN=issuer", issuer: "CN=Test Authority"))
    }

    @Test func `an intermediate certificate that has expired or is weak -> its error`() throws {
        let expired = try certificates.make("expired") { request in
            request.isAuthority = true
            request.validity = -86_400..<(-3600)
        }
        let ofExpired = try pair(server: chain(certificates.make("leaf", issuer: expired), [expired]))
        ofExpired.exchange()
        guard case .expired("CN=expired", on: _) = ofExpired.client.error else {
            return #expect(Bool(false))
        }
        let weak = try certificates.make("weak") { request in
            request.isAuthority = true
            request.rsaBitCount = 1024
        }
        let leaf = try certificates.make("leaf", issuer: weak)
        #expect(throws: TLSError.self) { try pair(server: chain(leaf, [weak])) }
    }

    @Test func `a trusted authority that has expired -> expired`() throws {
        let authority = try certificates.make("old authority", issuer: .some(nil)) { request in
            request.isAuthority = true
            request.validity = -86_400..<(-3600)
        }
        let server = try certificates.make("leaf", issuer: authority)
        let pair = try TLSPair(
            client: TLSClientOptions(trust: .file(authority.certificateFile)),
            server: TLSServerOptions(identity: server))
        pair.exchange()
        guard case .expired("CN=old authority", on: _) = pair.client.error else { return #expect(Bool(false)) }
    }
}
