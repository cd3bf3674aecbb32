import Martlet
import MartletDatabase
import MartletLink
import MartletTransport
import MartletWire

/// Opens the file of an outbox. A damaged file is set aside, and its readable contents are copied to a new file.
struct OutboxFile {
    /// The number of counters that are skipped after damage, because the file may have lost the latest ones.
    static let skippedCount: UInt64 = 1 << 20
    /// The counter from which on those of a damaged file are not valid. A copy can skip as many again.
    private static let maxCounter = OutboxTables.maxCounter / 2

    let path: String
    let options: SQLiteOutbox.Options
    var truncation = LogTruncation()

    /// Opens the file, and throws `locked` if another object or program uses it.
    func open() throws -> OutboxTables {
        let lock = try FileLock(inFolderOf: path)
        let replacement = FileReplacement(path: path)
        try replacement.finish(at: EventLoop.wallClock)
        // Only damage leads to a copy. Every other error is thrown (Specs/hostile.md row 70).
        do {
            return try DatabaseError.confirmingDamage {
                // SQLite would ignore lost transactions, and counters would be used again (C-104).
                guard try !WriteAheadLog.isDamaged(ofDatabase: path) else { throw DatabaseError.corrupt(path: path) }
                return try open(lock, recovery: nil)
            }
        } catch DatabaseError.corrupt {
            let now = EventLoop.wallClock
            let recovery = try replacement.copy {
                try copy(to: replacement.partial, aside: replacement.aside(at: now))
            }
            try replacement.replace(at: now)
            return try open(lock, recovery: recovery)
        } catch DatabaseError.locked {
            // Another application may use its database.
            try OutboxSchema.migrations.check(connect(path, isReadOnly: true))
            throw DatabaseError.locked(path: path)
        }
    }

    private func open(_ lock: FileLock, recovery: SQLiteOutbox.Recovery?) throws -> OutboxTables {
        FileLock.createPrivately(path)
        let database = try connect(path)
        // The texts of removed messages leave the pages of the file (C-74).
        try database.execute("PRAGMA secure_delete=ON")
        // One transaction, because each one waits for the disk.
        return try database.transaction {
            try OutboxSchema.migrations.run(on: database)
            let check = try database.prepare("PRAGMA quick_check(1)").firstText()
            guard check == "ok" else { throw DatabaseError.corrupt(path: path) }
            let tables = try OutboxTables(
                database, lock: lock, options: options, truncation: truncation, recovery: recovery)
            // An invalid value counts as damage.
            _ = try tables.load()
            _ = try OwnerTable(database).account()
            return tables
        }
    }

    private func connect(_ name: String, isReadOnly: Bool = false) throws(DatabaseError) -> Database {
        var connection = Database.Options()
        connection.vfs = options.vfs
        connection.isReadOnly = isReadOnly
        connection.isExclusive = true
        // The caller waits, because the thread serves other outboxes.
        connection.busyTimeout = .zero
        return try Database(path: name, options: connection)
    }

    // MARK: Damage

    /// Copies the readable contents to a new file, and closes the new file. The damaged file is not changed.
    private func copy(to target: String, aside: String) throws -> SQLiteOutbox.Recovery {
        FileLock.createPrivately(target)
        let new = try connect(target)
        try OutboxSchema.migrations.run(on: new)
        let damaged = try DatabaseError.unlessDamaged { try connect(path, isReadOnly: true) }
        let identity = try damaged.flatMap { try self.identity(of: $0) }
        let rows = try damaged.map { try readable($0, device: identity?.device ?? DeviceID(rawValue: 1)) } ?? []
        let highest = try damaged.map { try highestCounter(in: $0) } ?? 0
        let next = max(identity?.nextCounter ?? 1, highest, rows.last?.counter ?? 0) + Self.skippedCount
        try new.transaction {
            let property = try new.prepare("INSERT INTO property VALUES (?, ?)")
            property.bind(1, "device")
            property.bind(2, identity?.device.rawValue ?? .random(in: 1 ... .max))
            try property.run()
            property.bind(1, "nextCounter")
            property.bind(2, next)
            try property.run()
            for row in rows { try insert(row, into: new, of: identity?.device) }
            if let damaged { try copyCursors(from: damaged, to: new) }
            try copyOwner(from: damaged, or: rows.last?.entry.id.sender, to: new)
        }
        try FileReplacement.complete(new)
        return SQLiteOutbox.Recovery(path: aside, messageCount: rows.count, keepsIdentity: identity != nil)
    }

    private func identity(of database: Database) throws -> (device: DeviceID, nextCounter: UInt64)? {
        func value(_ name: String) throws -> UInt64? {
            let found = try DatabaseError.unlessDamaged { () -> Int64? in
                let select = try database.prepare("SELECT value FROM property WHERE name = ?")
                select.bind(1, name)
                return try select.firstInt64()
            }
            return found.flatMap { $0 }.map { UInt64(bitPattern: $0) }
        }
        guard let device = try value("device"), let next = try value("nextCounter"), device > 0, next > 0,
            next < Self.maxCounter
        else { return nil }
        return (DeviceID(rawValue: device), next)
    }

    /// The highest counter that can be read, also of accepted messages.
    private func highestCounter(in database: Database) throws -> UInt64 {
        let found = try DatabaseError.unlessDamaged { () -> Int64? in
            let select = try database.prepare("SELECT counter FROM message WHERE counter < ? ORDER BY counter DESC")
            select.bind(1, Self.maxCounter)
            // The rows of a damaged table may be out of order, and not meet the condition.
            while try select.step() {
                if 0..<Int64(Self.maxCounter) ~= select.int64(0) { return select.int64(0) }
            }
            return nil
        }
        return UInt64(found.flatMap { $0 } ?? 0)
    }

    private struct Row {
        let counter: UInt64
        let entry: OutboxEntry
        let failure: SendFailure?
    }

    /// The messages without an outcome and the dead letters, from both ends of the table up to the damage.
    private func readable(_ database: Database, device: DeviceID) throws -> [Row] {
        let first = try rows(database, device, after: 0, "counter > ? ORDER BY counter")
        let last = try rows(database, device, after: .max >> 1, "counter < ? ORDER BY counter DESC")
        let end = first.last?.counter ?? 0
        return first + last.filter { $0.counter > end }.reversed()
    }

    private func rows(
        _ database: Database, _ device: DeviceID, after start: UInt64, _ order: String
    ) throws -> [Row] {
        var rows: [Row] = []
        var position = start
        // The table of an earlier version lacks the last columns.
        func prepare(withoutLast count: Int) throws -> Statement? {
            let columns = MessageRow.columns.split(separator: ",").dropLast(count).joined(separator: ",")
            let missing = String(repeating: ", NULL", count: count)
            return try DatabaseError.unlessDamaged {
                try database.prepare("SELECT \(columns)\(missing) FROM message WHERE \(order) LIMIT 1")
            }
        }
        var prepared: Statement?
        for count in 0...3 where prepared == nil { prepared = try prepare(withoutLast: count) }
        guard let select = prepared else { return [] }
        while true {
            select.bind(1, position)
            guard try DatabaseError.unlessDamaged({ try select.step() }) == true else { return rows }
            let counter = select.uint64(0)
            // The rows of a damaged table may be out of order.
            guard counter != position, (counter > position) == (start == 0) else { return rows }
            position = counter
            switch MessageRow(select, device: device)?.state {
            case _ where counter >= Self.maxCounter: break
            case .pending(let entry)?: rows.append(Row(counter: counter, entry: entry, failure: nil))
            case .settled(_, let letter?)?:
                let entry = OutboxEntry(
                    id: letter.id, room: letter.room, content: letter.content, timeToLive: letter.timeToLive,
                    isCompressible: letter.isCompressible, file: letter.file)
                rows.append(Row(counter: counter, entry: entry, failure: letter.failure))
            case .settled(_, nil)?, nil: break
            }
            select.reset()
        }
    }

    /// - Parameter device: The current device; nil if its ID was lost.
    private func insert(_ row: Row, into database: Database, of device: DeviceID?) throws {
        let insert = try database.prepare(
            """
            INSERT INTO message (\(MessageRow.columns), settled_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        // Without the device ID, the relay cannot recognize a message that it has already accepted.
        let failure = row.failure ?? (device == nil ? .outcomeUnknown : nil)
        insert.bind(1, row.counter)
        insert.bind(2, row.entry.id.sender.text)
        insert.bind(3, row.entry.room.text)
        // The damage may have lost the mark of a message in flight. The file of a message must be uploaded again.
        let waits = row.entry.file != nil && !row.entry.isInFlight
        let state = waits ? OutboxSchema.pending : OutboxSchema.inFlight
        insert.bind(4, failure == nil ? state : OutboxSchema.failed)
        insert.bind(5, Int64(row.entry.content.kind.rawValue))
        insert.bind(6, row.entry.content.bytes)
        insert.bind(7, row.entry.timeToLive.map(\.milliseconds))
        insert.bind(8, row.entry.expiresAt)
        insert.bind(9, row.entry.isCompressible ? 1 : 0 as Int64)
        insert.bindNull(10)
        let columns = failure.map(\.columns)
        insert.bind(11, columns?.kind)
        insert.bind(12, columns?.code)
        insert.bind(13, columns?.reason)
        insert.bind(14, failure == nil && !waits ? row.entry.inFlightSince ?? EventLoop.wallClock : nil)
        insert.bind(15, device == nil || row.entry.id.device == device ? nil : row.entry.id.device.rawValue)
        insert.bind(16, row.entry.file)
        insert.bind(17, failure == nil ? nil : EventLoop.wallClock)
        try insert.run()
    }

    private func copyOwner(from damaged: Database?, or sender: AccountName?, to new: Database) throws {
        let found = try damaged.flatMap { damaged in
            try DatabaseError.unlessDamaged { try OwnerTable(damaged).account() }
        }
        guard let account = found.flatMap({ $0 }) ?? sender else { return }
        try OwnerTable(new).insert(account)
    }

    private func copyCursors(from damaged: Database, to new: Database) throws {
        let prepared = try DatabaseError.unlessDamaged {
            try damaged.prepare("SELECT room, log, offset FROM cursor")
        }
        guard let select = prepared else { return }
        let insert = try new.prepare("INSERT OR IGNORE INTO cursor (room, log, offset) VALUES (?, ?, ?)")
        while try DatabaseError.unlessDamaged({ try select.step() }) == true {
            guard RoomName(select.text(0)) != nil else { continue }
            insert.bind(1, select.text(0))
            insert.bind(2, select.optionalInt64(1))
            insert.bind(3, select.int64(2))
            try insert.run()
        }
    }
}
