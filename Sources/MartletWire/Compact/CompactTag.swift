/// How a field's value is written in a compact TLV (W-90).
enum CompactShape {
    /// One integer of so many bytes.
    case integer(byteCount: Int)
    /// Integers of these widths, in bytes, one after the other.
    case integers([Int])
    /// A `sessionAck`: three integers, and ranges.
    case sessionAck
    /// TLVs again.
    case container
    /// Bytes behind their number.
    case bytes
}

extension Tag {
    /// The tag's code in a compact TLV; nil when it has none.
    var compactCode: UInt8? {
        for row in Self.compactRows where rawValue >= row.tag && rawValue - row.tag < UInt16(row.count) {
            return row.code + UInt8(rawValue - row.tag)
        }
        return nil
    }

    /// The tag of a code; nil when no tag has it.
    init?(compactCode code: UInt8) {
        for row in Self.compactRows where code >= row.code && code - row.code < row.count {
            self.init(rawValue: row.tag + UInt16(code - row.code))
            return
        }
        return nil
    }
}
