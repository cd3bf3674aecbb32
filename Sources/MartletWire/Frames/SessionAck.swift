/// The acknowledgement of one session: the received sequences, and the credit limit of the peer (S-21).
public struct SessionAck: Equatable, Sendable {
    /// The maximum number of ranges in an acknowledgement of a session.
    public static let maxRangeCount = 32

    /// The session.
    public let session: SessionID
    /// The highest sequence received in order.
    public let cumulative: UInt64
    /// The credit limit of the session: the number of bytes that the peer may have sent since the session was opened.
    public let creditLimit: UInt64
    /// The ranges of sequences received beyond a gap: ascending, disjoint, and none beginning at `cumulative + 1`.
    public let ranges: [ClosedRange<UInt64>]

    /// Creates the acknowledgement of a session.
    ///
    /// - Precondition: There are at most ``maxRangeCount`` ranges. They are ascending and disjoint, and the first
    ///   begins after `cumulative + 1`.
    public init(session: SessionID, cumulative: UInt64, creditLimit: UInt64, ranges: [ClosedRange<UInt64>] = []) {
        precondition(ranges.count <= Self.maxRangeCount, "more ranges than an acknowledgement may name")
        self.session = session
        self.cumulative = cumulative
        self.creditLimit = creditLimit
        self.ranges = ranges
        precondition(hasRangesInOrder, "ranges disordered, overlapping or next to the cumulative acknowledgement")
    }

    /// The number of bytes of the field, its head included.
    public var byteCount: Int { TLVLimits.headByteCount + valueByteCount }

    /// The number of bytes of the field without ranges, its head included.
    static var minByteCount: Int { TLVLimits.headByteCount + fixedByteCount }

    private var valueByteCount: Int { Self.fixedByteCount + Self.rangeByteCount * ranges.count }

    private static var fixedByteCount: Int { 18 }
    private static var rangeByteCount: Int { 16 }

    private var hasRangesInOrder: Bool {
        var highest = cumulative
        for range in ranges {
            guard range.lowerBound > highest else { return false }
            highest = range.upperBound
        }
        guard let first = ranges.first else { return true }
        return first.lowerBound - cumulative > 1
    }

    init(parsing field: TLVView) throws(WireError) {
        let value = field.value
        let rangeBytes = value.byteCount - Self.fixedByteCount
        guard rangeBytes >= 0, rangeBytes % Self.rangeByteCount == 0,
            rangeBytes / Self.rangeByteCount <= Self.maxRangeCount
        else { throw .invalidValue(field.tag) }
        session = SessionID(rawValue: value.loadUInt16(at: 0))
        cumulative = value.loadUInt64(at: 2)
        creditLimit = value.loadUInt64(at: 10)
        var ranges: [ClosedRange<UInt64>] = []
        if rangeBytes > 0 { ranges.reserveCapacity(rangeBytes / Self.rangeByteCount) }
        for offset in stride(from: Self.fixedByteCount, to: value.byteCount, by: Self.rangeByteCount) {
            let first = value.loadUInt64(at: offset)
            let last = value.loadUInt64(at: offset + 8)
            guard first <= last else { throw .invalidValue(field.tag) }
            ranges.append(first...last)
        }
        self.ranges = ranges
        guard hasRangesInOrder else { throw .invalidValue(field.tag) }
    }

    func encode(into writer: inout TLVWriter) {
        writer.appendHead(.sessionAck, followedBy: valueByteCount)
        writer.appendRaw(session.rawValue)
        writer.appendRaw(cumulative)
        writer.appendRaw(creditLimit)
        for range in ranges {
            writer.appendRaw(range.lowerBound)
            writer.appendRaw(range.upperBound)
        }
    }
}
