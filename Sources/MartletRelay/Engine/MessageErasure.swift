public import MartletLink
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
        // A body with a layout is a text, which is no edit.
        let mayBeEdit = entry.body.layout == .unknown
        guard contains(where: { $0.offset == entry.offset || mayBeEdit && $0.offset < entry.offset }) else {
            return nil
        }
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
        let change = kind?.isChange == true ? kind : nil
        let message = Message(counter: entry.counter, kind: change ?? .erased, content: [], relay: stamp)
        var erased = entry
        erased.body = EncodedBody(message.encode(), isSummed: entry.body.checksum != nil)
        return change != nil && erased.body.byteCount == entry.body.byteCount ? nil : erased
    }
}

extension [MessageErasure] {
    /// Whether queued frames of a session have the body of an erased message: a message, a page of a room's history,
    /// or an entry of a room in the list of an account.
    func concern(_ type: FrameType, _ bodies: SendBatches.Bodies, in room: RoomName? = nil) -> Bool {
        let body: EncodedBody
        switch bodies {
        case .messages(let entries): return entries.contains { erased($0) != nil }
        case .fragments(let single): body = single
        }
        switch type {
        case .data: return concern(message: body.rawBytes)
        case .update:
            guard let room else { return false }
            return concern(entry: body.rawBytes, in: room)
        case .response:
            guard let content = (try? Response(parsing: body.rawBytes))?.content else { return false }
            var reader = TLVReader(content.rawBytes)
            while let field = try? reader.next() {
                if let room {
                    if field.tag == .entry, concern(entry: field.value, in: room) { return true }
                } else if field.tag == .message, concern(message: field.value) {
                    return true
                }
            }
            return false
        default: return false
        }
    }

    private func concern(message body: RawSpan) -> Bool {
        guard let message = try? Message(parsing: body), let stamp = message.relay else { return false }
        let entry = LogEntry(
            offset: stamp.offset, sender: stamp.sender, device: stamp.device, counter: message.counter,
            acceptedAt: stamp.acceptedAt, body: EncodedBody([UInt8](copying: body)))
        return erased(entry) != nil
    }

    /// Whether an entry has the text of an erased message, or of an erased edit, which shows in an earlier message of
    /// its author (M-28).
    private func concern(entry body: RawSpan, in room: RoomName) -> Bool {
        guard let entry = (try? RoomUpdate(parsing: body))?.entry, entry.room == room,
            let shown = entry.lastMessage?.relay
        else { return false }
        return contains {
            $0.id.sender == shown.sender
                && ($0.offset == 0 || shown.offset <= $0.offset && $0.offset <= entry.lastOffset)
        }
    }
}

extension LogEntry {
    /// The attachment of the relay that the entry names; nil if it names none, or is damaged.
    var attachmentDigest: AttachmentDigest? {
        guard MessageView.kind(in: body.rawBytes) == .attachment, let message = try? Message(parsing: body.rawBytes),
            case .attachment(let attachment)? = try? MessageBody(message.content),
            attachment.source == .location(Attachment.relayLocation)
        else { return nil }
        return attachment.digest.flatMap { AttachmentDigest($0) }
    }

    /// The message that the entry edits; nil if it is not an edit of a message of its account, or damaged (M-1).
    package var editTarget: MessageID? {
        guard MessageView.kind(in: body.rawBytes) == .edit, let message = try? Message(parsing: body.rawBytes),
            case .edit(let target, _)? = try? MessageBody(message.content), target.id.sender == sender
        else { return nil }
        return target.id
    }
}
