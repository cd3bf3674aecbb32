/// What has arrived on all sessions of the link, and the credit to go on, in one frame (W-48).
///
/// An acknowledgement with every session and range at its bound is longer than a body may be: who writes one watches
/// ``byteCount`` and says the rest in the next.
public struct Ack: FrameBody {
    /// `ack`, 0x2001.
    public static let type = FrameType.ack
    /// The most sessions in one.
    public static let maxSessionCount = 256

    /// The peer's newest timestamp, when there is a new one.
    public let echo: Echo?
    /// The sum of bytes that the peer may have sent on the link since it began.
    public let linkCredit: UInt64
    /// The sessions of which there is something to say.
    public let sessions: [SessionAck]

    /// An acknowledgement.
    ///
    /// - Precondition: at most ``maxSessionCount`` sessions.
    public init(echo: Echo? = nil, linkCredit: UInt64, sessions: [SessionAck]) {
        precondition(sessions.count <= Self.maxSessionCount, "more sessions than an acknowledgement may name")
        self.echo = echo
        self.linkCredit = linkCredit
        self.sessions = sessions
    }

    /// Bytes of the body.
    public var byteCount: Int {
        let fields = (echo == nil ? 1 : 2) * (TLVLimits.headByteCount + 8)
        return sessions.reduce(fields) { $0 + $1.byteCount }
    }

    /// Parses a whole body; see ``FrameBody`` for the errors. Allocates once, and once for each session with ranges.
    public init(parsing body: RawSpan) throws(WireError) {
        var echo: Echo?
        var linkCredit: UInt64?
        var sessions: [SessionAck] = []
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .sessionAck:
                if sessions.isEmpty {
                    sessions.reserveCapacity(min(body.byteCount / SessionAck.leastByteCount, Self.maxSessionCount))
                }
                try sessions.append(SessionAck(parsing: field), limit: Self.maxSessionCount)
            case .linkCredit: try linkCredit.fill(.linkCredit, field.uint64())
            case .echo: try echo.fill(.echo, field.echo())
            default: try field.skip()
            }
        }
        self.echo = echo
        self.linkCredit = try linkCredit.required(.linkCredit)
        self.sessions = sessions
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        if let echo { writer.append(.echo, echo: echo) }
        writer.append(.linkCredit, uint64: linkCredit)
        for session in sessions { session.encode(into: &writer) }
    }

    /// The body as bytes, in one allocation.
    public func encode() -> [UInt8] {
        var writer = TLVWriter(reserving: byteCount)
        encode(into: &writer)
        return writer.bytes
    }
}
