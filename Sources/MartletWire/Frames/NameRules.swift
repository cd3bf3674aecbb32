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
