internal import CMartletSQLite

/// One connection to an SQLite database in WAL mode with `synchronous=FULL`: a transaction is durable when its commit
/// returns.
///
/// One thread uses a connection at a time. A connection that only reads does not wait for a writer, and a writer does
/// not wait for it.
@safe
package final class Database {
    package struct Options: Sendable {
        /// Whether the connection only reads. The file must then exist.
        package var isReadOnly = false
        /// Whether the file cannot change while the connection is open, so that SQLite needs no files beside it.
        package var isImmutable = false
        /// The name of the VFS; nil for the default of SQLite.
        package var vfs: String?
        /// The duration for which a statement waits for the lock of another connection.
        package var busyTimeout = Duration.seconds(5)
        /// The number of pages in the WAL after which a commit moves them to the database file, and to which the WAL is
        /// truncated after a slow reader; 0 disables the former.
        package var checkpointPageCount = 1000
        /// Whether a connection that writes changes the file to WAL mode.
        package var usesWriteAheadLog = true
        /// Whether a connection that writes is the only one of the file until it is closed. The index of the WAL is
        /// then in memory, without a file and its descriptor.
        package var isExclusive = false

        package init() {}
    }

    /// The bytes of a page of a new database.
    private static let pageByteCount = 4096
    /// SQLite's result code for a write that has failed.
    private static let writeFailure: Int32 = 778

    package let path: String
    /// The lock of the file. It ends after the connection, which the last statement closes (R-69).
    package var lock: FileLock?
    private let handle: OpaquePointer

    /// Opens a database, and creates it if it does not exist.
    package init(path: String, options: Options = Options()) throws(DatabaseError) {
        self.path = path
        let access = options.isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let name = options.isImmutable ? Self.immutableURI(path) : path
        var opened: OpaquePointer?
        let result = unsafe sqlite3_open_v2(
            name, &opened, access | SQLITE_OPEN_NOMUTEX | (options.isImmutable ? SQLITE_OPEN_URI : 0), options.vfs)
        // SQLite returns a handle with the error, except when memory is exhausted.
        guard let opened = unsafe opened else {
            throw DatabaseError(code: result, systemError: 0, message: "out of memory", path: path)
        }
        unsafe handle = opened
        unsafe sqlite3_extended_result_codes(handle, 1)
        guard result == SQLITE_OK else { throw error(result) }
        let (seconds, attoseconds) = options.busyTimeout.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
        unsafe sqlite3_busy_timeout(handle, Int32(clamping: milliseconds))
        if !options.isReadOnly {
            if options.isExclusive { try execute("PRAGMA locking_mode=EXCLUSIVE") }
            // WAL mode begins with a transaction whose journal is deleted. EXTRA syncs the deletion: a journal that
            // reappeared after a loss of power would undo later transactions.
            try execute("PRAGMA synchronous=EXTRA; PRAGMA foreign_keys=ON")
            guard options.usesWriteAheadLog else { return }
            guard try prepare("PRAGMA journal_mode=WAL").firstText() == "wal" else { throw .readOnly(path: path) }
            // SQLite can report this mode after a failed write of the header, which would then be that of a copy. The
            // first read undoes such a write.
            _ = try prepare("SELECT count(*) FROM sqlite_master").firstInt64()
            guard try header(byteCount: 20)[18] == 2 else { throw .ioError(code: Self.writeFailure, path: path) }
            // `fullfsync` has an effect on Apple's systems only, where `fsync` leaves data in the disk's cache.
            try execute("PRAGMA synchronous=FULL; PRAGMA fullfsync=ON")
            try execute("PRAGMA wal_autocheckpoint=\(options.checkpointPageCount)")
            // A WAL that grew while a reader was slow is truncated after the next checkpoint (R-161).
            try execute("PRAGMA journal_size_limit=\(max(1, options.checkpointPageCount) * Self.pageByteCount)")
        }
    }

    private static func immutableURI(_ path: String) -> String {
        let escapes: [Unicode.Scalar: String] = ["%": "%25", "?": "%3f", "#": "%23"]
        return "file:\(path.unicodeScalars.map { escapes[$0] ?? String($0) }.joined())?immutable=1"
    }

    deinit {
        // Statements that are still in use keep the connection open until they end.
        unsafe sqlite3_close_v2(handle)
    }

    /// Executes statements without results.
    package func execute(_ sql: String) throws(DatabaseError) {
        let result = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
        guard result == SQLITE_OK else { throw error(result) }
    }

    /// Prepares a statement, to be executed any number of times.
    package func prepare(_ sql: String) throws(DatabaseError) -> Statement {
        var prepared: OpaquePointer?
        let result = unsafe sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard result == SQLITE_OK, let prepared = unsafe prepared else { throw error(result) }
        return unsafe Statement(prepared, of: self)
    }

    /// Performs `body` in one transaction, which an error of `body` or of the commit rolls back. A call within `body`
    /// is part of this transaction.
    package func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        if isInTransaction { return try body() }
        try execute("BEGIN IMMEDIATE")
        do {
            let value = try body()
            try execute("COMMIT")
            return value
        } catch {
            // Some errors have already ended the transaction.
            if isInTransaction { try? execute("ROLLBACK") }
            throw error
        }
    }

    /// The version of SQLite: 3,040,001 for 3.40.1.
    package static var libraryVersion: Int { Int(sqlite3_libversion_number()) }

    package var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

    /// The number of rows that the last statement inserted, changed or deleted.
    package var changedRowCount: Int { Int(unsafe sqlite3_changes(handle)) }

    /// The number of rows that the connection has inserted, changed or deleted. It wraps.
    var changeCount: Int32 { unsafe sqlite3_total_changes(handle) }

    /// The version of the schema, which the application sets; 0 in a new file.
    package func schemaVersion() throws(DatabaseError) -> Int {
        Int(try prepare("PRAGMA user_version").firstInt64() ?? 0)
    }

    /// The first bytes of the file, with zeros behind its end. The call does not read the WAL.
    package func header(byteCount: Int) throws(DatabaseError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: byteCount)
        let result = unsafe bytes.withUnsafeMutableBytes {
            unsafe martlet_sqlite_read_header(handle, $0.baseAddress, Int32($0.count))
        }
        guard result == SQLITE_OK else { throw error(result) }
        return bytes
    }

    /// The error of a failed call with this extended result code.
    func error(_ code: Int32) -> DatabaseError {
        let message = unsafe sqlite3_errmsg(handle).map { unsafe String(cString: $0) } ?? ""
        return DatabaseError(
            code: code, systemError: unsafe sqlite3_system_errno(handle), message: message, path: path)
    }
}
