package import MartletDatabase
package import MartletLink
package import MartletRelay
package import MartletWire

/// The statements that change rooms, on one connection. The caller has begun a transaction.
package final class StoreWriter: DatabaseContext {
    package let database: Database
    package let reader: StoreReader
    private let batches: BatchTable
    private let retention: RetentionPass
    private let insertRoom: Statement
    private let touchRoom: Statement
    private let insertBatch: Statement
    private let eraser: BatchEraser
    private let edits: EditTable
    private let selectDevice: Statement
    private let replaceDevice: Statement
    private let raiseProgress: Statement
    private let replaceRoles: Statement
    private let countCreated: Statement
    private var cache = AppendCache()
    /// The expiry clock when it was stored last. Nothing is older than this when it is stored, so that the clock that
    /// was behind for a while does not make messages old.
    private var earliestTime: UInt64 = 0
    private let selectCreator: Statement
    private let sumOfCreator: Statement
    private let replaceMembership: Statement
    private let deleteMembership: Statement
    private let countMemberships: Statement
    private let replaceRetention: Statement
    private let deleteRetention: Statement

    package init(_ database: Database, _ retention: StoreRetention) throws {
        self.database = database
        batches = try BatchTable(database, retention)
        self.retention = try RetentionPass(database, batches, retention)
        reader = try StoreReader(database)
        insertRoom = try database.prepare(
            """
            INSERT INTO rooms (name, log, first_offset, last_offset, byte_count, used_at) VALUES (?, ?, ?, ?, 0, ?)
            ON CONFLICT (name) DO NOTHING
            """)
        touchRoom = try database.prepare("UPDATE rooms SET used_at = ?2 WHERE name = ?1 AND used_at < ?2")
        insertBatch = try database.prepare(
            """
            INSERT INTO batches (room, first_offset, count, byte_count, accepted_at, messages)
            VALUES (?, ?, ?, ?, ?, ?)
            """)
        eraser = try BatchEraser(database)
        edits = try EditTable(database)
        selectDevice = try database.prepare(
            """
            SELECT \(try DeviceRecord.columns(in: database)) FROM devices
            WHERE room = ? AND account = ? AND device = ?
            """)
        replaceDevice = try database.prepare(
            """
            INSERT OR REPLACE INTO devices (room, account, device, counter, seen, gaps, last_offset, used_at,
                digests)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        raiseProgress = try database.prepare(
            """
            INSERT INTO progress (room, account, delivered, read) VALUES (?, ?, ?, ?)
            ON CONFLICT (room, account) DO UPDATE SET
                delivered = max(delivered, excluded.delivered), read = max(read, excluded.read)
            """)
        replaceRoles = try database.prepare(
            """
            INSERT INTO roles (room, roles, creator) VALUES (?, ?, ?)
            ON CONFLICT (room) DO UPDATE SET roles = excluded.roles, creator = coalesce(creator, excluded.creator)
            """)
        countCreated = try database.prepare("SELECT count(*) FROM roles WHERE creator = ?")
        selectCreator = try database.prepare(
            "SELECT length(roles), creator FROM roles WHERE \(StoreSchema.rolesOfRoom)")
        sumOfCreator = try database.prepare("SELECT coalesce(sum(length(roles)), 0) FROM roles WHERE creator = ?")
        replaceMembership = try database.prepare(
            "INSERT OR REPLACE INTO memberships (account, room, joined, inviter, changed_at) VALUES (?, ?, ?, ?, ?)")
        deleteMembership = try database.prepare("DELETE FROM memberships WHERE account = ? AND room = ?")
        countMemberships = try database.prepare("SELECT count(*) FROM memberships WHERE account = ?")
        replaceRetention = try database.prepare(
            "INSERT OR REPLACE INTO retention (room, \(RoomRetention.columns)) VALUES (?, ?, ?, ?)")
        deleteRetention = try database.prepare("DELETE FROM retention WHERE room = ?")
    }

    package func rolledBack() {
        cache.removeAll()
    }

    // MARK: Calls of the relay

    /// The snapshot of a room. A room that the store does not have begins a log.
    package func load(_ room: RoomName, at now: UInt64) throws -> RoomSnapshot {
        try create(room, log: LogID(rawValue: .random(in: .min ... .max)), at: now)
        guard let loaded = try reader.load(room) else { throw StoreError.damaged(room, offset: 0) }
        return loaded.snapshot
    }

    /// Begins the log of a room, unless the store has the room.
    package func create(_ room: RoomName, log: LogID, firstOffset: UInt64 = 1, at now: UInt64) throws {
        insertRoom.bind(1, room.text)
        insertRoom.bind(2, log.rawValue)
        insertRoom.bind(3, firstOffset)
        insertRoom.bind(4, firstOffset - 1)
        insertRoom.bind(5, max(now, earliestTime))
        try insertRoom.run()
    }

    /// A room is in use.
    package func touch(_ room: RoomName, at now: UInt64) throws {
        cache.removeAll()
        touchRoom.bind(1, room.text)
        touchRoom.bind(2, now)
        try touchRoom.run()
    }

    /// Appends messages whose offsets continue the log, in rows of at most `StoredBatch.maxByteCount`, and
    /// removes old ones. Earlier messages are erased. Returns the first offset.
    package func append(
        _ entries: [LogEntry], erasing erasures: [MessageErasure] = [], to room: RoomName
    ) throws -> UInt64 {
        guard var row = try cache.row(of: room) ?? reader.row(of: room) else { throw RoomStoreError.logLost }
        for index in entries.indices where entries[index].offset != row.lastOffset + 1 + UInt64(index) {
            throw StoreError.outOfOrder(lastOffset: row.lastOffset)
        }
        for (batch, byteCount) in StoredBatch.divide(entries) {
            try insert(batch, byteCount, row.id)
            row.byteCount += byteCount
        }
        row.lastOffset += UInt64(entries.count)
        row.usedAt = max(row.usedAt, entries.last?.acceptedAt ?? 0, earliestTime)
        try recordDevices(of: entries, row.id)
        if !erasures.isEmpty {
            let offsets = try erasures.map(\.offset) + edits.take(erasures, from: row.id)
            row.byteCount = max(0, row.byteCount - (try eraser.erase(erasures, at: offsets, in: row.id)))
        }
        try batches.trim(&row)
        try batches.update(row)
        cache.store(row, of: room)
        return row.firstOffset
    }

    private func insert(_ entries: ArraySlice<LogEntry>, _ byteCount: Int, _ id: Int64) throws {
        guard let first = entries.first, let last = entries.last else { return }
        insertBatch.bind(1, id)
        insertBatch.bind(2, first.offset)
        insertBatch.bind(3, Int64(entries.count))
        insertBatch.bind(4, Int64(byteCount))
        insertBatch.bind(5, max(last.acceptedAt, earliestTime))
        insertBatch.bind(6, StoredBatch.encode(entries))
        try insertBatch.run()
        try edits.add(entries, to: id)
    }

    /// Consecutive messages of a device share one row.
    private func recordDevices(of entries: [LogEntry], _ id: Int64) throws {
        var start = 0
        while start < entries.count {
            let first = start
            repeat { start += 1 } while start < entries.count && entries[start].hasSameDevice(as: entries[start - 1])
            let key = DeviceKey(account: entries[first].sender, device: entries[first].device)
            var record = try cache.record(of: key, in: id) ?? device(key, id) ?? DeviceRecord()
            record.insert(countersOf: entries[first..<start])
            try save(record, of: key, lastOffset: entries[start - 1].offset, id)
            cache.store(record, of: key, in: id)
        }
    }

    private func device(_ key: DeviceKey, _ id: Int64) throws -> DeviceRecord? {
        selectDevice.bind(1, id)
        selectDevice.bind(2, key.account.text)
        selectDevice.bind(3, key.device.rawValue)
        defer { selectDevice.reset() }
        guard try selectDevice.step() else { return nil }
        guard let record = DeviceRecord(selectDevice, from: 0) else { throw DatabaseError.corrupt(path: database.path) }
        return record
    }

    private func save(_ record: DeviceRecord, of key: DeviceKey, lastOffset: UInt64, _ id: Int64) throws {
        replaceDevice.bind(1, id)
        replaceDevice.bind(2, key.account.text)
        replaceDevice.bind(3, key.device.rawValue)
        replaceDevice.bind(4, record.watermark)
        replaceDevice.bind(5, record.seen)
        replaceDevice.bind(6, record.gapBytes)
        replaceDevice.bind(7, lastOffset)
        replaceDevice.bind(8, record.usedAt)
        replaceDevice.bind(9, record.digestBytes)
        try replaceDevice.run()
    }

    /// Raises the offsets of accounts.
    package func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) throws {
        guard let row = try reader.row(of: room) else { return }
        for (account, marks) in progress {
            raiseProgress.bind(1, row.id)
            raiseProgress.bind(2, account.text)
            raiseProgress.bind(3, marks.delivered)
            raiseProgress.bind(4, marks.read)
            try raiseProgress.run()
        }
    }

    /// Keeps the roles of a room, which outlive its log.
    ///
    /// - Throws: `RoomStoreError`: `tooManyRooms` if the account has created as many rooms as it may, `roomHasRoles` if
    ///   the room is to be created and has roles, `rolesFull` if the roles of its creator's rooms are too long
    ///   (Specs/hostile.md row 67).
    package func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) throws {
        let before = try stored(room)
        if let creation {
            guard before == nil else { throw RoomStoreError.roomHasRoles }
            countCreated.bind(1, creation.account.text)
            if try countCreated.firstInt64() ?? 0 >= creation.maxRoomCount { throw RoomStoreError.tooManyRooms }
        }
        let growth = roles.count - (before?.byteCount ?? 0)
        if growth > 0, let creator = creation?.account.text ?? before?.creator {
            sumOfCreator.bind(1, creator)
            let sum = Int(try sumOfCreator.firstInt64() ?? 0)
            if sum + growth > RoomRoles.maxByteCountPerCreator { throw RoomStoreError.rolesFull }
        }
        replaceRoles.bind(1, room.text)
        replaceRoles.bind(2, roles)
        replaceRoles.bind(3, creation?.account.text)
        try replaceRoles.run()
    }

    /// Bytes of a room's roles, and the account that has created the room; nil if it has no roles.
    private func stored(_ room: RoomName) throws -> (byteCount: Int, creator: String?)? {
        selectCreator.bind(1, room.text)
        defer { selectCreator.reset() }
        guard try selectCreator.step() else { return nil }
        return (Int(selectCreator.int64(0)), selectCreator.optionalText(1))
    }

    /// Changes the membership records of a room. Returns the accounts that have the maximum number of records.
    package func saveMemberships(_ changes: MembershipChanges, of room: RoomName) throws -> Set<AccountName> {
        var refused: Set<AccountName> = []
        for (account, record) in changes {
            guard let record else {
                deleteMembership.bind(1, account.text)
                deleteMembership.bind(2, room.text)
                try deleteMembership.run()
                continue
            }
            countMemberships.bind(1, account.text)
            let count = try countMemberships.firstInt64() ?? 0
            if count >= MembershipBounds.maxCount(with: record),
                try reader.memberships?.record(of: account, room) == nil
            {
                refused.insert(account)
                continue
            }
            replaceMembership.bind(1, account.text)
            replaceMembership.bind(2, room.text)
            replaceMembership.bind(3, Int64(record.isJoined ? 1 : 0))
            replaceMembership.bind(4, record.inviter?.text)
            replaceMembership.bind(5, record.changedAt)
            try replaceMembership.run()
        }
        return refused
    }

    /// Replaces a room's own bounds.
    package func saveRetention(_ bounds: RoomRetention, of room: RoomName) throws {
        cache.removeAll()
        guard bounds != RoomRetention() else {
            deleteRetention.bind(1, room.text)
            return try deleteRetention.run()
        }
        replaceRetention.bind(1, room.text)
        for (index, bound) in [bounds.maxAge, bounds.maxCount, bounds.maxByteCount].enumerated() {
            replaceRetention.bind(Int32(index + 2), bound.map { max(1, Int64(clamping: $0)) })
        }
        try replaceRetention.run()
    }

    /// Adds a device and its counters, for an import and for a copy of a damaged file.
    package func importDevice(_ key: DeviceKey, _ record: DeviceRecord, lastOffset: UInt64, of room: RoomName) throws {
        cache.removeAll()
        guard let row = try reader.row(of: room) else { throw RoomStoreError.logLost }
        let isAscending = DeviceRecord.gaps(record.gapBytes) == record.gaps
        guard lastOffset <= row.lastOffset, record.usedAt < UInt64(Int64.max), isAscending,
            record.gaps.last.map({ $0.upperBound < record.watermark }) ?? true
        else { throw StoreError.invalidRecord }
        // Counters of stored messages are taken.
        if let stored = try device(key, row.id), stored.watermark > record.watermark { throw StoreError.invalidRecord }
        try save(record, of: key, lastOffset: lastOffset, row.id)
    }

    /// Adds a branch: an earlier log of a room, and the highest offset up to which it has the messages of the room's
    /// log, the last one by default.
    package func importBranch(_ log: LogID, upTo offset: UInt64? = nil, of room: RoomName) throws {
        guard let row = try reader.row(of: room) else { throw RoomStoreError.logLost }
        let offset = offset ?? row.lastOffset
        guard offset <= row.lastOffset else { throw StoreError.invalidRecord }
        let insert = try database.prepare("INSERT OR REPLACE INTO branches VALUES (?, ?, ?)")
        insert.bind(1, row.id)
        insert.bind(2, log.rawValue)
        insert.bind(3, offset)
        try insert.run()
        try database.execute(StoreSchema.trimBranches)
    }

    // MARK: Retention

    /// The stored time of the expiry clock, or else that of the last use of a room; nil if there is no room.
    package func expiryTime() throws -> UInt64? {
        let select = try database.prepare(
            "SELECT coalesce((SELECT time FROM clock), (SELECT max(used_at) FROM rooms), -1)")
        return try select.firstInt64().flatMap { UInt64(exactly: $0) }
    }

    /// Stores the time of the expiry clock, unless the stored one is earlier by less than an interval.
    package func saveExpiryTime(_ time: UInt64, every interval: UInt64 = 1) throws {
        let replace = try database.prepare(
            """
            INSERT INTO clock VALUES (1, ?1)
            ON CONFLICT (id) DO UPDATE SET time = ?1 WHERE time NOT BETWEEN ?1 - ?2 + 1 AND ?1
            """)
        earliestTime = time
        replace.bind(1, Int64(clamping: time))
        replace.bind(2, Int64(clamping: interval))
        try replace.run()
    }

    /// Removes the batches of a room that end before an offset. Returns the first kept offset.
    package func trim(_ room: RoomName, before offset: UInt64) throws -> UInt64 {
        cache.removeAll()
        guard var row = try reader.row(of: room) else { return 1 }
        try batches.trim(&row, endingBefore: offset)
        return row.firstOffset
    }

    /// One step of the removal of old messages, devices and rooms. Returns true at the end of a pass.
    package func removeOld(at now: UInt64) throws -> Bool {
        cache.removeAll()
        return try retention.step(at: now)
    }

    /// The rooms in which the retention has found damage since the last call.
    package func takeDamagedRooms() -> [RoomName] { retention.takeDamagedRooms() }

    /// Removes a room. Its next log has another identity.
    package func removeRoom(_ id: Int64) throws {
        cache.removeAll()
        try batches.removeRoom(id)
    }
}
