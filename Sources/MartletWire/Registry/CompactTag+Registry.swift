// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

extension Tag {
    /// Rows of consecutive tags and codes: first tag, first code, number (W-89).
    static let compactRows: [(tag: UInt16, code: UInt8, count: UInt8)] = [
        (0x0001, 0x01, 5), (0x0010, 0x06, 11), (0x0020, 0x11, 5), (0x0030, 0x16, 5), (0x0040, 0x1B, 2),
        (0x0043, 0x1D, 1), (0x0048, 0x1E, 3), (0x0050, 0x21, 9), (0x0060, 0x2A, 3), (0x0070, 0x2D, 5),
        (0x0080, 0x32, 2), (0x0101, 0x34, 2), (0x0142, 0x36, 1), (0x0201, 0x37, 5),
    ]

    /// The form of the value in a compact TLV.
    var compactShape: CompactShape {
        switch self {
        case .code, .spokenVersion, .maxSessions, .kind, .session, .status: .integer(byteCount: 2)
        case .retryAfter, .epoch, .resumeLifetime, .heartbeatInterval, .maxBody, .maxMessage, .linkWindow,
            .sessionWindow, .timeToLive, .tail, .deadline:
            .integer(byteCount: 4)
        case .features, .device, .link, .linkCredit, .nonce, .creditUsed, .counter, .offset, .acceptedAt, .cursor,
            .head, .first, .upTo, .correlation:
            .integer(byteCount: 8)
        case .sessionPosition: .integers([2, 8])
        case .echo: .integers([4, 4])
        case .sessionAck: .sessionAck
        case .sessionKind, .noLocal, .receiptKind, .presence, .typing: .integer(byteCount: 1)
        case .acceptedRun: .integers([8, 4, 8])
        case .limits, .resume, .content: .container
        default: .bytes
        }
    }
}
