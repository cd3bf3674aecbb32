public import MartletProtocol
import MartletRelay
public import MartletWire

extension SQLiteStore {
    /// The duration after an erasure until the write-ahead log, which has earlier pages, is truncated; also between two
    /// attempts while a reader of the log prevents it.
    static let logTruncationDelay = Duration.seconds(5)

    /// Appends messages and erases earlier ones. It returns when both are synced.
    public func append(
        _ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName
    ) async throws -> UInt64 {
        defer { scheduleLogTruncation() }
        return try await writer.perform { try $0.append(entries, erasing: erasures, to: room) }
    }

    /// Truncates the write-ahead log a short time after an erasure, unless that is scheduled.
    func scheduleLogTruncation() {
        logTruncation.withLock { task in
            guard task == nil else { return }
            task = Task { [weak self] in
                do { try await Task.sleep(for: Self.logTruncationDelay) } catch { return }
                await self?.truncateScheduledLog()
            }
        }
    }

    func truncateScheduledLog() async {
        // Erasures from now on schedule another truncation.
        logTruncation.withLock { $0 = nil }
        if await !truncateLog() { scheduleLogTruncation() }
    }

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
