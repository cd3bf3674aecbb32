public import MartletWire

/// Answers requests that name no recipient, beside the methods that a relay answers itself (`RelayMethod`).
public protocol RequestHandler: Sendable {
    /// The answer; it is dropped when it comes after `request.deadline`, counted from now.
    func respond(to request: RelayRequest) async -> RequestAnswer
}

/// A member's request to the relay.
public struct RelayRequest: Equatable, Sendable {
    /// The room it was asked in.
    public var room: RoomName
    /// Who asks.
    public var sender: AccountName
    /// What is asked for.
    public var method: MethodName
    /// The question's TLVs; they keep `ContentRules`.
    public var content: [UInt8]?
    /// How long the asker waits.
    public var deadline: Duration
}

/// An answer to a request.
public struct RequestAnswer: Equatable, Sendable {
    /// `none` when the request was done, else why not.
    public let status: ErrorCode
    /// The same for people; cut to 256 bytes.
    public let reason: String?
    /// The result's TLVs.
    public let content: [UInt8]?

    /// Done, with or without a result. Throws what `ContentRules.check` throws when `content` is not well-formed TLVs.
    public init(content: [UInt8]? = nil) throws(WireError) {
        if let content { try ContentRules.check(content.rawBytes) }
        status = .none
        reason = nil
        self.content = content
    }

    /// Not done.
    public init(status: ErrorCode, reason: String? = nil) {
        self.status = status
        self.reason = reason
        content = nil
    }
}
