import MartletProtocol
import MartletRelay
import MartletWire
import Testing

@Suite("Accounts with a token each")
struct TokenAuthenticatorTests {
    private func request(_ account: String, _ token: String?) -> AuthenticationRequest {
        AuthenticationRequest(
            account: AccountName(account)!, device: DeviceID(rawValue: 1), credential: token.flatMap { Credential($0) })
    }

    @Test("the right token lets the account in")
    func right() async throws {
        let authenticator = try #require(TokenAuthenticator(["alice": "a", "bob": "b"]))
        #expect(try await authenticator.authenticate(request("alice", "a")).text == "alice")
        #expect(try await authenticator.authenticate(request("bob", "b")).text == "bob")
    }

    @Test(
        "a wrong token, another's, none, and an account that is not known",
        arguments: [("alice", "x"), ("alice", "b"), ("alice", nil), ("carol", "a"), ("carol", nil)]
            as [(String, String?)])
    func wrong(account: String, token: String?) async throws {
        let authenticator = try #require(TokenAuthenticator(["alice": "a", "bob": "b"]))
        await #expect(throws: AuthenticationFailure.unauthenticated) {
            try await authenticator.authenticate(request(account, token))
        }
    }

    @Test("an empty table lets nobody in")
    func empty() async throws {
        await #expect(throws: AuthenticationFailure.unauthenticated) {
            try await TokenAuthenticator([AccountName: Credential]()).authenticate(request("alice", ""))
        }
    }

    @Test("names and tokens beyond their bounds make no table")
    func bounds() {
        #expect(TokenAuthenticator(["": "a"]) == nil)
        #expect(TokenAuthenticator(["alice": String(repeating: "x", count: 4097)]) == nil)
    }
}
