import MartletProtocol
import MartletWire

/// Adds the parts of another store to a database. A room with all its parts is one transaction.
package final class StoreImport {
    private let writer: StoreWriter
    private let insertRoles: Statement
    private var room: RoomName?

    /// Opens the database at `path`, or creates it.
    package init(path: String, options: Database.Options = Database.Options()) throws {
        FileLock.createPrivately(path)
        let database = try Database(path: path, options: options)
        try StoreSchema.migrations.run(on: database)
        var retention = StoreRetention()
        (retention.maxMessagesPerRoom, retention.maxByteCountPerRoom) = (.max, .max)
        writer = try StoreWriter(database, retention)
        insertRoles = try database.prepare("INSERT INTO roles (room, roles, creator) VALUES (?, ?, ?)")
    }

    /// Adds a part.
    ///
    /// - Throws: `StoreError.roomExists` for a room that the database has; `DatabaseError`.
    package func add(_ record: StoreRecord) throws {
        switch record {
        case .room(let name, let log, let firstOffset, let usedAt):
            try endRoom()
            guard
                RoomRow(
                    id: 0, log: log.rawValue, firstOffset: firstOffset, lastOffset: firstOffset &- 1, byteCount: 0,
                    usedAt: usedAt) != nil
            else { throw StoreError.invalidRecord }
            try writer.database.execute("BEGIN IMMEDIATE")
            guard try writer.reader.row(of: name) == nil else { throw StoreError.roomExists(name) }
            try writer.create(name, log: log, firstOffset: firstOffset, at: usedAt)
            room = name
        case .messages(let entries):
            guard entries.allSatisfy({ $0.acceptedAt < UInt64(Int64.max) }) else { throw StoreError.invalidRecord }
            _ = try writer.append(entries, to: begunRoom())
        case .device(let key, let record, let lastOffset):
            guard max(lastOffset, record.usedAt) < UInt64(Int64.max) else { throw StoreError.invalidRecord }
            try writer.importDevice(key, record, lastOffset: lastOffset, of: begunRoom())
        case .progress(let progress): try writer.saveProgress(progress, of: begunRoom())
        case .roles(let room, let roles, let creator):
            try endRoom()
            insertRoles.bind(1, room.text)
            insertRoles.bind(2, roles)
            insertRoles.bind(3, creator?.text)
            try insertRoles.run()
        case .membership(let room, let account, let record):
            try endRoom()
            _ = try writer.saveMemberships([account: record], of: room)
        case .unknownRoles:
            try endRoom()
            let insert = try writer.database.prepare("INSERT OR IGNORE INTO roles (room, roles) VALUES (?, ?)")
            insert.bind(1, StoreSchema.unknownRolesKey)
            insert.bind(2, StoreSchema.lostRoles)
            try insert.run()
        }
    }

    /// The room to which a part belongs.
    private func begunRoom() throws(StoreError) -> RoomName {
        guard let room else { throw .invalidRecord }
        return room
    }

    /// Rolls back the room that is being added.
    package func discardRoom() {
        room = nil
        if writer.database.isInTransaction { try? writer.database.execute("ROLLBACK") }
    }

    /// Moves everything to the file itself, which is closed afterwards.
    func complete() throws {
        try endRoom()
        try FileReplacement.complete(writer.database)
    }

    /// Commits the last room.
    package func endRoom() throws {
        guard room != nil else { return }
        room = nil
        try writer.database.execute("COMMIT")
    }
}
