public import MartletWire

/// The message whose body is replaced in a room's log, because a deletion of it is stored.
public struct MessageErasure: Hashable, Sendable {
    /// The offset of the message.
    public let offset: UInt64
    /// The identity of the message. Another message at the offset is not erased.
    public let id: MessageID

    /// Creates an erasure.
    public init(offset: UInt64, id: MessageID) {
        self.offset = offset
        self.id = id
    }

    /// Returns the entry with the body of an erased message; nil if it is another message, a deletion, or erased.
    public func erased(_ entry: LogEntry) -> LogEntry? {
        guard entry.offset == offset, entry.sender == id.sender, entry.device == id.device,
            entry.counter == id.counter, offset > 0, id.counter > 0
        else { return nil }
        let kind = MessageView.kind(in: entry.body.rawBytes)
        guard kind != .delete, kind != .erased else { return nil }
        let stamp = RelayStamp(
            offset: offset, acceptedAt: entry.acceptedAt, sender: entry.sender, device: entry.device)
        let message = Message(counter: entry.counter, kind: .erased, content: [], relay: stamp)
        var erased = entry
        erased.body = EncodedBody(message.encode(), isSummed: entry.body.checksum != nil)
        return erased
    }
}
