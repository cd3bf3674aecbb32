public import MartletWire

/// Responds to requests without a recipient, except the methods of ``RelayMethod``.
public protocol RequestHandler: Sendable {
    /// Returns the response to a request. A response after `request.timeout` is discarded.
    func respond(to request: RelayRequest) async -> RequestAnswer
}

/// A member's request to the relay.
public struct RelayRequest: Equatable, Sendable {
    /// The room of the request; nil for one that a client has sent by itself, in no room.
    public var room: RoomName?
    /// The account of the sender.
    public var sender: AccountName
    /// The method.
    public var method: MethodName
    /// The TLVs of the request, which satisfy `ContentRules`.
    public var content: [UInt8]?
    /// The duration for which the sender waits for the response.
    public var timeout: Duration

    /// Returns the application's value in the content.
    ///
    /// - Throws: A `WireError` if the content does not contain exactly one value, or a `DecodingError`.
    public func decode<Value: Decodable>(_: Value.Type = Value.self) throws -> Value {
        let content = content ?? []
        return try ContentValue(content: content.rawBytes).decode()
    }
}

/// The response to a request.
public struct RequestAnswer: Equatable, Sendable {
    /// The status: `none` for success, or the code of the failure.
    public let status: ErrorCode
    /// An explanation for people, truncated to 256 bytes.
    public let reason: String?
    /// The duration before which the same request is not expected to succeed (S-65).
    public let retryAfter: Duration?
    /// The TLVs of the result.
    public let content: [UInt8]?

    /// Creates a successful response.
    ///
    /// - Throws: The error of `ContentRules.check` if `content` is malformed.
    public init(content: [UInt8]? = nil) throws(WireError) {
        if let content { try ContentRules.check(content.rawBytes) }
        status = .none
        reason = nil
        retryAfter = nil
        self.content = content
    }

    /// Creates a successful response with a value of the application.
    ///
    /// - Throws: An `EncodingError`, or a `WireError` if the value exceeds its bounds.
    public init(_ value: some Encodable) throws {
        try self.init(content: try ContentValue(encoding: value).encode())
    }

    /// Creates a failure.
    public init(status: ErrorCode, reason: String? = nil, retryAfter: Duration? = nil) {
        self.status = status
        self.reason = reason
        self.retryAfter = retryAfter
        content = nil
    }

    /// The response to a request with this number.
    func response(to number: UInt64) -> Response {
        Response(correlation: number, status: status, reason: reason, retryAfter: retryAfter, content: content)
    }
}
