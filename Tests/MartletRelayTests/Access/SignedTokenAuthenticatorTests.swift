import CMartletCrypto
import MartletLink
import MartletWire
import Testing

@testable import MartletAuthentication
@testable import MartletRelay

@Suite struct SignedTokenAuthenticatorTests {
    private static let secret = [UInt8](repeating: 7, count: 32)

    private static func token(_ payload: String, secret: [UInt8] = secret) -> String {
        let header = Base64.encode(Array(#"{"alg":"HS256"}"#.utf8), .url)
        let input = header + "." + Base64.encode(Array(payload.utf8), .url)
        var code = [UInt8](repeating: 0, count: martlet_sha256_byte_count)
        _ = unsafe martlet_hmac_sha256(secret, secret.count, Array(input.utf8), input.utf8.count, &code)
        return input + "." + Base64.encode(code, .url)
    }

    private static func keys(_ secret: [UInt8] = secret) throws -> TokenVerifier {
        let document = #"{"keys":[{"kty":"oct","k":"\#(Base64.encode(secret, .url))"}]}"#
        return TokenVerifier(keys: try JSONWebKeySet(Array(document.utf8)), audience: "martlet")
    }

    private func authenticator(now: UInt64 = 1_000_000) throws -> SignedTokenAuthenticator {
        SignedTokenAuthenticator(try Self.keys(), wallClock: { now })
    }

    private func request(_ account: String, _ token: String?) throws -> AuthenticationRequest {
        AuthenticationRequest(
            account: try #require(AccountName(account)), device: DeviceID(rawValue: 1),
            credential: token.flatMap { Credential($0) })
    }

    private static let payload = #"{"sub":"alice","aud":"martlet","exp":2000,"roles":["staff"],"tenant":"acme"}"#

    // C-85
    @Test func `a valid token returns the account with its claims and expiry`() async throws {
        let identity = try await authenticator().authenticate(try request("alice", Self.token(Self.payload)))
        #expect(identity.account.text == "alice")
        #expect(identity.claims.has(role: "staff"))
        #expect(identity.claims.has("tenant", "acme"))
        #expect(identity.expiresAt == 2_060_000)
    }

    // C-66, C-85
    @Test func `a token in the leeway after its expiration -> accepted until the end of the leeway`() async throws {
        let request = try request("alice", Self.token(Self.payload))
        let identity = try await authenticator(now: 2_059_999).authenticate(request)
        #expect(identity.expiresAt == 2_060_000)
        await #expect(throws: AuthenticationFailure.unauthenticated(because: "the token expired at 2000")) {
            try await authenticator(now: 2_060_000).authenticate(request)
        }
    }

    @Test(
        arguments: [
            ("bob", token(payload), "the token is for another account"),
            // The names only look equal.
            ("\u{E9}", token(#"{"sub":"e\u0301","aud":"martlet","exp":2000}"#), "the token is for another account"),
            ("alice", token(payload, secret: [UInt8](repeating: 8, count: 32)), "the token's signature is not valid"),
            ("alice", token(#"{"sub":"alice","aud":"martlet","exp":900}"#), "the token expired at 900"),
            ("alice", token(#"{"sub":"alice","aud":"other","exp":2000}"#), "the token is for another audience"),
            ("alice", "not a token", "the token's serialization is malformed"),
            ("alice", nil, "the client has no credential"),
        ] as [(String, String?, String)])
    func `a token of another account, key, audience or time, and none, are unauthenticated`(
        _ account: String, _ token: String?, _ cause: String
    ) async throws {
        let request = try request(account, token)
        let authenticator = try authenticator()
        // The cause is for the log, and not in the notice.
        let failure = AuthenticationFailure(Notice(code: .unauthenticated), cause: cause)
        await #expect(throws: failure) { try await authenticator.authenticate(request) }
    }

    @Test func `the cause of a refused token -> an event of the relay, and not in the reject`() async throws {
        let log = EventLog()
        try await withRelay(authenticator: try authenticator(), onEvent: log.note) { _, port in
            let peer = try await WirePeer.connect(to: port)
            await peer.send(FrameWriter.hello("alice", credential: Self.token(#"{"sub":"alice","exp":2000}"#)))
            #expect(try await peer.expect(Reject.self).notice == Notice(code: .unauthenticated))
        }
        let causes = log.all.compactMap { if case .authenticationRefused(_, let cause) = $0 { cause } else { nil } }
        #expect(causes == ["the token has no claim \"aud\""])
        #expect(log.all.compactMap { AuditRecord($0)?.reason } == causes)
    }

    @Test func `replaced keys refuse the tokens of the earlier ones`() async throws {
        let authenticator = try authenticator()
        let request = try request("alice", Self.token(Self.payload))
        _ = try await authenticator.authenticate(request)
        authenticator.setVerifier(try Self.keys([UInt8](repeating: 9, count: 32)))
        await #expect(throws: AuthenticationFailure.unauthenticated(because: "the token's signature is not valid")) {
            try await authenticator.authenticate(request)
        }
    }
}
