public import Martlet
public import MartletTimeline

/// A conversation in a list.
public struct ConversationSummary: Sendable, Equatable, Identifiable {
    /// The last message or other entry of a conversation.
    public struct LastEntry: Sendable, Equatable {
        /// The account of the message; nil for an entry other than a message.
        public let sender: AccountName?
        /// The time of the message, in milliseconds since 1970; nil for an entry other than a message.
        public let time: UInt64?
        /// What the entry shows.
        public let content: TimelineEntry.Content
        /// The state of the message.
        public let state: TimelineEntry.State

        /// Creates an entry.
        public init(
            sender: AccountName?, time: UInt64?, content: TimelineEntry.Content,
            state: TimelineEntry.State = .accepted
        ) {
            self.sender = sender
            self.time = time
            self.content = content
            self.state = state
        }
    }

    /// The name of the room.
    public let name: RoomName
    /// The last entry; nil if there is none.
    public let lastEntry: LastEntry?
    /// The number of unread messages of other accounts. A source may bound it.
    public let unreadCount: Int
    /// The account's membership record; nil if the relay's list does not have the room.
    public let membership: RoomSummary.Membership?

    /// The name of the room.
    public var id: RoomName { name }

    /// Creates a summary.
    public init(
        name: RoomName, lastEntry: LastEntry?, unreadCount: Int, membership: RoomSummary.Membership? = nil
    ) {
        self.name = name
        self.membership = membership
        self.lastEntry = lastEntry
        self.unreadCount = unreadCount
    }
}

/// A source of the conversations of an account, such as a `Timeline`.
public protocol ConversationSource: Sendable {
    /// The sequence of changes.
    associatedtype Changes: AsyncSequence<Set<RoomName>, Never>

    /// The names of changed rooms, from the start of each iteration.
    var changes: Changes { get }

    /// Returns all conversations in any order.
    func conversations() async throws -> [ConversationSummary]

    /// Returns one conversation; nil if there is no such room.
    func conversation(_ name: RoomName) async throws -> ConversationSummary?
}

extension Timeline: ConversationSource {
    /// Returns the rooms of the timeline.
    public func conversations() async throws -> [ConversationSummary] {
        try await rooms().map { ConversationSummary($0) }
    }

    /// Returns a room of the timeline.
    public func conversation(_ name: RoomName) async throws -> ConversationSummary? {
        try await room(name).map { ConversationSummary($0) }
    }
}

extension ConversationSummary {
    fileprivate init(_ room: TimelineRoom) {
        self.init(
            name: room.name,
            lastEntry: room.lastEntry.map {
                LastEntry(sender: $0.message?.sender, time: $0.time, content: $0.content, state: $0.state)
            }, unreadCount: room.unreadCount, membership: room.membership)
    }
}
