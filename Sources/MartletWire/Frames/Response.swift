/// The frame that answers a request (W-69).
public struct Response: FrameBody {
    /// The type `response`, 0x6002.
    public static let type = FrameType.response

    /// The correlation of the request.
    public let correlation: UInt64
    /// The code `none` if the request succeeded, otherwise the reason of the failure.
    public let status: ErrorCode
    /// The reason as text for people, at most 256 bytes of UTF-8.
    public let reason: String?
    /// The duration after which the request may succeed, in milliseconds on the wire; nil if the responder names none
    /// (W-103, S-65).
    public let retryAfter: Duration?
    /// The result: the TLVs of a container; nil if there is none.
    public let content: [UInt8]?

    /// Creates the frame. `reason` is truncated to 256 bytes, and `retryAfter` is rounded down to milliseconds.
    ///
    /// - Precondition: `content` consists of well-formed TLVs.
    public init(
        correlation: UInt64, status: ErrorCode = .none, reason: String? = nil, retryAfter: Duration? = nil,
        content: [UInt8]? = nil
    ) {
        precondition(ContentRules.allow(content), "content is not well-formed TLVs")
        self.correlation = correlation
        self.status = status
        self.reason = reason?.clipped(toByteCount: FreeText.maxReasonByteCount)
        self.retryAfter = retryAfter?.roundedDown(to: .milliseconds)
        self.content = content
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    public init(parsing body: RawSpan) throws(WireError) {
        var correlation: UInt64?
        var status: ErrorCode?
        var reason: String?
        var retryAfter: Duration?
        var content: [UInt8]?
        var reader = try TLVReader(wholeBodyWithContent: body)
        while let field = try reader.next() {
            switch field.tag {
            case .correlation: try correlation.fill(.correlation, field.uint64())
            case .status: try status.fill(.status, ErrorCode(rawValue: field.uint16()))
            case .reason: try reason.fill(.reason, field.reason())
            case .retryAfter: try retryAfter.fill(.retryAfter, field.duration(.milliseconds))
            case .content: try content.fill(.content, field.content())
            default: try field.skip()
            }
        }
        self.correlation = try correlation.required(.correlation)
        self.status = try status.required(.status)
        self.reason = reason
        self.retryAfter = retryAfter
        self.content = content
    }

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.correlation, uint64: correlation)
        writer.append(.status, uint16: status.rawValue)
        if let reason { writer.append(.reason, string: reason) }
        if let retryAfter { writer.append(.retryAfter, duration: retryAfter, .milliseconds) }
        if let content { writer.append(.content, bytes: content) }
    }
}
