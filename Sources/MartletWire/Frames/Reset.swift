/// The frame that ends a session at once. It is sent on the control session, and frames of the session in flight are
/// dropped (W-57).
public struct Reset: FrameBody {
    /// The type `reset`, 0x5004.
    public static let type = FrameType.reset

    /// The session that ends.
    public let session: SessionID
    /// The reason as a code.
    public let code: ErrorCode
    /// The reason as text for people, at most 256 bytes of UTF-8.
    public let reason: String?
    /// The number of bytes of credit that the sender of this frame has used on the session, so that both endpoints
    /// compute the same credit of the link.
    public let creditUsed: UInt64?
    /// The duration after which the sender would accept another session in place of this one, in milliseconds on the
    /// wire; nil if it names none (W-103, S-64).
    public let retryAfter: Duration?

    /// Creates the frame. `reason` is truncated to 256 bytes, and `retryAfter` is rounded down to milliseconds.
    ///
    /// - Precondition: `session` is not the control session, which ends only with its link (S-1).
    public init(
        session: SessionID, code: ErrorCode, reason: String? = nil, retryAfter: Duration? = nil,
        creditUsed: UInt64? = nil
    ) {
        precondition(session != .control, "the control session cannot be reset")
        self.session = session
        self.code = code
        self.reason = reason?.clipped(toByteCount: FreeText.maxReasonByteCount)
        self.creditUsed = creditUsed
        self.retryAfter = retryAfter?.roundedDown(to: .milliseconds)
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    public init(parsing body: RawSpan) throws(WireError) {
        var session: SessionID?
        var code: ErrorCode?
        var reason: String?
        var creditUsed: UInt64?
        var retryAfter: Duration?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .session: try session.fill(.session, SessionID(rawValue: field.uint16()))
            case .code: try code.fill(.code, ErrorCode(rawValue: field.uint16()))
            case .reason: try reason.fill(.reason, field.reason())
            case .retryAfter: try retryAfter.fill(.retryAfter, field.duration(.milliseconds))
            case .creditUsed: try creditUsed.fill(.creditUsed, field.uint64())
            default: try field.skip()
            }
        }
        guard try session.required(.session) != .control else { throw .invalidValue(.session) }
        self.init(
            session: try session.required(.session), code: try code.required(.code), reason: reason,
            retryAfter: retryAfter, creditUsed: creditUsed)
    }

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.session, uint16: session.rawValue)
        writer.append(.code, uint16: code.rawValue)
        if let reason { writer.append(.reason, string: reason) }
        if let retryAfter { writer.append(.retryAfter, duration: retryAfter, .milliseconds) }
        if let creditUsed { writer.append(.creditUsed, uint64: creditUsed) }
    }
}
