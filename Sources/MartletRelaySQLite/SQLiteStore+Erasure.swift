import MartletDatabase

extension SQLiteStore {
    /// Moves all pages of the write-ahead log to the file, and truncates the log. Returns false if a reader prevents
    /// this; true also for a store that is closed, which has no log.
    ///
    /// The thread that reads performs this, on a connection of its own: a checkpoint is not part of a transaction.
    func truncateLog() async -> Bool {
        do {
            return try await reader.perform { reader in
                var options = Database.Options()
                options.busyTimeout = .milliseconds(100)
                let database = try Database(path: reader.database.path, options: options)
                return try database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").firstInt64() == 0
            }
        } catch DatabaseError.closed {
            return true
        } catch {
            return false
        }
    }
}
