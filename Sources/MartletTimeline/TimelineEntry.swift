public import Martlet
import MartletLink
public import MartletWire

/// A message, a gap or a replaced log in the timeline of a room.
public struct TimelineEntry: Sendable, Equatable, Identifiable {
    /// What an entry shows.
    public enum Content: Sendable, Equatable {
        /// A message, with the text of its latest edit.
        case message(MessageBody)
        /// A message whose content is damaged. Show it as one that cannot be displayed.
        case damaged(ContentKind)
        /// A message that was deleted.
        case deleted
        /// Offsets that were not received.
        case gap(ClosedRange<UInt64>)
        /// The log of the room was replaced. The entries above belong to the earlier log.
        case logReplaced
    }

    /// The state of a message.
    public enum State: Sendable, Equatable {
        /// The relay has stored the message.
        case accepted
        /// The message was queued and has no outcome yet. It is behind all accepted ones.
        case pending
        /// The message will not be accepted.
        case failed(SendFailure)
    }

    /// A reaction with the accounts that have it.
    public struct Reaction: Sendable, Equatable {
        /// The text of the reaction.
        public let text: String
        /// The number of accounts.
        public let count: Int
        /// Whether the account of the timeline is one of them.
        public let includesOwn: Bool
    }

    /// The place of an entry in the order of its room. It changes when a pending message is accepted.
    public struct Position: Sendable, Hashable, Comparable {
        let generation: Int64
        let offset: Int64
        let id: Int64

        /// Returns whether the first entry is above the second.
        public static func < (left: Position, right: Position) -> Bool {
            (left.generation, left.offset, left.id) < (right.generation, right.offset, right.id)
        }
    }

    /// The number of the entry in its file, which remains the same.
    public let id: Int64
    /// The place of the entry, with which a query for the next page begins.
    public let position: Position
    /// The identity of the message; nil for a gap and a replaced log.
    public let message: MessageID?
    /// The offset of the message or of the gap's first message; nil while it is unknown.
    public let offset: UInt64?
    /// The time of acceptance by the relay's clock, or of sending by this device's clock, in milliseconds since 1970;
    /// nil for a gap and a replaced log.
    public let time: UInt64?
    /// What the entry shows.
    public let content: Content
    /// The state of the message.
    public let state: State
    /// Whether the text is that of an edit.
    public let isEdited: Bool
    /// The reactions, in the order in which each was first given.
    public let reactions: [Reaction]

    /// The account of the message; nil for a gap and a replaced log.
    public var sender: AccountName? { message?.sender }
    /// The text of a text or a reply, with its latest edit, or the caption of an attachment; nil for other entries.
    public var text: String? { if case .message(let body) = content { body.text } else { nil } }
    /// A reference to the message, for a reply, an edit, a deletion or a reaction; nil for other entries.
    public var reference: MessageReference? { message.map { MessageReference($0, offset: offset) } }
}

/// A room in the list of a timeline.
public struct TimelineRoom: Sendable, Equatable {
    /// The name of the room.
    public let name: RoomName
    /// The last message of a listed kind (M-28), with the text of its latest edit; nil if the room has none. If the
    /// file does not have the message yet, it is that of the relay's list, with the ID 0.
    public let lastEntry: TimelineEntry?
    /// The number of unread messages of other accounts (M-27), at most `RoomSummary.maxUnreadCount`. Edits,
    /// deletions, reactions, commands and system messages do not count.
    public let unreadCount: Int
    /// The account's membership record; nil if the relay's list does not have the room.
    public let membership: RoomSummary.Membership?
}

/// A result of a search.
public struct TimelineMatch: Sendable, Equatable {
    /// The name of the room.
    public let room: RoomName
    /// The entry with the text.
    public let entry: TimelineEntry
}
