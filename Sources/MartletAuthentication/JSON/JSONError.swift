/// The reason why bytes are no acceptable JSON text, and its position.
public struct JSONError: Error, Equatable, Sendable, CustomStringConvertible {
    /// A violation of RFC 8259, or of a bound of the reader.
    public enum Reason: Equatable, Sendable {
        /// The text has more bytes than the bound for its use.
        case tooLarge
        /// Arrays and objects are nested more deeply than 16 levels.
        case tooDeep
        /// The text ends inside a value.
        case unexpectedEnd
        /// The byte cannot begin or continue a value (RFC 8259 §2).
        case unexpectedByte
        /// The number violates RFC 8259 §6, or is too large for a double.
        case invalidNumber
        /// The string contains a control character or an invalid escape (RFC 8259 §7).
        case invalidString
        /// The string is not valid UTF-8, or contains half of a surrogate pair (RFC 8259 §8).
        case invalidUnicode
        /// The object has two members with this name (RFC 8259 §4 leaves their meaning open).
        case duplicateName
        /// Other bytes follow the value.
        case trailingBytes
    }

    /// The reason.
    public let reason: Reason
    /// The number of bytes before the violation. Violations by a whole string, name or number have the offset of its
    /// first byte.
    public let offset: Int

    /// One line with the reason and the offset.
    public var description: String { "\(text) at offset \(offset)" }

    private var text: String {
        switch reason {
        case .tooLarge: "too many bytes"
        case .tooDeep: "values nested too deeply"
        case .unexpectedEnd: "unexpected end"
        case .unexpectedByte: "unexpected byte"
        case .invalidNumber: "invalid number"
        case .invalidString: "invalid string"
        case .invalidUnicode: "invalid Unicode"
        case .duplicateName: "duplicate name"
        case .trailingBytes: "bytes after the value"
        }
    }
}
