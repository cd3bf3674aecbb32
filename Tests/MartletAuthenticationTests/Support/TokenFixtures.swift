import CMartletCrypto

@testable import MartletAuthentication

/// Keys, and tokens that the tests sign with a secret.
enum TokenFixtures {
    /// One second before the tokens of `SignatureVectors` expire.
    static let now: Int64 = 1_999_999_999

    static let secret = (1...32).map { UInt8($0) }
    static let rsaKey = #"{"kty":"RSA","kid":"rsa","n":"\#(SignatureVectors.modulus)","e":"AQAB"}"#
    static let ecKey =
        #"{"kty":"EC","crv":"P-256","kid":"ec","x":"\#(SignatureVectors.x)","y":"\#(SignatureVectors.y)"}"#
    static let edKey = #"{"kty":"OKP","crv":"Ed25519","kid":"ed","x":"\#(SignatureVectors.ed25519)"}"#
    static let secretKey = #"{"kty":"oct","kid":"hs","k":"\#(Base64.encode(secret, .url))"}"#
    static let allKeys = [rsaKey, ecKey, edKey, secretKey]

    static func document(_ keys: [String]) -> [UInt8] {
        Array("{\"keys\":[\(keys.joined(separator: ","))]}".utf8)
    }

    static func keySet(_ keys: [String] = allKeys) throws(JSONWebKeySetError) -> JSONWebKeySet {
        try JSONWebKeySet(document(keys))
    }

    static func verifier(
        _ keys: [String] = allKeys, issuer: String? = nil, leeway: Int64 = 0
    ) throws(JSONWebKeySetError) -> TokenVerifier {
        TokenVerifier(keys: try keySet(keys), audience: "martlet", issuer: issuer, leeway: leeway)
    }

    /// A token with these texts as header and payload, signed with a secret.
    static func token(
        header: String = #"{"alg":"HS256","kid":"hs"}"#, _ payload: String, secret: [UInt8] = TokenFixtures.secret
    ) -> [UInt8] {
        let input = Base64.encode(Array(header.utf8), .url) + "." + Base64.encode(Array(payload.utf8), .url)
        return Array("\(input).\(Base64.encode(authenticationCode(Array(input.utf8), secret), .url))".utf8)
    }

    /// HMAC-SHA-256 (RFC 2104 §2).
    private static func authenticationCode(_ message: [UInt8], _ secret: [UInt8]) -> [UInt8] {
        let key = secret.count > 64 ? digest(secret) : secret
        let block = key + Array(repeating: 0, count: 64 - key.count)
        return digest(block.map { $0 ^ 0x5C } + digest(block.map { $0 ^ 0x36 } + message))
    }

    private static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: martlet_sha256_byte_count)
        unsafe martlet_sha256(bytes, bytes.count, &digest)
        return digest
    }
}
