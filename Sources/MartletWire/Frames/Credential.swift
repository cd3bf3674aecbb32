/// What proves an account's identity: opaque to the protocol, at most 4096 bytes, never compressed.
///
/// It never shows in descriptions, dumps or interpolations, and comparing two of one length takes the same time
/// wherever they differ.
public struct Credential: Equatable, Sendable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// The most bytes in a credential.
    public static let maxByteCount = 4096

    /// The secret itself.
    public let bytes: [UInt8]

    /// Nil when there are more than ``maxByteCount`` bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.maxByteCount else { return nil }
        self.bytes = bytes
    }

    /// The UTF-8 of a text, such as a bearer token; nil when that is more than ``maxByteCount`` bytes.
    public init?(_ text: String) {
        self.init([UInt8](text.utf8))
    }

    /// Compares all bytes, wherever the first difference is. The length is not secret.
    public static func == (left: Credential, right: Credential) -> Bool {
        guard left.bytes.count == right.bytes.count else { return false }
        var difference: UInt8 = 0
        for (one, other) in zip(left.bytes, right.bytes) { difference |= one ^ other }
        return difference == 0
    }

    /// Says that there is a credential, not which.
    public var description: String { "Credential(redacted)" }
    /// Says that there is a credential, not which.
    public var debugDescription: String { description }
    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TLVView {
    func credential() throws(WireError) -> Credential {
        guard value.byteCount <= Credential.maxByteCount, let credential = Credential(bytes()) else {
            throw .invalidValue(tag)
        }
        return credential
    }
}
