/// Verifies signed tokens (JWT, RFC 7519) by a set of keys (C-85).
///
/// The order of the checks is fixed: size, form and header, key, signature, and then the claims. No claim is parsed
/// before the signature has been verified.
public struct TokenVerifier: Sendable {
    /// The maximum number of bytes of a token, the maximum of a credential on the wire.
    public static let maxTokenByteCount = 4096
    /// The default of `leeway`, in seconds.
    public static let defaultLeeway: Int64 = 60
    /// The maximum of `leeway`, in seconds.
    public static let maxLeeway: Int64 = 600

    private let keys: JSONWebKeySet
    private let audience: String
    private let issuer: String?
    /// The tolerated difference of clocks in seconds, by which a token is valid before its start and after its
    /// expiration.
    public let leeway: Int64

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - keys: the keys of the issuer.
    ///   - audience: the value that a token's `aud` must be or contain.
    ///   - issuer: the value that a token's `iss` must be; nil to accept any.
    ///   - leeway: the tolerated difference of clocks in seconds, 0 to ``maxLeeway``. Another value is a programmer's
    ///     mistake.
    public init(
        keys: JSONWebKeySet, audience: String, issuer: String? = nil, leeway: Int64 = TokenVerifier.defaultLeeway
    ) {
        precondition((0...Self.maxLeeway).contains(leeway), "leeway is not in 0...\(Self.maxLeeway) seconds")
        self.keys = keys
        self.audience = audience
        self.issuer = issuer
        self.leeway = leeway
    }

    /// Verifies a token in compact serialization (RFC 7515 §7.1) and returns its claims.
    ///
    /// - Parameters:
    ///   - token: the bytes of the token, at most ``maxTokenByteCount``.
    ///   - now: the current time in seconds since 1970.
    /// - Throws: `TokenError` with the first reason for a refusal.
    public func verify(_ token: [UInt8], now: Int64) throws(TokenError) -> TokenClaims {
        guard token.count <= Self.maxTokenByteCount else { throw .tooLarge }
        let token = try JSONWebToken(token)
        let payload = try token.payload(verifiedBy: keys.key(for: token.header))
        try checkIssuer(payload)
        try checkAudience(payload)
        let expiresAt = try checkTimes(payload, now: now)
        guard let subject = try Self.string("sub", payload) else { throw .missingClaim("sub") }
        guard !subject.isEmpty else { throw .invalidClaim("sub") }
        return try TokenClaims(payload: payload, subject: subject, expiresAt: expiresAt)
    }

    /// RFC 7519 §4.1.1
    private func checkIssuer(_ payload: [JSONMember]) throws(TokenError) {
        guard let issuer else { return }
        guard let text = try Self.string("iss", payload) else { throw .missingClaim("iss") }
        guard text.hasSameBytes(as: issuer) else { throw .wrongIssuer }
    }

    /// RFC 7519 §4.1.3
    private func checkAudience(_ payload: [JSONMember]) throws(TokenError) {
        guard let value = payload["aud"] else { throw .missingClaim("aud") }
        guard let audiences = value.string.map({ [$0] }) ?? value.strings else { throw .invalidClaim("aud") }
        guard audiences.contains(where: { $0.hasSameBytes(as: audience) }) else { throw .wrongAudience }
    }

    /// Returns the time of expiration (RFC 7519 §4.1.4 to §4.1.6).
    private func checkTimes(_ payload: [JSONMember], now: Int64) throws(TokenError) -> Int64 {
        guard let expiresAt = try NumericDate.read("exp", payload) else { throw .missingClaim("exp") }
        guard now < expiresAt + leeway else { throw .expired(at: expiresAt) }
        let starts = [try NumericDate.read("nbf", payload), try NumericDate.read("iat", payload)]
        if let start = starts.compactMap(\.self).max(), now < start - leeway { throw .notYetValid(at: start) }
        return expiresAt
    }

    private static func string(_ name: String, _ payload: [JSONMember]) throws(TokenError) -> String? {
        guard let value = payload[name] else { return nil }
        guard let string = value.string else { throw .invalidClaim(name) }
        return string
    }
}
