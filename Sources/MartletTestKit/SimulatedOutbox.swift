public import MartletProtocol
public import MartletWire

/// The durable outbox of a simulated device. After a crash of the process, its contents are compared with the device's
/// virtual disk. An error of a call ends the simulation.
public protocol SimulatedOutbox: AnyObject {
    /// Stores changes durably, all of them or none.
    func commit(_ changes: SimulatedOutboxChanges) throws
    /// Opens the outbox again after a crash of the process, and returns its contents.
    func reopen(as sender: AccountName) throws -> SimulatedOutboxState
}

/// Changes of a simulated outbox that are stored together.
public struct SimulatedOutboxChanges {
    /// A new message.
    public struct Message: Equatable {
        /// The counter of the message.
        public var counter: UInt64
        /// The room of the message.
        public var room: RoomName
        /// The text of the message.
        public var text: String

        /// Creates a message.
        public init(counter: UInt64, room: RoomName, text: String) {
            self.counter = counter
            self.room = room
            self.text = text
        }
    }

    /// The account of the device.
    public var sender: AccountName
    /// New messages in the order of their counters.
    public var appended: [Message] = []
    /// The counters of messages that the relay has accepted.
    public var accepted: [UInt64] = []
    /// The cursors up to which messages were delivered.
    public var cursors: [RoomName: RoomCursor] = [:]

    init(sender: AccountName) {
        self.sender = sender
    }

    var isEmpty: Bool { appended.isEmpty && accepted.isEmpty && cursors.isEmpty }
}

/// The contents of a simulated outbox.
public struct SimulatedOutboxState: Equatable {
    /// The messages that were not accepted, in the order of their counters.
    public var pending: [SimulatedOutboxChanges.Message]
    /// The cursors of the rooms.
    public var cursors: [RoomName: RoomCursor]

    /// Creates a state.
    public init(pending: [SimulatedOutboxChanges.Message], cursors: [RoomName: RoomCursor]) {
        self.pending = pending
        self.cursors = cursors
    }
}
