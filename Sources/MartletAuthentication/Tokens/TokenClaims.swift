/// The claims of a verified token (RFC 7519 §4).
///
/// All texts together have fewer bytes than the token.
public struct TokenClaims: Equatable, Sendable {
    /// The maximum number of roles.
    public static let maxRoles = 64
    /// The maximum number of bytes of a role.
    public static let maxRoleByteCount = 128
    /// The maximum number of claims that are strings.
    public static let maxTextClaims = 64

    /// The subject (`sub`): the name of the account, not empty.
    public let subject: String
    /// The time in seconds since 1970 from which the token must not be accepted any longer (`exp`), without leeway. A
    /// fraction of a second is rounded up.
    public let expiresAt: Int64
    /// The roles (`roles`, an array of strings), of 1 to ``maxRoleByteCount`` bytes each; empty if there is no such
    /// claim.
    public let roles: [String]

    private let texts: [JSONMember]

    /// Returns the value of a claim at the top level if it is a string. Names are compared byte by byte.
    public func text(of name: String) -> String? {
        texts[name]?.string
    }

    /// The claims at the top level that are strings, by name.
    public var textClaims: [String: String] {
        let pairs = texts.compactMap { member in member.value.string.map { (member.name, $0) } }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    /// Creates the claims of a verified payload.
    init(payload: [JSONMember], subject: String, expiresAt: Int64) throws(TokenError) {
        self.subject = subject
        self.expiresAt = expiresAt
        roles = try Self.roles(payload["roles"])
        texts = payload.filter { $0.value.string != nil }
        guard texts.count <= Self.maxTextClaims else { throw .tooManyClaims }
    }

    private static func roles(_ value: JSONValue?) throws(TokenError) -> [String] {
        guard let value else { return [] }
        guard let roles = value.strings, roles.count <= maxRoles,
            roles.allSatisfy({ (1...maxRoleByteCount).contains($0.utf8.count) })
        else { throw .invalidClaim("roles") }
        return roles
    }
}
