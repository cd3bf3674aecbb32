public import MartletWire

/// Who a client is, and the bounds it keeps.
public struct ClientConfiguration: Sendable {
    /// The account it wants to be.
    public var account: AccountName
    /// The device's ID; message IDs are made of it, so it must not change while messages are unaccepted.
    public var device: DeviceID
    /// The software's name, for the server's log; at most 128 bytes.
    public var agent: String?
    /// What is offered to the server; the lower of both sides' limits holds.
    public var limits = Limits()
    /// What is offered to the server; what both sides have holds.
    public var features = Features.supported
    /// What the carrier promises.
    public var carrier = Carrier.reliable
    /// How long the states of a connection may last.
    public var deadlines = ConnectionMachine.Deadlines()
    /// When to connect again.
    public var reconnect = ReconnectPolicy.Configuration()
    /// How eagerly a silent server is asked.
    public var heartbeat = HeartbeatStrategy.balanced
    /// Whether message bodies are deflated where that makes them smaller and the server takes it.
    ///
    /// It costs some microseconds a message; a body that holds a secret beside text of another's choosing should not
    /// be (W-20).
    public var compressesMessages = false
    /// Rooms open at a time, at the most.
    public var maxRooms = 255
    /// Messages of one room that wait to be accepted, at the most.
    public var maxPendingMessages = 4096
    /// Bytes of one room's messages that wait to be accepted, at the most.
    public var maxPendingByteCount = 4 * 1024 * 1024
    /// Requests that wait for an answer, at the most.
    public var maxRequests = 1024
    /// The sequence of each session's first frame; a simulation lets both ends begin where 32 bits end (W-11).
    package var firstSequence: UInt64 = 1

    /// A client with the default bounds.
    public init(account: AccountName, device: DeviceID, agent: String? = nil) {
        self.account = account
        self.device = device
        self.agent = agent
    }
}

/// How a room is opened.
public struct RoomOptions: Equatable, Sendable {
    /// The session's preset: priority, window, fragments.
    public var kind = SessionKind.chat
    /// Messages with offsets greater than this are delivered; 0 is from the first that is kept. In another log than the
    /// cursor's, all are.
    public var cursor = RoomCursor(offset: 0)
    /// Begin this many messages before the room's head, or at the cursor where that is later.
    public var tail: UInt32?
    /// Whether this device's own messages come back to it in the room's order.
    public var includesOwnMessages = false

    /// From the first message kept, without the device's own.
    public init(kind: SessionKind = .chat, cursor: UInt64 = 0, tail: UInt32? = nil, includesOwnMessages: Bool = false) {
        self.init(kind: kind, cursor: RoomCursor(offset: cursor), tail: tail, includesOwnMessages: includesOwnMessages)
    }

    /// After a cursor, without the device's own.
    public init(kind: SessionKind = .chat, cursor: RoomCursor, tail: UInt32? = nil, includesOwnMessages: Bool = false) {
        self.kind = kind
        self.cursor = cursor
        self.tail = tail
        self.includesOwnMessages = includesOwnMessages
    }
}

/// A room that a client has opened; never used again for another.
public struct RoomID: RawRepresentable, Hashable, Sendable {
    /// Counts the rooms the client has opened.
    public var rawValue: UInt32

    /// The room of that number.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }
}

/// Why a call on a client engine was not carried out; always our own doing, and nothing changed.
public enum ClientError: Error, Hashable, Sendable {
    /// The bound `maxRooms` is met.
    case tooManyRooms
    /// The room is open already.
    case alreadyOpen
    /// There is no such room, or it was closed.
    case noRoom
    /// As many messages or bytes wait in this room as may: try again when some have been accepted.
    case queueFull
    /// The message is larger than the server takes; it would never be accepted.
    case messageTooLarge
    /// The bound `maxRequests` is met.
    case tooManyRequests
    /// The message's counter is not above the room's last.
    case counterNotRising
}
