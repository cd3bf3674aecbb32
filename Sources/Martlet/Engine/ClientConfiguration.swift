package import MartletLink
package import MartletWire

/// The identity of a client, and its bounds.
package struct ClientConfiguration: Sendable {
    /// The maximum number of transfers of attachments at once.
    package static let maxTransferCount = 256

    /// The identity of the client, and the bounds of its link. The device ID is a part of each message ID, and must not
    /// change while messages are unaccepted.
    package var link: LinkConfiguration
    /// The highest value of ``maxRooms``. The other sessions of a link, at most 255 in all (W-42), are for requests of
    /// the account and for transfers of attachments.
    package static let maxRoomsLimit = 240
    /// The maximum number of open rooms.
    package var maxRooms = maxRoomsLimit
    /// The maximum number of requests without an outcome.
    package var maxRequests = 1024

    /// Creates a configuration with the default bounds.
    package init(account: AccountName, device: DeviceID, agent: String? = nil) {
        link = LinkConfiguration(account: account, device: device, agent: agent)
    }
}

/// The options with which a client opens a room.
package struct RoomOptions: Equatable, Sendable {
    /// The kind of the session, which determines its priority, window and fragment size.
    package var kind = SessionKind.chat
    /// The cursor after which messages are delivered. Offset 0 and a cursor of another log begin at the first stored
    /// message.
    package var cursor = RoomCursor(offset: 0)
    /// The number of messages before the end of the log at which delivery begins, unless the cursor is later.
    package var tail: UInt32?
    /// Whether the messages of this device are delivered to it, too.
    package var includesOwnMessages = false

    /// Creates options that begin after an offset of the room's current log.
    package init(kind: SessionKind = .chat, cursor: UInt64 = 0, tail: UInt32? = nil, includesOwnMessages: Bool = false)
    {
        self.init(
            kind: kind, cursor: RoomCursor(offset: cursor), tail: tail, includesOwnMessages: includesOwnMessages)
    }

    /// Creates options that begin after a cursor.
    package init(
        kind: SessionKind = .chat, cursor: RoomCursor, tail: UInt32? = nil, includesOwnMessages: Bool = false
    ) {
        self.kind = kind
        self.cursor = cursor
        self.tail = tail
        self.includesOwnMessages = includesOwnMessages
    }
}

/// The number of a room that a client has opened. A number is never used for another room.
package struct RoomID: RawRepresentable, Hashable, Sendable {
    /// The number, from 1.
    package var rawValue: UInt32

    /// Creates the ID with a number.
    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }
}

/// An error of a call on a client engine. The caller caused it, and the call changed nothing.
package enum ClientError: Error, Hashable, Sendable {
    /// The client has `maxRooms` open rooms.
    case tooManyRooms
    /// The room is already open.
    case alreadyOpen
    /// The room does not exist or was closed.
    case noRoom
    /// The session has the maximum number of queued frames. A later call can succeed.
    case queueFull
    /// The message exceeds the server's limit and would never be accepted.
    case messageTooLarge
    /// The client has `maxRequests` requests without an outcome.
    case tooManyRequests
    /// The client has the maximum number of transfers.
    case tooManyTransfers
    /// The counter of the message is not above the room's last counter.
    case counterNotRising
}
