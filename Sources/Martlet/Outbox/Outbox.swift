public import MartletProtocol
public import MartletWire

/// The durable state of a client: its device ID, the messages that the relay has not accepted, and the cursor of each
/// room.
///
/// A message is *queued* when `append` has returned. It remains in the outbox until `remove`, which follows its
/// acceptance or its permanent failure. At most one client uses an outbox at a time, and it calls one method at a time
///
public protocol Outbox: Sendable {
    /// Returns the stored state. A client calls this method first.
    ///
    /// - Throws: Any error. ``Client/start()`` then throws `outboxFailed`.
    func open() async throws -> OutboxState

    /// Stores messages in this order, either all or none. The counters ascend within a room.
    ///
    /// - Throws: Any error, after which none of the messages is stored. The calls of `send` then throw `outboxFailed`.
    func append(_ entries: [OutboxEntry]) async throws

    /// Removes messages of a room. IDs that the outbox does not contain have no effect.
    ///
    /// - Throws: Any error, which `Client.Statistics.outboxFailures` counts. The next client then sends the messages
    ///   again, and the relay accepts each message once.
    func remove(_ ids: [MessageID], room: String) async throws

    /// Stores the cursor up to which the application has handled the messages of a room (``Room/messages``). It
    /// replaces the earlier cursor. A cursor with a lower offset belongs to another log.
    ///
    /// - Throws: Any error, which `Client.Statistics.outboxFailures` counts.
    func saveCursor(_ cursor: RoomCursor, room: String) async throws
}

/// An outbox whose methods return immediately and cannot fail.
///
/// The client calls the methods on its loop, so they must not block. `send` then returns without waiting for the
/// outbox.
public protocol ImmediateOutbox: Outbox {
    /// Returns the stored state. This method can be called on any thread.
    func open() -> OutboxState
    /// Stores messages in this order.
    func append(_ entries: [OutboxEntry])
    /// Removes messages of a room.
    func remove(_ ids: [MessageID], room: String)
    /// Stores the cursor of a room.
    func saveCursor(_ cursor: RoomCursor, room: String)
}

/// The contents of an outbox.
public struct OutboxState: Sendable {
    /// The ID of the device that created the messages. It remains the same for the lifetime of the outbox (W-34).
    public var device: DeviceID
    /// A number above all counters that were ever appended, at least 1.
    public var nextCounter: UInt64
    /// The unaccepted messages, in ascending order of their counters within each room.
    public var pending: [OutboxEntry]
    /// The cursors up to which the application has handled the messages, by room.
    public var cursors: [String: RoomCursor]

    /// Creates a state.
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
    /// The ID of the message, which remains the same when the message is sent again.
    public var id: MessageID
    /// The name of the room.
    public var room: String
    /// The content. An outbox that serializes it stores its kind and its bytes.
    public var content: MessageContent
    /// The duration after which the message fails if it was not written to a connection. It is counted anew from each
    /// start of a client.
    public var timeToLive: Duration?
    /// Whether the message may be compressed.
    public var isCompressible: Bool

    /// Creates an entry.
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
