/// The account names seen lately: who says much has one name in memory, however many messages bear it.
///
/// Each name has one slot that it may be in, told by its bytes; the next that belongs there takes its place.
public struct AccountNames: Sendable {
    /// How many names are remembered at the most.
    public static var maxCount: Int { 16 }

    /// No names before the first; a slot that nobody is in yet holds an empty text.
    private var slots: [String] = []

    /// None.
    public init() {}

    /// The name of these bytes; nil when they break ``WireName``'s rules.
    public mutating func name(_ utf8: RawSpan) -> AccountName? {
        let slot = Self.slot(of: utf8)
        if !slots.isEmpty, !utf8.isEmpty {
            let known = slots[slot]
            if known.hasUTF8(utf8) { return AccountName(validated: known) }
        }
        return remember(utf8, in: slot)
    }

    private mutating func remember(_ utf8: RawSpan, in slot: Int) -> AccountName? {
        guard AccountName.accepts(utf8) else { return nil }
        let name = AccountName(validated: String(validated: utf8))
        if slots.isEmpty { slots = Array(repeating: "", count: Self.maxCount) }
        slots[slot] = name.text
        return name
    }

    /// Mixes the length with the first and the last bytes; a multiplication brings them to the top.
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
