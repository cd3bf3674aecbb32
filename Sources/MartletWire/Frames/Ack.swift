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
    public var sessions: [SessionAck] { (0..<sessionCount).map { session($0) } }
    /// How many they are.
    public var sessionCount: Int { first == nil ? 0 : 1 + others.count }

    /// Mostly one session is named, and no array needed.
    private let first: SessionAck?
    private let others: [SessionAck]

    /// An acknowledgement.
    ///
    /// - Precondition: at most ``maxSessionCount`` sessions.
    public init(echo: Echo? = nil, linkCredit: UInt64, sessions: [SessionAck]) {
        precondition(sessions.count <= Self.maxSessionCount, "more sessions than an acknowledgement may name")
        self.echo = echo
        self.linkCredit = linkCredit
        first = sessions.first
        others = Array(sessions.dropFirst())
    }

    /// One of a single session.
    package init(echo: Echo?, linkCredit: UInt64, first: SessionAck) {
        self.echo = echo
        self.linkCredit = linkCredit
        self.first = first
        others = []
    }

    /// One of ``sessions``.
    @inline(__always)
    package func session(_ index: Int) -> SessionAck {
        if index == 0, let first { first } else { others[index - 1] }
    }

    /// Bytes of the body.
    public var byteCount: Int {
        let fields = (echo == nil ? 1 : 2) * (TLVLimits.headByteCount + 8)
        return others.reduce(fields + (first?.byteCount ?? 0)) { $0 + $1.byteCount }
    }

    /// Parses a whole body; see ``FrameBody`` for the errors. Allocates once for more sessions than one, and once
    /// for each with ranges.
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
                        others.reserveCapacity(min(body.byteCount / SessionAck.leastByteCount, Self.maxSessionCount))
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

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        if let echo { writer.append(.echo, echo: echo) }
        writer.append(.linkCredit, uint64: linkCredit)
        first?.encode(into: &writer)
        for session in others { session.encode(into: &writer) }
    }

    /// The body as bytes, in one allocation.
    public func encode() -> [UInt8] {
        var writer = TLVWriter(reserving: byteCount)
        encode(into: &writer)
        return writer.bytes
    }
}

/// An acknowledgement of one session without ranges, as its values (W-86).
public struct SingleAck: BitwiseCopyable, Sendable {
    let echo: Echo?
    let linkCredit: UInt64
    let session: SessionID
    let cumulative: UInt64
    let creditLimit: UInt64

    /// The same as any acknowledgement.
    public var ack: Ack {
        let part = SessionAck(session: session, cumulative: cumulative, creditLimit: creditLimit)
        return Ack(echo: echo, linkCredit: linkCredit, first: part)
    }
}
