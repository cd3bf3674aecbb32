package import MartletDatabase
import MartletLink
import MartletRelay
import MartletTransport
import MartletWire

/// Adds the parts of another store to a database. A room with all its parts is one transaction.
package final class StoreImport {
    private let writer: StoreWriter
    private let insertRoles: Statement
    private let isBranching: Bool
    private var room: RoomName?
    /// The log that the room had before.
    private var earlierLog: LogID?

    /// Opens the database at `path`, or creates it.
    ///
    /// - Parameter isBranching: Whether each room begins a branch of its log, as it must unless all messages of the log
    ///   are known to be added.
    package init(
        path: String, isBranching: Bool, options: Database.Options = Database.Options()
    ) throws {
        self.isBranching = isBranching
        let database = try StoreFile.open(path, options, at: EventLoop.wallClock) { _ in }
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
            let newLog = isBranching ? LogID(rawValue: .random(in: .min ... .max)) : log
            try writer.create(name, log: newLog, firstOffset: firstOffset, at: usedAt)
            room = name
            earlierLog = isBranching ? log : nil
        case .messages(let entries):
            let room = try begunRoom()
            let isValid = entries.allSatisfy { $0.acceptedAt < UInt64(Int64.max) && $0.counter >= 1 }
            guard isValid, let row = try writer.reader.row(of: room),
                row.lastOffset < UInt64(Int64.max) - UInt64(entries.count)
            else { throw StoreError.invalidRecord }
            _ = try writer.append(entries, to: room)
        case .branch(let log, let offset): try writer.importBranch(log, upTo: offset, of: begunRoom())
        case .device(let key, let record, let lastOffset):
            try writer.importDevice(key, record, lastOffset: lastOffset, of: begunRoom())
        case .progress(let progress):
            let room = try begunRoom()
            let last = try writer.reader.row(of: room)?.lastOffset ?? 0
            guard progress.values.allSatisfy({ max($0.delivered, $0.read) <= last }) else {
                throw StoreError.invalidRecord
            }
            try writer.saveProgress(progress, of: room)
        case .roles(let room, let roles, let creator):
            try endRoom()
            insertRoles.bind(1, room.text)
            insertRoles.bind(2, roles)
            insertRoles.bind(3, creator?.text)
            try insertRoles.run()
        case .membership(let room, let account, let record):
            try endRoom()
            guard record.changedAt < UInt64(Int64.max) else { throw StoreError.invalidRecord }
            _ = try writer.saveMemberships([account: record], of: room)
        case .retention(let room, let bounds):
            try endRoom()
            try writer.saveRetention(bounds, of: room)
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
        guard let room else { return }
        if let earlierLog { try writer.importBranch(earlierLog, of: room) }
        self.room = nil
        try writer.database.execute("COMMIT")
    }
}
