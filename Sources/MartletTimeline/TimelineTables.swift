import Martlet
import MartletDatabase
import MartletLink
import MartletWire

/// The rooms of a timeline on its writing thread.
///
/// The logs of a room have ascending generations. An item of the log raises the cursor, at which the room is opened
/// again; a page of history does not, because messages between the cursor and the page may be missing.
final class TimelineTables: TruncatingContext {
    /// The row of a room.
    private struct RoomRow {
        let id: Int64
        var log: UInt64?
        var generation: Int64
        var cursor: Int64
    }

    let database: Database
    /// The new name of the damaged file that was set aside before.
    let aside: String?
    private let lock: FileLock
    private let entries: EntryTables
    private let gaps: GapTable
    private let list: ListTable

    private let room: Statement
    private let insertRoom: Statement
    private let saveRoom: Statement
    private let generation: Statement
    private let insertLog: Statement
    private let markRead: Statement
    /// Removes the entries of erased texts from the index, which otherwise remain until it is merged. Nil if the index
    /// does so itself.
    private let mergeIndex: Statement?
    var truncatesLog = true
    private let truncation: LogTruncation

    init(
        _ database: Database, lock: FileLock, account: AccountName, truncation: LogTruncation = LogTruncation(),
        aside: String?
    ) throws {
        self.database = database
        self.lock = lock
        self.truncation = truncation
        self.aside = aside
        entries = try EntryTables(database, account: account)
        gaps = try GapTable(database)
        list = try ListTable(database)
        room = try database.prepare("SELECT id, log, generation, cursor FROM room WHERE name = ?")
        insertRoom = try database.prepare("INSERT OR IGNORE INTO room (name) VALUES (?)")
        saveRoom = try database.prepare("UPDATE room SET log = ?, generation = ?, cursor = ? WHERE id = ?")
        generation = try database.prepare("SELECT generation FROM log WHERE room = ? AND identity = ?")
        insertLog = try database.prepare("INSERT OR REPLACE INTO log VALUES (?, ?, ?)")
        markRead = try database.prepare(
            """
            UPDATE room SET read_generation = ?2, read_position = ?3
            WHERE id = ?1 AND (read_generation, read_position) < (?2, ?3)
            """)
        mergeIndex =
            try TimelineSchema.erasesIndex(of: database)
            ? nil : database.prepare("INSERT INTO entry_text (entry_text) VALUES ('optimize')")
        committed()
    }

    // MARK: Erasure

    /// Erases the texts of deleted messages in the index (M-29).
    func willCommit() throws {
        guard entries.changes.hasErased else { return }
        try mergeIndex?.run()
    }

    /// Erases the texts of deleted messages in the log of the database. That is attempted again if a reader has
    /// prevented it.
    func committed() {
        if entries.changes.hasErased { truncatesLog = true }
        entries.changes.hasErased = false
        truncateLog()
        if truncatesLog { truncation.schedule() }
    }

    // MARK: Rooms

    private func row(of name: RoomName) throws -> RoomRow {
        insertRoom.bind(1, name.text)
        try insertRoom.run()
        room.bind(1, name.text)
        defer { room.reset() }
        guard try room.step() else { throw DatabaseError.corrupt(path: database.path) }
        let row = RoomRow(
            id: room.int64(0), log: room.optionalUInt64(1), generation: room.int64(2), cursor: room.int64(3))
        guard 0..<TimelineSchema.pendingGeneration - 1 ~= row.generation, row.cursor >= 0 else {
            throw DatabaseError.corrupt(path: database.path)
        }
        return row
    }

    private func save(_ row: RoomRow) throws {
        saveRoom.bind(1, row.log)
        saveRoom.bind(2, row.generation)
        saveRoom.bind(3, row.cursor)
        saveRoom.bind(4, row.id)
        try saveRoom.run()
        if entries.changes.hasErased { try list.removeMessage(of: row.id, upTo: row.cursor) }
    }

    /// The generation of a log. An unknown log begins the next generation, except the first log of a room (M-10).
    private func generation(of log: LogID?, _ row: inout RoomRow) throws -> Int64 {
        guard let log, log.rawValue != row.log else { return row.generation }
        if row.log != nil {
            if let known = try knownGeneration(of: log, row) { return known }
            row.generation += 1
            row.cursor = 0
        }
        try begin(log, &row)
        return row.generation
    }

    /// The generation of a log; nil if the log is unknown.
    private func knownGeneration(of log: LogID?, _ row: RoomRow) throws -> Int64? {
        guard let log, log.rawValue != row.log else { return row.generation }
        generation.bind(1, row.id)
        generation.bind(2, log.rawValue)
        return try generation.firstInt64()
    }

    /// The generation of a gap. A gap names no log, so it has the generation of the next item. Items of an earlier log
    /// can therefore be applied again.
    private func generation(ofGapAt index: Int, in items: [RoomItem], _ row: RoomRow) throws -> Int64 {
        for item in items[(index + 1)...] {
            let log: LogID?
            switch item {
            case .gap: continue
            case .message(let message): log = message.cursor.log
            case .logReplaced(let previous, _): log = previous.log
            }
            return try knownGeneration(of: log, row) ?? row.generation
        }
        return row.generation
    }

    private func begin(_ log: LogID, _ row: inout RoomRow) throws {
        row.log = log.rawValue
        insertLog.bind(1, row.id)
        insertLog.bind(2, log.rawValue)
        insertLog.bind(3, row.generation)
        try insertLog.run()
    }

    // MARK: Items

    /// Applies items of the room's log. Items that were applied before have no effect.
    func apply(_ items: [RoomItem], in name: RoomName, isModerator: (AccountName) -> Bool) throws {
        var row = try row(of: name)
        for (index, item) in items.enumerated() {
            switch item {
            case .message(let message):
                let place = EntryPlace(
                    generation: try generation(of: message.cursor.log, &row),
                    position: Int64(clamping: message.offset))
                try advance(to: place, &row)
                try store(message, at: place, row, isModerator)
            case .gap(let offsets):
                let generation = try generation(ofGapAt: index, in: items, row)
                try mark(offsets, generation, row)
                guard generation == row.generation else { continue }
                row.cursor = max(row.cursor, Int64(clamping: offsets.upperBound))
            case .logReplaced(let previous, let current): try replace(previous, by: current, &row)
            }
        }
        try save(row)
    }

    /// Raises the cursor. Pages of history can be before the first item of a room.
    private func advance(to place: EntryPlace, _ row: inout RoomRow) throws {
        guard place.generation == row.generation else { return }
        try markMissing(before: place.position, row)
        row.cursor = max(row.cursor, place.position)
    }

    /// Marks the offsets before a position as missing, unless later items of the log will contain them.
    private func markMissing(before position: Int64, _ row: RoomRow) throws {
        guard row.cursor == 0 else { return }
        guard let missing = try gaps.missing(before: position, generation: row.generation, room: row.id) else { return }
        try mark(missing, row.generation, row)
    }

    private func store(
        _ message: RoomMessage, at place: EntryPlace, _ row: RoomRow, _ isModerator: (AccountName) -> Bool
    ) throws {
        try entries.store(
            message.id, message.content, at: place, time: message.acceptedAt, row.id,
            isModerator: isModerator(message.sender))
    }

    private func mark(_ offsets: ClosedRange<UInt64>, _ generation: Int64, _ row: RoomRow) throws {
        let content = [UInt8].numbers(offsets.lowerBound, offsets.upperBound)
        let place = EntryPlace(generation: generation, position: Int64(clamping: offsets.lowerBound))
        try entries.mark(TimelineSchema.gap, content, counter: offsets.lowerBound, at: place, row.id)
    }

    private func replace(_ previous: RoomCursor, by current: RoomCursor, _ row: inout RoomRow) throws {
        let content = [UInt8].numbers(
            previous.log?.rawValue ?? 0, previous.offset, current.log?.rawValue ?? 0, current.offset)
        guard try !entries.hasMark(TimelineSchema.replacedLog, content, row.id) else { return }
        let isBegun = current.log != nil && current.log != previous.log && current.log?.rawValue == row.log
        let isComplete = current.offset >= previous.offset
        if isBegun {
            row.cursor = max(row.cursor, Int64(clamping: current.offset))
        } else if isComplete, let log = current.log, previous.log?.rawValue == row.log {
            // The log continues under another identity, in the same generation.
            try begin(log, &row)
        } else {
            row.generation += 1
            if let log = current.log { try begin(log, &row) }
            row.cursor = Int64(clamping: current.offset)
        }
        if isComplete { return }
        let place = EntryPlace(generation: row.generation, position: 0)
        try entries.mark(TimelineSchema.replacedLog, content, counter: 0, at: place, row.id)
    }

    /// Applies a page of history, which covers all offsets of a range in the current log. Gaps lose these offsets, and
    /// a gap follows a page that ends before the first known offset.
    ///
    /// - Returns: False, without an effect, if the page is of another log.
    func apply(_ page: HistoryPart, in name: RoomName, isModerator: (AccountName) -> Bool) throws -> Bool {
        var row = try row(of: name)
        if row.log == nil, let log = page.log { try begin(log, &row) }
        guard page.log?.rawValue == row.log else { return false }
        if let offsets = page.offsets {
            try markMissing(before: Int64(clamping: offsets.lowerBound), row)
            let missing = try gaps.cover(offsets, generation: row.generation, room: row.id)
            for rest in missing { try mark(rest, row.generation, row) }
        }
        for message in page.messages {
            let place = EntryPlace(generation: row.generation, position: Int64(clamping: message.offset))
            try store(message, at: place, row, isModerator)
        }
        try save(row)
        return true
    }

    // MARK: Outgoing messages

    /// Performs changes of outgoing messages in their order.
    func perform(
        _ steps: [OutgoingStep], in name: RoomName, time: UInt64, isModerator: (AccountName) -> Bool
    ) throws {
        var row = try row(of: name)
        for step in steps {
            switch step {
            case .add(let id, let content):
                try entries.add(id, content, time: time, row.id, isModerator: isModerator(id.sender))
            case .settle(let id, .accepted(let offset), let log): try accept(id, at: offset, of: log, &row)
            case .settle(let id, .failed(.cancelled), _), .remove(let id): try entries.remove(id, row.id)
            case .settle(let id, .failed(let failure), _): try entries.fail(id, failure, row.id)
            case .mark(let id, let intent): try entries.mark(id, intent.state, row.id)
            case .unmark(let id): try entries.unmark(id, row.id)
            case .replace(let id, let new, let content):
                try entries.replace(
                    id, by: new, content, time: time, row.id, isModerator: isModerator(new.sender))
            }
        }
    }

    /// A message whose offset is unknown has the place of the last item.
    private func accept(_ id: MessageID, at offset: UInt64, of log: LogID?, _ row: inout RoomRow) throws {
        let place =
            offset == 0
            ? EntryPlace(generation: row.generation, position: row.cursor)
            : EntryPlace(generation: try generation(of: log, &row), position: Int64(clamping: offset))
        try entries.accept(id, at: place, hasOffset: offset > 0, row.id)
        try save(row)
    }

    // MARK: Rooms as a whole

    /// Records a change of the relay's list. Returns the changed rooms.
    func apply(_ update: RoomListUpdate) throws -> [RoomName] {
        // The log has the last messages of the earlier list.
        truncation.schedule()
        return try list.apply(update)
    }

    /// Lists a room that was left.
    func list(_ name: RoomName) throws { try list.enter(name) }

    func remove(_ name: RoomName) throws {
        let row = try row(of: name)
        for (table, column) in [("entry", "room"), ("change", "room"), ("log", "room"), ("room", "id")] {
            let delete = try database.prepare("DELETE FROM \(table) WHERE \(column) = ?")
            delete.bind(1, row.id)
            try delete.run()
        }
        entries.changes.hasErased = true
    }

    /// Raises the read mark.
    ///
    /// - Returns: False, without an effect, if the log of the cursor is unknown.
    func markRead(upTo cursor: RoomCursor, in name: RoomName) throws -> Bool {
        let row = try row(of: name)
        guard let generation = try knownGeneration(of: cursor.log, row) else { return false }
        try markRead(generation, Int64(clamping: cursor.offset), row)
        return true
    }

    func markRead(upTo position: TimelineEntry.Position, in name: RoomName) throws {
        try markRead(position.generation, position.offset, try row(of: name))
    }

    private func markRead(_ generation: Int64, _ position: Int64, _ row: RoomRow) throws {
        markRead.bind(1, row.id)
        markRead.bind(2, generation)
        markRead.bind(3, position)
        try markRead.run()
    }

    /// Removes the entries of the log, so that it is read again from its start.
    func clear(_ name: RoomName) throws {
        var row = try row(of: name)
        // A deletion is final (M-11): the message stays deleted when the log is read again.
        for condition in ["FROM entry WHERE", "FROM change WHERE effect <> \(TimelineSchema.deletion) AND"] {
            let delete = try database.prepare("DELETE \(condition) room = ? AND generation < ?")
            delete.bind(1, row.id)
            delete.bind(2, TimelineSchema.pendingGeneration)
            try delete.run()
        }
        let wait = try database.prepare("UPDATE change SET is_waiting = 1 WHERE room = ? AND generation < ?")
        wait.bind(1, row.id)
        wait.bind(2, TimelineSchema.pendingGeneration)
        try wait.run()
        entries.changes.hasErased = true
        row.cursor = 0
        try save(row)
    }
}
