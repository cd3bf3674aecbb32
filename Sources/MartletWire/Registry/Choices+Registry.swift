// Generated from Specs/registry.json by Scripts/generate-registries. Do not edit.

/// The kind of a session: a preset of its priority, window and fragment size.
public enum SessionKind: UInt8, CaseIterable, Sendable {
    /// Conversations.
    case chat = 0
    /// Audio and video.
    case media = 1
    /// The signaling of calls.
    case signaling = 2
    /// Files.
    case file = 3
    /// Attachments at the relay. The session is no member of its room.
    case attachment = 4
    /// The account's own channel with the relay, which belongs to no room.
    case account = 5
}

/// The role of an account in a room, ascending.
public enum RoomRole: UInt8, CaseIterable, Sendable {
    /// The account may not publish.
    case reader = 1
    /// The account may publish.
    case member = 2
    /// The account may also remove and mute accounts below moderator.
    case moderator = 3
    /// The account may also set roles and close the room.
    case owner = 4
}

/// Which accounts may enter a room.
public enum RoomAccess: UInt8, CaseIterable, Sendable {
    /// Every account that is not banned.
    case open = 0
    /// The accounts with a role.
    case inviteOnly = 1
    /// The owners.
    case closed = 2
}

extension Receipt {
    /// The state of messages that a receipt reports.
    package enum Mark: UInt8, CaseIterable, Sendable {
        /// A device of the member has received the messages.
        case delivered = 1
        /// The user of the member has read the messages.
        case read = 2
    }
}

extension Transient {
    /// The presence of a member.
    package enum Presence: UInt8, CaseIterable, Sendable {
        /// The account has no member in the room.
        case left = 0
        /// A link of the account's members has a connection.
        case online = 1
        /// No link of the account's members has a connection.
        case away = 2
    }
}

/// The state of an account's membership record of a room.
public enum RoomMembershipState: UInt8, CaseIterable, Sendable {
    /// The account has no record of the room.
    case none = 0
    /// Another account has invited the account.
    case invited = 1
    /// The account has joined the room.
    case joined = 2
}

/// The status of a card (M-39).
public enum CardStatus: UInt8, CaseIterable, Sendable {
    /// A status that the source does not know, or one that this version does not know.
    case unknown = 0
    /// As it should be, or completed.
    case ok = 1
    /// In progress.
    case running = 2
    /// Requires attention.
    case warning = 3
    /// Failed, or out of order.
    case failed = 4
    /// The card is not shown any more.
    case removed = 5
}
