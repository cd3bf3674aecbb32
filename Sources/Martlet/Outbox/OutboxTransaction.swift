import MartletLink
public import MartletWire

/// Changes that an outbox stores together. They are applied in the order of the properties.
public struct OutboxTransaction: Sendable, Equatable {
    /// New messages in the order of their calls. The counters ascend within a room.
    public var appended: [OutboxEntry] = []
    /// The dead letters that new messages replace, by the IDs of the new messages. The letters are removed. If the
    /// outbox does not contain one of them, it stores nothing of the transaction (C-77).
    public var replaced: [MessageID: MessageID] = [:]
    /// New contents of messages without an outcome.
    public var edits: [OutboxEdit] = []
    /// Messages that may be written to a connection from now on, by room. Messages with an outcome are not changed.
    public var inFlight: [RoomName: [MessageID]] = [:]
    /// The time of ``inFlight``, in milliseconds since 1970.
    public var inFlightAt: UInt64 = 0
    /// The outcomes of messages. An unknown message is ignored.
    public var outcomes: [OutboxOutcome] = []
    /// Dead letters to be removed. An unknown one is ignored.
    public var discarded: [MessageID] = []
    /// The cursors up to which the application has handled the messages of rooms (``Room/messages``). A lower cursor of
    /// the same log is ignored; another cursor replaces the earlier one.
    public var cursors: [RoomName: RoomCursor] = [:]
    /// Another device ID. The messages without an outcome belong to it from now on, under their counters; messages with
    /// an outcome keep their IDs (C-103).
    public var device: DeviceID?

    /// Batches of recorded points that could not be sent, in ascending order of their IDs. One with a known ID replaces
    /// the earlier one. An outbox that ignores them loses the points with the end of the client (C-115).
    public var keptPoints: [OutboxPoints] = []
    /// The IDs of batches of points to be removed, after ``keptPoints`` were stored. An unknown one is ignored.
    public var removedPoints: [UInt64] = []

    /// Creates an empty transaction.
    public init() {}

    /// Whether the transaction changes nothing.
    public var isEmpty: Bool {
        appended.isEmpty && edits.isEmpty && inFlight.isEmpty && outcomes.isEmpty && discarded.isEmpty
            && cursors.isEmpty && device == nil && keptPoints.isEmpty && removedPoints.isEmpty
    }

    /// Adds later changes.
    mutating func append(_ later: OutboxTransaction) {
        appended += later.appended
        replaced.merge(later.replaced) { $1 }
        edits += later.edits
        if inFlight.isEmpty {
            inFlightAt = later.inFlightAt
        } else if !later.inFlight.isEmpty {
            inFlightAt = min(inFlightAt, later.inFlightAt)
        }
        inFlight.merge(later.inFlight) { $0 + $1 }
        outcomes += later.outcomes
        discarded += later.discarded
        for (room, cursor) in later.cursors { cursors[room].advance(to: cursor) }
        device = later.device ?? device
        keptPoints += later.keptPoints
        removedPoints += later.removedPoints
    }
}

/// A batch of points that an application has recorded and the relay has not taken.
public struct OutboxPoints: Sendable, Equatable {
    /// The number of the batch. It ascends in the order of recording, and is not used again while the batch is kept.
    public var id: UInt64
    /// The content of the request that sends the points.
    public var content: [UInt8]
    /// The number of points.
    public var count: Int

    /// Creates a batch.
    public init(id: UInt64, content: [UInt8], count: Int) {
        self.id = id
        self.content = content
        self.count = count
    }
}

/// The outcome of a message.
public struct OutboxOutcome: Sendable, Equatable {
    /// The state in which a message ends.
    public enum Result: Sendable, Equatable {
        /// The relay has stored the message durably, at this offset of the room; 0 if the relay no longer knows it.
        case accepted(offset: UInt64)
        /// The message will not be accepted. Unless the reason is `cancelled`, it becomes a dead letter.
        case failed(SendFailure)
    }

    /// The ID of the message.
    public var id: MessageID
    /// The name of the room.
    public var room: RoomName
    /// The state in which the message has ended.
    public var result: Result

    /// Creates an outcome.
    public init(id: MessageID, room: RoomName, result: Result) {
        self.id = id
        self.room = room
        self.result = result
    }
}

/// The new content of a message that was not written to a connection.
public struct OutboxEdit: Sendable, Equatable {
    /// The ID of the message.
    public var id: MessageID
    /// The name of the room.
    public var room: RoomName
    /// The new content.
    public var content: MessageContent

    /// Creates an edit.
    public init(id: MessageID, room: RoomName, content: MessageContent) {
        self.id = id
        self.room = room
        self.content = content
    }
}

/// A message that has failed, which the application can retry (``Room/retry(_:)``) or discard (``Room/discard(_:)``).
public struct DeadLetter: Sendable, Equatable, Identifiable {
    /// The ID of the failed message. A retry has another ID.
    public var id: MessageID
    /// The name of the room.
    public var room: RoomName
    /// The content of the message.
    public var content: MessageContent
    /// The time to live of the message. A retry begins with the full duration.
    public var timeToLive: Duration?
    /// Whether the message may be compressed.
    public var isCompressible: Bool
    /// The path of the file that a retry uploads again; nil if there is none.
    public var file: String?
    /// The reason for the failure.
    public var failure: SendFailure

    /// Creates a dead letter.
    public init(_ entry: OutboxEntry, failure: SendFailure) {
        id = entry.id
        room = entry.room
        content = entry.content
        timeToLive = entry.timeToLive
        isCompressible = entry.isCompressible
        file = entry.file
        self.failure = failure
    }

    /// The number of bytes of the content.
    var byteCount: Int { content.byteCount }
}

/// A quota of an outbox.
public enum OutboxQuota: Sendable, Hashable {
    /// The number of messages without an outcome.
    case messages(Int)
    /// The number of bytes of their contents.
    case bytes(Int)
}
