import MartletDatabase
import MartletLink

/// The batches of rooms, oldest first, and their sums in the rows of the rooms.
final class BatchTable {
    /// The maximum number of batches that an append removes.
    private static let maxRemovedCount = 8

    private let database: Database
    private let retention: StoreRetention
    private let updateRoom: Statement
    private let selectOldest: Statement
    private let deleteBatch: Statement

    init(_ database: Database, _ retention: StoreRetention) throws {
        self.database = database
        self.retention = retention
        updateRoom = try database.prepare(
            "UPDATE rooms SET first_offset = ?, last_offset = ?, byte_count = ?, used_at = ? WHERE id = ?")
        selectOldest = try database.prepare(
            """
            SELECT first_offset, count, byte_count, accepted_at FROM batches WHERE room = ?
            ORDER BY first_offset LIMIT 1
            """)
        deleteBatch = try database.prepare("DELETE FROM batches WHERE room = ? AND first_offset = ?")
    }

    /// Stores the row of a room.
    func update(_ row: RoomRow) throws {
        updateRoom.bind(1, row.firstOffset)
        updateRoom.bind(2, row.lastOffset)
        updateRoom.bind(3, Int64(row.byteCount))
        updateRoom.bind(4, row.usedAt)
        updateRoom.bind(5, row.id)
        try updateRoom.run()
    }

    /// Removes the oldest batches of a room that exceeds its bounds, after an append.
    func trim(_ row: inout RoomRow) throws {
        guard row.count > maxCount(of: row) || row.byteCount >= maxByteCount(of: row) else { return }
        var budget = Self.maxRemovedCount
        try trim(&row, before: 0, &budget)
    }

    /// Removes the oldest batches that exceed the room's bounds or that are older than `cutoff`, at most `budget`.
    func trim(_ row: inout RoomRow, before cutoff: UInt64, _ budget: inout Int) throws {
        while budget > 0, row.count > 0 {
            guard let oldest = try oldest(of: row) else { return }
            let (count, byteCount) = (oldest.count, oldest.byteCount)
            // Whole batches are removed, so a bound can be exceeded by one batch less one message.
            let isLast = count >= row.count
            let isBeyond =
                row.count - min(row.count, count) >= maxCount(of: row)
                || !isLast && row.byteCount - byteCount >= maxByteCount(of: row)
            guard isBeyond || oldest.acceptedAt < cutoff else { return }
            try remove(oldest, from: &row)
            budget -= 1
        }
    }

    /// The bounds of a room: its own, or those of the store (R-196, Specs/hostile.md row 122).
    private func maxCount(of row: RoomRow) -> UInt64 { row.retention.maxCount ?? UInt64(retention.maxMessagesPerRoom) }
    private func maxByteCount(of row: RoomRow) -> Int {
        row.retention.maxByteCount.map { Int(clamping: $0) } ?? retention.maxByteCountPerRoom
    }

    /// Removes the batches of a room that end before an offset, and stores the row.
    func trim(_ row: inout RoomRow, endingBefore offset: UInt64) throws {
        while row.count > 0, let oldest = try oldest(of: row), oldest.firstOffset <= offset,
            oldest.count <= offset - oldest.firstOffset
        {
            try remove(oldest, from: &row)
        }
        try update(row)
    }

    /// The oldest batch of a room; nil if it has none.
    func oldest(of row: RoomRow) throws -> BatchRow? {
        selectOldest.bind(1, row.id)
        defer { selectOldest.reset() }
        guard try selectOldest.step() else { return nil }
        guard let batch = selectOldest.batchRow(from: 0) else { throw DatabaseError.corrupt(path: database.path) }
        return batch
    }

    /// Removes the oldest batch of a room, whose row the caller stores.
    func remove(_ batch: BatchRow, from row: inout RoomRow) throws {
        deleteBatch.bind(1, row.id)
        deleteBatch.bind(2, batch.firstOffset)
        try deleteBatch.run()
        row.firstOffset = max(row.firstOffset, min(batch.firstOffset + batch.count, row.lastOffset + 1))
        row.byteCount = max(0, row.byteCount - batch.byteCount)
    }

    /// Removes a room. Its next log has another identity.
    func removeRoom(_ id: Int64) throws {
        for table in ["batches", "edits", "devices", "progress", "branches"] {
            try database.execute("DELETE FROM \(table) WHERE room = \(id)")
        }
        try database.execute("DELETE FROM rooms WHERE id = \(id)")
    }
}
