/// A JWS in compact serialization (RFC 7515 §7.1) whose signature has not been verified yet.
///
/// Keys and addresses of keys in the header (`jwk`, `jku`, `x5c`, `x5u`) are ignored.
struct JSONWebToken {
    /// The values of the header that select a key.
    struct Header {
        let algorithm: String
        let keyID: String?
    }

    let header: Header
    private let signingInput: [UInt8]
    private let payload: ArraySlice<UInt8>
    private let signature: [UInt8]

    /// Separates the parts of a token and parses its header.
    ///
    /// - Throws: `malformed` for invalid serializations and headers, `criticalHeader` and `wrongType` for headers that
    ///   are not accepted.
    init(_ token: [UInt8]) throws(TokenError) {
        let dot = UInt8(ascii: ".")
        let parts = token.split(separator: dot, maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts.contains(where: \.isEmpty) else { throw .malformed(.serialization) }
        header = try Self.header(parts[0])
        guard let signature = Base64.decode(parts[2], .url) else { throw .malformed(.signature) }
        signingInput = Array(token[..<parts[1].endIndex])
        payload = parts[1]
        self.signature = signature
    }

    /// Returns the members of the payload after the verification of the signature.
    ///
    /// - Throws: `badSignature` if the signature is not of this key, `malformed` if the payload is no JSON object.
    func payload(verifiedBy key: VerificationKey) throws(TokenError) -> [JSONMember] {
        guard key.verifies(signature, of: signingInput) else { throw .badSignature }
        return try Self.object(payload, .payload)
    }

    private static func header(_ part: ArraySlice<UInt8>) throws(TokenError) -> Header {
        let members = try object(part, .header)
        // No extension of JWS is implemented (RFC 7515 §4.1.11).
        guard members["crit"] == nil else { throw .criticalHeader }
        if let type = try string("typ", members), !isAccepted(type: type) { throw .wrongType }
        guard let algorithm = try string("alg", members) else { throw .malformed(.header) }
        return Header(algorithm: algorithm, keyID: try string("kid", members))
    }

    /// A JWT (RFC 7519 §5.1) or an access token (RFC 9068 §2.1), with or without the prefix of its media type
    /// (RFC 7515 §4.1.9).
    private static func isAccepted(type: String) -> Bool {
        ["jwt", "at+jwt", "application/jwt", "application/at+jwt"].contains(type.lowercased())
    }

    private static func string(_ name: String, _ members: [JSONMember]) throws(TokenError) -> String? {
        guard let value = members[name] else { return nil }
        guard let string = value.string else { throw .malformed(.header) }
        return string
    }

    private static func object(_ part: ArraySlice<UInt8>, _ kind: TokenError.Part) throws(TokenError) -> [JSONMember] {
        guard let bytes = Base64.decode(part, .url),
            let value = try? JSONReader.read(bytes, maxByteCount: TokenVerifier.maxTokenByteCount),
            let members = value.members
        else { throw .malformed(kind) }
        return members
    }
}
