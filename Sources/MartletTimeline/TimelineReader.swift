import Martlet
import MartletDatabase
import MartletLink
import MartletWire

/// The queries of a timeline on its reading thread.
final class TimelineReader: DatabaseContext {
    let database: Database
    private let account: AccountName
    private let rows: ChangeRows
    private let outgoing: OutgoingQueries
    private let windows: WindowQueries
    private let rooms: RoomQueries
    private let before: Statement
    private let after: Statement
    private let single: Statement
    private let matches: Statement

    init(_ database: Database, account: AccountName) throws {
        self.database = database
        self.account = account
        rows = try ChangeRows(database)
        outgoing = try OutgoingQueries(database)
        windows = try WindowQueries(database)
        rooms = try RoomQueries(database)
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
        matches = try database.prepare(
            """
            SELECT \(EntryRow.columns), room.name FROM entry_text JOIN entry ON entry.id = entry_text.rowid
            JOIN room ON room.id = entry.room
            WHERE entry_text MATCH ? ORDER BY entry_text.rowid DESC LIMIT ?
            """)
    }

    private func roomID(_ name: RoomName) throws -> Int64? { try rooms.state(of: name)?.id }

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
        guard let room = try rooms.state(of: request.room) else { return TimelineWindow() }
        let (rows, hasEarlier, hasLater) = try windows.rows(request, room.id, entries)
        return TimelineWindow(
            entries: rows, hasEarlier: hasEarlier, hasLater: hasLater, unreadCount: try rooms.unreadCount(room),
            earliest: try earliest(room))
    }

    /// The first known offset of the current log; nil if the file has none.
    func earliest(of name: RoomName) throws -> RoomCursor? {
        try rooms.state(of: name).flatMap(earliest)
    }

    private func earliest(_ room: RoomState) throws -> RoomCursor? {
        try windows.earliest(room.id, generation: room.generation).map { room.cursor(at: $0) }
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

    func accepted(_ ids: [MessageID], in name: RoomName) throws -> Set<MessageID> {
        guard let room = try roomID(name) else { return [] }
        return try outgoing.accepted(ids, room)
    }

    // MARK: Rooms

    /// The cursor of the last item. The cursor of a room that has only pages of history is the highest offset of these
    /// pages.
    func cursor(of name: RoomName) throws -> RoomCursor? {
        guard let room = try rooms.state(of: name), room.itemOffset > 0 || room.log != nil else { return nil }
        return room.cursor(at: UInt64(clamping: room.itemOffset > 0 ? room.itemOffset : room.lastOffset))
    }

    /// The cursor at an offset of a generation's log; nil if it is not the current log.
    func cursor(at offset: UInt64, of generation: Int64, in name: RoomName) throws -> RoomCursor? {
        guard let room = try rooms.state(of: name), room.generation == generation else { return nil }
        return room.cursor(at: offset)
    }

    /// The read mark; nil if there is none, and if it is in an earlier log.
    func readCursor(of name: RoomName) throws -> RoomCursor? {
        guard let room = try rooms.state(of: name), room.readGeneration == room.generation, room.readPosition > 0
        else { return nil }
        return room.cursor(at: UInt64(clamping: room.readPosition))
    }

    func unreadCount(of name: RoomName) throws -> Int {
        try rooms.state(of: name).map(rooms.unreadCount) ?? 0
    }

    /// The room with its last message and unread count; nil if it is unknown or was left.
    func listed(_ name: RoomName) throws -> TimelineRoom? {
        try rooms.state(of: name).flatMap { try rooms.listed($0, entries) }
    }

    /// The rooms, those with the latest message first.
    func list() throws -> [TimelineRoom] {
        try rooms.states().compactMap { try rooms.listed($0, entries) }
            .sorted { ($0.lastEntry?.time ?? 0, $1.name) > ($1.lastEntry?.time ?? 0, $0.name) }
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
