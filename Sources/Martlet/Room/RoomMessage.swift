public import MartletProtocol
public import MartletWire

/// A message of a room, as the relay gave it to its members.
public struct RoomMessage: Sendable, Equatable, Identifiable {
    private let message: Message
    private let stamp: RelayStamp
    private let log: LogID?

    /// Nil for a message without the relay's stamp.
    init?(_ message: Message, log: LogID? = nil) {
        guard let stamp = message.relay else { return nil }
        self.message = message
        self.stamp = stamp
        self.log = log
    }

    /// Its account, device and counter: a message has one ID however often it is sent, and no other account's message
    /// has the same.
    public var id: MessageID { MessageID(sender: stamp.sender, device: stamp.device, counter: message.counter) }
    /// Its place in the room, from 1.
    public var offset: UInt64 { stamp.offset }
    /// Its place, and the log that it is a place in: what an application keeps to go on behind this message, by
    /// ``Room/Options/From/cursor(_:)-enum.case``.
    public var cursor: RoomCursor { RoomCursor(log: log, offset: stamp.offset) }
    /// Who sent it.
    public var sender: AccountName { stamp.sender }
    /// What the content is.
    public var kind: ContentKind { message.kind }
    /// What it says.
    public var content: MessageContent { message.content }
    /// The text, when the kind is text.
    public var text: String? { message.text }
    /// When the relay accepted it, in milliseconds since 1970 by the relay's clock.
    public var acceptedAt: UInt64 { stamp.acceptedAt }
    /// How long after sending it is worth showing.
    public var timeToLive: Duration? { message.timeToLive }

    /// What its content counts for against the room's credit.
    var contentByteCount: Int { message.content.byteCount }
}

/// What comes in a room, in the order of offsets.
public enum RoomItem: Sendable, Equatable {
    /// A message.
    case message(RoomMessage)
    /// The relay does not have these offsets any more, or left them out because this side was too slow.
    case gap(ClosedRange<UInt64>)
    /// The relay has lost the log that was read up to `previous`, and what comes next follows on `current`: in another
    /// log from the first message that is kept, in the same one from its present end. Offsets begin again below
    /// those that were seen.
    case logReplaced(previous: RoomCursor, current: RoomCursor)
}
