public import MartletWire

/// The identity of a peer that an authenticator has verified (C-26).
public struct Identity: Hashable, Sendable {
    /// The account as which the link acts.
    public var account: AccountName
    /// What the credential says of the account beside its name.
    public var claims: Claims

    /// The identity of an account.
    public init(_ account: AccountName, claims: Claims = Claims()) {
        self.account = account
        self.claims = claims
    }
}

/// Properties of an account that its credential proves, for the decisions of a room policy.
///
/// The engine keeps them unchanged with the link; the authenticator bounds their size.
public struct Claims: Hashable, Sendable {
    /// The roles of the account.
    public var roles: Set<String>
    /// Other properties by name.
    public var values: [String: String]

    /// Claims; none by default.
    public init(roles: Set<String> = [], values: [String: String] = [:]) {
        self.roles = roles
        self.values = values
    }
}
