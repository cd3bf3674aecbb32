/// The frame that ends a session after all its earlier frames (W-57).
public struct Close: FrameBody {
    /// The type `close`, 0x5003.
    public static let type = FrameType.close

    /// The reason as a code; nil if there is none.
    public let code: ErrorCode?
    /// The reason as text for people, at most 256 bytes of UTF-8.
    public let reason: String?

    /// Creates the frame. `reason` is truncated to 256 bytes.
    public init(code: ErrorCode? = nil, reason: String? = nil) {
        self.code = code
        self.reason = reason?.clipped(toByteCount: FreeText.maxReasonByteCount)
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
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

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        if let code { writer.append(.code, uint16: code.rawValue) }
        if let reason { writer.append(.reason, string: reason) }
    }
}
