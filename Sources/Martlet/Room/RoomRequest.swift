import MartletLink
public import MartletWire
import Synchronization

/// The response to a request.
public struct Answer: Sendable, Equatable {
    /// The content of the response, as TLVs.
    public let content: [UInt8]?

    /// The text of the content; nil if the content has none.
    public var text: String? { content.flatMap(textField) }

    /// Returns the application's value in the content.
    ///
    /// - Throws: `invalidContent` if the content does not contain exactly one value, or not a value of this type.
    public func decode<Value: Decodable>(_: Value.Type = Value.self) throws(MartletError) -> Value {
        try value(in: content)
    }
}

/// A request of another member. If the last copy of a request is released before a response, the library responds with
/// `refused`.
public struct RoomRequest: Sendable {
    /// The name of the method.
    public let method: String
    /// The account that sent the request.
    public let sender: AccountName
    /// The content of the request, as TLVs.
    public let content: [UInt8]?
    /// The time until which the sender waits for the response.
    public let deadline: ContinuousClock.Instant

    let id: IncomingRequest.ID
    private let reply: Reply

    /// The text of the content; nil if the content has none.
    public var text: String? { content.flatMap(textField) }

    /// Returns the application's value in the content.
    ///
    /// - Throws: `invalidContent` if the content does not contain exactly one value, or not a value of this type.
    public func decode<Value: Decodable>(_: Value.Type = Value.self) throws(MartletError) -> Value {
        try value(in: content)
    }

    init(_ incoming: IncomingRequest, in room: RoomCore, now: ContinuousClock.Instant) {
        self.init(
            incoming.id, incoming.method, from: incoming.sender, incoming.content,
            deadline: now + incoming.deadline, in: room)
    }

    init(
        _ id: IncomingRequest.ID, _ method: MethodName, from sender: AccountName, _ content: [UInt8]?,
        deadline: ContinuousClock.Instant, in room: RoomCore
    ) {
        self.method = method.text
        self.sender = sender
        self.content = content
        self.deadline = deadline
        self.id = id
        reply = Reply(room: room, request: id)
    }

    /// Responds with a text, or without content. Later responses to the same request have no effect.
    ///
    /// - Throws: `invalidContent` if the text is empty.
    public func respond(text: String? = nil) throws(MartletError) {
        let content = try text.map { text throws(MartletError) in try OutgoingMessage(text: text).content.bytes }
        reply.send(.none, reason: nil, content)
    }

    /// Responds with a value of the application, which ``Answer/decode(_:)`` returns. Later responses to the same
    /// request have no effect.
    ///
    /// - Throws: `invalidContent` if the value cannot be encoded.
    public func respond(_ value: some Encodable) throws(MartletError) {
        reply.send(.none, reason: nil, try encoded(value))
    }

    /// Responds with any content. Later responses to the same request have no effect.
    ///
    /// If the response exceeds `Limits.maxMessageByteCount` of the requester, the requester receives `messageTooLarge`.
    ///
    /// - Parameter content: TLVs in the encoding of Specs/wire.md §4.
    /// - Throws: `invalidContent`.
    public func respond(content: [UInt8]) throws(MartletError) {
        try check(content)
        reply.send(.none, reason: nil, content)
    }

    /// Responds with a failure. Later responses to the same request have no effect.
    ///
    /// - Parameters:
    ///   - code: The error code. `none` is replaced by `refused`. Codes from 0xF000 are reserved for applications.
    ///   - reason: An explanation for people, which is truncated to 256 bytes.
    public func fail(_ code: ErrorCode, reason: String? = nil) {
        reply.send(code == .none ? .refused : code, reason: reason, nil)
    }
}

/// The single response to a request. It is sent at the latest when the object is released.
private final class Reply: Sendable {
    private let room: RoomCore
    private let request: IncomingRequest.ID
    private let isSent = Atomic(false)

    init(room: RoomCore, request: IncomingRequest.ID) {
        self.room = room
        self.request = request
    }

    deinit {
        send(.refused, reason: nil, nil)
    }

    func send(_ status: ErrorCode, reason: String?, _ content: [UInt8]?) {
        guard !isSent.exchange(true, ordering: .relaxed) else { return }
        let response = Response(correlation: request.correlation, status: status, reason: reason, content: content)
        room.mailbox.post(.respond(room.id, session: request.session, response))
    }
}

/// The first `text` field of a content.
func textField(of content: [UInt8]) -> String? {
    var reader = TLVReader(content.rawBytes)
    while let field = try? reader.next() {
        if field.tag == .text { return try? field.string(maxByteCount: content.count) }
    }
    return nil
}
