/// What one side has received on one session, and how far the other may go on (S-21).
public struct SessionAck: Equatable, Sendable {
    /// The most ranges in one.
    public static let maxRangeCount = 32

    /// The session.
    public let session: SessionID
    /// The highest sequence received with none missing before it.
    public let cumulative: UInt64
    /// The sum of bytes that the other side may have sent on the session since it opened.
    public let creditLimit: UInt64
    /// What was received beyond a hole: ascending, disjoint, none at `cumulative + 1`.
    public let ranges: [ClosedRange<UInt64>]

    /// A session's acknowledgement.
    ///
    /// - Precondition: at most ``maxRangeCount`` ranges, ascending, disjoint, the first beyond `cumulative + 1`.
    public init(session: SessionID, cumulative: UInt64, creditLimit: UInt64, ranges: [ClosedRange<UInt64>] = []) {
        precondition(ranges.count <= Self.maxRangeCount, "more ranges than an acknowledgement may name")
        self.session = session
        self.cumulative = cumulative
        self.creditLimit = creditLimit
        self.ranges = ranges
        precondition(hasRangesInOrder, "ranges disordered, overlapping or next to the cumulative acknowledgement")
    }

    /// Bytes on the wire, the field's head included.
    public var byteCount: Int { TLVLimits.headByteCount + valueByteCount }

    /// Bytes on the wire of one without ranges.
    static var leastByteCount: Int { TLVLimits.headByteCount + fixedByteCount }

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
