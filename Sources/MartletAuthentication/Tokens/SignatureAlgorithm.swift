/// The signature algorithms that a key may have, by their names in JOSE.
enum SignatureAlgorithm: String, Sendable {
    /// HMAC-SHA-256 (RFC 7518 §3.2).
    case hs256 = "HS256"
    /// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518 §3.3).
    case rs256 = "RS256"
    /// ECDSA with P-256 and SHA-256 (RFC 7518 §3.4).
    case es256 = "ES256"
    /// Ed25519 (RFC 8037 §3.1).
    case edDSA = "EdDSA"
}
