import MartletDatabase
import MartletLink
import MartletRelay
import MartletWire

/// The statements that replace the bodies of erased messages.
struct BatchEraser {
    private let select: Statement
    private let update: Statement

    init(_ database: Database) throws {
        select = try database.prepare(
            """
            SELECT first_offset, byte_count, messages FROM batches WHERE room = ? AND first_offset <= ?
            ORDER BY first_offset DESC LIMIT 1
            """)
        update = try database.prepare(
            "UPDATE batches SET byte_count = ?, messages = ? WHERE room = ? AND first_offset = ?")
    }

    /// Erases messages of a room at these offsets. Returns by how many bytes its bodies become shorter.
    func erase(_ erasures: [MessageErasure], at offsets: [UInt64], in room: Int64) throws -> Int {
        var released = 0
        var rest = offsets.sorted()[...]
        while let last = rest.last {
            select.bind(1, room)
            select.bind(2, last)
            defer { select.reset() }
            guard try select.step() else { return released }
            let (first, byteCount, bytes) = (select.uint64(0), select.int64(1), select.bytes(2))
            let start = rest.lastIndex { $0 < first }.map { $0 + 1 } ?? rest.startIndex
            // The row has the last offset, unless it is damaged.
            guard start < rest.endIndex else { return released }
            let own = rest[start...]
            rest = rest[..<start]
            // A damaged batch is not served, and stays for `martlet store check`.
            guard 0..<RoomRow.byteCountBound ~= byteCount,
                var entries = try? StoredBatch.decode(bytes, firstOffset: first)
            else { continue }
            var (difference, isChanged) = (0, false)
            for offset in own where offset - first < UInt64(entries.count) {
                let index = Int(offset - first)
                guard let erased = erasures.erased(entries[index]) else { continue }
                difference += entries[index].body.byteCount - erased.body.byteCount
                entries[index] = erased
                isChanged = true
            }
            guard isChanged else { continue }
            update.bind(1, byteCount - Int64(difference))
            update.bind(2, StoredBatch.encode(entries[...]))
            update.bind(3, room)
            update.bind(4, first)
            try update.run()
            released += difference
        }
        return released
    }
}
