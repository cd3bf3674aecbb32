import MartletProtocol
import MartletSQLite
import MartletWire

/// The queries of a timeline on its reading thread.
final class TimelineReader: DatabaseContext {
    let database: Database
    private let account: AccountName
    private let rows: ChangeRows
    private let outgoing: OutgoingQueries
    private let windows: WindowQueries
    private let room: Statement
    private let rooms: Statement
    private let before: Statement
    private let after: Statement
    private let single: Statement
    private let unread: Statement
    private let matches: Statement

    init(_ database: Database, account: AccountName) throws {
        self.database = database
        self.account = account
        rows = try ChangeRows(database)
        outgoing = try OutgoingQueries(database)
        windows = try WindowQueries(database)
        room = try database.prepare(
            """
            SELECT id, log, cursor, read_generation, read_position, generation,
                (SELECT max(position) FROM entry WHERE entry.room = room.id AND entry.generation = room.generation)
            FROM room WHERE name = ?
            """)
        rooms = try database.prepare("SELECT id, name, read_generation, read_position FROM room")
        func page(_ sign: String, _ order: String) throws -> Statement {
            try database.prepare(
                """
                SELECT \(EntryRow.columns) FROM entry
                WHERE room = ? AND (generation, position, id) \(sign) (?, ?, ?)
                ORDER BY generation \(order), position \(order), id \(order) LIMIT ?
                """)
        }
        before = try page("<", "DESC")
        after = try page(">", "ASC")
        single = try database.prepare(
            "SELECT \(EntryRow.columns) FROM entry WHERE room = ? AND sender = ? AND device = ? AND counter = ?")
        unread = try database.prepare(
            """
            SELECT count(*) FROM (
                SELECT 1 FROM entry WHERE room = ? AND is_read = 0 AND (generation, position) > (?, ?)
                AND flags & \(TimelineSchema.deleted) = 0 LIMIT \(Timeline.maxUnreadCount))
            """)
        matches = try database.prepare(
            """
            SELECT \(EntryRow.columns), room.name FROM entry_text JOIN entry ON entry.id = entry_text.rowid
            JOIN room ON room.id = entry.room
            WHERE entry_text MATCH ? ORDER BY entry_text.rowid DESC LIMIT ?
            """)
    }

    private func roomID(_ name: RoomName) throws -> Int64? {
        room.bind(1, name.text)
        return try room.firstInt64()
    }

    // MARK: Entries

    func page(
        of name: RoomName, before position: TimelineEntry.Position?, limit: Int
    ) throws -> [TimelineEntry] {
        guard let room = try roomID(name) else { return [] }
        return try page(before, room, position ?? .end, limit).reversed()
    }

    func page(
        of name: RoomName, after position: TimelineEntry.Position, limit: Int
    ) throws -> [TimelineEntry] {
        guard let room = try roomID(name) else { return [] }
        return try page(after, room, position, limit)
    }

    func entry(_ id: MessageID, in name: RoomName) throws -> TimelineEntry? {
        guard let room = try roomID(name) else { return nil }
        single.bind(1, room)
        single.bind(identity: id, from: 2)
        return try entries(single).first
    }

    private func page(
        _ statement: Statement, _ room: Int64, _ position: TimelineEntry.Position, _ limit: Int
    ) throws -> [TimelineEntry] {
        statement.bind(1, room)
        statement.bind(2, position.generation)
        statement.bind(3, position.offset)
        statement.bind(4, position.id)
        statement.bind(5, Int64(min(max(limit, 0), Timeline.maxPageCount)))
        return try entries(statement)
    }

    private func entries(_ statement: Statement) throws -> [TimelineEntry] {
        var entries: [TimelineEntry] = []
        defer { statement.reset() }
        while try statement.step() {
            entries.append(try EntryRow(statement, path: database.path).entry(reactions))
        }
        return entries
    }

    private func reactions(_ room: Int64, _ id: MessageID) throws -> [TimelineEntry.Reaction] {
        var texts: [String] = []
        var accounts: [[UInt8]: (count: Int, includesOwn: Bool)] = [:]
        for reaction in try rows.load(id, room: room).effects.reactions {
            let key = Array(reaction.text.utf8)
            if accounts[key] == nil { texts.append(reaction.text) }
            accounts[key, default: (0, false)].count += 1
            if reaction.author == account { accounts[key]?.includesOwn = true }
        }
        return texts.map { text in
            let (count, includesOwn) = accounts[Array(text.utf8)] ?? (0, false)
            return TimelineEntry.Reaction(text: text, count: count, includesOwn: includesOwn)
        }
    }

    // MARK: Windows

    func window(_ request: WindowRequest) throws -> TimelineWindow {
        guard let room = try roomID(request.room) else { return TimelineWindow() }
        let (rows, hasEarlier, hasLater) = try windows.rows(request, room, entries)
        return TimelineWindow(
            entries: rows, hasEarlier: hasEarlier, hasLater: hasLater, unreadCount: try unreadCount(of: request.room),
            earliest: try earliest(of: request.room))
    }

    /// The first known offset of the present log; nil if the file has none.
    func earliest(of name: RoomName) throws -> RoomCursor? {
        room.bind(1, name.text)
        defer { room.reset() }
        guard try room.step() else { return nil }
        guard let offset = try windows.earliest(room.int64(0), generation: room.int64(5)) else { return nil }
        return RoomCursor(log: room.optionalUInt64(1).map { LogID(rawValue: $0) }, offset: offset)
    }

    /// The first message that was accepted at or after a time, as far as the file has messages.
    func entry(acceptedFrom time: UInt64, in name: RoomName) throws -> TimelineEntry? {
        guard let room = try roomID(name) else { return nil }
        return try entries(windows.first(acceptedFrom: time, room)).first
    }

    /// The messages without an acceptance, changes included.
    func unsettled(in name: RoomName) throws -> [UnsettledMessage] {
        guard let room = try roomID(name) else { return [] }
        return try outgoing.unsettled(room)
    }

    func contained(_ ids: [MessageID], in name: RoomName) throws -> Set<MessageID> {
        guard let room = try roomID(name) else { return [] }
        return try outgoing.contained(ids, room)
    }

    // MARK: Rooms

    /// The cursor of the last item. The cursor of a room that has only pages of history is the highest offset of these
    /// pages.
    func cursor(of name: RoomName) throws -> RoomCursor? {
        room.bind(1, name.text)
        defer { room.reset() }
        guard try room.step(), room.int64(2) > 0 || !room.isNull(1) else { return nil }
        let offset = room.int64(2) > 0 ? room.int64(2) : room.optionalInt64(6) ?? 0
        return RoomCursor(
            log: room.optionalUInt64(1).map { LogID(rawValue: $0) }, offset: UInt64(clamping: offset))
    }

    /// The cursor at an offset of a generation's log; nil if it is not the present log.
    func cursor(at offset: UInt64, of generation: Int64, in name: RoomName) throws -> RoomCursor? {
        room.bind(1, name.text)
        defer { room.reset() }
        guard try room.step(), room.int64(5) == generation else { return nil }
        return RoomCursor(log: room.optionalUInt64(1).map { LogID(rawValue: $0) }, offset: offset)
    }

    /// The read mark; nil if there is none, and if it is in an earlier log.
    func readCursor(of name: RoomName) throws -> RoomCursor? {
        room.bind(1, name.text)
        defer { room.reset() }
        guard try room.step(), room.int64(3) == room.int64(5), room.int64(4) > 0 else { return nil }
        return RoomCursor(
            log: room.optionalUInt64(1).map { LogID(rawValue: $0) }, offset: UInt64(clamping: room.int64(4)))
    }

    func unreadCount(of name: RoomName) throws -> Int {
        room.bind(1, name.text)
        defer { room.reset() }
        guard try room.step() else { return 0 }
        return try unreadCount(room.int64(0), room.int64(3), room.int64(4))
    }

    private func unreadCount(_ room: Int64, _ generation: Int64, _ position: Int64) throws -> Int {
        unread.bind(1, room)
        unread.bind(2, generation)
        unread.bind(3, position)
        return Int(try unread.firstInt64() ?? 0)
    }

    /// The room with its last entry and unread count; nil if it is unknown.
    func listed(_ name: RoomName) throws -> TimelineRoom? {
        room.bind(1, name.text)
        defer { room.reset() }
        guard try room.step() else { return nil }
        let id = room.int64(0)
        return TimelineRoom(
            name: name, lastEntry: try page(before, id, .end, 1).first,
            unreadCount: try unreadCount(id, room.int64(3), room.int64(4)))
    }

    /// The rooms, those with the latest entry first.
    func list() throws -> [TimelineRoom] {
        var list: [TimelineRoom] = []
        defer { rooms.reset() }
        while try rooms.step() {
            guard let name = RoomName(rooms.text(1)) else { throw DatabaseError.corrupt(path: database.path) }
            let id = rooms.int64(0)
            list.append(
                TimelineRoom(
                    name: name, lastEntry: try page(before, id, .end, 1).first,
                    unreadCount: try unreadCount(id, rooms.int64(2), rooms.int64(3))))
        }
        return list.sorted { ($0.lastEntry?.time ?? 0, $1.name) > ($1.lastEntry?.time ?? 0, $0.name) }
    }

    // MARK: Search

    func search(_ text: String, in name: RoomName?, limit: Int) throws -> [TimelineMatch] {
        guard let query = TimelineQuery(text) else { return [] }
        var id: Int64?
        if let name {
            guard let found = try roomID(name) else { return [] }
            id = found
        }
        matches.bind(1, query.expression(room: id))
        matches.bind(2, Int64(min(max(limit, 0), Timeline.maxPageCount)))
        var found: [TimelineMatch] = []
        defer { matches.reset() }
        while try matches.step() {
            guard let name = RoomName(matches.text(16)) else { throw DatabaseError.corrupt(path: database.path) }
            let entry = try EntryRow(matches, path: database.path).entry(reactions)
            found.append(TimelineMatch(room: name, entry: entry))
        }
        return found
    }
}

extension TimelineEntry.Position {
    /// A position behind all entries.
    static let end = TimelineEntry.Position(generation: .max, offset: .max, id: .max)
}
