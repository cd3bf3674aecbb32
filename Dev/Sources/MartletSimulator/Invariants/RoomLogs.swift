import Martlet
import MartletLink
import MartletRelay
import MartletWire

/// The durable messages of all rooms, by offset, in the current logs and in those that were lost, or that a restored
/// store has replaced.
final class RoomLogs: @unchecked Sendable {  // used by the thread that runs the world
    struct Entry {
        /// The message as it was stored.
        let stored: LogEntry
        /// The content, also after the erasure; nil if it is damaged.
        let body: MessageBody?
        /// The offset of the deletion with which the relay has erased the message; nil if it has not.
        var erasedAt: UInt64?

        var offset: UInt64 { stored.offset }
        var id: MessageID {
            MessageID(sender: stored.sender, device: stored.device, counter: stored.counter)
        }

        /// The text that identifies a call of `send`; empty for other messages.
        var text: String { body.flatMap(RoomLogs.text) ?? "" }
    }

    private struct Log {
        var id: LogID?
        var entries: [Entry] = []
        /// The offset up to which the next log of the room has the same messages.
        var branch = UInt64.max
    }

    /// The logs of a room, the current one last.
    private var logs: [RoomName: [Log]] = [:]

    /// The rooms that have a log.
    var rooms: [RoomName] { logs.keys.sorted() }

    /// The current log of a room.
    subscript(room: RoomName) -> [Entry] { logs[room]?.last?.entries ?? [] }

    func id(of room: RoomName) -> LogID? { logs[room]?.last?.id }

    /// The entry at an offset of a log, by default the current one; nil beyond the end.
    func entry(at offset: UInt64, in room: RoomName, of log: LogID? = nil) -> Entry? {
        let entries = entries(of: log, in: room)
        return offset > 0 && offset <= entries.count ? entries[Int(offset) - 1] : nil
    }

    /// All messages of a log, by default the current one; empty for an unknown log.
    func entries(of log: LogID?, in room: RoomName) -> [Entry] {
        logs[room]?.last { log == nil || $0.id == log }?.entries ?? []
    }

    /// Whether a log, by default any log of the room, has the message at an offset, by default at any offset.
    func has(_ id: MessageID, at offset: UInt64?, in room: RoomName, of log: LogID?) -> Bool {
        (logs[room] ?? []).contains { candidate in
            guard log == nil || candidate.id == log else { return false }
            guard let offset else { return candidate.entries.contains { $0.id == id } }
            return candidate.entries.count >= offset && candidate.entries[Int(offset) - 1].id == id
        }
    }

    /// The offset up to which a log and a later one, by default the current one, have the same messages; nil for a log
    /// that the room does not have.
    func branch(of log: LogID?, to other: LogID? = nil, in room: RoomName) -> UInt64? {
        let logs = logs[room] ?? []
        guard let log else { return .max }
        guard let first = logs.firstIndex(where: { $0.id == log }),
            let last = other.map({ other in logs.firstIndex { $0.id == other } }) ?? logs.indices.last, first <= last
        else { return nil }
        return logs[first..<last].map(\.branch).min() ?? .max
    }

    /// The messages of the current log whose deletions the store has lost. They are final for readers (M-11).
    func lostDeletions(in room: RoomName) -> Set<MessageID> {
        func deletions(_ entries: [Entry]) -> [MessageID] {
            entries.compactMap { entry in
                guard case .delete(let target)? = entry.body, target.id.sender == entry.id.sender else { return nil }
                return target.id
            }
        }
        let former = (logs[room] ?? []).dropLast().flatMap { deletions($0.entries) }
        return Set(former).subtracting(deletions(self[room])).intersection(self[room].map(\.id))
    }

    // MARK: - Changes

    func begin(_ room: RoomName, as id: LogID?) {
        if logs[room] == nil { logs[room] = [Log(id: id)] }
    }

    /// Adds a message to the current log.
    @discardableResult
    func append(_ new: LogEntry, to room: RoomName) -> Entry {
        let content = (try? Message(parsing: new.body.rawBytes))?.content
        let entry = Entry(
            stored: new, body: content.flatMap { try? MessageBody($0) },
            erasedAt: content?.isErased == true ? new.offset : nil)
        logs[room]![logs[room]!.count - 1].entries.append(entry)
        return entry
    }

    /// Records an erasure that the last message of the log causes, or one before it in the same batch.
    func erase(_ erasure: MessageErasure, in room: RoomName) {
        let (last, entries) = (logs[room]!.count - 1, self[room])
        for entry in entries where entry.erasedAt == nil && entry.offset >= erasure.offset {
            let isErased =
                switch entry.body {
                case .edit(let target, _) where target.id == erasure.id && target.id.sender == entry.id.sender: true
                case .delete: false
                default: entry.offset == erasure.offset && entry.id == erasure.id
                }
            if isErased { logs[room]![last].entries[Int(entry.offset) - 1].erasedAt = UInt64(entries.count) }
        }
    }

    /// Begins the next log of a room, which has the messages of the current one up to an offset.
    func replace(_ room: RoomName, by id: LogID?, upTo end: UInt64) {
        let present = logs[room]!.count - 1
        logs[room]![present].branch = end
        let entries = logs[room]![present].entries.prefix(Int(end)).map { entry in
            var entry = entry
            if let erasedAt = entry.erasedAt, erasedAt > end { entry.erasedAt = nil }
            return entry
        }
        logs[room]!.append(Log(id: id, entries: entries))
    }

    /// The text of a message, or of an edit, which identifies a call of `send`; nil for other messages.
    static func text(of content: MessageContent) -> String? { (try? MessageBody(content)).flatMap(text) }

    private static func text(of body: MessageBody) -> String? {
        if case .edit(_, let text) = body { text } else { body.text }
    }
}
