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
            try writer.database.execute("BEGIN IMMEDIATE")
            guard try writer.reader.row(of: name) == nil else { throw StoreError.roomExists(name) }
            try writer.create(name, log: log, firstOffset: firstOffset, at: usedAt)
            room = name
        case .messages(let entries): if let room { _ = try writer.append(entries, to: room) }
        case .device(let key, let record, let lastOffset):
            if let room { try writer.importDevice(key, record, lastOffset: lastOffset, of: room) }
        case .progress(let progress): if let room { try writer.saveProgress(progress, of: room) }
        case .roles(let room, let roles, let creator):
            try endRoom()
            insertRoles.bind(1, room.text)
            insertRoles.bind(2, roles)
            insertRoles.bind(3, creator?.text)
            try insertRoles.run()
        }
    }

    /// Rolls back the room that is being added.
    package func discardRoom() {
        room = nil
        if writer.database.isInTransaction { try? writer.database.execute("ROLLBACK") }
    }
        case .unknownRoles:
            try endRoom()
            let insert = try writer.database.prepare("INSERT OR IGNORE INTO roles (room, roles) VALUES (?, ?)")
            insert.bind(1, StoreSchema.unknownRolesKey)
            insert.bind(2, StoreSchema.lostRoles)
            try insert.run()

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
