/// The reason why a document is no acceptable key set. It contains no values of keys.
public enum JSONWebKeySetError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The document is no JSON text, or exceeds ``JSONWebKeySet/maxByteCount``.
    case invalidJSON(JSONError)
    /// The document is no object with an array `keys` (RFC 7517 §5).
    case noKeyArray
    /// The array has more than ``JSONWebKeySet/maxKeys`` elements.
    case tooManyKeys(Int)
    /// The element of the array is no object.
    case notAnObject(index: Int)
    /// The key lacks a member that its type requires.
    case missingMember(String, index: Int)
    /// The member has the wrong type, or is no base64url without padding.
    case invalidMember(String, index: Int)
    /// The key's `alg` belongs to another key type.
    case algorithmMismatch(index: Int)
    /// The values are no key, or one that is too weak: RSA below 2048 bits, a secret below 32 bytes, a point that is
    /// not on the curve. On Apple systems, where no signature can be verified, this is the result for every key.
    case invalidKey(index: Int)
    /// Two keys have the same `kid` and the same algorithm (RFC 7517 §4.5).
    case duplicateKeyID(index: Int)
    /// No key can be used to verify a token.
    case noUsableKey

    /// One line with the reason.
    public var description: String {
        switch self {
        case .invalidJSON(let error): "the key set is not valid JSON: \(error)"
        case .noKeyArray: "the key set is not an object with an array \"keys\""
        case .tooManyKeys(let count): "the key set has \(count) keys, more than \(JSONWebKeySet.maxKeys)"
        case .notAnObject(let index): "key \(index) is not an object"
        case .missingMember(let name, let index): "key \(index) has no \"\(name)\""
        case .invalidMember(let name, let index): "key \(index) has an invalid \"\(name)\""
        case .algorithmMismatch(let index): "key \(index) has an \"alg\" of another key type"
        case .invalidKey(let index): "key \(index) is invalid or too weak"
        case .duplicateKeyID(let index): "key \(index) has the \"kid\" and the algorithm of an earlier key"
        case .noUsableKey: "the key set has no key that can verify a token"
        }
    }
}
