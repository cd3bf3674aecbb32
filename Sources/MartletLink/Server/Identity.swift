public import MartletWire

/// The identity of a peer that an authenticator has verified (C-26).
public struct Identity: Hashable, Sendable {
    /// The account as which the link acts.
    public var account: AccountName
    /// The claims of the credential about the account.
    public var claims: Claims

    /// The expiry of the credential, in milliseconds since 1970; nil if it does not expire.
    public var expiresAt: UInt64?

    /// Creates the identity of an account.
    public init(_ account: AccountName, claims: Claims = Claims(), expiresAt: UInt64? = nil) {
        self.account = account
        self.claims = claims
        self.expiresAt = expiresAt
    }
}

/// Properties of an account that its credential proves, for decisions about its rights.
///
/// The server keeps them unchanged with the link; the authenticator bounds their size.
public struct Claims: Hashable, Sendable {
    /// The roles of the account.
    public var roles: [String]
    /// Other properties by name.
    public var values: [String: String]

    /// Creates claims; none by default.
    public init(roles: [String] = [], values: [String: String] = [:]) {
        self.roles = roles
        self.values = values
    }

    /// Returns whether the bytes of all roles, names and values are equal. A renewed credential with an equivalent but
    /// different text changes the claims.
    public static func == (left: Claims, right: Claims) -> Bool {
        left.values.count == right.values.count && left.values.allSatisfy { right.has($0.key, $0.value) }
            && left.roles.elementsEqual(right.roles) { $0.utf8.elementsEqual($1.utf8) }
    }

    /// Whether the account has a role. Names are compared byte by byte.
    public func has(role: String) -> Bool { roles.contains { $0.utf8.elementsEqual(role.utf8) } }

    /// Whether a property has a value. Names and values are compared byte by byte.
    public func has(_ name: String, _ value: String) -> Bool {
        guard let index = values.index(forKey: name) else { return false }
        let (key, found) = values[index]
        return key.utf8.elementsEqual(name.utf8) && found.utf8.elementsEqual(value.utf8)
    }
}

/// A device of an account. The key includes the account, so that no account can use a device of another account (C-2).
public struct DeviceKey: Hashable, Sendable {
    /// The authenticated account.
    public var account: AccountName
    /// The ID of the device.
    public var device: DeviceID

    /// A device of an account.
    public init(account: AccountName, device: DeviceID) {
        self.account = account
        self.device = device
    }
}
