package import MartletLink
package import MartletWire

/// The unread count and the last message of an entry in an account's list of rooms, from the newest messages of the
/// room (M-27, M-28). A store passes the messages, the newest first, until no further one matters.
package struct RoomEntryScan {
    private let account: AccountName
    private let read: UInt64
    /// The lowest offset that can count.
    private let start: UInt64
    private var unreadCount = 0
    private var message: [UInt8]?
    /// The texts of the newest edits, by their targets.
    private var edits: [MessageID: String] = [:]

    /// Creates a scan for an account.
    ///
    /// - Parameter entry: The entry, with the offsets of the log and the read offset of the account.
    package init(of account: AccountName, _ entry: RoomEntry) {
        self.account = account
        read = entry.read
        start = max(entry.firstOffset, entry.lastOffset - min(entry.lastOffset, RoomEntry.maxScannedCount - 1))
    }

    /// Adds the message before the previous one.
    ///
    /// - Returns: Whether the message before it matters.
    package mutating func add(_ entry: LogEntry) -> Bool {
        guard entry.offset >= start else { return false }
        // A message that cannot be parsed is one of an unknown kind.
        let kind = Self.kind(of: entry.body.rawBytes)
        if entry.offset > read, entry.sender != account, kind?.countsAsUnread ?? true { unreadCount += 1 }
        if message == nil {
            if kind?.isListed ?? true {
                message = edited(entry)
            } else if kind == .edit {
                note(entry)
            }
        }
        let isCounted = entry.offset <= read.addingSaturating(1) || unreadCount >= RoomEntry.maxUnreadCount
        return entry.offset > start && !(isCounted && message != nil)
    }

    /// Sets the unread count and the last message.
    package func finish(_ entry: inout RoomEntry) {
        entry.unreadCount = UInt32(min(unreadCount, RoomEntry.maxUnreadCount))
        if let message { entry.setMessage(message) }
    }

    private static func kind(of body: RawSpan) -> ContentKind? {
        do { return try MessageView(parsing: body).kind } catch { return nil }
    }

    /// Keeps an edit that counts (M-9), unless a newer one of the same message is known.
    private mutating func note(_ entry: LogEntry) {
        guard let message = try? Message(parsing: entry.body.rawBytes), let body = try? MessageBody(message.content),
            case .edit(let target, let text) = body, target.id.sender == entry.sender, edits[target.id] == nil
        else { return }
        edits[target.id] = text
    }

    /// The body of a message with the text of its edit.
    private func edited(_ entry: LogEntry) -> [UInt8] {
        let id = MessageID(sender: entry.sender, device: entry.device, counter: entry.counter)
        guard let text = edits[id], let message = try? Message(parsing: entry.body.rawBytes),
            let body = try? MessageBody(message.content), body.isEditable,
            let content = try? body.edited(text).content
        else { return entry.body.bytes }
        return Message(counter: message.counter, content: content, relay: message.relay).encode()
    }
}
