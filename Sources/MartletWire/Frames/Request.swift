/// The frame that requests a response from another account or from the relay (W-68).
public struct Request: FrameBody {
    /// The type `request`, 0x6001.
    public static let type = FrameType.request

    /// The number that identifies the request among those of its sender.
    public let correlation: UInt64
    /// The method.
    public let method: MethodName
    /// The duration for which the sender waits, in whole milliseconds from the time of sending.
    public let deadline: Duration
    /// The account that answers; nil for the relay itself.
    public let recipient: AccountName?
    /// The account of the sender. The relay sets it.
    public let sender: AccountName?
    /// The arguments: the TLVs of a container; nil if there are none.
    public let content: [UInt8]?

    /// Creates the frame. `deadline` is rounded down to milliseconds.
    ///
    /// - Precondition: `content` consists of well-formed TLVs.
    public init(
        correlation: UInt64, method: MethodName, deadline: Duration, recipient: AccountName? = nil,
        sender: AccountName? = nil, content: [UInt8]? = nil
    ) {
        precondition(ContentRules.allow(content), "content is not well-formed TLVs")
        self.correlation = correlation
        self.method = method
        self.deadline = deadline.roundedDown(to: .milliseconds)
        self.recipient = recipient
        self.sender = sender
        self.content = content
    }

    /// Creates the frame from its body.
    ///
    /// - Throws: The errors of ``FrameBody/init(parsing:)``.
    public init(parsing body: RawSpan) throws(WireError) {
        var correlation: UInt64?
        var method: MethodName?
        var deadline: Duration?
        var recipient: AccountName?
        var sender: AccountName?
        var content: [UInt8]?
        var reader = try TLVReader(wholeBodyWithContent: body)
        while let field = try reader.next() {
            switch field.tag {
            case .correlation: try correlation.fill(.correlation, field.uint64())
            case .method: try method.fill(.method, field.name())
            case .deadline: try deadline.fill(.deadline, field.duration(.milliseconds))
            case .recipient: try recipient.fill(.recipient, field.name())
            case .sender: try sender.fill(.sender, field.name())
            case .content: try content.fill(.content, field.content())
            default: try field.skip()
            }
        }
        self.correlation = try correlation.required(.correlation)
        self.method = try method.required(.method)
        self.deadline = try deadline.required(.deadline)
        self.recipient = recipient
        self.sender = sender
        self.content = content
    }

    /// Returns the correlation in a body with a valid structure, even if another value is invalid; nil if there is
    /// none. A response that refuses a request identifies it by this number.
    public static func correlation(in body: RawSpan) -> UInt64? {
        var reader = TLVReader(body)
        while let field = try? reader.next() {
            if field.tag == .correlation { return try? field.uint64() }
        }
        return nil
    }

    /// Appends the fields of the body.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.correlation, uint64: correlation)
        writer.append(.method, name: method)
        writer.append(.deadline, duration: deadline, .milliseconds)
        if let recipient { writer.append(.recipient, name: recipient) }
        if let sender { writer.append(.sender, name: sender) }
        if let content { writer.append(.content, bytes: content) }
    }
}
