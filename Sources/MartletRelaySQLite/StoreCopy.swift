import MartletDatabase

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A copy of a store, as `VACUUM INTO` writes it for a backup: a file in rollback mode.
///
/// A store that is in use is in WAL mode from its first transaction on. A copy in its place is therefore recognized,
/// and a write-ahead log beside it belongs to another file.
///
/// | state of the file | after a crash |
/// |---|---|
/// | rollback mode, perhaps beside the log of another file | the copy begins again |
/// | rollback mode, with other identities of its logs | its logs branch once more |
/// | WAL mode | nothing |
enum StoreCopy {
    private static let headerByteCount = 100

    /// Whether a file is a copy that no relay has used.
    static func isCopy(_ path: String, _ options: Database.Options) throws -> Bool {
        var options = options
        options.isReadOnly = true
        guard let database = try opened(path, options) else { return false }
        let header = try database.header(byteCount: headerByteCount)
        let id = header[68..<72].reduce(0 as Int32) { $0 << 8 | Int32($1) }
        return header.starts(with: "SQLite format 3".utf8) && header[18] == 1 && id == StoreSchema.applicationID
    }

    private static func opened(_ path: String, _ options: Database.Options) throws -> Database? {
        do { return try Database(path: path, options: options) } catch DatabaseError.cannotOpen { return nil }
    }

    /// Whether the log of another file is beside a copy.
    static func hasForeignLog(_ path: String, _ options: Database.Options) throws -> Bool {
        var status = stat()
        guard unsafe stat(path + "-wal", &status) == 0, status.st_size > 0 else { return false }
        return try isCopy(path, options)
    }

    /// Makes a copy a store of its own: each room begins a branch of its log. The log of another file is
    /// renamed. A file that is no copy is not changed.
    static func take(
        _ path: String, _ options: Database.Options, at now: UInt64, onEvent: (StoreEvent) -> Void
    ) throws {
        guard try isCopy(path, options) else { return }
        var aside: String?
        if try hasForeignLog(path, options) {
            let name = FileReplacement(path: path).aside(at: now) + "-wal"
            guard unsafe rename(path + "-wal", name) == 0 else { throw DatabaseError.readOnly(path: path) }
            aside = name
        }
        unsafe unlink(path + "-shm")
        var options = options
        options.usesWriteAheadLog = false
        let database = try Database(path: path, options: options)
        try StoreSchema.migrate(database)
        let count = try database.transaction { try branch(database) }
        onEvent(.copyOpened(roomCount: count, foreignLog: aside))
    }

    /// Gives all logs other identities. Returns the number of rooms.
    private static func branch(_ database: Database) throws -> Int {
        try database.execute(
            """
            INSERT OR REPLACE INTO branches SELECT id, log, last_offset FROM rooms WHERE last_offset > 0;
            \(StoreSchema.trimBranches);
            UPDATE rooms SET log = random()
            """)
        return Int(try database.prepare("SELECT count(*) FROM rooms").firstInt64() ?? 0)
    }
}
