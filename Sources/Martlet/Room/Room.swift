public import MartletProtocol
public import MartletWire
import Synchronization

/// A room that a client has opened. It stays open over all connections, until it is closed, the client is stopped, or
/// the relay closes it for good.
///
/// Methods that wait throw ``MartletError``, or `CancellationError` when their task is cancelled; each says what has
/// then happened. A room can be used from any task; dropping it does not close it.
public final class Room: Sendable {
    let core: RoomCore

    init(_ core: RoomCore) {
        self.core = core
    }

    /// The room's name.
    public var name: String { core.name.text }

    // MARK: Sending

    /// Queues a text message; see ``send(_:)-(OutgoingMessage)``.
    @discardableResult
    nonisolated(nonsending) public func send(_ text: String) async throws -> MessageHandle {
        try await core.send(try OutgoingMessage(text: text))
    }

    /// Queues a message and returns when it is in the outbox.
    ///
    /// When `maxPendingMessages` or `maxPendingByteCount` of this room wait to be accepted, this waits until some are,
    /// in the order of the calls. Cancelled while it waits, the message is not queued; once the outbox is at work on
    /// it, it is.
    ///
    /// - Throws: `invalidContent`, `messageTooLarge`, `roomClosed`, `stopped`, `outboxFailed`; then it is not queued.
    @discardableResult
    nonisolated(nonsending) public func send(_ message: OutgoingMessage) async throws -> MessageHandle {
        try await core.send(message)
    }

    /// Tells who is there something that is worth nothing later. It may be lost.
    ///
    /// - Throws: `invalidContent`, `messageTooLarge` beyond 16 KiB.
    public func sendTransient(kind: ContentKind, content: [UInt8]) throws(MartletError) {
        guard content.count <= Room.maxTransientByteCount else {
            throw .messageTooLarge(byteCount: content.count, limit: Room.maxTransientByteCount)
        }
        try check(content, of: kind)
        core.note { $0.changes.append(PendingChanges.Transient(kind: kind, content: content)) }
    }

    /// Bytes of content in what is sent with `sendTransient`, at the most.
    public static let maxTransientByteCount = 16 * 1024

    /// Tells who is there that the user types, or no longer. It may be lost.
    public func setTyping(_ isTyping: Bool) {
        core.note { $0.changes.isTyping = isTyping }
    }

    // MARK: Receiving

    /// The room's messages, in order and once. One iteration at a time; the next goes on where the last ended.
    ///
    /// A message counts as handled when the next one is asked for, by this iteration or by a later one of this room.
    /// The outbox remembers that within 50 ms, and a later client goes on from there: it is given again the message
    /// that the application had in hand when it left the loop, was cancelled in its body, or stopped the client, since
    /// nothing tells whether that was handled. What nobody iterates waits within the session's credit, then at the
    /// relay.
    ///
    /// Ends when the room is closed by this side or the client is stopped. Throws `roomClosed` when the relay closed
    /// the room for good, `gaveUp` while the client has given up, and `CancellationError`; a later iteration misses
    /// nothing.
    public var messages: Messages { Messages(core: core) }

    /// The same with its gaps: offsets that the relay does not have any more or left out because this side was too
    /// slow.
    public var items: Items { Items(core: core) }

    /// Messages that were in gaps so far.
    public var skippedMessages: UInt64 { core.state.withLock { $0.inbox.skippedMessages } }

    /// What happens beside the messages, from when the iteration begins, for any number of iterations. An iteration
    /// that is too slow misses the oldest of 256 and is told how many. Ends with the room and when its task is
    /// cancelled.
    public var events: Events { Events(broadcast: core.events) }

    /// Who is in the room as far as the relay told, at most 4096; sorted by name.
    public var members: [AccountName] {
        core.state.withLock { $0.view.members }.sorted { $0.text < $1.text }
    }

    /// The offset of the room's newest message when the relay last opened the room for this client.
    public var lastOffset: UInt64 { core.state.withLock { $0.view.lastOffset } }

    /// The offset of the oldest message that the relay kept at that time.
    public var firstOffset: UInt64 { core.state.withLock { $0.view.firstOffset } }

    /// The log that the room had at that time; nil before, and with a relay that does not name its logs.
    public var log: LogID? { core.state.withLock { $0.view.log } }

    /// Tells the others that the user has read all messages up to the cursor, that of the last message read. Of a log
    /// that the relay has lost nobody hears.
    public func markRead(upTo cursor: RoomCursor) {
        core.note { $0.changes.read(upTo: cursor) }
    }

    /// Tells the others that the user has read all messages up to the offset of the room's present ``log``.
    public func markRead(upTo offset: UInt64) {
        core.note { $0.changes.read(upTo: RoomCursor(log: $0.view.log, offset: offset)) }
    }

    /// Asks the relay to hold this room's messages back until `resume`.
    public func suspend() {
        core.note { $0.changes.isSuspended = true }
    }

    /// Takes this room's messages again.
    public func resume() {
        core.note { $0.changes.isSuspended = false }
    }

    /// Leaves the room. Messages that are not accepted yet fail with `closed`; wait for them first where that matters.
    ///
    /// Always soon over; cancellation changes nothing.
    nonisolated(nonsending) public func close() async {
        let promise = Promise<Void>()
        guard core.mailbox.post(.close(core, promise)) == .posted else { return }
        try? await promise.value()
    }

    // MARK: Requests

    /// Asks a member, or without a recipient the relay, and waits for the answer.
    ///
    /// Cancelled, it is withdrawn; it may have been carried out.
    ///
    /// - Parameter deadline: how long to wait.
    /// - Throws: `answeredWithFailure`, `deadlineExceeded`, `connectionLost` when the link ended meanwhile,
    ///   `tooManyRequests`,
    ///   `invalidName`, `invalidContent`, `messageTooLarge` beyond 16 KiB, `roomClosed`, `stopped`.
    nonisolated(nonsending) public func request(
        _ method: String, text: String? = nil, to recipient: String? = nil, deadline: Duration = .seconds(10)
    ) async throws -> Answer {
        let content = try text.map { text throws(MartletError) in try OutgoingMessage(text: text).content.bytes }
        return try await request(method, content: content, to: recipient, deadline: deadline)
    }

    /// The same with a content: TLVs, as Specs/wire.md §4 has them.
    nonisolated(nonsending) public func request(
        _ method: String, content: [UInt8]?, to recipient: String? = nil, deadline: Duration = .seconds(10)
    ) async throws -> Answer {
        guard let name = MethodName(method) else { throw MartletError.invalidName(method) }
        let account = try recipient.map { text throws(MartletError) in try accountName(text) }
        if let content {
            guard content.count <= Room.maxRequestByteCount else {
                throw MartletError.messageTooLarge(byteCount: content.count, limit: Room.maxRequestByteCount)
            }
            try check(content)
        }
        try Task.checkCancellation()
        let promise = Promise<Answer>()
        let call = RequestCall(method: name, content: content, recipient: account, deadline: deadline, promise: promise)
        guard core.mailbox.post(.request(core, call)) == .posted else { throw MartletError.stopped }
        return try await promise.value { [mailbox = core.mailbox] in
            if promise.resolve(.failure(CancellationError())) { mailbox.post(.abandonRequest(promise)) }
        }
    }

    /// Bytes of content in a request or its answer, at the most.
    public static let maxRequestByteCount = 16 * 1024

    /// What other members ask of this one, to be answered. One that is not taken for too long is not asked any more;
    /// beyond 64 that wait more are answered with `tooManyRequests`. Ends with the room and when its task is cancelled.
    public var requests: Requests { Requests(core: core) }
}

func accountName(_ text: String) throws(MartletError) -> AccountName {
    guard let name = AccountName(text) else { throw .invalidName(text) }
    return name
}
