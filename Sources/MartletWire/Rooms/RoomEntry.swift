/// A room in the list of an account's rooms: its membership record, the offsets of its log, its last message and the
/// account's own progress (W-102).
public struct RoomEntry: Equatable, Sendable {
    /// The maximum size of an encoded entry, in bytes.
    public static let maxByteCount = 8192
    /// The maximum size of the body of the last message, in bytes. The text of a longer one is shortened, and a longer
    /// message of another kind is left out.
    public static let maxMessageByteCount = 4096
    /// The maximum size of a shortened text, in bytes.
    public static let maxShortenedTextByteCount = 512
    /// The number of unread messages beyond which they are not counted.
    public static let maxUnreadCount = 100
    /// The number of the newest offsets of a room among which unread messages are counted, and the last message is
    /// found (M-27, M-28).
    public static let maxScannedCount: UInt64 = 256

    /// The room.
    public var room: RoomName
    /// The state of the account's membership record.
    public var membership: RoomMembershipState
    /// The account that has invited the account; nil if it joined by itself.
    public var inviter: AccountName?
    /// The time of the last change of the record, in milliseconds since 1970 by the relay's clock; nil without a
    /// record.
    public var changedAt: UInt64?
    /// The identity of the room's log; nil if it is unknown.
    public var log: LogID?
    /// The highest offset of the log; 0 if it is empty.
    public var lastOffset: UInt64
    /// The lowest offset that the log keeps.
    public var firstOffset: UInt64
    /// The body of the last listed message (M-28) with the relay's fields (W-61); nil if there is none, or if it is
    /// left out.
    public var message: [UInt8]?
    /// Whether the text of the message is shortened.
    public var isShortened: Bool
    /// The account's delivered offset; 0 if there is none.
    public var delivered: UInt64
    /// The account's read offset; 0 if there is none.
    public var read: UInt64
    /// The number of unread messages (M-27), at most ``maxUnreadCount``.
    public var unreadCount: UInt32

    /// Creates an entry.
    public init(
        room: RoomName, membership: RoomMembershipState, inviter: AccountName? = nil, changedAt: UInt64? = nil,
        log: LogID? = nil, lastOffset: UInt64 = 0, firstOffset: UInt64 = 1, message: [UInt8]? = nil,
        isShortened: Bool = false, delivered: UInt64 = 0, read: UInt64 = 0, unreadCount: UInt32 = 0
    ) {
        self.room = room
        self.membership = membership
        self.inviter = inviter
        self.changedAt = changedAt
        self.log = log
        self.lastOffset = lastOffset
        self.firstOffset = firstOffset
        self.message = message
        self.isShortened = isShortened
        self.delivered = delivered
        self.read = read
        self.unreadCount = unreadCount
    }

    /// The last message; nil if there is none, if it is left out, or if this version cannot read it.
    package var lastMessage: Message? { message.flatMap { try? Message(parsing: $0.rawBytes) } }

    /// Sets the last message from its body, shortened if it is too long.
    public mutating func setMessage(_ body: [UInt8]) {
        (message, isShortened) = (nil, false)
        guard body.count > Self.maxMessageByteCount else { return message = body }
        guard let long = try? Message(parsing: body.rawBytes), let text = long.text, let relay = long.relay,
            let short = Self.prefix(of: text)
        else { return }
        let content = MessageContent(text: short)
        message = Message(counter: long.counter, content: content, relay: relay).encode()
        isShortened = true
    }

    /// The longest prefix of whole characters within the bound; nil if the first character exceeds it.
    private static func prefix(of text: String) -> String? {
        var end = text.startIndex
        var byteCount = 0
        for index in text.indices {
            byteCount += text[index].utf8.count
            guard byteCount <= maxShortenedTextByteCount else { break }
            end = text.index(after: index)
        }
        return end == text.startIndex ? nil : String(text[..<end])
    }
}
