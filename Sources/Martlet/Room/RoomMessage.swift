import MartletLink
public import MartletWire

/// A message of a room with the stamp of the relay.
public struct RoomMessage: MessageTarget, Sendable, Hashable, Identifiable {
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

    /// Creates a message as a relay would deliver it, for tests of an application and for messages that it has stored.
    ///
    /// - Parameters:
    ///   - id: The identity of the message, whose counter is at least 1.
    ///   - cursor: The offset of the message, at least 1, and its log.
    ///   - content: The content.
    ///   - acceptedAt: The time of acceptance, in milliseconds since 1970.
    ///   - timeToLive: The duration after sending in which the message is of use; nil if it is unlimited.
    public init(
        id: MessageID, at cursor: RoomCursor, content: MessageContent, acceptedAt: UInt64, timeToLive: Duration? = nil
    ) {
        stamp = RelayStamp(offset: cursor.offset, acceptedAt: acceptedAt, sender: id.sender, device: id.device)
        message = Message(counter: id.counter, content: content, timeToLive: timeToLive, relay: stamp)
        log = cursor.log
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
    /// The text of a text or a reply, or the caption of an attachment; nil for other kinds and a damaged content. The
    /// text of an edit belongs to another message, and is in ``body``.
    public var text: String? { message.text ?? (try? body)?.text }
    /// The time at which the relay accepted the message, in milliseconds since 1970, by the clock of the relay.
    public var acceptedAt: UInt64 { stamp.acceptedAt }
    /// A reference to the message, for a reply, an edit, a deletion or a reaction.
    public var reference: MessageReference { MessageReference(id, offset: stamp.offset) }
    /// The content by its kind.
    ///
    /// - Throws: `invalidContent` if the content of a known kind is damaged. Show such a message as one that cannot be
    ///   displayed (M-1).
    public var body: MessageBody {
        get throws(MartletError) {
            do throws(WireError) { return try MessageBody(content) } catch {
                throw .invalidContent(causedBy: error)
            }
        }
    }
    /// The duration after sending in which the message is of use to its readers; nil if it is unlimited.
    public var timeToLive: Duration? { message.timeToLive }

    /// Returns the application's value in the content, as ``OutgoingMessage/init(_:kind:timeToLive:isCompressible:)``
    /// has encoded it.
    ///
    /// - Throws: `invalidContent` if the content does not contain exactly one value, or not a value of this type.
    public func decode<Value: Decodable>(_: Value.Type = Value.self) throws(MartletError) -> Value {
        try value(in: content.bytes)
    }

    /// Hashes the identity and the stamp.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(message.counter)
        hasher.combine(stamp)
    }

    /// The size of the content, which counts against the credit of the session, in bytes.
    var contentByteCount: Int { message.content.byteCount }
}

/// A message, a gap or a replaced log, in the order of delivery.
public enum RoomItem: Sendable, Hashable {
    /// A message.
    case message(RoomMessage)
    /// Offsets that the relay no longer stores, or has left out because this client was too slow.
    case gap(ClosedRange<UInt64>)
    /// The relay has another log than the one that was read up to `previous`. Delivery continues after `current`
    /// . If both offsets are equal, nothing was lost: the relay has restored the room from a copy, whose log
    /// continues under another identity. Otherwise the relay has lost the messages behind `current`, and the
    /// next offsets are lower than offsets that were delivered before.
    case logReplaced(previous: RoomCursor, current: RoomCursor)
}
