/// The form of a field's value in a compact TLV (W-90).
enum CompactShape {
    /// One integer with a width in bytes.
    case integer(byteCount: Int)
    /// Consecutive integers with their widths in bytes.
    case integers([Int])
    /// A `sessionAck`: three integers, then ranges.
    case sessionAck
    /// A container of compact TLVs.
    case container
    /// A byte count, then bytes.
    case bytes
}

extension Tag {
    /// The code of the tag in a compact TLV; nil if the tag has none.
    var compactCode: UInt8? {
        for row in Self.compactRows where rawValue >= row.tag && rawValue - row.tag < UInt16(row.count) {
            return row.code + UInt8(rawValue - row.tag)
        }
        return nil
    }

    /// Creates the tag with a compact code; nil if no tag has the code.
    init?(compactCode code: UInt8) {
        for row in Self.compactRows where code >= row.code && code - row.code < row.count {
            self.init(rawValue: row.tag + UInt16(code - row.code))
            return
        }
        return nil
    }
}
