import MartletProtocol
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
        #expect(try await authenticator.authenticate(request("alice", "a")) == Identity(AccountName("alice")!))
        #expect(try await authenticator.authenticate(request("bob", "b")) == Identity(AccountName("bob")!))
    }

    @Test(
        "wrong, foreign or missing token and unknown account throw unauthenticated",
        arguments: [("alice", "x"), ("alice", "b"), ("alice", nil), ("carol", "a"), ("carol", nil)]
            as [(String, String?)])
    func wrong(account: String, token: String?) async throws {
        let authenticator = try #require(TokenAuthenticator(["alice": "a", "bob": "b"]))
        await #expect(throws: AuthenticationFailure.unauthenticated) {
            try await authenticator.authenticate(request(account, token))
        }
    }

    @Test("empty table throws unauthenticated")
    func empty() async throws {
        await #expect(throws: AuthenticationFailure.unauthenticated) {
            try await TokenAuthenticator([AccountName: Credential]()).authenticate(request("alice", ""))
        }
    }

    @Test("name or token beyond its bounds makes the table nil")
    func bounds() {
        #expect(TokenAuthenticator(["": "a"]) == nil)
        #expect(TokenAuthenticator(["alice": String(repeating: "x", count: 4097)]) == nil)
    }
}
