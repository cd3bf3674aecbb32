import Martlet
import MartletDatabase
import MartletLink
import MartletWire

/// The row of a room.
struct RoomState {
    fileprivate static let columns = """
        id, name, log, generation, cursor, read_generation, read_position, membership, summary,
        (SELECT max(position) FROM entry WHERE entry.room = room.id AND entry.generation = room.generation)
        """

    let id: Int64
    let name: RoomName
    let log: LogID?
    let generation: Int64
    /// The offset of the last item; 0 if there is none.
    let itemOffset: Int64
    let readGeneration: Int64
    let readPosition: Int64
    let isLeft: Bool
    let summary: RoomSummary?
    /// The highest offset in the current log that the file has.
    let lastOffset: Int64

    fileprivate init(_ row: Statement, path: String) throws {
        id = row.int64(0)
        guard let name = RoomName(row.text(1)) else { throw DatabaseError.corrupt(path: path) }
        self.name = name
        log = row.optionalUInt64(2).map { LogID(rawValue: $0) }
        generation = row.int64(3)
        itemOffset = row.int64(4)
        readGeneration = row.int64(5)
        readPosition = row.int64(6)
        isLeft = row.int64(7) == TimelineSchema.left
        summary = row.isNull(8) ? nil : RoomSummary(bytes: row.bytes(8))
        lastOffset = max(itemOffset, row.optionalInt64(9) ?? 0)
        guard 0..<TimelineSchema.pendingGeneration ~= generation, itemOffset >= 0 else {
            throw DatabaseError.corrupt(path: path)
        }
    }

    /// A cursor in the current log.
    func cursor(at offset: UInt64) -> RoomCursor { RoomCursor(log: log, offset: offset) }
}

/// The queries of a timeline for its rooms.
final class RoomQueries {
    private let single: Statement
    private let all: Statement
    private let unread: Statement
    private let last: Statement
    private let generation: Statement
    private let replacement: Statement
    private let path: String

    init(_ database: Database) throws {
        path = database.path
        single = try database.prepare("SELECT \(RoomState.columns) FROM room WHERE name = ?")
        all = try database.prepare("SELECT \(RoomState.columns) FROM room")
        unread = try database.prepare(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM entry WHERE room = ? AND is_read = 0 AND generation = ? AND position > ? AND position <= ?
                AND flags & \(TimelineSchema.deleted) = 0 LIMIT \(RoomSummary.maxUnreadCount))
            """)
        last = try database.prepare(
            """
            SELECT \(EntryRow.columns) FROM entry WHERE room = ? AND \(TimelineSchema.isListed)
            ORDER BY generation DESC, position DESC, id DESC LIMIT 1
            """)
        replacement = try database.prepare(
            """
            SELECT content FROM entry WHERE room = ? AND generation = ? AND position = 0
            AND kind = \(TimelineSchema.replacedLog)
            """)
        generation = try database.prepare("SELECT generation FROM log WHERE room = ? AND identity = ?")
    }

    func state(of name: RoomName) throws -> RoomState? {
        single.bind(1, name.text)
        defer { single.reset() }
        return try single.step() ? RoomState(single, path: path) : nil
    }

    func states() throws -> [RoomState] {
        defer { all.reset() }
        var states: [RoomState] = []
        while try all.step() { states.append(try RoomState(all, path: path)) }
        return states
    }

    /// The number of unread messages among the newest offsets of the log (M-27). The messages up to its branch are in
    /// the earlier generation.
    func unreadCount(_ room: RoomState) throws -> Int {
        let scanned = room.lastOffset - Int64(RoomEntry.maxScannedCount)
        var (count, generation, end) = (0, room.generation, Int64.max)
        while count < RoomSummary.maxUnreadCount {
            let start = room.readGeneration < generation ? scanned : max(scanned, room.readPosition)
            unread.bind(1, room.id)
            unread.bind(2, generation)
            unread.bind(3, start)
            unread.bind(4, end)
            count += Int(try unread.firstInt64() ?? 0)
            guard let branch = try branch(of: generation, room), branch > start else { break }
            (generation, end) = (generation - 1, min(end, branch))
        }
        return min(count, RoomSummary.maxUnreadCount)
    }

    /// The offset up to which a generation has the messages of the one before; nil if it has none.
    private func branch(of generation: Int64, _ room: RoomState) throws -> Int64? {
        replacement.bind(1, room.id)
        replacement.bind(2, generation)
        defer { replacement.reset() }
        guard try replacement.step(), case let cursors = replacement.bytes(0), cursors.count == 32 else { return nil }
        return Int64(clamping: cursors.number(at: 24))
    }

    /// The room in a list; nil if the account has left it. The relay's list is ahead of a room that is not open.
    func listed(
        _ room: RoomState, _ entries: (Statement) throws -> [TimelineEntry]
    ) throws -> TimelineRoom? {
        guard !room.isLeft else { return nil }
        last.bind(1, room.id)
        var entry = try entries(last).first
        var unreadCount = try unreadCount(room)
        if let summary = room.summary, try isBehind(room, summary) {
            unreadCount = summary.unreadCount
            let isOutgoing = entry.map { $0.state != .accepted } ?? false
            if !isOutgoing, let message = summary.lastMessage {
                entry = TimelineEntry(message, generation: room.generation + (summary.log == room.log ? 0 : 1))
            }
        }
        return TimelineRoom(
            name: room.name, lastEntry: entry, unreadCount: unreadCount, membership: room.summary?.membership)
    }

    /// Whether the relay's list has messages that the file does not have.
    private func isBehind(_ room: RoomState, _ summary: RoomSummary) throws -> Bool {
        guard let log = summary.log, log != room.log else {
            return summary.log != nil && summary.lastOffset > UInt64(clamping: room.lastOffset)
        }
        generation.bind(1, room.id)
        generation.bind(2, log.rawValue)
        return try generation.firstInt64() == nil
    }
}

extension TimelineEntry {
    /// The last message of a room in the relay's list, which the file does not have.
    fileprivate init(_ message: RoomMessage, generation: Int64) {
        self.init(
            id: 0, position: Position(generation: generation, offset: Int64(clamping: message.offset), id: 0),
            message: message.id, offset: message.offset, time: message.acceptedAt,
            content: message.content.isErased
                ? .deleted : (try? message.body).map { .message($0) } ?? .damaged(message.content.kind),
            state: .accepted, isEdited: false, reactions: [])
    }
}
