import MartletDatabase
import MartletLink
import MartletRelay
import MartletWire

/// The removal of old messages, devices and rooms in steps. Each step is a transaction of the caller.
final class RetentionPass {
    /// The maximum number of batches that a step, one transaction, removes.
    private static let maxBatchCount = 256
    /// The rooms that a step visits.
    private static let roomCount = 64
    /// The number of rooms with damage that are reported.
    private static let maxReportedCount = 1024

    private let database: Database
    private let batches: BatchTable
    private let retention: StoreRetention
    private let nextRooms: Statement
    /// The last room that was visited.
    private var position: Int64 = 0
    /// The rooms in which damage was found; those that were not reported.
    private var (damagedRooms, unreportedRooms): (Set<RoomName>, [RoomName]) = ([], [])

    init(_ database: Database, _ batches: BatchTable, _ retention: StoreRetention) throws {
        self.database = database
        self.batches = batches
        self.retention = retention
        nextRooms = try database.prepare(
            """
            SELECT id, name, first_offset, last_offset, byte_count, used_at, \(RoomRetention.columns)
            FROM rooms \(RoomRetention.join) WHERE id > ? ORDER BY id LIMIT \(Self.roomCount)
            """)
    }

    /// Returns true at the end of a pass.
    func step(at now: UInt64) throws -> Bool {
        var rows: [(row: RoomRow, name: String)] = []
        var (visited, count) = (position, 0)
        nextRooms.bind(1, position)
        while try nextRooms.step() {
            visited = nextRooms.int64(0)
            count += 1
            // A damaged row stays for `martlet store check`, and its room is refused.
            guard
                let row = RoomRow(
                    id: visited, log: 0, firstOffset: nextRooms.uint64(2), lastOffset: nextRooms.uint64(3),
                    byteCount: nextRooms.int64(4), usedAt: nextRooms.uint64(5),
                    retention: RoomRetention(nextRooms, from: 6))
            else { continue }
            rows.append((row, nextRooms.text(1)))
        }
        var budget = Self.maxBatchCount
        for (read, name) in rows where !isDamaged(name) {
            try noting(name) {
                var row = read
                let maxAge = row.retention.maxAge ?? retention.maxAge.map { UInt64($0) }
                let cutoff = maxAge.map { now - min(now, $0) } ?? 0
                try batches.trim(&row, before: cutoff, &budget)
                if row.firstOffset != read.firstOffset { try batches.update(row) }
                if budget > 0 { try removeUnused(row, at: now) }
            }
            guard budget > 0 else { return false }
            position = read.id
        }
        position = visited
        if count == Self.roomCount { return false }
        position = 0
        return try removeLeastRecentlyUsed()
    }

    /// Leaves a room with damaged rows as it is from now on. The error ends the transaction: SQLite does not
    /// undo changes next to a damaged page by a savepoint.
    private func noting(_ name: String, _ body: () throws -> Void) throws {
        do { try body() } catch let error as DatabaseError where error.isDamage {
            if let room = RoomName(name), damagedRooms.count < Self.maxReportedCount {
                damagedRooms.insert(room)
                unreportedRooms.append(room)
            }
            throw error
        }
    }

    private func isDamaged(_ name: String) -> Bool { RoomName(name).map { damagedRooms.contains($0) } ?? false }

    /// The rooms in which the retention has found damage since the last call.
    func takeDamagedRooms() -> [RoomName] {
        defer { unreportedRooms = [] }
        return unreportedRooms
    }

    /// Removes edits that are not kept, devices that have not published for a lifetime and have no messages left
    /// progress beyond the maximum, and a room without messages that has not been used for its lifetime.
    private func removeUnused(_ row: RoomRow, at now: UInt64) throws {
        try database.execute("DELETE FROM edits WHERE room = \(row.id) AND offset < \(row.firstOffset)")
        let oldest = now - min(now, DeviceRecord.lifetime)
        try database.execute(
            "DELETE FROM devices WHERE room = \(row.id) AND used_at < \(oldest) AND last_offset < \(row.firstOffset)")
        try database.execute(
            """
            DELETE FROM progress WHERE room = \(row.id) AND account NOT IN (SELECT account FROM progress
            WHERE room = \(row.id) ORDER BY delivered DESC LIMIT \(StoreReader.maxProgressCount))
            """)
        let lifetime = row.lastOffset == 0 ? StoreRetention.emptyRoomLifetime : StoreRetention.roomLifetime
        guard row.count == 0, row.usedAt + lifetime < now else { return }
        try batches.removeRoom(row.id)
    }

    /// Removes the oldest batches of the least recently used rooms while all rooms together exceed their bound. Returns
    /// true when they do not.
    private func removeLeastRecentlyUsed() throws -> Bool {
        guard let bound = retention.maxByteCount else { return true }
        // Damaged values are left out, since their sum could overflow.
        let sum = try database.prepare(
            "SELECT coalesce(sum(byte_count), 0) FROM rooms WHERE byte_count BETWEEN 0 AND \(RoomRow.byteCountBound)")
        var total = Int(try sum.firstInt64() ?? 0)
        var budget = Self.maxBatchCount
        let select = try database.prepare(
            """
            SELECT id, first_offset, last_offset, byte_count, used_at, name FROM rooms WHERE byte_count > 0
            ORDER BY used_at LIMIT 1 OFFSET ?
            """)
        // The rooms that are kept because of damage.
        var keptCount: Int64 = 0
        while total > bound, budget > 0 {
            select.bind(1, keptCount)
            guard try select.step() else { return true }
            let found = RoomRow(
                id: select.int64(0), log: 0, firstOffset: select.uint64(1), lastOffset: select.uint64(2),
                byteCount: select.int64(3), usedAt: select.uint64(4))
            let name = select.text(5)
            select.reset()
            var removed = 0
            if let found, !isDamaged(name) {
                try noting(name) {
                    var row = found
                    while total - (found.byteCount - row.byteCount) > bound, budget > 0, row.count > 0,
                        let oldest = try batches.oldest(of: row)
                    {
                        try batches.remove(oldest, from: &row)
                        budget -= 1
                    }
                    try batches.update(row)
                    removed = found.byteCount - row.byteCount
                }
            }
            total -= removed
            if removed == 0 { keptCount += 1 }
        }
        return total <= bound
    }
}
