import MartletLink
import MartletRelay
import MartletWire
import Testing

@Suite("Token authenticator")
struct TokenAuthenticatorTests {
    private func request(_ account: String, _ token: String?) -> AuthenticationRequest {
        AuthenticationRequest(
            account: AccountName(account)!, device: DeviceID(rawValue: 1), credential: token.flatMap { Credential($0) })
    }

    @Test("matching token returns the account")
    func right() async throws {
        let authenticator = try #require(TokenAuthenticator(["alice": "a", "bob": "b"]))
        #expect(try await authenticator.authenticate(request("alice", "a")) == Identity(AccountName("alice")))
        #expect(try await authenticator.authenticate(request("bob", "b")) == Identity(AccountName("bob")))
    }

    @Test(
        "wrong, foreign or missing token and unknown account throw unauthenticated",
        arguments: [
            ("alice", "x", "the token is wrong"), ("alice", "b", "the token is wrong"),
            ("alice", nil, "the client has no credential"), ("carol", "a", "the account has no token"),
            ("carol", nil, "the client has no credential"),
        ] as [(String, String?, String)])
    func wrong(account: String, token: String?, cause: String) async throws {
        let authenticator = try #require(TokenAuthenticator(["alice": "a", "bob": "b"]))
        await #expect(throws: AuthenticationFailure.unauthenticated(because: cause)) {
            try await authenticator.authenticate(request(account, token))
        }
    }

    @Test("empty table throws unauthenticated")
    func empty() async throws {
        await #expect(throws: AuthenticationFailure.unauthenticated(because: "the account has no token")) {
            try await TokenAuthenticator([AccountName: Credential]()).authenticate(request("alice", "a"))
        }
    }

    @Test("name or token beyond its bounds makes the table nil")
    func bounds() {
        #expect(TokenAuthenticator(["alice": String(repeating: "x", count: 4097)]) == nil)
    }
}
