package import Martlet
package import MartletWire

/// The timeline of a device of ``ClientLives``, in a file that survives the clients of the device. An error of a call
/// other than a `MartletError` and a `CancellationError` is a violation.
package protocol LifeTimeline: AnyObject, Sendable {
    /// Opens the file for a client.
    func begin(_ client: Client) async throws
    /// Applies what the relay sends until the client has stopped.
    func run() async throws
    /// Opens a room, or returns the one that is open.
    func open(_ room: RoomName) async throws -> Room
    /// Sends a message in an open room.
    func send(_ message: OutgoingMessage, in room: RoomName) async throws -> MessageID
    /// Marks the messages up to the last one as read.
    func markRead(_ room: RoomName) async throws
    /// The cursor of the last applied message.
    func cursor(of room: RoomName) async throws -> RoomCursor?
    /// The contents of a room.
    func view(of room: RoomName) async throws -> LifeTimelineView
    /// Closes the file.
    func end() async
}

/// A room in a timeline.
package struct LifeTimelineView: Sendable {
    /// A message as the timeline shows it.
    package struct Entry: Sendable, Equatable {
        /// The message.
        package var id: MessageID
        /// The offset of the message; nil without an acceptance.
        package var offset: UInt64?
        /// The text; nil for a deleted message.
        package var text: String?
        /// The reactions with the numbers of their accounts, as `+ 2`.
        package var reactions: Set<String>
        /// The reason of a failure; nil if the message has not failed.
        package var failure: String?

        /// Creates an entry.
        package init(id: MessageID, offset: UInt64?, text: String?, reactions: Set<String> = [], failure: String? = nil)
        {
            self.id = id
            self.offset = offset
            self.text = text
            self.reactions = reactions
            self.failure = failure
        }
    }

    /// The texts and replies after the last replacement of the log, in their order.
    package var entries: [Entry]
    /// The messages above the last replacement of the log, with their offsets.
    package var earlier: [MessageID: UInt64]
    /// Whether offsets are missing among them.
    package var hasGaps: Bool
    /// The number of unread messages.
    package var unreadCount: Int
    /// Whether the list has the room.
    package var membership: RoomSummary.Membership?
    /// The last message of a listed kind; nil if it was deleted, or there is none.
    package var lastText: String?

    /// Creates a view.
    package init(
        entries: [Entry], earlier: [MessageID: UInt64], hasGaps: Bool, unreadCount: Int,
        membership: RoomSummary.Membership?, lastText: String?
    ) {
        self.entries = entries
        self.earlier = earlier
        self.hasGaps = hasGaps
        self.unreadCount = unreadCount
        self.membership = membership
        self.lastText = lastText
    }
}
