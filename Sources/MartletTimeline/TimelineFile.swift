import MartletDatabase
import MartletWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Opens the file of a timeline. A damaged file is set aside, and an empty one takes its place.
struct TimelineFile {
    let path: String
    let truncation = LogTruncation()

    /// - Parameter path: The path of the database, or of a symbolic link to it.
    init(path: String) {
        self.path = FileLock.resolved(path)
    }

    /// The file that records damage found by an operation. The next opening then sets the database aside.
    private var markPath: String { path + "-damaged" }

    /// Opens the database for writing.
    ///
    /// - Parameter account: The account of the user.
    func open(_ account: AccountName) throws -> TimelineTables {
        let lock = try FileLock(path: path + "-lock", of: path)
        if unsafe access(markPath, F_OK) != 0 {
            do {
                return try DatabaseError.confirmingDamage {
                    try tables(account, lock, aside: nil)
                }
            } catch DatabaseError.corrupt {}
        }
        let aside = try DamagedFile.setAside(path)
        unsafe unlink(markPath)
        return try tables(account, lock, aside: aside)
    }

    private func tables(_ account: AccountName, _ lock: FileLock, aside: String?) throws -> TimelineTables {
        try TimelineTables(
            try migrated(for: account), lock: lock, account: account, truncation: truncation, aside: aside)
    }

    /// Opens the database for reading, after it was opened for writing.
    func openReader() throws(DatabaseError) -> Database {
        var options = Database.Options()
        options.isReadOnly = true
        return try Database(path: path, options: options)
    }

    /// Records damage.
    func markDamaged() {
        FileLock.createPrivately(markPath)
    }

    private func migrated(for account: AccountName) throws -> Database {
        FileLock.createPrivately(path)
        let database = try Database(path: path)
        // The relay's log and the outbox contain everything that a loss of power can remove. The cursor is lost
        // together with its messages.
        try database.execute("PRAGMA synchronous=NORMAL")
        // Deleted texts leave the pages of the file (M-29).
        try database.execute("PRAGMA secure_delete=ON")
        try TimelineSchema.migrations.run(on: database)
        try TimelineIndex.complete(in: database)
        let owner = try OwnerTable(database).claim(for: account)
        guard owner == account else { throw DatabaseError.otherAccount(owner, path: path) }
        return database
    }
}
