import MartletLink
public import MartletWire

/// The durable state of a client: its device ID, the messages that the relay has not accepted, and the cursor of each
/// room.
///
/// A message is *queued* when the `commit` with it has returned. It remains in the outbox until a transaction contains
/// its outcome. At most one client uses an outbox at a time, and it calls one method at a time: a client that
/// starts waits for the end of another client of the same object, if that was stopped or released, and fails with
/// `outboxFailed` while that runs. An outbox that is a value cannot be compared; its user ensures it.
public protocol Outbox: Sendable {
    /// Returns the stored state. A client calls this method first.
    ///
    /// - Throws: Any error. ``Client/start()`` then throws `outboxFailed`.
    func open() async throws -> OutboxState

    /// Records the account of the outbox, if it has none. A client calls this method after ``open()``, before it stores
    /// anything. The messages, cursors and device ID of one account are not valid for another account.
    ///
    /// - Throws: `MartletError.outboxOfAnotherAccount` if the outbox belongs to another account, or any error.
    ///   ``Client/start()`` then throws that error, or `outboxFailed`. By default the method does nothing, and a client
    ///   compares the senders of the pending messages only.
    func claim(for account: AccountName) async throws

    /// Releases the outbox's file or connection. A client calls this method once, when it has stopped; a later client
    /// may call ``open()`` again. By default the method does nothing.
    func close() async

    /// Stores a transaction, either all of it or nothing.
    ///
    /// - Throws: Any error, after which nothing of the transaction is stored. If it contains new messages, the client
    ///   stores the rest again without them, and the calls of `send` throw `outboxFailed`, or the error itself if it is
    ///   a ``MartletError``. Throw `outboxFull` beyond a quota and `unknownDeadLetter` for a letter that is not stored:
    ///   the client then stores the messages again in smaller transactions, and only those that are refused fail.
    ///   Outcomes and cursors that were not stored are part of a later transaction, and
    ///   the metric `martlet_client_outbox_failures` counts the error.
    func commit(_ transaction: OutboxTransaction) async throws

    /// Returns the dead letters of a room, in ascending order of their counters: the messages that have failed with
    /// another reason than `cancelled`, until they are discarded.
    ///
    /// - Throws: Any error. ``Room/deadLetters()`` then throws `outboxFailed`.
    func deadLetters(in room: RoomName) async throws -> [DeadLetter]
}

extension Outbox {
    /// Does nothing.
    public func claim(for account: AccountName) async throws {}
    /// Does nothing.
    public func close() async {}
}

/// An outbox whose methods return immediately and cannot fail.
///
/// The client calls the methods on its loop, so they must not block. `send` then returns without waiting for the
/// outbox.
public protocol ImmediateOutbox: Outbox {
    /// Returns the stored state. This method can be called on any thread.
    func open() -> OutboxState
    /// Stores a transaction.
    func commit(_ transaction: OutboxTransaction)
    /// Returns the dead letters of a room.
    func deadLetters(in room: RoomName) -> [DeadLetter]
}

/// An outbox that accepts operations while it stores earlier ones.
package protocol GroupingOutbox: Outbox {
    /// Stores the transactions that `part` returns for the indices 0, 1, 2 and so on, until `part` returns nil. Either
    /// all of them are stored or none. The outbox may request an index several times. `completion` is called once, on
    /// any thread, with the error if there is one.
    func commit(
        parts part: @escaping @Sendable (Int) -> OutboxTransaction?,
        completion: @escaping @Sendable ((any Error)?) -> Void)
}

/// The contents of an outbox.
public struct OutboxState: Sendable {
    /// The ID of the device that created the messages without an outcome. It remains the same for the lifetime of the
    /// outbox (W-34), unless the relay knows messages of the device that the outbox has lost (C-103).
    public var device: DeviceID
    /// A number above all counters that were ever appended, at least 1 (C-79).
    public var nextCounter: UInt64
    /// The messages without an outcome, in ascending order of their counters within each room.
    public var pending: [OutboxEntry]
    /// The outcomes that the outbox still contains, in ascending order of their counters within each room.
    public var outcomes: [OutboxOutcome]
    /// The cursors up to which the application has handled the messages, by room.
    public var cursors: [RoomName: RoomCursor]
    /// The batches of recorded points that were kept, in ascending order of their IDs.
    public var points: [OutboxPoints] = []

    /// Creates a state.
    public init(
        device: DeviceID, nextCounter: UInt64, pending: [OutboxEntry] = [], outcomes: [OutboxOutcome] = [],
        cursors: [RoomName: RoomCursor] = [:]
    ) {
        self.device = device
        self.nextCounter = nextCounter
        self.pending = pending
        self.outcomes = outcomes
        self.cursors = cursors
    }
}

/// A message in an outbox.
public struct OutboxEntry: Sendable, Equatable {
    /// The ID of the message, which remains the same when the message is sent again.
    public var id: MessageID
    /// The name of the room.
    public var room: RoomName
    /// The content. An outbox that serializes it stores its kind and its bytes.
    public var content: MessageContent
    /// The duration after which the message fails if it was not written to a connection, from the call of `send`.
    public var timeToLive: Duration?
    /// The end of the time to live, in milliseconds since 1970; nil without a time to live.
    public var expiresAt: UInt64?
    /// Whether the message may be compressed.
    public var isCompressible: Bool
    /// The time from which the message may have been written to a connection, in milliseconds since 1970; nil if it was
    /// not written. Only the relay then decides about the message, while it may be published again (C-80).
    public var inFlightSince: UInt64?
    /// The path of the file that is uploaded before the message is published; nil if there is none (M-26).
    public var file: String?

    /// Whether the message may have been written to a connection.
    public var isInFlight: Bool { inFlightSince != nil }

    /// Creates an entry.
    public init(
        id: MessageID, room: RoomName, content: MessageContent, timeToLive: Duration? = nil, expiresAt: UInt64? = nil,
        isCompressible: Bool = true, inFlightSince: UInt64? = nil, file: String? = nil
    ) {
        self.id = id
        self.room = room
        self.content = content
        self.timeToLive = timeToLive
        self.expiresAt = expiresAt
        self.isCompressible = isCompressible
        self.inFlightSince = inFlightSince
        self.file = file
    }

    /// The remaining time to live at an instant, in milliseconds since 1970; nil if it is unlimited. It is at most
    /// `timeToLive`, even after the clock was set back, and at least zero (C-75).
    func remainingTime(at now: UInt64) -> Duration? {
        guard let timeToLive, let expiresAt else { return timeToLive }
        guard expiresAt > now else { return .zero }
        return min(.milliseconds(Int64(clamping: expiresAt - now)), timeToLive)
    }
}
