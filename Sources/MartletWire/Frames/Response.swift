/// Answers a request (W-69).
public struct Response: FrameBody {
    /// `response`, 0x6002.
    public static let type = FrameType.response

    /// The request's number.
    public let correlation: UInt64
    /// `none` when the request was done, else why not.
    public let status: ErrorCode
    /// The same for people, at most 256 bytes.
    public let reason: String?
    /// The result: a container's value, so TLVs or nothing.
    public let content: [UInt8]?

    /// A response; `reason` is cut to 256 bytes.
    ///
    /// - Precondition: `content` is well-formed TLVs.
    public init(correlation: UInt64, status: ErrorCode = .none, reason: String? = nil, content: [UInt8]? = nil) {
        precondition(ContentRules.allow(content), "content is not well-formed TLVs")
        self.correlation = correlation
        self.status = status
        self.reason = reason?.clipped(toByteCount: FreeText.maxReasonByteCount)
        self.content = content
    }

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var correlation: UInt64?
        var status: ErrorCode?
        var reason: String?
        var content: [UInt8]?
        var reader = try TLVReader(wholeBody: body)
        while let field = try reader.next() {
            switch field.tag {
            case .correlation: try correlation.fill(.correlation, field.uint64())
            case .status: try status.fill(.status, ErrorCode(rawValue: field.uint16()))
            case .reason: try reason.fill(.reason, field.reason())
            case .content: try content.fill(.content, field.content())
            default: try field.skip()
            }
        }
        self.correlation = try correlation.required(.correlation)
        self.status = try status.required(.status)
        self.reason = reason
        self.content = content
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.correlation, uint64: correlation)
        writer.append(.status, uint16: status.rawValue)
        if let reason { writer.append(.reason, string: reason) }
        if let content { writer.append(.content, bytes: content) }
    }
}
