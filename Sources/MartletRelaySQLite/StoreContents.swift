package import MartletDatabase
package import MartletLink
package import MartletRelay
package import MartletWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A part of a store's contents, of which exports and copies consist.
package enum StoreRecord: Sendable {
    /// A room. Its other parts follow.
    case room(RoomName, log: LogID, firstOffset: UInt64, usedAt: UInt64)
    /// Consecutive messages of the last room.
    case messages([LogEntry])
    /// An earlier log of the last room, and the highest offset up to which it has the messages of the room's log.
    case branch(LogID, upTo: UInt64)
    /// The counters of a device in the last room, and the offset of its last message.
    case device(DeviceKey, DeviceRecord, lastOffset: UInt64)
    /// The progress of an account in the last room.
    case progress([AccountName: AccountProgress])
    /// The roles of a room, and the account that created it.
    case roles(RoomName, [UInt8], creator: AccountName?)
    /// The membership record of an account in a room.
    case membership(RoomName, AccountName, MembershipRecord)
    /// The bounds of a room.
    case retention(RoomName, RoomRetention)
    /// The mark of lost roles: rooms without roles in this store may have had roles in a damaged file.
    case unknownRoles
}

/// The whole contents of a store, read in one transaction and in small parts. A relay may use the store meanwhile
///
package final class StoreContents {
    /// The maximum number of messages and of bytes of one record.
    private static let partCount = 256
    private static let partByteCount = 64 * 1024

    package let path: String
    let database: Database
    private let reader: StoreReader

    package init(path: String, options: Database.Options = Database.Options()) throws {
        var options = options
        options.isReadOnly = true
        options.isImmutable = Self.isImmutable(path)
        self.path = path
        guard try !StoreCopy.hasForeignLog(path, options) else { throw DatabaseError.corrupt(path: path + "-wal") }
        database = try Database(path: path, options: options)
        try StoreSchema.migrations.check(database)
        guard try database.schemaVersion() > 0 else { throw DatabaseError.otherFormat(path: path) }
        reader = try StoreReader(database)
        try database.execute("BEGIN")
    }

    /// Whether a file is on a read-only file system and has no write-ahead log. SQLite would otherwise create one.
    private static func isImmutable(_ path: String) -> Bool {
        unsafe access(path, W_OK) != 0 && errno == EROFS && access(path + "-wal", F_OK) != 0
    }

    /// The number of rooms.
    package func roomCount() throws -> Int {
        Int(try database.prepare("SELECT count(*) FROM rooms").firstInt64() ?? 0)
    }

    /// Calls `body` for the name of each room.
    package func forEachRoom(_ body: (RoomName) throws -> Void) throws {
        let select = try database.prepare("SELECT name FROM rooms ORDER BY id")
        while try select.step() {
            guard let name = RoomName(select.text(0)) else { throw DatabaseError.corrupt(path: path) }
            try body(name)
        }
    }

    /// Calls `body` for each part of a room.
    ///
    /// - Throws: `StoreError.damaged`, `DatabaseError`, or an error of `body`.
    package func forEachRecord(of room: RoomName, _ body: (StoreRecord) throws -> Void) throws {
        guard let row = try reader.row(of: room) else { return }
        try body(.room(room, log: row.log, firstOffset: row.firstOffset, usedAt: row.usedAt))
        var next = row.firstOffset
        while next <= row.lastOffset {
            let range = ReadRange(from: next, maxCount: Self.partCount, maxByteCount: Self.partByteCount)
            let entries = try reader.read(range, of: room).entries
            guard !entries.isEmpty else { throw StoreError.damaged(room, offset: next) }
            next += UInt64(entries.count)
            try body(.messages(entries))
        }
        for (log, offset) in try reader.branches(of: row, room).sorted(by: { $0.value < $1.value }) {
            try body(.branch(log, upTo: offset))
        }
        let columns = try DeviceRecord.columns(in: database)
        let devices = try database.prepare(
            "SELECT account, device, last_offset, \(columns) FROM devices WHERE room = \(row.id)")
        while try devices.step() {
            guard let account = AccountName(devices.text(0)), let record = DeviceRecord(devices, from: 3),
                devices.uint64(2) <= row.lastOffset
            else { throw StoreError.damaged(room, offset: 0) }
            let key = DeviceKey(account: account, device: DeviceID(rawValue: devices.uint64(1)))
            try body(.device(key, record, lastOffset: devices.uint64(2)))
        }
        let progress = try database.prepare("SELECT account, delivered, read FROM progress WHERE room = \(row.id)")
        while try progress.step() {
            guard let account = AccountName(progress.text(0)),
                let marks = progress.progress(from: 1, lastOffset: row.lastOffset)
            else { throw StoreError.damaged(room, offset: 0) }
            try body(.progress([account: marks]))
        }
    }

    /// Calls `body` for the roles of each room, and for the mark of a store that has lost roles.
    package func forEachRoles(_ body: (StoreRecord) throws -> Void) throws {
        let select = try database.prepare("SELECT room, roles, creator FROM roles ORDER BY room")
        while try select.step() {
            if select.text(0) == StoreSchema.unknownRolesKey {
                try body(.unknownRoles)
                continue
            }
            guard let room = RoomName(select.text(0)) else { throw DatabaseError.corrupt(path: path) }
            try body(.roles(room, select.bytes(1), creator: select.optionalText(2).flatMap { AccountName($0) }))
        }
    }

    /// Calls `body` for each membership record. A file of a schema without membership records has none.
    package func forEachMembership(_ body: (StoreRecord) throws -> Void) throws {
        guard try database.schemaVersion() >= StoreSchema.membershipVersion else { return }
        let select = try database.prepare(
            "SELECT room, account, joined, inviter, changed_at FROM memberships ORDER BY account, room")
        while try select.step() {
            let row = try MembershipReader.row(select)
            try body(.membership(row.room, row.account, row.record))
        }
    }

    /// Calls `body` for the bounds of each room that has its own. A file of a schema without them has none.
    package func forEachRetention(_ body: (StoreRecord) throws -> Void) throws {
        guard try database.schemaVersion() >= StoreSchema.retentionVersion else { return }
        let select = try database.prepare("SELECT room, \(RoomRetention.columns) FROM retention ORDER BY room")
        while try select.step() {
            guard let room = RoomName(select.text(0)), let bounds = RoomRetention(select, from: 1) else {
                throw DatabaseError.corrupt(path: path)
            }
            try body(.retention(room, bounds))
        }
    }

    /// Calls `body` for each part of the store.
    package func forEachRecord(_ body: (StoreRecord) throws -> Void) throws {
        try forEachRoom { try forEachRecord(of: $0, body) }
        try forEachRoles(body)
        try forEachMembership(body)
        try forEachRetention(body)
    }

    /// Reads everything, and calls `report` with each fault.
    package func check(_ report: (String) throws -> Void) throws {
        /// Reports the damage that `body` finds, so that the check goes on.
        func reporting(_ body: () throws -> Void) throws {
            do { try body() } catch let error as StoreError {
                try report("\(error)")
            } catch let error as DatabaseError where error.isDamage {
                try report("\(error)")
            }
        }
        let integrity = try database.prepare("PRAGMA integrity_check(100)")
        while try integrity.step() {
            let line = integrity.text(0)
            if line != "ok" { try report(line) }
        }
        try reporting {
            try forEachRoom { room in
                try reporting {
                    // The check reads the parts that a relay loads with the room, and then everything.
                    _ = try reader.load(room)
                    try forEachRecord(of: room) { _ in }
                    try checkBatches(of: room)
                }
            }
        }
        try reporting { try checkRoles(report) }
        try reporting { try forEachMembership { _ in } }
        try reporting { try forEachRetention { _ in } }
    }

    /// Compares the rows of batches, by which messages are removed, and those of edits with the messages.
    private func checkBatches(of room: RoomName) throws {
        guard let row = try reader.row(of: room) else { return }
        let batches = try database.prepare(
            """
            SELECT first_offset, count, byte_count, accepted_at, messages FROM batches WHERE room = \(row.id)
            ORDER BY first_offset
            """)
        let edits =
            try database.schemaVersion() >= StoreSchema.editVersion
            ? database.prepare(
                "SELECT 1 FROM edits WHERE room = ? AND account = ? AND device = ? AND counter = ? AND offset = ?")
            : nil
        var byteCount = 0
        while try batches.step() {
            let first = batches.uint64(0)
            guard let messages = try? StoredBatch.decode(batches.bytes(4), firstOffset: first),
                let expected = BatchRow(messages), batches.batchRow(from: 0)?.isRow(of: expected) == true
            else { throw StoreError.damaged(room, offset: first) }
            byteCount += expected.byteCount
            guard let edits else { continue }
            for message in messages {
                guard let target = message.editTarget else { continue }
                edits.bind(row.id, target, message.offset)
                guard try edits.firstInt64() != nil else { throw StoreError.damaged(room, offset: message.offset) }
            }
        }
        guard byteCount == row.byteCount else { throw StoreError.damaged(room, offset: 0) }
    }

    private func checkRoles(_ report: (String) throws -> Void) throws {
        try forEachRoles { record in
            switch record {
            case .roles(let room, StoreSchema.lostRoles, _):
                try report("the roles of room \(room) were lost with a damaged file")
            case .roles(let room, let roles, _):
                do { _ = try RoomRoles(decoding: roles) } catch {
                    try report("the roles of room \(room) are not valid, and a relay that keeps roles refuses it")
                }
            case .unknownRoles: try report("roles were lost with a damaged file, and it is not known of which rooms")
            default: break
            }
        }
    }

    /// The same contents in a private copy, which ends with this object. A slow reader of it does not delay checkpoints
    /// of the store, so that the write-ahead log does not grow.
    package func snapshot(at path: String) throws -> StoreContents {
        try backUp(to: path)
        defer { unsafe unlink(path) }
        return try StoreContents(path: path)
    }

    /// Writes a copy of the store to a new file, without free pages. A relay that uses the store continues. A failed
    /// copy is removed.
    package func backUp(to target: String) throws {
        try database.execute("COMMIT")
        let vacuum = try database.prepare("VACUUM INTO ?")
        vacuum.bind(1, target)
        FileLock.createPrivately(target)
        do { try vacuum.run() } catch {
            for suffix in ["", "-journal"] { unsafe unlink(target + suffix) }
            throw error
        }
        try database.execute("BEGIN")
    }
}
