import CMartletCrypto
import MartletProtocol
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

    @Test func `a valid token returns the account with its claims and expiry`() async throws {
        let identity = try await authenticator().authenticate(try request("alice", Self.token(Self.payload)))
        #expect(identity.account.text == "alice")
        #expect(identity.claims.has(role: "staff"))
        #expect(identity.claims.has("tenant", "acme"))
        #expect(identity.expiresAt == 2_000_000)
    }

    @Test(
        arguments: [
            ("bob", token(payload)), ("alice", token(payload, secret: [UInt8](repeating: 8, count: 32))),
            ("alice", token(#"{"sub":"alice","aud":"martlet","exp":900}"#)),
            ("alice", token(#"{"sub":"alice","aud":"other","exp":2000}"#)), ("alice", "not a token"), ("alice", nil),
        ] as [(String, String?)])
    func `a token of another account, key, audience or time, and none, are unauthenticated`(
        _ account: String, _ token: String?
    ) async throws {
        let request = try request(account, token)
        let authenticator = try authenticator()
        await #expect(throws: AuthenticationFailure.unauthenticated) { try await authenticator.authenticate(request) }
    }

    @Test func `replaced keys refuse the tokens of the earlier ones`() async throws {
        let authenticator = try authenticator()
        let request = try request("alice", Self.token(Self.payload))
        _ = try await authenticator.authenticate(request)
        authenticator.setVerifier(try Self.keys([UInt8](repeating: 9, count: 32)))
        await #expect(throws: AuthenticationFailure.unauthenticated) { try await authenticator.authenticate(request) }
    }
}
