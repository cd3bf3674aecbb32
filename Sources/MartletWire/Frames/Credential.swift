/// The proof of an account: opaque bytes, at most 4096, that are never compressed.
///
/// Descriptions, dumps and interpolations do not contain the bytes. A comparison of two credentials of equal length
/// takes constant time.
public struct Credential: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The maximum number of bytes of a credential.
    public static let maxByteCount = 4096

    /// The secret bytes.
    public let bytes: [UInt8]

    /// Creates a credential; nil if there are more than ``maxByteCount`` bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maxByteCount else { return nil }
        self.bytes = bytes
    }

    /// Creates a credential with the UTF-8 of a text, for example a bearer token; nil if there are more than
    /// ``maxByteCount`` bytes.
    public init?(_ text: String) {
        self.init([UInt8](text.utf8))
    }

    /// Returns whether both credentials are equal. The comparison reads all bytes; the length is not secret.
    public static func == (left: Credential, right: Credential) -> Bool {
        guard left.bytes.count == right.bytes.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(left.bytes, right.bytes) { difference |= one ^ other }
        return difference == 0
    }

    /// The text `Credential(redacted)`.
    public var description: String { "Credential(redacted)" }
    /// The text `Credential(redacted)`.
    public var debugDescription: String { description }
    init(parsing field: TLVView) throws(WireError) {
        guard field.value.byteCount <= Self.maxByteCount, let credential = Credential(field.bytes()) else {
            throw .invalidValue(field.tag)
        }
        self = credential
    }

    func encode(into writer: inout TLVWriter) {
        writer.append(.credential, bytes: bytes)
    }
}
