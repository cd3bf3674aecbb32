package import MartletProtocol
package import MartletRelay
package import MartletWire

/// A store on one connection of the caller's thread, for commands, simulations and tests. Each call is a transaction.
package final class StoreFile {
    package let writer: StoreWriter
    private let now: () -> UInt64

    /// Opens the database at `path`.
    package init(
        path: String, retention: StoreRetention = StoreRetention(), options: Database.Options = Database.Options(),
        now: @escaping () -> UInt64
    ) throws {
        self.now = now
        writer = try StoreWriter(Self.openDatabase(path, options: options, at: now()) { _ in }, retention)
    }

    package func load(_ room: RoomName) throws -> RoomSnapshot {
        try writer.transaction { try writer.load(room, at: now()) }
    }

    package func append(_ entries: [LogEntry], to room: RoomName) throws -> UInt64 {
        try writer.transaction { try writer.append(entries, to: room) }
    }

    package func read(_ range: ReadRange, of room: RoomName) throws -> RoomHistory {
        try writer.reader.read(range, of: room)
    }

    package func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) throws {
        try writer.transaction { try writer.saveProgress(progress, of: room) }
    }

    package func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) throws {
        try writer.transaction { try writer.saveRoles(roles, of: room, creation: creation) }
    }

    /// Removes the batches that end before an offset. Returns the first kept offset.
    package func trim(_ room: RoomName, before offset: UInt64) throws -> UInt64 {
        try writer.transaction { try writer.trim(room, before: offset) }
    }

    /// Removes a room and its log.
    package func remove(_ room: RoomName) throws {
        guard let row = try writer.reader.row(of: room) else { return }
        try writer.transaction { try writer.removeRoom(row.id) }
    }

    /// Opens a database and brings it to the newest version. A damaged file is set aside, and what can be read of it is
    /// copied to a new one.
    static func openDatabase(
        _ path: String, options: Database.Options = Database.Options(), at now: UInt64,
        onEvent: (StoreEvent) -> Void
    ) throws -> Database {
        try FileReplacement(path: path).finish(at: now)
        let database: Database
        do {
            database = try open(path, options)
        } catch DatabaseError.corrupt {
            onEvent(try StoreSalvage.setAside(path, options, at: now))
            database = try open(path, options)
        }
        let latest = try database.prepare("SELECT max(used_at) FROM rooms").firstInt64() ?? 0
        if latest > Int64(now) { onEvent(.clockJumped(milliseconds: Int64(now) - latest)) }
        return database
    }

    private static func open(_ path: String, _ options: Database.Options) throws -> Database {
        let database = try Database(path: path, options: options)
        try StoreSchema.migrations.run(on: database)
        // Damage of the tables that every load needs is found now, and that of a room when it is used.
        _ = try database.prepare("SELECT sum(byte_count), max(used_at), max(length(name)) FROM rooms").firstInt64()
        _ = try database.prepare("SELECT sum(length(roles)) FROM roles").firstInt64()
        return database
    }
}
        FileLock.createPrivately(path)
