import MartletLink
public import MartletWire

/// A room in the list of an account's rooms: the account's membership record, the last message, and the number of
/// unread messages.
public struct RoomSummary: Sendable, Equatable, Identifiable {
    /// The state of a membership record.
    public enum Membership: Sendable, Hashable {
        /// The account has joined the room; nil if it was not invited.
        case joined(invitedBy: AccountName?)
        /// Another account has invited the account.
        case invited(by: AccountName?)
    }

    /// The number of unread messages beyond which they are not counted.
    public static let maxUnreadCount = RoomEntry.maxUnreadCount

    private let entry: RoomEntry

    /// Nil for an entry without a membership record.
    init?(_ entry: RoomEntry) {
        guard entry.membership != .none else { return nil }
        self.entry = entry
    }

    /// Nil for bytes that are not an entry with a membership record.
    package init?(bytes: [UInt8]) {
        guard let update = try? RoomUpdate(parsing: bytes.rawBytes), let entry = update.entry else { return nil }
        self.init(entry)
    }

    /// The encoded entry.
    package var bytes: [UInt8] { RoomUpdate(entry).encode() }

    /// The summary without its last message.
    package var withoutMessage: RoomSummary? {
        var entry = entry
        (entry.message, entry.isShortened) = (nil, false)
        return RoomSummary(entry)
    }

    /// The name of the room, as the identity of the summary.
    public var id: RoomName { entry.room }
    /// The name of the room.
    public var name: RoomName { entry.room }
    /// The state of the account's membership record.
    public var membership: Membership {
        entry.membership == .joined ? .joined(invitedBy: entry.inviter) : .invited(by: entry.inviter)
    }
    /// Whether the account has joined the room.
    public var isJoined: Bool { entry.membership == .joined }
    /// The time of the last change of the record, in milliseconds since 1970 by the relay's clock.
    public var changedAt: UInt64 { entry.changedAt ?? 0 }
    /// The identity of the room's log; nil if the room has none.
    public var log: LogID? { entry.log }
    /// The lowest offset that the relay keeps.
    public var firstOffset: UInt64 { entry.firstOffset }
    /// The highest offset of the room; 0 if it never had a message.
    public var lastOffset: UInt64 { entry.lastOffset }
    /// The last message of a listed kind (M-28), with the text of its latest edit; nil if there is none among the
    /// newest 256 messages, or if it is too long for a summary and no text.
    public var lastMessage: RoomMessage? { entry.lastMessage.flatMap { RoomMessage($0, log: entry.log) } }
    /// Whether the text of ``lastMessage`` is shortened.
    public var isLastMessageShortened: Bool { entry.isShortened }
    /// The highest offset that a device of the account has received; 0 if there is none.
    public var deliveredUpTo: UInt64 { entry.delivered }
    /// The highest offset that the account has read on any device; 0 if there is none.
    public var readUpTo: UInt64 { entry.read }
    /// The number of unread messages of other accounts among the newest 256 (M-27), at most ``maxUnreadCount``. Edits,
    /// deletions, reactions, commands and system messages do not count.
    public var unreadCount: Int { Int(entry.unreadCount) }
}

/// A change of the list of an account's rooms.
public enum RoomListUpdate: Sendable, Equatable {
    /// The whole list, in the order of the names' bytes. It replaces everything that was reported before.
    case list([RoomSummary])
    /// A room is new in the list, or has changed.
    case changed(RoomSummary)
    /// The account no longer has a membership record of the room.
    case removed(RoomName)
}
