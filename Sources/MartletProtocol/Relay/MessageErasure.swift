public import MartletWire

/// The message whose body and whose edits' bodies are replaced in a room's log, because a deletion of it is stored
///
public struct MessageErasure: Hashable, Sendable {
    /// The offset of the message; 0 if it is unknown. The edits of the message have higher offsets.
    public let offset: UInt64
    /// The identity of the message. Another message at the offset is not erased.
    public let id: MessageID

    /// Creates an erasure.
    public init(offset: UInt64, id: MessageID) {
        self.offset = offset
        self.id = id
    }

    /// Returns the entry with the body of an erased message. Returns nil unless the entry is the message or an edit of
    /// it by its author, and if it is a deletion or erased.
    public func erased(_ entry: LogEntry) -> LogEntry? { [self].erased(entry) }
}

extension [MessageErasure] {
    /// Returns the entry with the body of an erased message, if it belongs to one of the erasures.
    package func erased(_ entry: LogEntry) -> LogEntry? {
        let kind = MessageView.kind(in: entry.body.rawBytes)
        guard kind != .delete, kind != .erased, entry.offset > 0, entry.counter > 0 else { return nil }
        let id = MessageID(sender: entry.sender, device: entry.device, counter: entry.counter)
        let target = kind == .edit ? entry.editTarget : nil
        let isErased = contains { erasure in
            erasure.offset == entry.offset && erasure.id == id
                || erasure.offset < entry.offset && erasure.id == target
        }
        guard isErased else { return nil }
        let stamp = RelayStamp(
            offset: entry.offset, acceptedAt: entry.acceptedAt, sender: entry.sender, device: entry.device)
        // A reader ignores a change without a content, and shows a message of kind erased as deleted (M-1, M-37).
        let isChange = kind?.isChange ?? false
        let message = Message(
            counter: entry.counter, kind: isChange ? kind ?? .erased : .erased, content: [], relay: stamp)
        var erased = entry
        erased.body = EncodedBody(message.encode(), isSummed: entry.body.checksum != nil)
        return isChange && erased.body.byteCount == entry.body.byteCount ? nil : erased
    }
}

extension LogEntry {
    /// The message that the entry edits; nil if it is not an edit of a message of its account, or damaged (M-1).
    package var editTarget: MessageID? {
        guard MessageView.kind(in: body.rawBytes) == .edit, let message = try? Message(parsing: body.rawBytes),
            case .edit(let target, _)? = try? MessageBody(message.content), target.id.sender == sender
        else { return nil }
        return target.id
    }
}
