/// The frame that acknowledges the received frames of the link's sessions and grants credit (W-48).
///
/// A frame with the maximum number of sessions and ranges exceeds the maximum body. The sender therefore observes
/// ``byteCount`` and continues in another frame.
package struct Ack: FrameBody {
    /// The type `ack`, 0x2001.
    package static let type = FrameType.ack
    /// The maximum number of sessions in a frame.
    package static let maxSessionCount = 256

    /// The newest timestamp of the peer; nil if there is no new one.
    package let echo: Echo?
    /// The credit limit of the link: the number of bytes that the peer may have sent since the link began.
    package let linkCredit: UInt64
    /// The acknowledgements of sessions.
    package var sessions: [SessionAck] { (0..<sessionCount).map { session($0) } }
    /// The number of sessions.
    package var sessionCount: Int { first == nil ? 0 : 1 + others.count }

    /// The first session is stored separately, because most acknowledgements name one session and then need no array.
    private let first: SessionAck?
    private let others: [SessionAck]

    /// Creates the frame.
    ///
    /// - Precondition: There are at most ``maxSessionCount`` sessions.
    package init(echo: Echo? = nil, linkCredit: UInt64, sessions: [SessionAck]) {
        precondition(sessions.count <= Self.maxSessionCount, "more sessions than an acknowledgement may name")
        self.echo = echo
        self.linkCredit = linkCredit
        first = sessions.first
        others = Array(sessions.dropFirst())
    }

    /// Creates the frame for one session.
    package init(echo: Echo?, linkCredit: UInt64, first: SessionAck) {
        self.echo = echo
        self.linkCredit = linkCredit
        self.first = first
        others = []
    }

    /// Returns the acknowledgement at an index of ``sessions``.
    @inline(__always)
    package func session(_ index: Int) -> SessionAck {
        if index == 0, let first { first } else { others[index - 1] }
    }

    /// The number of bytes of the body.
    package var byteCount: Int {
        let fields = (echo == nil ? 1 : 2) * (TLVLimits.headByteCount + 8)
        return others.reduce(fields + (first?.byteCount ?? 0)) { $0 + $1.byteCount }
    }

    /// Creates the frame from its body. It allocates once if there is more than one session, and once for each session
    /// with ranges.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    package init(parsing body: RawSpan) throws(WireError) {
        var echo: Echo?
        var linkCredit: UInt64?
        var first: SessionAck?
        var others: [SessionAck] = []
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .sessionAck:
                let session = try SessionAck(parsing: field)
                if first == nil {
                    first = session
                } else {
                    if others.isEmpty {
                        others.reserveCapacity(min(body.byteCount / SessionAck.minByteCount, Self.maxSessionCount))
                    }
                    guard others.count + 1 < Self.maxSessionCount else {
                        throw .tooManyTLVs(limit: Self.maxSessionCount)
                    }
                    others.append(session)
                }
            case .linkCredit: try linkCredit.fill(.linkCredit, field.uint64())
            case .echo: try echo.fill(.echo, Echo(parsing: field))
            default: try field.skip()
            }
        }
        self.echo = echo
        self.linkCredit = try linkCredit.required(.linkCredit)
        self.first = first
        self.others = others
    }

    /// Appends the fields of the body.
    package func encode(into writer: inout TLVWriter) {
        echo?.encode(into: &writer)
        writer.append(.linkCredit, uint64: linkCredit)
        first?.encode(into: &writer)
        for session in others { session.encode(into: &writer) }
    }

    /// Returns the encoded body, with one allocation.
    package func encode() -> [UInt8] {
        var writer = TLVWriter(reserving: byteCount)
        encode(into: &writer)
        return writer.bytes
    }
}

/// The values of an acknowledgement of one session without ranges (W-86).
@usableFromInline
package struct SingleAck: BitwiseCopyable, Sendable {
    let echo: Echo?
    let linkCredit: UInt64
    let session: SessionID
    let cumulative: UInt64
    let creditLimit: UInt64

    /// The same acknowledgement as a frame.
    package var ack: Ack {
        let part = SessionAck(session: session, cumulative: cumulative, creditLimit: creditLimit)
        return Ack(echo: echo, linkCredit: linkCredit, first: part)
    }
}

/// The acknowledgement of one session: the received sequences, and the credit limit of the peer (S-21).
package struct SessionAck: Equatable, Sendable {
    /// The maximum number of ranges in an acknowledgement of a session.
    package static let maxRangeCount = 32

    /// The session.
    package let session: SessionID
    /// The highest sequence received in order.
    package let cumulative: UInt64
    /// The credit limit of the session: the number of bytes that the peer may have sent since the session was opened.
    package let creditLimit: UInt64
    /// The ranges of sequences received beyond a gap: ascending, disjoint, and none beginning at `cumulative + 1`.
    package let ranges: [ClosedRange<UInt64>]

    /// Creates the acknowledgement of a session.
    ///
    /// - Precondition: There are at most ``maxRangeCount`` ranges. They are ascending and disjoint, and the first
    ///   begins after `cumulative + 1`.
    package init(session: SessionID, cumulative: UInt64, creditLimit: UInt64, ranges: [ClosedRange<UInt64>] = []) {
        precondition(ranges.count <= Self.maxRangeCount, "more ranges than an acknowledgement may name")
        self.session = session
        self.cumulative = cumulative
        self.creditLimit = creditLimit
        self.ranges = ranges
        precondition(hasRangesInOrder, "ranges disordered, overlapping or next to the cumulative acknowledgement")
    }

    /// The number of bytes of the field, its head included.
    package var byteCount: Int { TLVLimits.headByteCount + valueByteCount }

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

/// A timestamp of the peer that is returned to it, as a sample of the round-trip time (W-53).
package struct Echo: Hashable, BitwiseCopyable, Sendable {
    /// The newest timestamp received from the peer, in milliseconds since the link began, by the peer's clock.
    package let timestamp: UInt32
    /// The duration between the receipt and the return of the timestamp, in whole microseconds.
    package let delayMicroseconds: UInt32

    /// The duration between the receipt and the return of the timestamp.
    package var delay: Duration { .microseconds(delayMicroseconds) }

    /// Creates an echo. `delay` is rounded down to microseconds and clamped to 32 bits.
    package init(timestamp: UInt32, delay: Duration) {
        self.init(timestamp: timestamp, delayMicroseconds: delay.wireCount(.microseconds))
    }

    init(timestamp: UInt32, delayMicroseconds: UInt32) {
        self.timestamp = timestamp
        self.delayMicroseconds = delayMicroseconds
    }
    init(parsing field: TLVView) throws(WireError) {
        let parts = try field.uint64()
        self.init(
            timestamp: UInt32(truncatingIfNeeded: parts >> 32), delayMicroseconds: UInt32(truncatingIfNeeded: parts))
    }

    func encode(into writer: inout TLVWriter) {
        writer.append(.echo, uint64: UInt64(timestamp) << 32 | UInt64(delayMicroseconds))
    }
}
