import Martlet
import MartletDatabase
import MartletLink
import MartletTransport
import MartletWire

/// The statements of an outbox on its thread.
final class OutboxTables: TruncatingContext {
    /// The number of counters that are reserved at once. A transaction writes the next counter only when they are used
    /// up (C-79).
    static let reservedCount: UInt64 = 1024  // bound
    /// The counter from which on those of a file are not valid. The loss of a bit does not exhaust the counters.
    static let maxCounter: UInt64 = 1 << 62
    /// The number of outcomes after which old ones are removed.
    private static let outcomesPerRemoval = 256
    /// The part of the maximum number of cursors that is removed at once.
    private static let removedCursorPart = 16

    let database: Database
    private(set) var device: DeviceID
    /// The IDs that were replaced since the file was opened, to which transactions on their way refer.
    private var formerDevices: [DeviceID] = []
    /// The damaged file that was set aside before.
    let recovery: SQLiteOutbox.Recovery?
    var truncatesLog = false
    private let options: SQLiteOutbox.Options
    private let truncation: LogTruncation
    /// The number of messages without an outcome, and the bytes of their contents; nil if they must be read.
    private var usage: (count: Int, byteCount: Int)?
    /// The counter up to which counters are reserved; nil if it must be read.
    private var reserved: UInt64?
    private var outcomesSinceRemoval = 0
    /// An upper bound of the bytes of dead letters; nil if it must be read.
    private var letterByteCount: Int?
    /// The number of cursors, and the number of the last use of a cursor; nil if they must be read.
    private var cursorUse: (count: Int, last: Int64)?

    private let insert: Statement
    private let edit: Statement
    private let mark: Statement
    private let size: Statement
    private let accept: Statement
    private let fail: Statement
    private let remove: Statement
    private let discard: Statement
    private let cursor: Statement
    private let hasCursor: Statement
    private let reserve: Statement
    private let letters: Statement
    private let keepPoints: Statement
    private let removePoints: Statement

    init(
        _ database: Database, lock: FileLock, options: SQLiteOutbox.Options, truncation: LogTruncation,
        recovery: SQLiteOutbox.Recovery?
    ) throws {
        self.database = database
        database.lock = lock
        self.options = options
        self.truncation = truncation
        self.recovery = recovery
        device = try Self.device(of: database)
        insert = try database.prepare(
            """
            INSERT INTO message
                (counter, sender, room, state, kind, content, lifetime, expires_at, is_compressible, in_flight_at,
                file)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        edit = try database.prepare("UPDATE message SET kind = ?, content = ? WHERE counter = ? AND state < 2")
        mark = try database.prepare("UPDATE message SET state = 1, in_flight_at = ?2 WHERE counter = ?1 AND state = 0")
        size = try database.prepare("SELECT length(content) FROM message WHERE counter = ? AND state < 2")
        accept = try database.prepare(
            "UPDATE message SET state = 2, content = NULL, settled_at = ?, offset = ? WHERE counter = ?")
        fail = try database.prepare(
            """
            UPDATE message SET state = 3, settled_at = ?, failure = ?, failure_code = ?, failure_reason = ?
            WHERE counter = ?
            """)
        remove = try database.prepare("DELETE FROM message WHERE counter = ?")
        discard = try database.prepare(
            "DELETE FROM message WHERE counter = ?1 AND state = 3 AND coalesce(device, ?2) = ?3")
        // A lower cursor of the same log is ignored.
        cursor = try database.prepare(
            """
            INSERT INTO cursor (room, log, offset, used) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (room) DO UPDATE SET log = ?2, offset = ?3, used = ?4 WHERE log IS NOT ?2 OR offset < ?3
            """)
        hasCursor = try database.prepare("SELECT 1 FROM cursor WHERE room = ?")
        reserve = try database.prepare("UPDATE property SET value = ? WHERE name = 'nextCounter'")
        letters = try database.prepare(
            "SELECT \(MessageRow.columns) FROM message WHERE room = ? AND state = 3 ORDER BY counter")
        keepPoints = try database.prepare("INSERT OR REPLACE INTO points (id, count, content) VALUES (?, ?, ?)")
        removePoints = try database.prepare("DELETE FROM points WHERE id = ?")
        try database.transaction { try removeOldOutcomes(now: EventLoop.wallClock) }
    }

    /// The device ID, which is chosen when the file is created (W-34).
    private static func device(of database: Database) throws -> DeviceID {
        let select = try database.prepare("SELECT value FROM property WHERE name = 'device'")
        if let value = try select.firstInt64() {
            guard value != 0 else { throw DatabaseError.corrupt(path: database.path) }
            return DeviceID(rawValue: UInt64(bitPattern: value))
        }
        let device = DeviceID(rawValue: .random(in: 1 ... .max))
        try database.transaction {
            let insert = try database.prepare("INSERT INTO property VALUES (?, ?)")
            insert.bind(1, "device")
            insert.bind(2, device.rawValue)
            try insert.run()
            insert.bind(1, "nextCounter")
            insert.bind(2, 1 as Int64)
            try insert.run()
        }
        return device
    }

    /// Discards the cached values that the changes before the rollback have set.
    func rolledBack() {
        usage = nil
        reserved = nil
        letterByteCount = nil
        cursorUse = nil
        if !formerDevices.isEmpty, let stored = try? Self.device(of: database) { device = stored }
    }

    /// Truncates the log if a job has requested it.
    func committed() { truncateLog() }

    // MARK: Reading

    /// Records the account, if there is none.
    ///
    /// - Throws: `outboxOfAnotherAccount`.
    func claim(for account: AccountName) throws {
        let owner = try OwnerTable(database).claim(for: account)
        guard owner == account else { throw MartletError.outboxOfAnotherAccount(owner) }
    }

    func load() throws -> OutboxState {
        var state = OutboxState(device: device, nextCounter: try reservedCounter())
        let rows = try database.prepare("SELECT \(MessageRow.columns) FROM message ORDER BY counter")
        while try rows.step() {
            guard let row = MessageRow(rows, device: device), rows.uint64(0) < state.nextCounter else {
                rows.reset()
                throw DatabaseError.corrupt(path: database.path)
            }
            switch row.state {
            case .pending(let entry): state.pending.append(entry)
            case .settled(let outcome, _): state.outcomes.append(outcome)
            }
        }
        let cursors = try database.prepare("SELECT room, log, offset FROM cursor")
        while try cursors.step() {
            guard let room = RoomName(cursors.text(0)) else {
                cursors.reset()
                throw DatabaseError.corrupt(path: database.path)
            }
            state.cursors[room] = RoomCursor(
                log: cursors.optionalUInt64(1).map { LogID(rawValue: $0) }, offset: cursors.uint64(2))
        }
        let points = try database.prepare("SELECT id, content, count FROM points ORDER BY id")
        while try points.step() {
            state.points.append(
                OutboxPoints(id: points.uint64(0), content: points.bytes(1), count: Int(points.int64(2))))
        }
        return state
    }

    func deadLetters(in room: RoomName) throws -> [DeadLetter] {
        letters.bind(1, room.text)
        var found: [DeadLetter] = []
        while try letters.step() {
            if case .settled(_, let letter?)? = MessageRow(letters, device: device)?.state { found.append(letter) }
        }
        return found
    }

    private func reservedCounter() throws -> UInt64 {
        if let reserved { return reserved }
        let value = try database.prepare("SELECT value FROM property WHERE name = 'nextCounter'").firstInt64()
        let counter = UInt64(bitPattern: value ?? 0)
        // The bound is above all counters (C-79). Otherwise the file is damaged.
        guard 1..<Self.maxCounter ~= counter else { throw DatabaseError.corrupt(path: database.path) }
        reserved = counter
        return counter
    }

    private func present() throws -> (count: Int, byteCount: Int) {
        if let usage { return usage }
        let sum = try database.prepare("SELECT count(*), total(length(content)) FROM message WHERE state < 2")
        defer { sum.reset() }
        guard try sum.step() else { return (0, 0) }
        return (Int(sum.int64(0)), Int(sum.int64(1)))
    }

    // MARK: Changes

    /// - Parameter now: The time in milliseconds since 1970.
    func commit(_ transaction: OutboxTransaction, now: UInt64) throws {
        var usage = try present()
        for letter in transaction.replaced.values { try replace(letter) }
        try append(transaction.appended, &usage)
        for edit in transaction.edits where isOwn(edit.id) { try change(edit, &usage) }
        try check(usage, ifAdding: !transaction.appended.isEmpty || !transaction.edits.isEmpty)
        for id in transaction.inFlight.values.joined() where isOwn(id) {
            mark.bind(1, id.counter)
            mark.bind(2, transaction.inFlightAt)
            try mark.run()
        }
        for outcome in transaction.outcomes where isOwn(outcome.id) { try settle(outcome, &usage, now) }
        for id in transaction.discarded { try remove(id) }
        for (room, position) in transaction.cursors { try save(position, of: room) }
        outcomesSinceRemoval += transaction.outcomes.count
        if outcomesSinceRemoval >= Self.outcomesPerRemoval { try removeOldOutcomes(now: now) }
        if let byteCount = letterByteCount, byteCount > options.maxDeadLetterByteCount { try removeLargeLetters() }
        try keep(transaction.keptPoints, removing: transaction.removedPoints)
        if let device = transaction.device { try replaceDevice(by: device) }
        self.usage = usage
        // The texts of accepted, changed and removed messages leave the log too (C-74).
        let removed = transaction.outcomes.count + transaction.discarded.count + transaction.replaced.count
        if removed + transaction.edits.count > 0 { truncation.schedule() }
    }

    /// Keeps and removes batches of points. The client bounds them (C-115).
    private func keep(_ kept: [OutboxPoints], removing removed: [UInt64]) throws {
        for points in kept {
            keepPoints.bind(1, points.id)
            keepPoints.bind(2, Int64(points.count))
            keepPoints.bind(3, points.content)
            try keepPoints.run()
        }
        for id in removed {
            removePoints.bind(1, id)
            try removePoints.run()
        }
    }

    /// Whether a message belongs to this file: its device is the current one, or was since the file was opened.
    private func isOwn(_ id: MessageID) -> Bool { id.device == device || formerDevices.contains(id.device) }

    /// Messages with an outcome keep their device (C-103).
    private func replaceDevice(by new: DeviceID) throws {
        let keep = try database.prepare("UPDATE message SET device = ? WHERE state >= 2 AND device IS NULL")
        keep.bind(1, device.rawValue)
        try keep.run()
        let replace = try database.prepare("UPDATE property SET value = ? WHERE name = 'device'")
        replace.bind(1, new.rawValue)
        try replace.run()
        formerDevices.append(device)
        device = new
    }

    /// Removes a dead letter that a new message replaces (C-77).
    private func replace(_ letter: MessageID) throws {
        try remove(letter)
        guard database.changedRowCount == 1 else { throw MartletError.unknownDeadLetter }
    }

    private func remove(_ letter: MessageID) throws {
        discard.bind(1, letter.counter)
        discard.bind(2, device.rawValue)
        discard.bind(3, letter.device.rawValue)
        try discard.run()
    }

    private func save(_ position: RoomCursor, of room: RoomName) throws {
        var use = try presentCursorUse()
        hasCursor.bind(1, room.text)
        if try hasCursor.firstInt64() == nil { use.count += 1 }
        // A damaged value, which need not have a successor, changes only the order of removals.
        use.last &+= 1
        cursor.bind(1, room.text)
        cursor.bind(2, position.log?.rawValue)
        cursor.bind(3, position.offset)
        cursor.bind(4, use.last)
        try cursor.run()
        cursorUse = use
        if use.count > options.maxCursorCount { try removeLeastRecentlyUsedCursors(use.count) }
    }

    private func presentCursorUse() throws -> (count: Int, last: Int64) {
        if let cursorUse { return cursorUse }
        let select = try database.prepare("SELECT count(*), max(used) FROM cursor")
        defer { select.reset() }
        guard try select.step() else { return (0, 0) }
        return (Int(select.int64(0)), select.int64(1))
    }

    /// Removes the least recently used cursors of rooms without pending messages (C-84).
    private func removeLeastRecentlyUsedCursors(_ count: Int) throws {
        let surplus = try database.prepare(
            """
            DELETE FROM cursor WHERE room IN (
                SELECT room FROM cursor WHERE room NOT IN (SELECT room FROM message WHERE state < 2)
                AND used < (SELECT max(used) FROM cursor) ORDER BY used, room LIMIT ?)
            """)
        surplus.bind(1, Int64(count - options.maxCursorCount + options.maxCursorCount / Self.removedCursorPart))
        try surplus.run()
        cursorUse = nil
    }

    private func check(_ usage: (count: Int, byteCount: Int), ifAdding isAdding: Bool) throws {
        guard isAdding else { return }
        if usage.count > options.maxMessageCount {
            throw MartletError.outboxFull(limit: .messages(options.maxMessageCount))
        }
        if usage.byteCount > options.maxByteCount {
            throw MartletError.outboxFull(limit: .bytes(options.maxByteCount))
        }
    }

    private func append(_ entries: [OutboxEntry], _ usage: inout (count: Int, byteCount: Int)) throws {
        guard let highest = entries.lazy.map(\.id.counter).max() else { return }
        if try reservedCounter() <= highest {
            reserve.bind(1, highest + Self.reservedCount)
            try reserve.run()
            reserved = highest + Self.reservedCount
        }
        for entry in entries {
            let content = entry.content.bytes
            insert.bind(1, entry.id.counter)
            insert.bind(2, entry.id.sender.text)
            insert.bind(3, entry.room.text)
            insert.bind(4, entry.isInFlight ? OutboxSchema.inFlight : OutboxSchema.pending)
            insert.bind(5, Int64(entry.content.kind.rawValue))
            insert.bind(6, content)
            insert.bind(7, entry.timeToLive.map(\.milliseconds))
            insert.bind(8, entry.expiresAt)
            insert.bind(9, entry.isCompressible ? 1 : 0 as Int64)
            insert.bind(10, entry.inFlightSince)
            insert.bind(11, entry.file)
            try insert.run()
            usage.count += 1
            usage.byteCount += content.count
        }
    }

    private func change(_ change: OutboxEdit, _ usage: inout (count: Int, byteCount: Int)) throws {
        size.bind(1, change.id.counter)
        guard let before = try size.firstInt64() else { return }
        let content = change.content.bytes
        edit.bind(1, Int64(change.content.kind.rawValue))
        edit.bind(2, content)
        edit.bind(3, change.id.counter)
        try edit.run()
        usage.byteCount += content.count - Int(before)
    }

    private func settle(
        _ outcome: OutboxOutcome, _ usage: inout (count: Int, byteCount: Int), _ now: UInt64
    ) throws {
        size.bind(1, outcome.id.counter)
        guard let byteCount = try size.firstInt64() else { return }
        usage.count -= 1
        usage.byteCount -= Int(byteCount)
        switch outcome.result {
        case .accepted(let offset):
            accept.bind(1, now)
            accept.bind(2, offset)
            accept.bind(3, outcome.id.counter)
            try accept.run()
        case .failed(.cancelled):
            remove.bind(1, outcome.id.counter)
            try remove.run()
        case .failed(let failure):
            fail.bind(1, now)
            let (kind, code, reason) = failure.columns
            fail.bind(2, kind)
            fail.bind(3, code)
            fail.bind(4, reason)
            fail.bind(5, outcome.id.counter)
            try fail.run()
            // A message that was just added is counted twice at the most.
            letterByteCount = try presentLetterByteCount() + Int(byteCount)
        }
    }

    /// Removes the outcomes beyond their lifetime and number.
    ///
    /// - Parameter now: The time in milliseconds since 1970.
    private func removeOldOutcomes(now: UInt64) throws {
        outcomesSinceRemoval = 0
        try removeOldest(OutboxSchema.accepted, keeping: options.maxOutcomeCount)
        try removeOldest(OutboxSchema.failed, keeping: options.maxDeadLetterCount)
        try removeLargeLetters()
        let lifetime = UInt64(max(options.outcomeLifetime.milliseconds, 0))
        let expired = try database.prepare("DELETE FROM message WHERE state = 2 AND settled_at < ?")
        expired.bind(1, now > lifetime ? now - lifetime : 0)
        try expired.run()
    }

    private func presentLetterByteCount() throws -> Int {
        if let letterByteCount { return letterByteCount }
        return Int(try database.prepare("SELECT total(length(content)) FROM message WHERE state = 3").firstInt64() ?? 0)
    }

    /// Removes the oldest dead letters beyond the maximum number of bytes, except the newest letter.
    private func removeLargeLetters() throws {
        let surplus = try database.prepare(
            """
            DELETE FROM message WHERE counter IN (
                SELECT counter FROM (
                    SELECT counter, row_number() OVER newest AS position,
                        sum(length(content)) OVER (newest ROWS UNBOUNDED PRECEDING) AS total
                    FROM message WHERE state = 3 WINDOW newest AS (ORDER BY settled_at DESC, counter DESC))
                WHERE total > ? AND position > 1)
            """)
        surplus.bind(1, Int64(options.maxDeadLetterByteCount))
        try surplus.run()
        letterByteCount = nil
        letterByteCount = try presentLetterByteCount()
    }

    private func removeOldest(_ state: Int64, keeping count: Int) throws {
        let surplus = try database.prepare(
            """
            DELETE FROM message WHERE counter IN (
                SELECT counter FROM message WHERE state = ?1 ORDER BY settled_at DESC, counter DESC LIMIT -1 OFFSET ?2)
            """)
        surplus.bind(1, state)
        surplus.bind(2, Int64(max(count, 0)))
        try surplus.run()
    }
}

extension Duration {
    /// The duration in milliseconds, rounded up.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? .max : whole &+ (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
