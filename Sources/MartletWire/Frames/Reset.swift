/// Ends a session at once, from the control session: what it still had under way is dropped (W-57).
public struct Reset: FrameBody {
    /// `reset`, 0x5004.
    public static let type = FrameType.reset

    /// The session that ends.
    public let session: SessionID
    /// Why.
    public let code: ErrorCode
    /// The same for people, at most 256 bytes.
    public let reason: String?
    /// Bytes of credit that the sender of this used on the session, so that both sides count the link's credit alike.
    public let creditUsed: UInt64?

    /// An end; `reason` is cut to 256 bytes.
    ///
    /// - Precondition: the control session ends only with its link (S-1).
    public init(session: SessionID, code: ErrorCode, reason: String? = nil, creditUsed: UInt64? = nil) {
        precondition(session != .control, "the control session cannot be reset")
        self.session = session
        self.code = code
        self.reason = reason?.clipped(toByteCount: FreeText.maxReasonByteCount)
        self.creditUsed = creditUsed
    }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var session: SessionID?
        var code: ErrorCode?
        var reason: String?
        var creditUsed: UInt64?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .session: try session.fill(.session, SessionID(rawValue: field.uint16()))
            case .code: try code.fill(.code, ErrorCode(rawValue: field.uint16()))
            case .reason: try reason.fill(.reason, field.reason())
            case .creditUsed: try creditUsed.fill(.creditUsed, field.uint64())
            default: try field.skip()
            }
        }
        guard try session.required(.session) != .control else { throw .invalidValue(.session) }
        self.init(
            session: try session.required(.session), code: try code.required(.code), reason: reason,
            creditUsed: creditUsed)
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.session, uint16: session.rawValue)
        writer.append(.code, uint16: code.rawValue)
        if let reason { writer.append(.reason, string: reason) }
        if let creditUsed { writer.append(.creditUsed, uint64: creditUsed) }
    }
}
