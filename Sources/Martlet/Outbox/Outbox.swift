public import MartletProtocol
public import MartletWire

/// Where a client keeps what must not be forgotten: its device's ID, messages that the relay has not accepted, and how
/// far each room has been read.
///
/// A message is *queued* once `append` has returned, and forgotten only by `remove`, when the relay has accepted it or
/// it has failed for good. One client uses an outbox at a time, and calls one method at a time.
public protocol Outbox: Sendable {
    /// What there is from earlier. Called first, and again by the next client.
    func open() async throws -> OutboxState

    /// Keeps messages, in this order, all or none. Counters ascend within a room.
    func append(_ entries: [OutboxEntry]) async throws

    /// Forgets messages; some may be unknown.
    func remove(_ ids: [MessageID], room: String) async throws

    /// The application has handled the room's messages up to `cursor` (``Room/messages``), which replaces the one of
    /// before, also where its offset is lower: then it is of another log.
    func saveCursor(_ cursor: RoomCursor, room: String) async throws
}

/// An outbox that answers at once and cannot fail. Its methods are called on the client's loop and must not block;
/// `send` returns as soon as the client has the message.
public protocol ImmediateOutbox: Outbox {
    /// As in ``Outbox``; may be called from any thread.
    func open() -> OutboxState
    /// As in ``Outbox``.
    func append(_ entries: [OutboxEntry])
    /// As in ``Outbox``.
    func remove(_ ids: [MessageID], room: String)
    /// As in ``Outbox``.
    func saveCursor(_ cursor: RoomCursor, room: String)
}

/// What an outbox knows from earlier.
public struct OutboxState: Sendable {
    /// The device whose messages these are; stays the same as long as the outbox exists (W-34).
    public var device: DeviceID
    /// Above all counters ever appended, at least 1.
    public var nextCounter: UInt64
    /// Messages that were not accepted, in ascending order of their counters within each room.
    public var pending: [OutboxEntry]
    /// By room: how far the application has handled its messages.
    public var cursors: [String: RoomCursor]

    /// A state.
    public init(
        device: DeviceID, nextCounter: UInt64, pending: [OutboxEntry] = [], cursors: [String: RoomCursor] = [:]
    ) {
        self.device = device
        self.nextCounter = nextCounter
        self.pending = pending
        self.cursors = cursors
    }
}

/// A message in an outbox.
public struct OutboxEntry: Sendable, Equatable {
    /// The message's ID, under which it is sent however often.
    public var id: MessageID
    /// Where it goes.
    public var room: String
    /// What it says; an outbox that writes it down keeps its kind and its bytes.
    public var content: MessageContent
    /// How long it may wait, counted anew from each start of a client.
    public var timeToLive: Duration?
    /// Whether it may be compressed.
    public var isCompressible: Bool

    /// An entry.
    public init(
        id: MessageID, room: String, content: MessageContent, timeToLive: Duration? = nil, isCompressible: Bool = true
    ) {
        self.id = id
        self.room = room
        self.content = content
        self.timeToLive = timeToLive
        self.isCompressible = isCompressible
    }
}
