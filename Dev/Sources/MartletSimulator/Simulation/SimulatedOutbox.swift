import MartletLink
package import MartletWire

/// The durable outbox of a simulated device. After a crash of the process, its contents are compared with the device's
/// virtual disk. An error of a call ends the simulation.
package protocol SimulatedOutbox: AnyObject {
    /// Stores changes durably, all of them or none.
    func commit(_ changes: SimulatedOutboxChanges) throws
    /// Opens the outbox again after a crash of the process, and returns its contents.
    func reopen(as sender: AccountName) throws -> SimulatedOutboxState
}

/// Changes of a simulated outbox that are stored together.
package struct SimulatedOutboxChanges {
    /// A new message.
    package struct Message: Equatable {
        /// The counter of the message.
        package var counter: UInt64
        /// The room of the message.
        package var room: RoomName
        /// The text of the message.
        package var text: String

        /// Creates a message.
        package init(counter: UInt64, room: RoomName, text: String) {
            self.counter = counter
            self.room = room
            self.text = text
        }
    }

    /// The account of the device.
    package var sender: AccountName
    /// New messages in the order of their counters.
    package var appended: [Message] = []
    /// The counters of messages that the relay has accepted.
    package var accepted: [UInt64] = []
    /// The cursors up to which messages were delivered.
    package var cursors: [RoomName: RoomCursor] = [:]

    init(sender: AccountName) {
        self.sender = sender
    }

    var isEmpty: Bool { appended.isEmpty && accepted.isEmpty && cursors.isEmpty }
}

/// The contents of a simulated outbox.
package struct SimulatedOutboxState: Equatable {
    /// The messages that were not accepted, in the order of their counters.
    package var pending: [SimulatedOutboxChanges.Message]
    /// The cursors of the rooms.
    package var cursors: [RoomName: RoomCursor]

    /// Creates a state.
    package init(pending: [SimulatedOutboxChanges.Message], cursors: [RoomName: RoomCursor]) {
        self.pending = pending
        self.cursors = cursors
    }
}
