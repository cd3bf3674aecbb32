/// The frame that acknowledges the received frames of the link's sessions and grants credit (W-48).
///
/// A frame with the maximum number of sessions and ranges exceeds the maximum body. The sender therefore observes
/// ``byteCount`` and continues in another frame.
public struct Ack: FrameBody {
    /// The type `ack`, 0x2001.
    public static let type = FrameType.ack
    /// The maximum number of sessions in a frame.
    public static let maxSessionCount = 256

    /// The newest timestamp of the peer; nil if there is no new one.
    public let echo: Echo?
    /// The credit limit of the link: the number of bytes that the peer may have sent since the link began.
    public let linkCredit: UInt64
    /// The acknowledgements of sessions.
    public var sessions: [SessionAck] { (0..<sessionCount).map { session($0) } }
    /// The number of sessions.
    public var sessionCount: Int { first == nil ? 0 : 1 + others.count }

    /// The first session is stored separately, because most acknowledgements name one session and then need no array.
    private let first: SessionAck?
    private let others: [SessionAck]

    /// Creates the frame.
    ///
    /// - Precondition: There are at most ``maxSessionCount`` sessions.
    public init(echo: Echo? = nil, linkCredit: UInt64, sessions: [SessionAck]) {
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
    public var byteCount: Int {
        let fields = (echo == nil ? 1 : 2) * (TLVLimits.headByteCount + 8)
        return others.reduce(fields + (first?.byteCount ?? 0)) { $0 + $1.byteCount }
    }

    /// Creates the frame from its body. It allocates once if there is more than one session, and once for each session
    /// with ranges.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    public init(parsing body: RawSpan) throws(WireError) {
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
            case .echo: try echo.fill(.echo, field.echo())
            default: try field.skip()
            }
        }
        self.echo = echo
        self.linkCredit = try linkCredit.required(.linkCredit)
        self.first = first
        self.others = others
    }

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        if let echo { writer.append(.echo, echo: echo) }
        writer.append(.linkCredit, uint64: linkCredit)
        first?.encode(into: &writer)
        for session in others { session.encode(into: &writer) }
    }

    /// Returns the encoded body, with one allocation.
    public func encode() -> [UInt8] {
        var writer = TLVWriter(reserving: byteCount)
        encode(into: &writer)
        return writer.bytes
    }
}

/// The values of an acknowledgement of one session without ranges (W-86).
public struct SingleAck: BitwiseCopyable, Sendable {
    let echo: Echo?
    let linkCredit: UInt64
    let session: SessionID
    let cumulative: UInt64
    let creditLimit: UInt64

    /// The same acknowledgement as a frame.
    public var ack: Ack {
        let part = SessionAck(session: session, cumulative: cumulative, creditLimit: creditLimit)
        return Ack(echo: echo, linkCredit: linkCredit, first: part)
    }
}
