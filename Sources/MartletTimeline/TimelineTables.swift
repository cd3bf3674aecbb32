import Martlet
import MartletProtocol
import MartletSQLite
import MartletWire

/// The statements of a timeline on its writing thread.
///
/// | state of an entry | left by |
/// |---|---|
/// | pending, behind all accepted entries | the same message from the relay, or its outcome |
/// | failed, at the same place | its removal |
/// | accepted, at a place of a log | a deletion, which erases the content; `clear` |
final class TimelineTables: DatabaseContext {
    /// A place in a room: the generation of a log, and the offset in it.
    struct Place {
        var generation: Int64
        var position: Int64
    }

    /// The row of a room.
    struct RoomRow {
        let id: Int64
        var log: UInt64?
        var generation: Int64
        var cursor: Int64
    }

    let database: Database
    /// The new name of the damaged file that was set aside before.
    let aside: String?
    let changes: ChangeTables
    private let lock: FileLock
    private let account: AccountName

    private let room: Statement
    private let insertRoom: Statement
    private let saveRoom: Statement
    private let generation: Statement
    private let insertLog: Statement
    private let insert: Statement
    private let exists: Statement
    private let confirm: Statement
    private let fail: Statement
    private let remove: Statement
    private let markRead: Statement
    private let marker: Statement

    init(_ database: Database, lock: FileLock, account: AccountName, aside: String?) throws {
        self.database = database
        self.lock = lock
        self.account = account
        self.aside = aside
        changes = try ChangeTables(database)
        room = try database.prepare("SELECT id, log, generation, cursor FROM room WHERE name = ?")
        insertRoom = try database.prepare("INSERT OR IGNORE INTO room (name) VALUES (?)")
        saveRoom = try database.prepare("UPDATE room SET log = ?, generation = ?, cursor = ? WHERE id = ?")
        generation = try database.prepare("SELECT generation FROM log WHERE room = ? AND identity = ?")
        insertLog = try database.prepare("INSERT OR REPLACE INTO log VALUES (?, ?, ?)")
        insert = try database.prepare(
            """
            INSERT OR IGNORE INTO entry (
                room, sender, device, counter, generation, position, accepted_at, kind, content, text, state, is_read)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        exists = try database.prepare(
            "SELECT generation FROM entry WHERE room = ? AND sender = ? AND device = ? AND counter = ?")
        confirm = try database.prepare(
            """
            UPDATE entry SET generation = ?5, position = ?6, accepted_at = coalesce(?7, accepted_at), state = 0,
                failure = NULL, failure_code = NULL, failure_reason = NULL
            WHERE room = ?1 AND sender = ?2 AND device = ?3 AND counter = ?4
            """)
        fail = try database.prepare(
            """
            UPDATE entry SET state = 2, failure = ?5, failure_code = ?6, failure_reason = ?7
            WHERE room = ?1 AND sender = ?2 AND device = ?3 AND counter = ?4 AND state <> 0
            """)
        remove = try database.prepare(
            "DELETE FROM entry WHERE room = ? AND sender = ? AND device = ? AND counter = ? AND state <> 0")
        markRead = try database.prepare(
            """
            UPDATE room SET read_generation = ?2, read_position = ?3
            WHERE id = ?1 AND (read_generation, read_position) < (?2, ?3)
            """)
        marker = try database.prepare(
            "SELECT count(*) FROM entry WHERE room = ? AND sender = '' AND kind = ? AND content = ?")
    }

    // MARK: Rooms

    private func row(of name: String) throws -> RoomRow {
        insertRoom.bind(1, name)
        try insertRoom.run()
        room.bind(1, name)
        defer { room.reset() }
        guard try room.step() else { throw DatabaseError.corrupt(path: database.path) }
        return RoomRow(
            id: room.int64(0), log: room.optionalUInt64(1), generation: room.int64(2), cursor: room.int64(3))
    }

    private func save(_ row: RoomRow) throws {
        saveRoom.bind(1, row.log)
        saveRoom.bind(2, row.generation)
        saveRoom.bind(3, row.cursor)
        saveRoom.bind(4, row.id)
        try saveRoom.run()
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

    /// The generation of a gap, which names no log: that of the next item, so that items of an earlier log can be
    /// applied again.
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
    func apply(_ items: [RoomItem], in name: String, isModerator: (AccountName) -> Bool) throws {
        var row = try row(of: name)
        for (index, item) in items.enumerated() {
            switch item {
            case .message(let message):
                let place = Place(
                    generation: try generation(of: message.cursor.log, &row),
                    position: Int64(clamping: message.offset))
                if place.generation == row.generation { row.cursor = max(row.cursor, place.position) }
                try store(
                    message.id, message.content, at: place, time: message.acceptedAt, row.id,
                    isModerator: isModerator(message.sender))
            case .gap(let offsets):
                let content = [UInt8].numbers(offsets.lowerBound, offsets.upperBound)
                let place = Place(
                    generation: try generation(ofGapAt: index, in: items, row),
                    position: Int64(clamping: offsets.lowerBound))
                try mark(TimelineSchema.gap, content, counter: offsets.lowerBound, at: place, row.id)
                guard place.generation == row.generation else { continue }
                row.cursor = max(row.cursor, Int64(clamping: offsets.upperBound))
            case .logReplaced(let previous, let current): try replace(previous, by: current, &row)
            }
        }
        try save(row)
    }

    private func replace(_ previous: RoomCursor, by current: RoomCursor, _ row: inout RoomRow) throws {
        let content = [UInt8].numbers(
            previous.log?.rawValue ?? 0, previous.offset, current.log?.rawValue ?? 0, current.offset)
        marker.bind(1, row.id)
        marker.bind(2, TimelineSchema.replacedLog)
        marker.bind(3, content)
        guard try marker.firstInt64() == 0 else { return }
        let isBegun = current.log != nil && current.log != previous.log && current.log?.rawValue == row.log
        if !isBegun {
            row.generation += 1
            if let log = current.log { try begin(log, &row) }
            row.cursor = Int64(clamping: current.offset)
        }
        let place = Place(generation: row.generation, position: 0)
        try mark(TimelineSchema.replacedLog, content, counter: 0, at: place, row.id)
    }

    /// Stores an entry that is no message.
    private func mark(_ kind: Int64, _ content: [UInt8], counter: UInt64, at place: Place, _ room: Int64) throws {
        insert.bind(1, room)
        insert.bind(2, "")
        insert.bind(3, place.generation)
        insert.bind(4, counter)
        try run(insert, place, time: nil, kind: kind, content, text: nil, TimelineSchema.accepted, isRead: true)
    }

    private func run(
        _ insert: Statement, _ place: Place, time: UInt64?, kind: Int64, _ content: [UInt8], text: String?,
        _ state: Int64, isRead: Bool
    ) throws {
        insert.bind(5, place.generation)
        insert.bind(6, place.position)
        insert.bind(7, time)
        insert.bind(8, kind)
        insert.bind(9, content)
        insert.bind(10, text)
        insert.bind(11, state)
        insert.bind(12, isRead ? 1 : 0 as Int64)
        try insert.run()
    }

    // MARK: Messages

    /// Stores a message of the log, or confirms a pending one.
    private func store(
        _ id: MessageID, _ content: MessageContent, at place: Place, time: UInt64, _ room: Int64, isModerator: Bool
    ) throws {
        if try confirm(id, at: place, time: time, room) { return }
        try store(
            id, content, at: place, time: time, room, state: TimelineSchema.accepted, isModerator: isModerator)
    }

    /// Gives a pending message its place. Returns whether the message is known.
    private func confirm(_ id: MessageID, at place: Place, time: UInt64?, _ room: Int64) throws -> Bool {
        exists.bind(1, room)
        exists.bind(identity: id, from: 2)
        guard let generation = try exists.firstInt64() else {
            return try changes.confirm(id, at: place, room)
        }
        guard generation == TimelineSchema.pendingGeneration else { return true }
        confirm.bind(1, room)
        confirm.bind(identity: id, from: 2)
        confirm.bind(5, place.generation)
        confirm.bind(6, place.position)
        confirm.bind(7, time)
        try confirm.run()
        return true
    }

    private func store(
        _ id: MessageID, _ content: MessageContent, at place: Place, time: UInt64, _ room: Int64, state: Int64,
        isModerator: Bool
    ) throws {
        let body = try? MessageBody(content)
        if content.kind.isChange {
            // A damaged change, and one that does not count, is ignored (M-1, M-9).
            guard let body, let change = MessageChange(body, by: id.sender, isModerator: isModerator) else { return }
            try changes.store(change, id, at: place, room)
            return
        }
        insert.bind(1, room)
        insert.bind(identity: id, from: 2)
        try run(
            insert, place, time: time, kind: Int64(content.kind.rawValue), content.bytes, text: body?.searchText,
            state, isRead: id.sender == account)
        try changes.claim(id, room)
    }

    // MARK: Outgoing messages

    /// Stores a message without an outcome, behind all others.
    func add(
        _ id: MessageID, _ content: MessageContent, in name: String, time: UInt64, isModerator: (AccountName) -> Bool
    ) throws {
        let row = try row(of: name)
        exists.bind(1, row.id)
        exists.bind(identity: id, from: 2)
        if let generation = try exists.firstInt64() {
            guard generation == TimelineSchema.pendingGeneration else { return }
            try remove(id, row.id)
        }
        guard try !changes.contains(id, row.id) else { return }
        // A device's counters ascend.
        let place = Place(
            generation: TimelineSchema.pendingGeneration, position: Int64(clamping: id.counter))
        try store(
            id, content, at: place, time: time, row.id, state: TimelineSchema.pending,
            isModerator: isModerator(id.sender))
    }

    /// Stores the outcome of a message.
    func settle(_ id: MessageID, in name: String, as result: OutboxOutcome.Result, log: LogID?) throws {
        var row = try row(of: name)
        switch result {
        case .accepted(let offset):
            let place = Place(
                generation: offset == 0 ? TimelineSchema.pendingGeneration : try generation(of: log, &row),
                position: Int64(clamping: offset == 0 ? id.counter : offset))
            _ = try confirm(id, at: place, time: nil, row.id)
            try save(row)
        case .failed(.cancelled): try remove(id, row.id)
        case .failed(let failure):
            try changes.remove(id, row.id)
            let (kind, code, reason) = failure.columns
            fail.bind(1, row.id)
            fail.bind(identity: id, from: 2)
            fail.bind(5, kind)
            fail.bind(6, code)
            fail.bind(7, reason)
            try fail.run()
        }
    }

    /// Removes a message that was not accepted.
    func remove(_ id: MessageID, in name: String) throws {
        try remove(id, try row(of: name).id)
    }

    private func remove(_ id: MessageID, _ room: Int64) throws {
        remove.bind(1, room)
        remove.bind(identity: id, from: 2)
        try remove.run()
        try changes.remove(id, room)
    }

    // MARK: Rooms as a whole

    /// Raises the read mark. A cursor of an unknown log has no effect.
    func markRead(upTo cursor: RoomCursor, in name: String) throws {
        let row = try row(of: name)
        guard let generation = try knownGeneration(of: cursor.log, row) else { return }
        markRead.bind(1, row.id)
        markRead.bind(2, generation)
        markRead.bind(3, Int64(clamping: cursor.offset))
        try markRead.run()
    }

    /// Removes what the log contains, so that it is read again from its start.
    func clear(_ name: String) throws {
        var row = try row(of: name)
        for table in ["entry", "change"] {
            let delete = try database.prepare("DELETE FROM \(table) WHERE room = ? AND generation < ?")
            delete.bind(1, row.id)
            delete.bind(2, TimelineSchema.pendingGeneration)
            try delete.run()
        }
        row.cursor = 0
        try save(row)
    }
}

extension ContentKind {
    /// Whether messages of the kind change others.
    fileprivate var isChange: Bool { self == .edit || self == .delete || self == .reaction }
}
