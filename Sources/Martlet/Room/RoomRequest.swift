import MartletProtocol
public import MartletWire
import Synchronization

/// What a request is answered with.
public struct Answer: Sendable, Equatable {
    /// The content's fields.
    public let content: [UInt8]?

    /// The content's text, if it has one.
    public var text: String? { content.flatMap(textField) }
}

/// A member's request, to be answered. One that is dropped without an answer is answered with `refused`.
public struct RoomRequest: Sendable {
    /// What is asked.
    public let method: String
    /// Who asks.
    public let sender: AccountName
    /// What with: the content's fields.
    public let content: [UInt8]?
    /// Until when the member waits.
    public let deadline: ContinuousClock.Instant

    let correlation: UInt64
    private let reply: Reply

    /// The content's text, if it has one.
    public var text: String? { content.flatMap(textField) }

    init(_ incoming: IncomingRequest, in room: RoomCore, now: ContinuousClock.Instant) {
        self.init(
            incoming.correlation, incoming.method, from: incoming.sender, incoming.content,
            deadline: now + incoming.deadline, in: room)
    }

    init(
        _ correlation: UInt64, _ method: MethodName, from sender: AccountName, _ content: [UInt8]?,
        deadline: ContinuousClock.Instant, in room: RoomCore
    ) {
        self.method = method.text
        self.sender = sender
        self.content = content
        self.deadline = deadline
        self.correlation = correlation
        reply = Reply(room: room, correlation: correlation)
    }

    /// Answers, with a text or without. Only the first answer counts.
    ///
    /// - Throws: `invalidContent` when the text is empty.
    public func respond(text: String? = nil) throws(MartletError) {
        let content = try text.map { text throws(MartletError) in try OutgoingMessage(text: text).content.bytes }
        reply.send(.none, reason: nil, content)
    }

    /// Answers with a content: TLVs, as Specs/wire.md §4 has them. Only the first answer counts.
    ///
    /// - Throws: `invalidContent`.
    public func respond(content: [UInt8]) throws(MartletError) {
        try check(content)
        reply.send(.none, reason: nil, content)
    }

    /// Answers that it failed. Only the first answer counts.
    ///
    /// - Parameters:
    ///   - code: any but `none`; numbers from 0xF000 are the application's.
    ///   - reason: for people; cut to 256 bytes.
    public func fail(_ code: ErrorCode, reason: String? = nil) {
        reply.send(code == .none ? .refused : code, reason: reason, nil)
    }
}

/// The one answer to a request.
private final class Reply: Sendable {
    private let room: RoomCore
    private let correlation: UInt64
    private let isSent = Atomic(false)

    init(room: RoomCore, correlation: UInt64) {
        self.room = room
        self.correlation = correlation
    }

    deinit {
        send(.refused, reason: nil, nil)
    }

    func send(_ status: ErrorCode, reason: String?, _ content: [UInt8]?) {
        guard !isSent.exchange(true, ordering: .relaxed) else { return }
        room.mailbox.post(
            .respond(room.id, Response(correlation: correlation, status: status, reason: reason, content: content)))
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
