import MartletAuthentication
import MartletLink
import MartletWire
import Testing

@testable import MartletRelay

// C-73
@Suite struct CertificateAuthenticatorTests {
    private let authenticator = CertificateAuthenticator(wallClock: { 1_000_000 })

    private func request(
        _ account: String, _ certificate: PeerCertificate?, token: String? = nil
    ) throws -> AuthenticationRequest {
        AuthenticationRequest(
            account: try #require(AccountName(account)), device: DeviceID(rawValue: 1),
            credential: token.flatMap { Credential($0) }, certificate: certificate)
    }

    private static let everyName = PeerCertificate(
        commonName: "ada", hostNames: ["ada.example.com"], emailAddresses: ["ada@example.com", "a@example.com"],
        uris: ["urn:ada", "urn:a"], notAfter: 2000)

    @Test func `a certificate → its first e-mail address, else its first URI, else its common name`() async throws {
        var certificate = Self.everyName
        for account in ["ada@example.com", "urn:ada", "ada"] {
            let identity = try await authenticator.authenticate(try request(account, certificate))
            #expect(identity == Identity(try #require(AccountName(account)), expiresAt: 2_000_000))
            if certificate.emailAddresses.isEmpty { certificate.uris = [] }
            certificate.emailAddresses = []
        }
    }

    private static let wrong = "the certificate is not for this account"
    private static let expired = "the certificate has expired"

    @Test(
        arguments: [
            ("ada", everyName, wrong), ("a@example.com", everyName, wrong), ("ada.example.com", everyName, wrong),
            ("ada", PeerCertificate(hostNames: ["ada"], notAfter: 2000), wrong),
            ("ada", PeerCertificate(notAfter: 2000), wrong),
            ("ada", PeerCertificate(commonName: "Ada", notAfter: 2000), wrong),
            ("ada", PeerCertificate(commonName: "ada\0", notAfter: 2000), wrong),
            ("ada", PeerCertificate(commonName: "ada", notAfter: 1000), expired),
            ("ada", PeerCertificate(commonName: "ada", notAfter: -1), expired),
            ("ada", PeerCertificate(commonName: "ada", notAfter: .max), expired),
            ("ada", PeerCertificate(commonName: "ada", emailAddresses: [""], notAfter: 2000), wrong),
        ] as [(String, PeerCertificate, String)])
    func `a certificate of another account, without a name, or expired → unauthenticated`(
        account: String, certificate: PeerCertificate, cause: String
    ) async throws {
        let request = try request(account, certificate)
        let failure = AuthenticationFailure.unauthenticated(because: cause)
        await #expect(throws: failure) { try await authenticator.authenticate(request) }
    }

    @Test func `no certificate → unauthenticated, or the answer of the fallback`() async throws {
        let request = try request("ada", nil, token: "secret")
        let missing = AuthenticationFailure.unauthenticated(because: "the client has no certificate")
        await #expect(throws: missing) { try await authenticator.authenticate(request) }
        let tokens = try #require(TokenAuthenticator(["ada": "secret"]))
        let both = CertificateAuthenticator(fallback: tokens)
        #expect(try await both.authenticate(request) == Identity(request.account))
        let wrong = try self.request("ada", nil, token: "guess")
        let refusal = AuthenticationFailure.unauthenticated(because: "the token is wrong")
        await #expect(throws: refusal) { try await both.authenticate(wrong) }
    }

    @Test func `a mechanism → the exchange of the fallback; with a certificate unauthenticated`() throws {
        let passwords = SCRAMAuthenticator(passwordFile: PasswordFile())
        let both = CertificateAuthenticator(fallback: passwords)
        var request = try request("ada", nil)
        request.mechanism = MechanismName("SCRAM-SHA-256-PLUS")
        request.hasTLS = true
        request.channelBinding = Array(repeating: 0, count: 32)
        #expect(try both.exchange(for: request) != nil)
        #expect(try authenticator.exchange(for: request) == nil)
        request.certificate = PeerCertificate(commonName: "ada", notAfter: .max / 1000)
        #expect { try both.exchange(for: request) } throws: {
            ($0 as? AuthenticationFailure)?.notice.code == .unauthenticated
        }
    }

    @Test func `a certificate of another account with a valid token → unauthenticated`() async throws {
        let tokens = try #require(TokenAuthenticator(["ada": "secret"]))
        let request = try request("ada", PeerCertificate(commonName: "bob", notAfter: .max / 1000), token: "secret")
        let failure = AuthenticationFailure.unauthenticated(because: Self.wrong)
        await #expect(throws: failure) {
            try await CertificateAuthenticator(fallback: tokens).authenticate(request)
        }
    }
}
