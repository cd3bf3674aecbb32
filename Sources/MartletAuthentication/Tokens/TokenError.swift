/// The reason why a token is refused. It contains no text of the token.
public enum TokenError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A part of a token.
    public enum Part: String, Sendable {
        /// The division into three parts (RFC 7515 §7.1).
        case serialization
        /// The first part, the JOSE header.
        case header
        /// The second part, the claims.
        case payload
        /// The third part.
        case signature
    }

    /// The token has more than ``TokenVerifier/maxTokenByteCount`` bytes.
    case tooLarge
    /// The part violates RFC 7515: it is empty, no base64url, no JSON object, or has a member of the wrong type.
    case malformed(Part)
    /// The header has `crit`: extensions that the receiver must know (RFC 7515 §4.1.11).
    case criticalHeader
    /// The header's `typ` is neither `JWT` nor `at+jwt`.
    case wrongType
    /// No key has the header's `kid`.
    case unknownKey
    /// The header has no `kid`, and several keys have its algorithm.
    case ambiguousKey
    /// The header's `alg` is not the algorithm of the key; also for `none`.
    case algorithmNotAllowed
    /// The signature was not made by the key for these bytes.
    case badSignature
    /// The required claim is absent.
    case missingClaim(String)
    /// The claim has the wrong type or exceeds its bound.
    case invalidClaim(String)
    /// The issuer (`iss`) is not the required one.
    case wrongIssuer
    /// The audience (`aud`) does not contain the required one.
    case wrongAudience
    /// The token expired at this time, in seconds since 1970 (`exp`).
    case expired(at: Int64)
    /// The token is valid from this time, in seconds since 1970 (the later of `nbf` and `iat`).
    case notYetValid(at: Int64)
    /// There are more than ``TokenClaims/maxTextClaims`` claims that are strings.
    case tooManyClaims

    /// One line with the reason.
    public var description: String {
        switch self {
        case .tooLarge: "the token has more than \(TokenVerifier.maxTokenByteCount) bytes"
        case .malformed(let part): "the token's \(part.rawValue) is malformed"
        case .criticalHeader: "the token requires an unknown extension"
        case .wrongType: "the token's type is neither JWT nor at+jwt"
        case .unknownKey: "no key has the token's key identifier"
        case .ambiguousKey: "the token has no key identifier, and several keys have its algorithm"
        case .algorithmNotAllowed: "the token's algorithm is not that of its key"
        case .badSignature: "the token's signature is not valid"
        case .missingClaim(let name): "the token has no claim \"\(name)\""
        case .invalidClaim(let name): "the token's claim \"\(name)\" is not valid"
        case .wrongIssuer: "the token is from another issuer"
        case .wrongAudience: "the token is for another audience"
        case .expired(let time): "the token expired at \(time)"
        case .notYetValid(let time): "the token is not valid before \(time)"
        case .tooManyClaims: "the token has more than \(TokenClaims.maxTextClaims) text claims"
        }
    }
}
