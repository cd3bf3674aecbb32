package import MartletDatabase
package import MartletLink
package import MartletRelay
import MartletTransport
package import MartletWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

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

    package func append(
        _ entries: [LogEntry], erasing erasures: [MessageErasure] = [], to room: RoomName
    ) throws -> UInt64 {
        try writer.transaction { try writer.append(entries, erasing: erasures, to: room) }
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

    package func saveMemberships(_ changes: MembershipChanges, of room: RoomName) throws -> Set<AccountName> {
        try writer.transaction { try writer.saveMemberships(changes, of: room) }
    }

    package func saveRetention(_ bounds: RoomRetention, of room: RoomName) throws {
        try writer.transaction { try writer.saveRetention(bounds, of: room) }
    }

    package func memberships(of account: AccountName, _ read: MembershipRead) throws -> [StoredRoomEntry] {
        try writer.reader.memberships?.entries(of: account, read, writer.reader) ?? []
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

    /// Puts a copy of a store, which becomes a store of its own, in the place of the file at `path`.
    ///
    /// - Parameter lock: The lock of the directory.
    /// - Returns: The new name of the earlier file; nil if there was none.
    package static func restore(
        _ contents: StoreContents, to path: String, _ lock: FileLock, at now: UInt64
    ) throws -> String? {
        let replacement = FileReplacement(path: path, reason: "replaced")
        let hadFile = !isEmpty(path)
        replacement.begin()
        try contents.backUp(to: replacement.partial)
        try replacement.replace(at: now)
        _ = try open(path, at: now) { _ in }
        try lock.mark()
        return hadFile ? replacement.aside(at: now) : nil
    }

    /// Removes the marks of roles that were lost with a damaged file: those of single rooms, and that of the store
    ///
    package static func resetLostRoles(at path: String) throws {
        let database = try open(path, at: EventLoop.wallClock) { _ in }
        let delete = try database.prepare("DELETE FROM roles WHERE roles = ?")
        delete.bind(1, StoreSchema.lostRoles)
        try delete.run()
    }

    /// Sets the expiry clock to a time that the operator has checked.
    package static func trustClock(at path: String, time: UInt64) throws {
        let database = try open(path, at: time) { _ in }
        try StoreWriter(database, StoreRetention()).saveExpiryTime(time)
    }

    /// Opens a database and brings it to the newest version. A damaged file is set aside, and its readable contents are
    /// copied to a new file (R-70, Specs/hostile.md row 90).
    ///
    /// - Parameter isKnown: Whether the database was complete at an earlier time, so that an empty or missing file is
    ///   damaged, and not new.
    static func openDatabase(
        _ path: String, options: Database.Options = Database.Options(), at now: UInt64, isKnown: Bool = false,
        onEvent: (StoreEvent) -> Void
    ) throws -> Database {
        try FileReplacement(path: path).finish(at: now)
        var database: Database?
        var damage: StoreDamage?
        if isKnown, isEmpty(path) {
            damage = .empty
        } else if try !StoreCopy.isCopy(path, options) && WriteAheadLog.isDamaged(ofDatabase: path) {
            damage = .log
        } else {
            // Specs/hostile.md row 91
            let isCopy = try StoreCopy.isCopy(path, options)
            do {
                database = try DatabaseError.confirmingDamage {
                    let opened = try open(path, options, at: now, onEvent)
                    // A table that is missing in a damaged schema counts as damage.
                    guard try DatabaseError.unlessDamaged({ try check(opened) }) != nil else {
                        throw DatabaseError.corrupt(path: path)
                    }
                    return opened
                }
            } catch DatabaseError.corrupt { damage = isCopy ? .copy : .structure }
        }
        if let damage { onEvent(try StoreSalvage.setAside(path, damage, options, at: now)) }
        let opened = try database ?? open(path, options, at: now, onEvent)
        try report(on: opened, at: now, onEvent)
        return opened
    }

    private static func report(on database: Database, at now: UInt64, _ onEvent: (StoreEvent) -> Void) throws {
        let marks = try database.prepare("SELECT count(*) FROM roles WHERE room = ?")
        marks.bind(1, StoreSchema.unknownRolesKey)
        if try marks.firstInt64() != 0 { onEvent(.rolesUnknown) }
        let latest = try database.prepare("SELECT max(used_at) FROM rooms").firstInt64() ?? 0
        if latest > Int64(now) { onEvent(.clockJumped(milliseconds: Int64(now) - latest)) }
    }

    /// Whether a file is missing, or too short for a page of a database.
    private static func isEmpty(_ path: String) -> Bool {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return errno == ENOENT }
        return status.st_size < 512
    }

    /// Opens a database to change it, and brings it to the newest version.
    package static func open(
        _ path: String, _ options: Database.Options = Database.Options(), at now: UInt64,
        _ onEvent: (StoreEvent) -> Void
    ) throws -> Database {
        FileLock.createPrivately(path)
        try StoreCopy.take(path, options, at: now, onEvent: onEvent)
        let database = try Database(path: path, options: options)
        try StoreSchema.migrate(database)
        return database
    }

    /// Detects damage of the tables that every load needs, and of the pages that each new room changes. Damage of a
    /// room is detected when the room is used.
    private static func check(_ database: Database) throws {
        struct IsSound: Error {}
        for table in ["rooms", "roles", "clock"] {
            let check = try database.prepare("PRAGMA quick_check('\(table)')").firstText()
            guard check == "ok" else { throw DatabaseError.corrupt(path: database.path) }
        }
        do {
            try database.transaction {
                try database.execute(StoreSchema.probe)
                throw IsSound()
            }
        } catch is IsSound {}
    }
}
