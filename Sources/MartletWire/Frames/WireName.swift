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
        left.text.withUTF8Bytes { left in right.text.withUTF8Bytes { left.precedes($0) } }
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

/// The rules for the characters of names (W-31, Specs/hostile.md row 45): a subset of the names that RFC 8264 permits
/// in the profiles of RFC 8265 and RFC 8266.
///
/// The refused code points are listed explicitly. If the rules used Unicode's tables, peers with different versions of
/// Unicode would disagree about a name, and the connection would end. Unassigned code points are therefore permitted.
///
/// | last scalar | next scalar | result |
/// |---|---|---|
/// | none, or U+0020 | U+0020 | refused: leading or repeated blank |
/// | any | refused by the list | refused |
/// | U+0020 | end | refused: trailing blank |
/// | none | end | refused: empty |
struct NameRules {
    private static let blank: UInt32 = 0x20

    private var last = NameRules.blank

    /// Returns whether the scalar is permitted after the previous ones.
    mutating func take(_ scalar: UInt32) -> Bool {
        guard scalar != Self.blank || last != Self.blank, !Self.refuses(scalar) else { return false }
        last = scalar
        return true
    }

    /// Whether the name may end after the last scalar.
    var isComplete: Bool { last != Self.blank }

    /// Returns whether the table of W-31 contains the scalar: control characters, blanks other than U+0020, invisible
    /// characters, and characters that change the order of others.
    static func refuses(_ scalar: UInt32) -> Bool {
        if scalar < 0x7F { return scalar < 0x20 }
        switch scalar {
        case 0x7F...0xA0, 0xAD, 0x34F, 0x600...0x605, 0x61C, 0x6DD, 0x70F, 0x890...0x891, 0x8E2, 0x115F...0x1160,
            0x1680, 0x17B4...0x17B5, 0x180B...0x180F, 0x2000...0x200F, 0x2028...0x202F, 0x205F...0x206F, 0x3000,
            0x3164, 0xE000...0xF8FF, 0xFDD0...0xFDEF, 0xFE00...0xFE0F, 0xFEFF, 0xFFA0, 0xFFF0...0xFFFB, 0x1_10BD,
            0x1_10CD, 0x1_3430...0x1_343F, 0x1_BCA0...0x1_BCA3, 0x1_D173...0x1_D17A, 0xE_0000...0xE_0FFF,
            0xF_0000...0x10_FFFF:
            return true
        default:
            return scalar & 0xFFFE == 0xFFFE
        }
    }
}

extension RawSpan {
    /// Whether these bytes of well-formed UTF-8 satisfy the rules, apart from their number.
    var isName: Bool {
        var rules = NameRules()
        var offset = 0
        while offset < byteCount {
            let first = loadUInt8(at: offset)
            let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
            var scalar = length == 1 ? UInt32(first) : UInt32(first) & (0x7F >> UInt32(length))
            for next in offset + 1..<offset + length { scalar = scalar << 6 | UInt32(loadUInt8(at: next)) & 0x3F }
            guard rules.take(scalar) else { return false }
            offset += length
        }
        return rules.isComplete
    }
}
