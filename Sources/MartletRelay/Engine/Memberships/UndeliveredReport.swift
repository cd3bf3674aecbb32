import MartletLink
public import MartletWire

/// Messages of a room that were not delivered to accounts that have joined it.
public struct UndeliveredReport: Equatable, Sendable {
    /// The maximum number of accounts of a report; more are in further reports.
    public static let maxRecipientCount = 64

    /// An account, and the number of messages that were not delivered to it.
    public struct Recipient: Equatable, Sendable {
        /// The account.
        public var account: AccountName
        /// The number of messages of other accounts that this report adds to earlier ones, at least 1.
        public var count: UInt64

        /// Creates a recipient.
        public init(account: AccountName, count: UInt64) {
            self.account = account
            self.count = count
        }
    }

    /// The room.
    public var room: RoomName
    /// The identity of the room's log; nil if the store has none.
    public var log: LogID?
    /// The highest offset that the report includes. With the log, the room and an account, it identifies the report to
    /// the account.
    public var lastOffset: UInt64
    /// The accounts, at least one, in the order of their names.
    public var recipients: [Recipient]
    /// The newest of the messages; nil if the relay has it no longer in memory.
    public var message: UndeliveredMessage?

    /// Creates a report.
    public init(
        room: RoomName, log: LogID? = nil, lastOffset: UInt64, recipients: [Recipient],
        message: UndeliveredMessage? = nil
    ) {
        self.room = room
        self.log = log
        self.lastOffset = lastOffset
        self.recipients = recipients
        self.message = message
    }
}

/// The newest message of a report.
public struct UndeliveredMessage: Equatable, Sendable {
    /// The fields that the relay has added.
    public var relay: RelayStamp
    /// The kind of the content.
    public var kind: ContentKind
    /// The content, shortened as in a list of rooms (`RoomEntry.maxMessageByteCount`); nil if it is long and no text.
    public var content: MessageContent?
    /// Whether the text is shortened.
    public var isShortened: Bool

    /// The text; nil if the content is of another kind.
    public var text: String? { content?.text }

    /// Creates a message.
    public init(relay: RelayStamp, kind: ContentKind, content: MessageContent?, isShortened: Bool = false) {
        self.relay = relay
        self.kind = kind
        self.content = content
        self.isShortened = isShortened
    }

    /// Creates a message from the body in a log.
    init?(_ entry: LogEntry, in room: RoomName) {
        let body = entry.body.bytes
        guard let message = try? Message(parsing: body.rawBytes), let relay = message.relay else { return nil }
        var listed = RoomEntry(room: room, membership: .joined)
        listed.setMessage(body)
        self.init(
            relay: relay, kind: message.kind, content: listed.lastMessage?.content, isShortened: listed.isShortened)
    }
}
