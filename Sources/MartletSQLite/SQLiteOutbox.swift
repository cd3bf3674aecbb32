public import Martlet
import MartletDatabase
import MartletTransport
public import MartletWire

/// An outbox in a file, which survives the end of the process and the loss of power. A `send` returns when its message
/// is synced to the disk; sends at the same time share one sync.
///
/// The outboxes of a process share at most four threads that write. Each open one has two descriptors. The file is an
/// SQLite database, which no other program can read meanwhile. The same folder contains a file with the suffix `-wal`,
/// and a file `.martlet-lock-` with the number of the user for all outboxes of the folder. One object of one process
/// uses the file at a time, for clients of one account.
///
/// | state of a message | kept until |
/// |---|---|
/// | pending | it is in flight or has an outcome |
/// | in flight: it may have been written to a connection | it has an outcome |
/// | accepted | ``Options/outcomeLifetime`` or ``Options/maxOutcomeCount`` is exceeded |
/// | failed, a dead letter | it is retried or discarded; a maximum number or number of bytes is exceeded |
///
/// The contents are not encrypted. On Apple's platforms, place the file in a folder with a data protection class.
public final class SQLiteOutbox: GroupingOutbox {
    /// The bounds of an outbox.
    public struct Options: Sendable {
        /// The maximum number of messages without an outcome, at least 1. Beyond it, `send` throws `outboxFull`
        /// (C-78).
        public var maxMessageCount = 10_000
        /// The maximum number of bytes of the contents of messages without an outcome, at least 1. Beyond it, `send`
        /// throws `outboxFull`.
        public var maxByteCount = 64 * 1024 * 1024
        /// The duration for which the outcomes of accepted messages are kept.
        public var outcomeLifetime = Duration.seconds(7 * 24 * 3600)
        /// The maximum number of outcomes of accepted messages. Beyond it, the oldest ones are removed.
        public var maxOutcomeCount = 10_000
        /// The maximum number of dead letters. Beyond it, the oldest ones are removed.
        public var maxDeadLetterCount = 1024
        /// The maximum number of bytes of the contents of dead letters. Beyond it, the oldest ones are removed; the
        /// newest one is kept even if it is larger.
        public var maxDeadLetterByteCount = 16 * 1024 * 1024
        /// The maximum number of rooms whose cursors are stored, at least 1. Beyond it, those of the least recently
        /// used rooms without pending messages are removed (C-84).
        public var maxCursorCount = 65_536
        /// The name of the VFS; nil is the default of SQLite.
        package var vfs: String?
        /// The duration after a removal until the log is truncated.
        var truncationDelay = Duration.seconds(5)

        /// Creates the default bounds.
        public init() {}
    }

    /// A damaged file that was set aside when the outbox was opened.
    public struct Recovery: Sendable, Equatable {
        /// The new name of the damaged file.
        public let path: String
        /// The number of messages without an outcome and of dead letters that were read from it.
        public let messageCount: Int
        /// Whether the messages will be sent. Otherwise the device ID was lost, and they are dead letters: the relay
        /// may have accepted some of them.
        public let keepsIdentity: Bool
    }

    private struct State {
        var writer: DatabaseWriter<OutboxTables>?
        var recovery: Recovery?
    }

    /// The maximum number of transactions that wait for the thread.
    private static let maxJobCount = 1024

    /// The path of the file.
    public let path: String
    private let options: Options
    private let state = Guarded(State())
    let truncation: LogTruncation

    /// Creates an outbox. The file is opened, or created, by the start of the client.
    public init(path: String, options: Options = Options()) {
        self.path = path
        self.options = options
        truncation = LogTruncation(delay: options.truncationDelay)
    }

    /// The damaged file that the latest `open` has set aside; nil if there is none.
    public var recovery: Recovery? { state.withLock { $0.recovery } }

    /// Opens the file and returns the stored state. A damaged file is set aside (``recovery``), and its readable
    /// contents are kept. A missing or empty file is a new outbox, without a recovery: it cannot be distinguished from
    /// one whose creation was interrupted.
    ///
    /// - Throws: `DatabaseError`: `locked` if another object or process still uses the file after 2 s; `newerSchema`,
    ///   `otherFormat`, `full`, `readOnly`, `cannotOpen`, `ioError`.
    public func open() async throws -> OutboxState {
        let writer = try await openWriter()
        return try await writer.perform { try $0.load() }
    }

    /// Records the account of the file, if it has none.
    ///
    /// - Throws: `MartletError.outboxOfAnotherAccount`; `DatabaseError`.
    public func claim(for account: AccountName) async throws {
        try await opened().perform { try $0.claim(for: account) }
    }

    /// Stores a transaction durably.
    ///
    /// - Throws: `MartletError.outboxFull` beyond the quota; `MartletError.unknownDeadLetter`; `DatabaseError`.
    public func commit(_ transaction: OutboxTransaction) async throws {
        try await opened().perform { try $0.commit(transaction, now: EventLoop.wallClock) }
    }

    /// Stores transactions that arrive one after the other in one transaction of the database.
    package func commit(
        parts part: @escaping @Sendable (Int) -> OutboxTransaction?,
        completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        guard let writer = state.withLock({ $0.writer }) else { return completion(DatabaseError.closed) }
        writer.submit { tables in
            var index = 0
            while let transaction = part(index) {
                try tables.commit(transaction, now: EventLoop.wallClock)
                index += 1
            }
        } _: { result in
            if case .failure(let error) = result { completion(error) } else { completion(nil) }
        }
    }

    /// Returns the dead letters of a room.
    public func deadLetters(in room: RoomName) async throws -> [DeadLetter] {
        try await opened().perform { try $0.deadLetters(in: room) }
    }

    /// Closes the file, which another object can then open. A client calls this method when it stops. The release of
    /// the object also closes the file, on another thread.
    public func close() async {
        let writer = state.withLock { state in
            defer { state.writer = nil }
            return state.writer
        }
        truncation.end()
        await writer?.close()
    }

    /// Truncates the log, which has the texts of removed messages. Returns false if that failed.
    func truncateLog() async -> Bool {
        await state.withLock({ $0.writer })?.truncateLog() ?? true
    }

    private func opened() throws(DatabaseError) -> DatabaseWriter<OutboxTables> {
        guard let writer = state.withLock({ $0.writer }) else { throw .closed }
        return writer
    }

    private func openWriter() async throws -> DatabaseWriter<OutboxTables> {
        if let writer = state.withLock({ $0.writer }) { return writer }
        let file = OutboxFile(path: FileLock.resolved(path), options: options, truncation: truncation)
        let writer = try await FileLock.waiting {
            try await DatabaseWriter(sharedWithMaxJobCount: Self.maxJobCount) { try file.open() }
        }
        let recovery: Recovery?
        do { recovery = try await writer.perform { $0.recovery } } catch {
            // The lock of the file ends with the thread.
            await writer.close()
            throw error
        }
        state.withLock { state in
            state.writer = writer
            state.recovery = recovery
        }
        truncation.start { [weak self] in await self?.truncateLog() ?? true }
        return writer
    }
}

extension Outbox where Self == SQLiteOutbox {
    /// An outbox in a file.
    public static func sqlite(at path: String, options: SQLiteOutbox.Options = .init()) -> SQLiteOutbox {
        SQLiteOutbox(path: path, options: options)
    }
}
