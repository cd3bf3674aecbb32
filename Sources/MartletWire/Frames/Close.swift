/// Ends a session in good order: everything before it counts (W-57).
public struct Close: FrameBody {
    /// `close`, 0x5003.
    public static let type = FrameType.close

    /// Why; nil when there is nothing to say.
    public let code: ErrorCode?
    /// The same for people, at most 256 bytes.
    public let reason: String?

    /// An end; `reason` is cut to 256 bytes.
    public init(code: ErrorCode? = nil, reason: String? = nil) {
        self.code = code
        self.reason = reason?.clipped(toByteCount: FreeText.maxReasonByteCount)
    }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var code: ErrorCode?
        var reason: String?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .code: try code.fill(.code, ErrorCode(rawValue: field.uint16()))
            case .reason: try reason.fill(.reason, field.reason())
            default: try field.skip()
            }
        }
        self.init(code: code, reason: reason)
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        if let code { writer.append(.code, uint16: code.rawValue) }
        if let reason { writer.append(.reason, string: reason) }
    }
}
