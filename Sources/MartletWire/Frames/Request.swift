/// Asks a bot or a service for an answer (W-68).
public struct Request: FrameBody {
    /// `request`, 0x6001.
    public static let type = FrameType.request

    /// Names the request among its sender's.
    public let correlation: UInt64
    /// What is asked for.
    public let method: MethodName
    /// How long its sender waits, in whole milliseconds from when it was sent.
    public let deadline: Duration
    /// Who is asked; nil asks the relay itself.
    public let recipient: AccountName?
    /// Who asks; the relay fills it in.
    public let sender: AccountName?
    /// The arguments: a container's value, so TLVs or nothing.
    public let content: [UInt8]?

    /// A request; `deadline` is rounded down to milliseconds.
    ///
    /// - Precondition: `content` is well-formed TLVs.
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

    /// Parses a whole body; see ``FrameBody`` for the errors.
    public init(parsing body: RawSpan) throws(WireError) {
        var correlation: UInt64?
        var method: MethodName?
        var deadline: Duration?
        var recipient: AccountName?
        var sender: AccountName?
        var content: [UInt8]?
        var reader = try TLVReader(wholeBody: body)
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

    /// The number of a body whose structure is right, even if a value in it is not; nil when it has none.
    ///
    /// A response that refuses names the request by it.
    public static func correlation(in body: RawSpan) -> UInt64? {
        var reader = TLVReader(body)
        while let field = try? reader.next() {
            if field.tag == .correlation { return try? field.uint64() }
        }
        return nil
    }

    /// Appends the body's fields.
    public func encode(into writer: inout TLVWriter) {
        writer.append(.correlation, uint64: correlation)
        writer.append(.method, name: method)
        writer.append(.deadline, duration: deadline, .milliseconds)
        if let recipient { writer.append(.recipient, name: recipient) }
        if let sender { writer.append(.sender, name: sender) }
        if let content { writer.append(.content, bytes: content) }
    }
}
