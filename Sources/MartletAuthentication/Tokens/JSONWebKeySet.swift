/// The keys that verify tokens, from a JWK Set (RFC 7517 §5).
///
/// A key has exactly one algorithm, which its type decides: RSA has RS256, EC with the curve P-256 has ES256, OKP with
/// the curve Ed25519 has EdDSA, and oct has HS256. A token cannot select another algorithm for a key, such as HS256
/// with the bytes of a public key (RFC 8725 §3.1).
public struct JSONWebKeySet: Sendable {
    /// The maximum number of bytes of a document.
    public static let maxByteCount = 256 * 1024
    /// The maximum number of keys in a document.
    public static let maxKeys = 64

    /// The number of keys that can verify a token.
    public var keyCount: Int { keys.count }
    /// The number of keys of the document that were skipped: of another type, curve or algorithm, or for another use.
    public let skippedKeyCount: Int

    private let keys: [JSONWebKey]

    /// Parses a JWK Set of at most ``maxByteCount`` bytes and ``maxKeys`` keys.
    ///
    /// RSA keys have 2048 to 8192 bits, secrets at least 32 bytes. Certificates in the document are ignored.
    ///
    /// - Throws: `JSONWebKeySetError` if the document or one of its keys is invalid, or if no key can be used. On Apple
    ///   systems no key can be created.
    public init(_ bytes: [UInt8]) throws(JSONWebKeySetError) {
        let document: JSONValue
        do throws(JSONError) {
            document = try JSONReader.read(bytes, maxByteCount: Self.maxByteCount)
        } catch {
            throw .invalidJSON(error)
        }
        guard let values = document.members?["keys"]?.elements else { throw .noKeyArray }
        guard values.count <= Self.maxKeys else { throw .tooManyKeys(values.count) }
        var keys: [JSONWebKey] = []
        for (index, value) in values.enumerated() {
            guard let key = try JSONWebKey.parse(value, at: index) else { continue }
            guard !keys.contains(where: { $0.conflicts(with: key) }) else { throw .duplicateKeyID(index: index) }
            keys.append(key)
        }
        guard !keys.isEmpty else { throw .noUsableKey }
        self.keys = keys
        skippedKeyCount = values.count - keys.count
    }

    /// Creates a set of one key with the algorithm HS256, without a document.
    ///
    /// - Parameters:
    ///   - secret: At least 32 bytes, with which the issuer signs.
    ///   - keyID: The `kid` of the tokens; nil if they have none.
    /// - Throws: `JSONWebKeySetError.invalidKey` with the index 0 for a shorter secret, and on Apple systems.
    public init(secret: [UInt8], keyID: String? = nil) throws(JSONWebKeySetError) {
        guard let key = VerificationKey(.secret(secret)) else { throw .invalidKey(index: 0) }
        keys = [JSONWebKey(keyID: keyID, key: key)]
        skippedKeyCount = 0
    }

    /// Returns the key for a token's header.
    ///
    /// - Throws: `algorithmNotAllowed` if the algorithm is not the key's, `unknownKey` if no key has the identifier,
    ///   `ambiguousKey` if the header has no identifier and several keys have the algorithm.
    func key(for header: JSONWebToken.Header) throws(TokenError) -> VerificationKey {
        guard let algorithm = SignatureAlgorithm(rawValue: header.algorithm) else { throw .algorithmNotAllowed }
        var candidates = keys
        if let keyID = header.keyID {
            candidates.removeAll { $0.keyID?.hasSameBytes(as: keyID) != true }
            guard !candidates.isEmpty else { throw .unknownKey }
        }
        candidates.removeAll { $0.key.algorithm != algorithm }
        guard let candidate = candidates.first else { throw .algorithmNotAllowed }
        guard candidates.count == 1 else { throw .ambiguousKey }
        return candidate.key
    }
}

extension JSONWebKey {
    /// Whether one header would select both keys by their identifier.
    fileprivate func conflicts(with other: JSONWebKey) -> Bool {
        guard let keyID, let otherID = other.keyID else { return false }
        return keyID.hasSameBytes(as: otherID) && key.algorithm == other.key.algorithm
    }
}
