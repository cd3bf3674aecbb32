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
    /// Codes and tags go up together, in rows without a gap: first tag, first code, how many (W-89).
    private static let rows: [(tag: UInt16, code: UInt8, count: UInt8)] = [
        (0x0001, 0x01, 5), (0x0010, 0x06, 11), (0x0020, 0x11, 5), (0x0030, 0x16, 5), (0x0040, 0x1B, 2),
        (0x0043, 0x1D, 1), (0x0048, 0x1E, 3), (0x0050, 0x21, 9), (0x0060, 0x2A, 3), (0x0070, 0x2D, 5),
        (0x0080, 0x32, 2), (0x0101, 0x34, 2), (0x0142, 0x36, 1), (0x0201, 0x37, 5),
    ]

    /// The tag's code in a compact TLV; nil when it has none.
    var compactCode: UInt8? {
        for row in Self.rows where rawValue >= row.tag && rawValue - row.tag < UInt16(row.count) {
            return row.code + UInt8(rawValue - row.tag)
        }
        return nil
    }

    /// The tag of a code; nil when no tag has it.
    init?(compactCode code: UInt8) {
        for row in Self.rows where code >= row.code && code - row.code < row.count {
            self.init(rawValue: row.tag + UInt16(code - row.code))
            return
        }
        return nil
    }

    /// How the value of a tag that has a code is written.
    var compactShape: CompactShape {
        if isContainer { return .container }
        return switch self {
        case .presence, .typing, .sessionKind, .noLocal, .receiptKind: .integer(byteCount: 1)
        case .code, .spokenVersion, .maxSessions, .kind, .session, .status: .integer(byteCount: 2)
        case .retryAfter, .epoch, .resumeLifetime, .heartbeatInterval, .maxBody, .maxMessage, .linkWindow,
            .sessionWindow, .timeToLive, .tail, .deadline:
            .integer(byteCount: 4)
        case .features, .device, .link, .linkCredit, .nonce, .creditUsed, .counter, .offset, .acceptedAt, .cursor,
            .head, .first, .upTo, .correlation:
            .integer(byteCount: 8)
        case .sessionPosition: .integers([2, 8])
        case .echo: .integers([4, 4])
        case .acceptedRun: .integers([8, 4, 8])
        case .sessionAck: .sessionAck
        default: .bytes
        }
    }
}
