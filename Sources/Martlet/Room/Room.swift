import MartletLink
import MartletTransport
public import MartletWire
import Synchronization

/// A room that a client has opened.
///
/// A room stays open when connections are lost. It ends when it is closed, when the client is stopped, or when the
/// relay closes it permanently. A room, and an iteration over one of its sequences, keep the client alive. The release
/// of the last reference to a room does not close it: the room is open until its client ends. Its methods can be called
/// from any task.
///
/// Asynchronous methods throw ``MartletError``, or `CancellationError` when their task is cancelled. The documentation
/// of each method states its effect in that case.
public final class Room: Sendable {
    let core: RoomCore
    /// The client, which a room and the iterators of its sequences keep alive.
    let client: Client

    init(_ core: RoomCore, of client: Client) {
        self.core = core
        self.client = client
    }

    /// The name of the room.
    public var name: RoomName { core.name }

    // MARK: Sending

    /// Queues a text message.
    ///
    /// - Parameter text: The text, which is not empty.
    /// - Returns: A handle with the state of the message.
    /// - Throws: The errors of ``send(_:)-(OutgoingMessage)``.
    @discardableResult
    nonisolated(nonsending) public func send(_ text: String) async throws -> MessageHandle {
        try await core.send(try OutgoingMessage(text: text))
    }

    /// Queues a message.
    ///
    /// The method returns when the outbox has stored the message. It first waits while the room has
    /// `maxPendingMessages` unaccepted messages or `maxPendingByteCount` bytes of them. Calls that wait are continued
    /// in the order in which they were made.
    ///
    /// If the calling task is cancelled, the message is not queued, unless the outbox has begun to store it.
    ///
    /// - Parameter message: The message to send.
    /// - Returns: A handle with the state of the message.
    /// - Throws: `invalidContent`, `changeNotAllowed` for an edit of another account's message, `messageTooLarge`,
    ///   `roomClosed`, `stopped`, `outboxFull`, `outboxFailed`. The message is then not queued.
    @discardableResult
    nonisolated(nonsending) public func send(_ message: OutgoingMessage) async throws -> MessageHandle {
        try await core.send(message)
    }

    /// Sends a transient frame to the members that are online. The frame is not stored and can be lost.
    ///
    /// - Parameters:
    ///   - kind: The type of the content.
    ///   - content: TLVs in the encoding of Specs/wire.md §4, of at most ``maxTransientByteCount`` bytes.
    /// - Throws: `invalidContent`, `messageTooLarge`.
    public func sendTransient(kind: ContentKind, content: [UInt8]) throws(MartletError) {
        guard content.count <= Room.maxTransientByteCount else {
            throw .messageTooLarge(byteCount: content.count, limit: Room.maxTransientByteCount)
        }
        try check(content, of: kind)
        core.note { $0.changes.append(ApplicationChanges.Transient(kind: kind, content: content)) }
    }

    /// The maximum size of the content of a transient frame, in bytes.
    public static let maxTransientByteCount = 16 * 1024

    /// Reports to the other members whether the user is typing. The report can be lost.
    public func setTyping(_ isTyping: Bool) {
        core.note { $0.changes.isTyping = isTyping }
    }

    // MARK: Receiving

    /// The messages of the room, each once, in the order of their offsets.
    ///
    /// At most one iteration can be active. A later iteration continues after the earlier one.
    ///
    /// A message counts as handled when this or a later iteration requests the next message. The outbox stores the
    /// cursor of the last handled message within 50 ms, and a later client continues after it. A message that was
    /// received but not handled, for example because the loop was left or the client was stopped, is therefore
    /// delivered again to a later client.
    ///
    /// Messages that no iteration consumes wait in memory, within the credit of the session, and then at the relay.
    ///
    /// The sequence ends when the application closes the room or stops the client. It throws `roomClosed` when the
    /// relay has closed the room permanently, `gaveUp` while the client has stopped retrying, and `CancellationError`.
    /// No message is lost by an error: a later iteration continues after the last message.
    public var messages: Messages { Messages(core: core, client: client) }

    /// The messages of the room, like ``messages``, with gaps and replaced logs in their places.
    ///
    /// A gap contains offsets that the relay no longer stores, or has left out because this client was too slow.
    public var items: Items { Items(core: core, client: client) }

    /// The number of messages in all gaps received so far.
    public var skippedMessages: UInt64 { core.state.withLock { $0.inbox.skippedMessages } }

    /// The events of the room other than messages, from the start of each iteration.
    ///
    /// The sequence supports any number of iterations. Each buffers 256 events; if the buffer is full, the oldest event
    /// is discarded, and ``Event/missed(_:)`` reports the number of discarded events. An iteration ends when the room
    /// ends or its task is cancelled.
    public var events: Events { Events(broadcast: core.events, client: client) }

    /// The accounts that have a member in the room, as far as the relay has reported them, sorted by name. The list has
    /// at most 4096 accounts.
    public var members: [AccountName] { snapshot.members.map(\.account) }

    /// The offset of the newest known message; 0 before the relay has opened the room.
    public var lastOffset: UInt64 { snapshot.lastOffset }

    /// The offset of the oldest stored message when the relay last opened the room for this client.
    public var firstOffset: UInt64 { snapshot.firstOffset }

    /// The identity of the log when the relay last opened the room for this client; nil before that, and with a relay
    /// that does not identify its logs.
    public var log: LogID? { snapshot.log }

    /// Reports to the other members that the user has read all messages up to a cursor.
    ///
    /// Before the relay has opened the room, the mark is kept up to the last message that the client has of the log of
    /// the cursor, and reported when the room is open. A mark beyond it has no effect.
    ///
    /// - Parameter cursor: The cursor of the last message that was read. A cursor of a log that the relay has lost has
    ///   no effect.
    public func markRead(upTo cursor: RoomCursor) {
        core.read(upTo: cursor)
    }

    /// Reports to the other members that the user has read all messages up to an offset of the current ``log``. Without
    /// a known ``log``, before the relay has opened the room, this has no effect.
    ///
    /// - Parameter offset: The offset of the last message that was read.
    public func markRead(upTo offset: UInt64) {
        core.read(upTo: RoomCursor(log: log, offset: offset))
    }

    /// Reports to the other members that the user has read this message and all earlier ones.
    public func markRead(upTo message: RoomMessage) {
        core.read(upTo: message.cursor)
    }

    /// Suspends delivery: the relay holds back the messages of this room until ``resume()``.
    public func suspend() {
        core.note { $0.changes.isSuspended = true }
    }

    /// Resumes delivery after ``suspend()``.
    public func resume() {
        core.note { $0.changes.isSuspended = false }
    }

    /// Leaves the room.
    ///
    /// Messages that are not yet accepted fail and become dead letters (``deadLetters()``): those already sent with
    /// `outcomeUnknown`, because the relay may accept them, and others with `closed`. Wait for
    /// ``MessageHandle/accepted()`` first if they are to be sent. The method returns without waiting for the relay.
    /// Cancellation of the calling task has no effect.
    nonisolated(nonsending) public func close() async {
        let promise = Promise<Void>()
        guard core.mailbox.post(.close(core, promise)) == .posted else { return }
        try? await promise.value()
    }

    // MARK: Requests

    /// Sends a request with a text and waits for the response.
    ///
    /// If the calling task is cancelled, the request is cancelled. It may have been executed.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - text: The text of the request.
    ///   - recipient: The account of the member that responds. The relay responds if it is nil.
    ///   - timeout: The duration for which the method waits.
    /// - Returns: The response.
    /// - Throws: `answeredWithFailure`, with `tooManyRequests` if 64 have no answer; `deadlineExceeded` after the
    ///   timeout; `connectionLost` if the link ends before the response; `tooManyRequests`, `invalidName`,
    ///   `invalidContent`; `messageTooLarge` if the content exceeds ``maxRequestByteCount``; `roomClosed`; `gaveUp` if
    ///   the client has stopped retrying; `stopped`.
    nonisolated(nonsending) public func request(
        _ method: String, text: String? = nil, to recipient: AccountName? = nil, timeout: Duration = .seconds(10)
    ) async throws -> Answer {
        let content = try text.map { text throws(MartletError) in try OutgoingMessage(text: text).content.bytes }
        return try await request(method, content: content, to: recipient, timeout: timeout)
    }

    /// Sends a request with any content and waits for the response.
    ///
    /// If the calling task is cancelled, the request is cancelled. It may have been executed.
    ///
    /// - Parameters:
    ///   - method: The name of the method.
    ///   - content: TLVs in the encoding of Specs/wire.md §4, of at most ``maxRequestByteCount`` bytes.
    ///   - recipient: The account of the member that responds. The relay responds if it is nil.
    ///   - timeout: The duration for which the method waits.
    /// - Returns: The response.
    /// - Throws: The errors of ``request(_:text:to:timeout:)``.
    nonisolated(nonsending) public func request(
        _ method: String, content: [UInt8]?, to recipient: AccountName? = nil, timeout: Duration = .seconds(10)
    ) async throws -> Answer {
        guard let name = MethodName(method) else { throw MartletError.invalidName(method) }
        if let content {
            guard content.count <= Room.maxRequestByteCount else {
                throw MartletError.messageTooLarge(byteCount: content.count, limit: Room.maxRequestByteCount)
            }
            try check(content)
        }
        try Task.checkCancellation()
        let promise = Promise<Answer>()
        let call = RequestCall(
            method: name, content: content, recipient: recipient, deadline: timeout, promise: promise)
        guard core.mailbox.post(.request(core, call)) == .posted else { throw MartletError.stopped }
        return try await promise.value { [mailbox = core.mailbox] in
            if promise.resolve(.failure(CancellationError())) { mailbox.post(.abandonRequest(promise)) }
        }
    }

    /// Sends a request with a value of the application, which ``RoomRequest/decode(_:)`` returns, and waits for the
    /// response.
    ///
    /// - Throws: The errors of ``request(_:text:to:timeout:)``; `invalidContent` if the value cannot be encoded.
    nonisolated(nonsending) public func request(
        _ method: String, _ value: some Encodable, to recipient: AccountName? = nil, timeout: Duration = .seconds(10)
    ) async throws -> Answer {
        try await request(method, content: try encoded(value), to: recipient, timeout: timeout)
    }

    /// Sends a request with a value of the application, and returns the value in the response.
    ///
    /// - Throws: The errors of ``request(_:text:to:timeout:)``; `invalidContent` if a value cannot be encoded or
    ///   decoded.
    nonisolated(nonsending) public func request<Response: Decodable>(
        _ method: String, _ value: some Encodable, to recipient: AccountName? = nil, timeout: Duration = .seconds(10)
    ) async throws -> Response {
        try await request(method, content: try encoded(value), to: recipient, timeout: timeout).decode()
    }

    /// The maximum size of the content of a request, in bytes. A response may have as many bytes as a message.
    public static let maxRequestByteCount = 16 * 1024

    /// The requests of other members to this client.
    ///
    /// A request is discarded when its deadline passes before an iteration takes it. If 64 requests wait, further ones
    /// are answered with `tooManyRequests`. The sequence ends when the room ends or the task of the iteration is
    /// cancelled.
    public var requests: Requests { Requests(core: core, client: client) }
}

package func roomName(_ text: String) throws(MartletError) -> RoomName {
    guard let name = RoomName(text) else { throw .invalidName(text) }
    return name
}

package func accountName(_ text: String) throws(MartletError) -> AccountName {
    guard let name = AccountName(text) else { throw .invalidName(text) }
    return name
}
