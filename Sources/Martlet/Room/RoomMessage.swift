public import MartletProtocol
public import MartletWire

/// A message of a room with the stamp of the relay.
public struct RoomMessage: Sendable, Equatable, Identifiable {
    private let message: Message
    private let stamp: RelayStamp
    private let log: LogID?

    /// Nil if the message has no stamp.
    init?(_ message: Message, log: LogID? = nil) {
        guard let stamp = message.relay else { return nil }
        self.message = message
        self.stamp = stamp
        self.log = log
    }

    /// The account, device and counter of the message. They are unique, and remain the same when the message is sent
    /// again.
    public var id: MessageID { MessageID(sender: stamp.sender, device: stamp.device, counter: message.counter) }
    /// The position of the message in the log of the room, from 1.
    public var offset: UInt64 { stamp.offset }
    /// The offset of the message and the identity of its log. An application that stores the cursor can later continue
    /// after this message by ``Room/Options/From/cursor(_:)-enum.case``.
    public var cursor: RoomCursor { RoomCursor(log: log, offset: stamp.offset) }
    /// The account that sent the message.
    public var sender: AccountName { stamp.sender }
    /// The type of the content.
    public var kind: ContentKind { message.kind }
    /// The content of the message.
    public var content: MessageContent { message.content }
    /// The text of the message; nil if the kind is not text.
    public var text: String? { message.text }
    /// The time at which the relay accepted the message, in milliseconds since 1970, by the clock of the relay.
    public var acceptedAt: UInt64 { stamp.acceptedAt }
    /// The duration after sending in which the message is of use to its readers; nil if it is unlimited.
    public var timeToLive: Duration? { message.timeToLive }

    /// The size of the content, which counts against the credit of the session, in bytes.
    var contentByteCount: Int { message.content.byteCount }
}

/// A message, a gap or a replaced log, in the order of delivery.
public enum RoomItem: Sendable, Equatable {
    /// A message.
    case message(RoomMessage)
    /// Offsets that the relay no longer stores, or has left out because this client was too slow.
    case gap(ClosedRange<UInt64>)
    /// The relay has lost the log that was read up to `previous`. The next item follows `current`: in another log, the
    /// first stored message; in the same log, its present end. The next offsets are lower than offsets that were
    /// delivered before.
    case logReplaced(previous: RoomCursor, current: RoomCursor)
}
