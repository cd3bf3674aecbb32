/// A cache of recent account names, so that the messages of a frequent publisher share one string.
///
/// The bytes of a name determine its slot. A name replaces the previous one in its slot.
package struct AccountNames: Sendable {
    /// The maximum number of names in the cache.
    package static var maxCount: Int { 16 }

    /// The slots; empty before the first name. An unused slot contains an empty string.
    private var slots: [String] = []

    /// Creates an empty cache.
    package init() {}

    /// Returns the name with the given UTF-8; nil if it violates the rules of ``WireName``.
    package mutating func name(_ utf8: RawSpan) -> AccountName? {
        let slot = Self.slot(of: utf8)
        if !slots.isEmpty, !utf8.isEmpty {
            let known = slots[slot]
            if known.hasUTF8(utf8) { return AccountName(validated: known) }
        }
        return store(utf8, in: slot)
    }

    private mutating func store(_ utf8: RawSpan, in slot: Int) -> AccountName? {
        guard AccountName.accepts(utf8) else { return nil }
        let name = AccountName(validated: String(validated: utf8))
        if slots.isEmpty { slots = Array(repeating: "", count: Self.maxCount) }
        slots[slot] = name.text
        return name
    }

    /// Returns the slot of a name: a hash of its length and of its first and last bytes.
    @inline(__always)
    private static func slot(of utf8: RawSpan) -> Int {
        let count = utf8.byteCount
        var bits = UInt64(truncatingIfNeeded: count)
        if count >= 8 {
            bits ^= utf8.loadUInt64(at: 0) ^ (utf8.loadUInt64(at: count &- 8) &<< 7)
        } else {
            for offset in 0..<count { bits = bits &<< 8 ^ UInt64(utf8.loadUInt8(at: offset)) }
        }
        return Int((bits &* 0x9E37_79B9_7F4A_7C15) >> 60)
    }
}
