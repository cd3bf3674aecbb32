import Foundation
import MartletNetworkStandIn
import MartletToolTestSupport
import MartletTransport
import Testing

@testable import MartletNetworkTransport

/// The TLS profile and the verification of certificates with Network.framework (C-65).
@Suite(.timeLimit(.minutes(10))) struct VerificationTests {
    private let certificates = TestCertificates.shared

    /// The first certificate of a file, in DER.
    private func data(of identity: TLSIdentity) throws -> [UInt8] {
        let text = try String(contentsOfFile: identity.certificateFile, encoding: .utf8)
        return try #require(PEMFile.certificates(in: text).first)
    }

    private func options(_ tls: TLSClientOptions, identity: SecIdentity? = nil) async throws -> sec_protocol_options_t {
        var options: sec_protocol_options_t?
        try await withLoop { loop in
            options = try await NetworkRig(tls, identity: identity, on: loop).connection.parameters.tls
        }
        return try #require(options)
    }

    // MARK: Options

    @Test func `every connection -> TLS 1.2 at least, the protocol, the name, verification, no renegotiation`()
        async throws
    {
        let identity = SecIdentity()
        let options = try await options(TLSClientOptions(serverName: "chat.example.com"), identity: identity)
        #expect(options.minVersion == .TLSv12 && options.applicationProtocols == ["martlet/1"])
        #expect(options.serverName == "chat.example.com" && options.requiresPeerAuthentication)
        #expect(!options.allowsRenegotiation && options.localIdentity === identity)
        // No suite without forward secrecy or authenticated encryption.
        #expect(options.cipherSuites == [0x1301, 0x1302, 0x1303, 0xC02B, 0xC02C, 0xC02F, 0xC030, 0xCCA8, 0xCCA9])
        try await withLoop { loop in
            let rig = try await NetworkRig(on: loop)
            #expect(rig.connection.parameters.hasNoDelay)
        }
    }

    @Test func `an identity in files, and trusted certificates that cannot be read -> invalidFile`() async throws {
        try await withLoop { loop in
            let endpoint = try Endpoint(host: "localhost")
            let files = TLSClientOptions(identity: certificates.server)
            #expect(throws: TLSError.self) { try NetworkTransport(to: endpoint, tls: files, on: loop) }
            for path in ["/nonexistent", try certificates.file([1, 2, 3])] {
                #expect(throws: TLSError.invalidFile(path: path, reason: "no certificate")) {
                    try NetworkTransport(to: endpoint, tls: TLSClientOptions(trust: .file(path)), on: loop)
                }
            }
        }
    }

    // MARK: Verification

    @Test func `the system's authorities -> evaluated for the host, with the anchors of the system`() async throws {
        let options = try await options(TLSClientOptions())
        let trust = SecTrust(chain: [try data(of: certificates.server)]) { _ in nil }
        #expect(options.isVerified(trust))
        #expect(trust.host == "localhost" && trust.anchorData == nil)
    }

    @Test func `authorities in a file -> they are the only anchors`() async throws {
        let file = certificates.authority.certificateFile
        let options = try await options(TLSClientOptions(trust: .file(file), serverName: "chat.example.com"))
        let trust = SecTrust(chain: [try data(of: certificates.server)]) { _ in nil }
        #expect(options.isVerified(trust))
        let authority = try data(of: certificates.authority)
        #expect(trust.anchorData == [authority] && trust.trustsAnchorsOnly)
        #expect(trust.host == "chat.example.com")
    }

    @Test func `a pinned key -> the certificate is its own anchor; another key -> pinMismatch`() async throws {
        let pin = try TLSPin(ofCertificate: certificates.server.certificateFile)
        let other = try TLSPin(ofCertificate: certificates.authority.certificateFile)
        let chain = [try data(of: certificates.server), try data(of: certificates.authority)]
        for pins in [(pin, other), (other, pin)] {
            let options = try await options(TLSClientOptions(trust: .pins(pins.0, backup: pins.1)))
            let trust = SecTrust(chain: chain) { _ in nil }
            #expect(options.isVerified(trust))
            #expect(trust.anchorData == [chain[0]] && trust.trustsAnchorsOnly && trust.host == "localhost")
        }
        // The pin of the authority does not accept a certificate that the authority has issued.
        let options = try await options(TLSClientOptions(trust: .pins(other, backup: other)))
        for chain in [chain, [[UInt8](repeating: 0x30, count: 40)], []] {
            #expect(!options.isVerified(SecTrust(chain: chain) { _ in nil }))
        }
    }

    @Test func `a chain that the system refuses -> closed with its description`() async throws {
        try await withLoop { loop in
            let rig = try await NetworkRig(on: loop)
            let trust = SecTrust(chain: [try data(of: certificates.server)]) { _ in "“server” certificate is expired" }
            #expect(rig.connection.parameters.tls?.isVerified(trust) == false)
            rig.connection.enter(.failed(.tls(-9808)))
            await rig.expect(.cancelled(isForced: true))
            rig.connection.enter(.cancelled)
            let error = TLSError.invalidCertificate(subject: "localhost", reason: "“server” certificate is expired")
            #expect(await rig.handler.next() == .closed(.error(.tls(error))))
        }
    }

    // MARK: Keys

    @Test func `certificates with keys of both types -> the pins of OpenSSL`() throws {
        let rsa = try certificates.make("rsa") { $0.rsaBitCount = 2048 }
        for identity in [certificates.server, certificates.authority, rsa] {
            #expect(try CertificateKey.pin(of: data(of: identity)) == TLSPin(ofCertificate: identity.certificateFile))
        }
    }

    @Test func `a certificate that ends after any byte of its key -> no pin; any changed byte -> no crash`() throws {
        let data = try data(of: certificates.server)
        for count in data.indices { #expect(CertificateKey.pin(of: Array(data.prefix(count))) == nil) }
        for index in data.indices {
            for bit in 0..<8 {
                var changed = data
                changed[index] ^= 1 << UInt8(bit)
                _ = CertificateKey.pin(of: changed)
            }
        }
    }
}
