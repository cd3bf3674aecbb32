import MartletLink
import MartletRelay
import MartletWire

/// A room's row.
struct RoomRow: Equatable {
    /// The bound of the bytes of a room, which sums do not overflow.
    private static let byteCountBound: Int64 = 1 << 48

    let id: Int64
    let log: LogID
    let firstOffset: UInt64
    let lastOffset: UInt64
    let byteCount: Int
    /// The offset up to which the rows of devices contain the log.
    let foldedOffset: UInt64
    let usedAt: UInt64

    /// Reads the columns of `PostgresStatements.room` from one on; nil if their values cannot be those of a room.
    init?(_ result: PostgresResult, _ row: Int32, from column: Int32 = 0, logColumn: Int32 = 1) {
        id = result.int64(row, column)
        log = LogID(rawValue: result.uint64(row, logColumn))
        let next = logColumn + 1
        (firstOffset, lastOffset) = (result.uint64(row, next), result.uint64(row, next + 1))
        let bytes = result.int64(row, next + 2)
        byteCount = Int(bytes)
        (foldedOffset, usedAt) = (result.uint64(row, next + 3), result.uint64(row, next + 4))
        guard firstOffset >= 1, lastOffset < UInt64(Int64.max), firstOffset <= lastOffset + 1,
            foldedOffset <= lastOffset, foldedOffset + 1 >= firstOffset, 0..<Self.byteCountBound ~= bytes,
            usedAt < UInt64(Int64.max)
        else { return nil }
    }
}

/// The calls that read, on a connection.
enum PostgresReader {
    /// The maximum number of devices in a snapshot of a room.
    static let maxDeviceCount = 262_144
    /// The maximum number of accounts with progress in a snapshot of a room.
    static let maxProgressCount = 4096
    /// The maximum number of batches that are scanned for an entry of a list, the newest first.
    private static let maxCountedBatchCount = Int64(RoomEntry.maxScannedCount)
    /// The maximum number of bytes of messages that are scanned for an entry of a list, the newest first.
    private static let maxCountedByteCount: Int64 = 256 * 1024  // bound

    /// A room's row and snapshot; nil for a room that the database does not have.
    nonisolated(nonsending) static func load(
        _ room: RoomName, _ connection: PostgresConnection
    ) async throws -> (row: RoomRow, snapshot: RoomSnapshot)? {
        let statements = [
            PostgresStatements.room, PostgresStatements.tail, PostgresStatements.devices, PostgresStatements.progress,
            PostgresStatements.branches, PostgresStatements.roles, PostgresStatements.memberships,
            PostgresStatements.newest, PostgresStatements.retention,
        ]
        let queries = statements.map { statement in
            var query = PostgresQuery(statement)
            query.add(room.bytes)
            return query
        }
        let found = try await connection.run(
            [PostgresQuery(PostgresStatements.beginRead)] + queries + [PostgresQuery(PostgresStatements.commit)])
        let damage = PostgresError.damaged(room: room.text, offset: 0)
        guard let row = try row(of: room, found[1]) else { return nil }
        if row.firstOffset <= row.lastOffset {
            // Otherwise offsets would be assigned again.
            let newest = found[8]
            guard !newest.rows.isEmpty, newest.uint64(0, 0) <= row.lastOffset,
                row.lastOffset - newest.uint64(0, 0) + 1 == newest.uint64(0, 1)
            else { throw PostgresError.damaged(room: room.text, offset: row.lastOffset) }
        }
        var fold = DeviceFold()
        try fold.add(found[3], of: room)
        fold.add(try tail(of: row, room, found[2]))
        var snapshot = RoomSnapshot(
            log: row.log, lastOffset: row.lastOffset, firstOffset: row.firstOffset,
            devices: fold.rows.mapValues(\.record))
        for index in found[4].rows {
            let marks = AccountProgress(delivered: found[4].uint64(index, 1), read: found[4].uint64(index, 2))
            guard let account = found[4].text(index, 0).flatMap({ AccountName($0) }),
                max(marks.delivered, marks.read) <= row.lastOffset
            else { throw damage }
            snapshot.progress[account] = marks
        }
        for index in found[5].rows {
            guard found[5].uint64(index, 1) <= row.lastOffset else { throw damage }
            snapshot.branches[LogID(rawValue: found[5].uint64(index, 0))] = found[5].uint64(index, 1)
        }
        if !found[6].rows.isEmpty {
            snapshot.roles = found[6].bytes(0, 0)
            snapshot.rolesVersion = found[6].uint64(0, 1)
            guard snapshot.rolesVersion < UInt64(Int64.max) else { throw damage }
        }
        if !found[9].rows.isEmpty {
            guard let bounds = RoomRetention(found[9], 0, from: 0) else { throw damage }
            snapshot.retention = bounds
        }
        for index in found[7].rows {
            guard let record = record(found[7], index) else { throw damage }
            snapshot.memberships[record.account] = record.record
        }
        return (row, snapshot)
    }

    static func row(of room: RoomName, _ result: PostgresResult) throws -> RoomRow? {
        guard !result.rows.isEmpty else { return nil }
        guard let row = RoomRow(result, 0) else { throw PostgresError.damaged(room: room.text, offset: 0) }
        return row
    }

    /// The messages that the rows of devices do not contain yet, in the columns from one on.
    static func tail(
        of row: RoomRow, _ room: RoomName, _ result: PostgresResult, from column: Int32 = 0
    ) throws -> [LogEntry] {
        var entries: [LogEntry] = []
        for index in result.rows where !result.isNull(index, column) {
            let first = row.foldedOffset + UInt64(entries.count) + 1
            guard result.uint64(index, column) == first,
                let batch = try? StoredBatch.decode(result.bytes(index, column + 2), firstOffset: first),
                batch.count == Int(result.int64(index, column + 1))
            else { throw PostgresError.damaged(room: room.text, offset: first) }
            entries += batch
        }
        let end = row.foldedOffset + UInt64(entries.count)
        guard end == row.lastOffset else { throw PostgresError.damaged(room: room.text, offset: end + 1) }
        return entries
    }

    /// The fold of a room's log: its row, the rows of the devices that have published since the last fold, and nil
    /// without new messages.
    nonisolated(nonsending) static func fold(
        _ room: RoomName, _ connection: PostgresConnection, before: [PostgresQuery] = []
    ) async throws -> (before: [PostgresResult], row: RoomRow, fold: DeviceFold)? {
        var query = PostgresQuery(PostgresStatements.unfolded)
        query.add(room.bytes)
        let found = try await connection.run(before + [query])
        let count = before.count
        guard let row = try row(of: room, found[count]) else { return nil }
        let entries = try tail(of: row, room, found[count], from: 7)
        var fold = DeviceFold()
        if !entries.isEmpty {
            let keys = Array(Set(entries.map { DeviceKey(account: $0.sender, device: $0.device) }))
            var query = PostgresQuery(PostgresStatements.someDevices)
            query.add(row.id)
            query.add(keys.map { $0.account.bytes })
            query.add(keys.map(\.device.rawValue))
            try fold.add(try await connection.run([query])[0], of: room)
            fold.add(entries)
        }
        return (Array(found[..<count]), row, fold)
    }

    /// The kept messages of a range.
    nonisolated(nonsending) static func read(_ range: ReadRange, of room: RoomName, _ connection: PostgresConnection)
        async throws
        -> RoomHistory
    {
        var query = PostgresQuery(PostgresStatements.page)
        query.add(room.bytes)
        query.add(Int64(clamping: range.from))
        query.add(Int64(min(max(range.maxCount, 0), Int(Int32.max))))
        query.add(Int64(clamping: range.maxByteCount))
        let found = try await connection.run([query])[0]
        if let log = range.log, found.rows.isEmpty || LogID(rawValue: found.uint64(0, 5)) != log {
            throw RoomStoreError.logLost
        }
        return try history(range, of: room, found, from: 0)
    }

    /// The history in rows of first offset, last offset, and those of a batch. Without a row the room has no log.
    static func history(
        _ range: ReadRange, of room: RoomName, _ result: PostgresResult, from column: Int32
    ) throws -> RoomHistory {
        guard !result.rows.isEmpty else { return RoomHistory(entries: [], firstOffset: 1) }
        let (first, last) = (result.uint64(0, column), result.uint64(0, column + 1))
        guard first >= 1, last < UInt64(Int64.max), first <= last + 1 else {
            throw PostgresError.damaged(room: room.text, offset: 0)
        }
        var selected = StoredRange(range, firstOffset: first, lastOffset: last)
        for index in result.rows where !selected.isComplete {
            guard
                selected.add(
                    firstOffset: result.uint64(index, column + 2), count: result.int64(index, column + 3),
                    result.bytes(index, column + 4))
            else { throw PostgresError.damaged(room: room.text, offset: selected.next) }
        }
        return selected.history
    }

    /// The revisions of rooms that are not those that a relay knows.
    nonisolated(nonsending) static func changes(
        since known: [RoomRevision], _ connection: PostgresConnection
    ) async throws -> [RoomRevision] {
        var query = PostgresQuery(PostgresStatements.changes)
        query.add(known.map(\.room.bytes))
        query.add(known.map { $0.log?.rawValue ?? 0 })
        query.add(known.map(\.lastOffset))
        query.add(known.map(\.rolesVersion))
        let found = try await connection.run([query])[0]
        return found.rows.compactMap { index in
            guard let room = found.text(index, 0).flatMap({ RoomName($0) }) else { return nil }
            let log = found.isNull(index, 1) ? nil : LogID(rawValue: found.uint64(index, 1))
            return RoomRevision(
                room: room, log: log, lastOffset: log == nil ? 0 : found.uint64(index, 2),
                rolesVersion: log == nil ? 0 : found.uint64(index, 3))
        }
    }

    /// The next rooms of the database.
    nonisolated(nonsending) static func rooms(
        _ read: RoomListRead, _ connection: PostgresConnection
    ) async throws -> StoredRoomPage {
        var query = PostgresQuery(PostgresStatements.rooms)
        query.add(read.after?.bytes ?? [])
        query.add(read.publisher?.bytes)
        query.add(Int64(RoomListRead.maxVisitedCount + 1))
        let found = try await connection.run([query])[0]
        var page = StoredRoomPage()
        for index in found.rows {
            guard index < Int32(RoomListRead.maxVisitedCount), page.rooms.count < read.limit else { return page }
            guard let name = found.text(index, 0).flatMap({ RoomName($0) }) else { continue }
            page.next = name
            guard found.int64(index, 4) == 1 else { continue }
            page.rooms.append(
                StoredRoomPage.Room(
                    name: name, log: LogID(rawValue: found.uint64(index, 1)), lastOffset: found.uint64(index, 3),
                    firstOffset: found.uint64(index, 2)))
        }
        page.next = nil
        return page
    }

    /// Whether the store has roles of rooms.
    nonisolated(nonsending) static func hasRoles(_ connection: PostgresConnection) async throws -> Bool {
        try await !connection.run([PostgresQuery(PostgresStatements.hasRoles)])[0].rows.isEmpty
    }

    // MARK: Memberships

    static func record(
        _ result: PostgresResult, _ row: Int32
    ) -> (room: RoomName, account: AccountName, record: MembershipRecord)? {
        let inviter = result.isNull(row, 3) ? .some(nil) : result.text(row, 3).flatMap { AccountName($0) }.map { $0 }
        guard let room = result.text(row, 0).flatMap({ RoomName($0) }),
            let account = result.text(row, 1).flatMap({ AccountName($0) }), 0...1 ~= result.int64(row, 2),
            let inviter, result.uint64(row, 4) < UInt64(Int64.max)
        else { return nil }
        let record = MembershipRecord(
            isJoined: result.int64(row, 2) == 1, inviter: inviter, changedAt: result.uint64(row, 4))
        return (room, account, record)
    }

    /// The entries of an account's rooms, from one state of the database. Damage of a room concerns the room and not
    /// the list.
    nonisolated(nonsending) static func entries(
        of account: AccountName, _ read: MembershipRead, _ connection: PostgresConnection
    ) async throws -> [StoredRoomEntry] {
        var (after, count, rooms): (RoomName?, Int, [RoomName]?) = (nil, MembershipBounds.maxCountPerAccount, nil)
        switch read {
        case .names:
            var query = PostgresQuery(PostgresStatements.names)
            query.add(account.bytes)
            query.add(Int64(count))
            let found = try await connection.run([query])[0]
            return found.rows.compactMap { index in
                record(found, index).map { StoredRoomEntry(RoomEntry($0.room, $0.record)) }
            }
        case .page(let start, let maxCount, _): (after, count) = (start, maxCount)
        case .rooms(let wanted): (count, rooms) = (wanted.count, Array(wanted.keys))
        }
        func query(_ statement: PostgresStatement) -> PostgresQuery {
            var query = PostgresQuery(statement)
            query.add(account.bytes)
            query.add(after?.bytes ?? [])
            query.add(Int64(count))
            if let rooms { query.add(rooms.map(\.bytes)) } else { query.add(nil as [UInt8]?) }
            return query
        }
        var newest = query(PostgresStatements.newestOfEntries)
        newest.add(maxCountedBatchCount)
        newest.add(maxCountedByteCount)
        let found = try await connection.run([
            PostgresQuery(PostgresStatements.beginRead), query(PostgresStatements.entries), newest,
            PostgresQuery(PostgresStatements.commit),
        ])
        var batches: [RoomName: [Int32]] = [:]
        for index in found[2].rows {
            if let room = found[2].text(index, 0).flatMap({ RoomName($0) }) { batches[room, default: []].append(index) }
        }
        return found[1].rows.compactMap { index in
            guard let record = record(found[1], index) else { return nil }
            return entry(
                record.room, record.record, account, read.progress(in: record.room), found[1], index, found[2],
                batches[record.room] ?? [])
        }
    }

    private static func entry(
        _ room: RoomName, _ record: MembershipRecord, _ account: AccountName, _ least: AccountProgress,
        _ result: PostgresResult, _ row: Int32, _ newest: PostgresResult, _ batches: [Int32]
    ) -> StoredRoomEntry {
        var entry = RoomEntry(room, record)
        guard !result.isNull(row, 5) else { return StoredRoomEntry(entry) }
        let (first, last) = (result.uint64(row, 6), result.uint64(row, 7))
        let stored = AccountProgress(delivered: result.uint64(row, 8), read: result.uint64(row, 9))
        guard first >= 1, last < UInt64(Int64.max), first <= last + 1, max(stored.delivered, stored.read) <= last else {
            return StoredRoomEntry(entry)
        }
        entry.log = LogID(rawValue: result.uint64(row, 5))
        (entry.firstOffset, entry.lastOffset) = (first, last)
        let progress = stored.raised(to: least, lastOffset: last)
        (entry.delivered, entry.read) = (progress.delivered, progress.read)
        var scan = RoomEntryScan(of: account, entry)
        batches: for index in batches where first <= last {
            let bytes = newest.bytes(index, 2)
            guard let batch = try? StoredBatch.decode(bytes, firstOffset: newest.uint64(index, 1)),
                let end = batch.last, end.offset <= last
            else { break }
            for message in batch.reversed() { guard scan.add(message) else { break batches } }
        }
        scan.finish(&entry)
        return StoredRoomEntry(entry, roles: result.isNull(row, 10) ? nil : result.bytes(row, 10))
    }
}
