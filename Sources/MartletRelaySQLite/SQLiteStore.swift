package import MartletDatabase
public import MartletLink
public import MartletRelay
import MartletTransport
public import MartletWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension RoomStore where Self == SQLiteStore {
    /// A store in a directory, which is created if it does not exist.
    ///
    /// - Throws: `DatabaseError`, for example `locked` when another object or process still uses the directory
    ///   after 2 s.
    public static func sqlite(
        at directory: String, retention: StoreRetention = StoreRetention(),
        onEvent: @escaping @Sendable (StoreEvent) -> Void = { _ in }
    ) async throws -> SQLiteStore {
        try await SQLiteStore(at: directory, retention: retention, onEvent: onEvent)
    }
}

/// A store of rooms in an SQLite database (Specs/storage.md).
///
/// A message is accepted when its transaction is synced. All appends that wait while a transaction runs are in the next
/// one. Reads have a connection and a thread of their own, and do not wait for appends.
///
/// | state | owns | ends |
/// |---|---|---|
/// | open | a thread that writes, a thread that reads, whose connections hold the lock | `close`, or no reference |
/// | closed | nothing | never |
public final class SQLiteStore: RoomStore {
    /// The maximum number of calls that wait for a thread.
    private static let maxJobCount = 65_536
    /// The number of pages in the WAL after which they are moved to the file, 16 MiB. The last page of a busy room is
    /// written to the WAL with each commit, and to the file once.
    private static let checkpointPageCount = 4096  // bound
    /// The interval between two passes of the retention.
    private static let retentionInterval = Duration.seconds(60)
    /// The progress of the expiry clock, in milliseconds, after which it is stored again.
    private static let clockInterval: UInt64 = 600 * 1000
    /// The age of a room's last use, in milliseconds, beyond which a load updates it.
    private static let touchInterval: UInt64 = 3600 * 1000

    let writer: DatabaseWriter<StoreWriter>
    let reader: DatabaseReader<StoreReader>
    let logTruncation = LogTruncation()
    private let retentionTask = Guarded<Task<Void, Never>?>(nil)
    private let onEvent: @Sendable (StoreEvent) -> Void
    private let wallClock: @Sendable () -> UInt64
    private let expiryClock: Guarded<ExpiryClock>
    /// The bounds of each room.
    public let retention: RoomRetention
    /// Roles and membership records.
    public var features: RoomStoreFeatures { [.roles, .memberships, .roomList, .roomRetention] }

    /// Opens the store in a directory, or creates it. A damaged file is set aside.
    ///
    /// - Throws: `DatabaseError`.
    public convenience init(
        at directory: String, retention: StoreRetention = StoreRetention(),
        onEvent: @escaping @Sendable (StoreEvent) -> Void = { _ in }
    ) async throws {
        try await self.init(at: directory, retention, wallClock: { EventLoop.wallClock }, onEvent)
    }

    /// - Parameter wallClock: Milliseconds since 1970.
    init(
        at directory: String, _ retention: StoreRetention = StoreRetention(),
        wallClock: @escaping @Sendable () -> UInt64, _ onEvent: @escaping @Sendable (StoreEvent) -> Void = { _ in }
    ) async throws {
        self.onEvent = onEvent
        self.wallClock = wallClock
        self.retention = RoomRetention(
            maxAge: retention.maxAge.map { UInt64(clamping: $0) },
            maxCount: UInt64(clamping: retention.maxMessagesPerRoom),
            maxByteCount: UInt64(clamping: retention.maxByteCountPerRoom))
        let path = "\(directory)/\(StoreSchema.fileName)"
        writer = try await DatabaseWriter(maxJobCount: Self.maxJobCount) {
            let lock = try Self.lock(directory)
            try CopyMark(directory: directory).open()
            var options = Database.Options()
            options.checkpointPageCount = Self.checkpointPageCount
            let database = try StoreFile.openDatabase(
                path, options: options, at: wallClock(), isKnown: lock.isMarked, onEvent: onEvent)
            try lock.mark()
            database.lock = lock
            // The bytes of erased messages are overwritten in free pages too.
            try database.execute("PRAGMA secure_delete=ON")
            return try StoreWriter(database, retention)
        }
        do {
            let stored = try await writer.perform { try $0.expiryTime() }
            let clock = ExpiryClock(stored: stored, wall: wallClock(), steady: .now)
            try await writer.perform { try $0.saveExpiryTime(clock.now, every: Self.clockInterval) }
            expiryClock = Guarded(clock)
            let lock = Guarded(try await writer.perform { $0.database.lock })
            reader = try await DatabaseReader(maxJobCount: Self.maxJobCount) {
                let held = lock.withLock { lock in lock.take() }
                var options = Database.Options()
                options.isReadOnly = true
                let database = try Database(path: path, options: options)
                database.lock = held
                return try StoreReader(database)
            }
        } catch {
            await writer.close()
            throw error
        }
        let task = Task { [weak self] in
            while true {
                do { try await Task.sleep(for: Self.retentionInterval) } catch { return }
                await self?.removeOld(steady: .now)
            }
        }
        retentionTask.withLock { $0 = task }
        logTruncation.start { [weak self] in await self?.truncateLog() ?? true }
    }

    /// Creates the directory if it does not exist, and locks it. Another process is refused with `locked`.
    package static func lock(_ directory: String) throws(DatabaseError) -> FileLock {
        if unsafe mkdir(directory, 0o700) != 0, errno != EEXIST { throw .cannotOpen(path: directory) }
        return try FileLock(path: "\(directory)/\(StoreSchema.lockName)", of: directory)
    }

    deinit {
        retentionTask.withLock { $0?.cancel() }
    }

    /// Completes the waiting calls, and closes the files. Later calls fail.
    public func close() async {
        retentionTask.withLock { $0?.cancel() }
        logTruncation.end()
        await reader.close()
        await writer.close()
    }

    // MARK: Calls

    /// Performs calls: those that write in one transaction, which is synced before their replies, the others on the
    /// thread that reads.
    public func perform(_ calls: [RoomStoreCall]) {
        var jobs: [Job<StoreWriter>] = []
        for call in calls {
            switch call {
            case .load(let room, let reply): load(room, reply)
            case .append(let new, let reply):
                jobs.append(
                    Job({ try $0.append(new.entries, erasing: new.erasures, to: new.room) }) { [logTruncation] in
                        if !new.erasures.isEmpty { logTruncation.schedule() }
                        reply.complete($0)
                    })
            case .read(let range, let room, let reply):
                reader.submit({ try $0.read(range, of: room) }, reply.complete)
            case .saveProgress(let progress, let room, let reply):
                jobs.append(Job({ try $0.saveProgress(progress, of: room) }, reply.complete))
            case .saveRoles(let roles, let room, _, let creation, let reply):
                jobs.append(Job({ try $0.saveRoles(roles, of: room, creation: creation) }, reply.complete))
            case .saveMemberships(let changes, let room, let reply):
                jobs.append(Job({ try $0.saveMemberships(changes, of: room) }, reply.complete))
            case .readMemberships(let read, let account, let reply):
                reader.submit({ try $0.memberships?.entries(of: account, read, $0) ?? [] }, reply.complete)
            case .listRooms(let read, let reply): reader.submit({ try $0.rooms(read) }, reply.complete)
            case .saveRetention(let bounds, let room, let reply):
                jobs.append(Job({ try $0.saveRetention(bounds, of: room) }, reply.complete))
            case .touch(let rooms, let reply):
                let now = wallClock()
                let body: @Sendable (StoreWriter) throws -> Void = { writer in
                    for room in rooms { try writer.touch(room, at: now) }
                }
                jobs.append(Job(body, reply.complete))
            case .changes(_, let reply): reply.fail(RoomStoreError.unsupported)
            }
        }
        if !jobs.isEmpty { writer.submit(jobs) }
    }

    /// The snapshot of a room. A room that the store does not have begins a log, whose identity is durable.
    private func load(_ room: RoomName, _ reply: RoomStoreReply<RoomSnapshot>) {
        let now = wallClock()
        reader.submit({ try $0.load(room) }) { [writer] result in
            switch result {
            case .success(let found?):
                if found.usedAt + Self.touchInterval < now {
                    writer.submit({ try $0.touch(room, at: now) }) { _ in }
                }
                reply.succeed(found.snapshot)
            case .success(nil): writer.submit({ try $0.load(room, at: now) }, reply.complete)
            case .failure(let error): reply.fail(error)
            }
        }
    }

    /// Performs a call, and throws the cause of its error.
    private func answer<Value: Sendable>(_ call: (RoomStoreReply<Value>) -> RoomStoreCall) async throws -> Value {
        do { return try await self.call(call) } catch { throw error.cause }
    }

    /// The snapshot of a room.
    public func load(_ room: RoomName) async throws -> RoomSnapshot { try await answer { .load(room, $0) } }

    /// Appends messages, and erases earlier ones. It returns when both are synced.
    @discardableResult
    public func append(
        _ entries: [LogEntry], erasing erasures: [MessageErasure] = [], to room: RoomName
    ) async throws -> UInt64 {
        try await answer { .append(RoomAppend(room: room, entries: entries, erasures: erasures), $0) }
    }

    /// The kept messages in a range.
    public func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory {
        try await answer { .read(range, of: room, $0) }
    }

    /// Keeps the progress of accounts.
    public func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) async throws {
        try await answer { .saveProgress(progress, of: room, $0) }
    }

    /// Keeps the roles of a room. It returns when they are synced.
    public func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) async throws {
        try await answer { .saveRoles(roles, of: room, replacing: 0, creation: creation, $0) }
    }

    /// Changes membership records. It returns when they are synced.
    public func saveMemberships(_ changes: MembershipChanges, of room: RoomName) async throws -> Set<AccountName> {
        try await answer { .saveMemberships(changes, of: room, $0) }
    }

    /// The entries of an account's rooms. The reading thread finds them by an index.
    public func memberships(of account: AccountName, _ read: MembershipRead) async throws -> [StoredRoomEntry] {
        try await answer { .readMemberships(read, of: account, $0) }
    }

    /// Records that rooms are in use.
    public func touch(_ rooms: [RoomName]) async throws { try await answer { .touch(rooms, $0) } }

    /// The next rooms in the order of their names.
    public func listRooms(_ read: RoomListRead) async throws -> StoredRoomPage {
        try await answer { .listRooms(read, $0) }
    }

    /// Replaces the bounds of a room. It returns when they are synced.
    public func saveRetention(_ bounds: RoomRetention, of room: RoomName) async throws {
        try await answer { .saveRetention(bounds, of: room, $0) }
    }

    /// Whether the store has roles of rooms.
    package func hasRoles() async throws -> Bool {
        try await reader.perform { try $0.hasRoles() }
    }

    // MARK: Retention

    /// Performs one pass of the retention, in steps between which appends are performed. The age of data is measured by
    /// the expiry clock.
    func removeOld(steady: ContinuousClock.Instant) async {
        let (jump, now) = expiryClock.withLock { ($0.observe(wall: wallClock(), steady: steady), $0.now) }
        if let jump { onEvent(.clockJumped(milliseconds: jump)) }
        do {
            try await writer.perform { try $0.saveExpiryTime(now, every: Self.clockInterval) }
            var isDone = false
            while !isDone {
                var damage: DatabaseError?
                do { isDone = try await writer.perform { try $0.removeOld(at: now) } } catch let error as DatabaseError
                    where error.isDamage
                { damage = error }
                let rooms = try await writer.perform { $0.takeDamagedRooms() }
                for room in rooms { onEvent(.retentionFailed(StoreError.damaged(room, offset: 0))) }
                if let damage, rooms.isEmpty { throw damage }
            }
        } catch {
            onEvent(.retentionFailed(error))
        }
    }
}
