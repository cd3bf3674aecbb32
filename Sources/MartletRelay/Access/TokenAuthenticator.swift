public import MartletProtocol
public import MartletWire

/// Lets accounts in by a token each, from a table.
public struct TokenAuthenticator: Authenticator {
    private let credentials: [AccountName: Credential]
    private let decoy: Credential?

    /// Knows these accounts.
    public init(_ credentials: [AccountName: Credential]) {
        self.credentials = credentials
        decoy = credentials.values.first
    }

    /// Knows these accounts by their tokens; nil when a name or a token breaks the bounds of its type.
    public init?(_ tokens: [String: String]) {
        var credentials: [AccountName: Credential] = [:]
        for (name, token) in tokens {
            guard let account = AccountName(name), let credential = Credential(token) else { return nil }
            credentials[account] = credential
        }
        self.init(credentials)
    }

    /// The account, when the credential is the one in the table; else throws `AuthenticationFailure.unauthenticated`.
    public func authenticate(_ request: AuthenticationRequest) async throws -> AccountName {
        let known = credentials[request.account]
        // An unknown account costs a comparison as well: how long the answer takes does not say whether there is one.
        guard let expected = known ?? decoy, let presented = request.credential, presented == expected, known != nil
        else { throw AuthenticationFailure.unauthenticated }
        return request.account
    }
}
