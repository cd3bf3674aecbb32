/// A name on the wire: non-empty UTF-8 of bounded length that contains only visible characters and single blanks
/// (W-31).
///
/// Two names are equal if their bytes are equal. Names that only look alike are different on every machine and with
/// every version of Unicode. Keys and identities are therefore names and not `String`s, whose `==` compares canonical
/// equivalence.
public protocol WireName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The maximum number of bytes of UTF-8.
    static var maxByteCount: Int { get }

    /// The text of the name.
    var text: String { get }

    /// Creates a name; nil if the text violates W-31. The text must not be empty, exceed ``maxByteCount`` bytes, begin
    /// or end with a blank, or contain two consecutive blanks. It must not contain control and format characters,
    /// bidirectional controls, invisible characters, blanks other than U+0020, line separators, private-use characters,
    /// or noncharacters.
    init?(_ text: String)
}

extension WireName {
    /// The text of the name.
    public var description: String { text }

    /// Returns whether the bytes of both names are equal.
    public static func == (left: Self, right: Self) -> Bool {
        left.text.hasSameUTF8(as: right.text)
    }

    /// Hashes the bytes. Canonically equivalent texts have the same hash, so a peer could create many names with one.
    public func hash(into hasher: inout Hasher) {
        text.withUTF8Bytes { bytes in unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) } }
        // No UTF-8 contains this byte, so a name is no prefix of the hashed bytes of another.
        hasher.combine(0xFF as UInt8)
    }

    /// Returns whether the bytes of a name are in front of those of another name.
    public static func < (left: Self, right: Self) -> Bool {
        left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
    }

    static func accepts(_ text: String) -> Bool {
        guard (1...maxByteCount).contains(text.utf8.count) else { return false }
        var rules = NameRules()
        return text.unicodeScalars.allSatisfy { rules.take($0.value) } && rules.isComplete
    }

    static func accepts(_ bytes: RawSpan) -> Bool {
        (1...maxByteCount).contains(bytes.byteCount) && bytes.isValidUTF8 && bytes.isName
    }
}

/// The name of an account, 1 to 128 bytes.
public struct AccountName: WireName {
    /// The maximum number of bytes of UTF-8.
    public static let maxByteCount = 128
    /// The text of the name.
    public let text: String

    /// Creates a name; nil if the text violates the rules of ``WireName``.
    public init?(_ text: String) {
        guard Self.accepts(text) else { return nil }
        self.text = text
    }

    /// Creates a name from a text that has been verified.
    init(validated text: String) {
        self.text = text
    }
}

extension AccountName: ExpressibleByStringLiteral {
    /// Creates a name from a literal, which must satisfy the rules of ``WireName``.
    public init(stringLiteral text: String) {
        guard Self.accepts(text) else { preconditionFailure("the literal is not a name") }
        self.text = text
    }
}

/// The name of a room, 1 to 128 bytes.
public struct RoomName: WireName {
    /// The maximum number of bytes of UTF-8.
    public static let maxByteCount = 128
    /// The text of the name.
    public let text: String

    /// Creates a name; nil if the text violates the rules of ``WireName``.
    public init?(_ text: String) {
        guard Self.accepts(text) else { return nil }
        self.text = text
    }
}

extension RoomName: ExpressibleByStringLiteral {
    /// Creates a name from a literal, which must satisfy the rules of ``WireName``.
    public init(stringLiteral text: String) {
        guard Self.accepts(text) else { preconditionFailure("the literal is not a name") }
        self.text = text
    }
}

/// The name of a request's method, 1 to 64 bytes.
public struct MethodName: WireName {
    /// The maximum number of bytes of UTF-8.
    public static let maxByteCount = 64
    /// The text of the name.
    public let text: String

    /// Creates a name; nil if the text violates the rules of ``WireName``.
    public init?(_ text: String) {
        guard Self.accepts(text) else { return nil }
        self.text = text
    }
}

/// The name of an authentication mechanism, 1 to 32 bytes, for example `SCRAM-SHA-256-PLUS` (RFC 4422 §3.1).
public struct MechanismName: WireName {
    /// The maximum number of bytes of UTF-8.
    public static let maxByteCount = 32
    /// The text of the name.
    public let text: String

    /// Creates a name; nil if the text violates the rules of ``WireName``.
    public init?(_ text: String) {
        guard Self.accepts(text) else { return nil }
        self.text = text
    }
}
