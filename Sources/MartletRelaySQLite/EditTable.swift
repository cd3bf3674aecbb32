import MartletDatabase
import MartletLink
import MartletRelay
import MartletWire

/// The statements of the table of edits, by which a deletion finds the edits of its target.
struct EditTable {
    private let insert: Statement
    private let remove: Statement

    init(_ database: Database) throws {
        insert = try database.prepare(
            "INSERT OR IGNORE INTO edits (room, account, device, counter, offset) VALUES (?, ?, ?, ?, ?)")
        remove = try database.prepare(
            """
            DELETE FROM edits WHERE room = ? AND account = ? AND device = ? AND counter = ? AND offset > ?
            RETURNING offset
            """)
    }

    /// Adds the edits among messages of a room.
    func add(_ entries: ArraySlice<LogEntry>, to room: Int64) throws {
        for entry in entries {
            guard let target = entry.editTarget else { continue }
            insert.bind(room, target, entry.offset)
            try insert.run()
        }
    }

    /// Removes the edits of erased messages, which are erased too. Returns their offsets.
    func take(_ erasures: [MessageErasure], from room: Int64) throws -> [UInt64] {
        var offsets: [UInt64] = []
        // Offsets are stored as numbers below 2^63.
        for erasure in erasures where erasure.offset < UInt64(Int64.max) {
            remove.bind(room, erasure.id, erasure.offset)
            while try remove.step() { offsets.append(remove.uint64(0)) }
        }
        return offsets
    }

    /// Adds the edits of all rooms of a file that had no table of edits. The rest of a room behind damage is left out.
    static func fill(_ database: Database) throws {
        let table = try EditTable(database)
        let rooms = try database.prepare("SELECT id FROM rooms")
        let batches = try database.prepare("SELECT first_offset, messages FROM batches WHERE room = ?")
        while try rooms.step() {
            let room = rooms.int64(0)
            batches.bind(1, room)
            defer { batches.reset() }
            while try DatabaseError.unlessDamaged({ try batches.step() }) == true {
                // A damaged batch is not served.
                guard let entries = try? StoredBatch.decode(batches.bytes(1), firstOffset: batches.uint64(0)) else {
                    continue
                }
                try table.add(entries[...], to: room)
            }
        }
    }
}

extension Statement {
    /// Binds the first parameters to a room, a message that is edited, and an offset.
    func bind(_ room: Int64, _ target: MessageID, _ offset: UInt64) {
        bind(1, room)
        bind(2, target.sender.text)
        bind(3, target.device.rawValue)
        bind(4, target.counter)
        bind(5, offset)
    }
}
