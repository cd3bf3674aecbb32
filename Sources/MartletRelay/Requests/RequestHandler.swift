public import MartletWire

/// Answers requests without a recipient, except the methods of `RelayMethod`.
public protocol RequestHandler: Sendable {
    /// The answer to a request. An answer after `request.timeout` is dropped.
    func respond(to request: RelayRequest) async -> RequestAnswer
}

/// A member's request to the relay.
public struct RelayRequest: Equatable, Sendable {
    /// The room of the request.
    public var room: RoomName
    /// The account of the sender.
    public var sender: AccountName
    /// The method.
    public var method: MethodName
    /// The TLVs of the request, which satisfy `ContentRules`.
    public var content: [UInt8]?
    /// The time that the sender waits for the answer.
    public var timeout: Duration
}

/// The answer to a request.
public struct RequestAnswer: Equatable, Sendable {
    /// The status: `none` for success, or the reason of the failure.
    public let status: ErrorCode
    /// The reason in words, truncated to 256 bytes.
    public let reason: String?
    /// The TLVs of the result.
    public let content: [UInt8]?

    /// Creates a successful answer. Throws the error of `ContentRules.check` when `content` is malformed.
    public init(content: [UInt8]? = nil) throws(WireError) {
        if let content { try ContentRules.check(content.rawBytes) }
        status = .none
        reason = nil
        self.content = content
    }

    /// Creates a failed answer.
    public init(status: ErrorCode, reason: String? = nil) {
        self.status = status
        self.reason = reason
        content = nil
    }
}
