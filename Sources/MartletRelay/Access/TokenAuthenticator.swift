import MartletLink
public import MartletWire

/// Authenticates each account by one token from a table.
public struct TokenAuthenticator: Authenticator {
    private let credentials: [AccountName: Credential]
    private let decoy: Credential?

    /// Creates an authenticator for these accounts.
    public init(_ credentials: [AccountName: Credential]) {
        self.credentials = credentials
        decoy = credentials.values.first
    }

    /// Creates an authenticator for accounts and their tokens; nil if a token is invalid.
    public init?(_ tokens: [AccountName: String]) {
        var credentials: [AccountName: Credential] = [:]
        for (account, token) in tokens {
            guard let credential = Credential(token) else { return nil }
            credentials[account] = credential
        }
        self.init(credentials)
    }

    /// Returns the requested account if its credential matches.
    ///
    /// - Throws: `AuthenticationFailure` with the code `unauthenticated` and the cause otherwise.
    public func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
        let known = credentials[request.account]
        // The credential of an unknown account is compared too, so that the response time does not reveal the accounts.
        guard let presented = request.credential else { throw AuthenticationFailure.missingCredential }
        guard let expected = known ?? decoy, presented == expected, known != nil else {
            throw AuthenticationFailure.unauthenticated(
                because: known == nil ? "the account has no token" : "the token is wrong")
        }
        return Identity(request.account)
    }
}
