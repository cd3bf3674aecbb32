import MartletToolTestSupport
import MartletWire
import Testing

@testable import MartletTransport

// C-73
@Suite struct PeerCertificateNamesTests {
    private let certificates = TestCertificates.shared

    /// The certificate of a client at the server.
    private func certificateAtServer(of client: TLSIdentity) throws -> PeerCertificate? {
        var options = TLSServerOptions(identity: certificates.server)
        options.clientCertificates = .required(trustFile: certificates.authority.certificateFile)
        let pair = try TLSPair(
            client: TLSClientOptions(trust: .file(certificates.authority.certificateFile), identity: client),
            server: options)
        pair.exchange()
        #expect(pair.server.state == .open)
        return pair.server.peerCertificate
    }

    @Test func `a certificate with names of all kinds -> all in their order, and the digest of its key`() throws {
        let ada = try certificates.make("Ada Lovelace") { request in
            request.hosts = ["a.example.com", "b.example.com"]
            request.addresses = ["127.0.0.1"]
            request.emailAddresses = ["ada@example.com", "lovelace@example.com"]
            request.uris = ["urn:example:ada", "https://example.com/ada"]
            request.usage = .client
        }
        let certificate = try #require(try certificateAtServer(of: ada))
        #expect(certificate.commonName == "Ada Lovelace")
        #expect(certificate.hostNames == ["a.example.com", "b.example.com"])
        #expect(certificate.emailAddresses == ["ada@example.com", "lovelace@example.com"])
        #expect(certificate.uris == ["urn:example:ada", "https://example.com/ada"])
        #expect(certificate.publicKeyDigest == (try TLSPin(ofCertificate: ada.certificateFile)).bytes)
    }

    @Test func `a certificate without alternative names -> the common name only`() throws {
        let ada = try certificates.make("ada") { $0.hosts = [] }
        let certificate = try #require(try certificateAtServer(of: ada))
        #expect(certificate.commonName == "ada" && certificate.hostNames == [])
        #expect(certificate.emailAddresses == [] && certificate.uris == [])
    }

    @Test func `a certificate whose names exceed 16 KiB -> no certificate`() throws {
        let ada = try certificates.make("ada") { request in
            request.hosts = (0..<240).map { String(repeating: "a", count: 60) + ".host\($0).example.com" }
        }
        #expect(try certificateAtServer(of: ada) == nil)
    }

    @Test(arguments: [[0], [0, 0], [0, 0, 2, 65], [0, 0, 1, 0xFF], [1, 0, 0, 9]])
    func `names that are truncated or not UTF-8 -> false`(bytes: [UInt8]) {
        var certificate = PeerCertificate(notAfter: 0)
        let isValid = certificate.add(names: bytes[...])
        #expect(!isValid)
    }
}
