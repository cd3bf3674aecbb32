import CMartletPostgres
import MartletLink
public import MartletRelay
import MartletTransport

extension RoomStore where Self == PostgresStore {
    /// A store in a database of PostgreSQL, whose tables are created if it has none.
    ///
    /// - Throws: `PostgresError`.
    public static func postgres(
        _ uri: String, configuration: PostgresStore.Configuration = PostgresStore.Configuration(),
        onEvent: @escaping @Sendable (PostgresEvent) -> Void = { _ in }
    ) async throws -> PostgresStore {
        try await PostgresStore(uri, configuration: configuration, onEvent: onEvent)
    }
}

/// A store of rooms in a database of PostgreSQL (Specs/storage.md §6). Several stores may use one database, if all of
/// them are shared.
///
/// A message is accepted when its transaction is committed. An append takes effect only if the log ends where it is
/// expected to; otherwise it fails with `RoomStoreError.conflict`. While the database is away, calls wait.
///
/// | state | owns | ends |
/// |---|---|---|
/// | open | a loop with its thread, connections | `close`, or no reference |
/// | closed | nothing | never |
public final class PostgresStore: RoomStore {
    /// How a store uses its database.
    public struct Configuration: Sendable {
        /// The bounds of each room.
        public var retention = PostgresRetention()
        /// The number of connections, at least 2: one that writes, and those that read.
        public var maxConnectionCount = 4
        /// Whether other relays use the database at the same time. Each of them must say so. A store that is
        /// not shared is refused a database that another relay uses.
        public var isShared = false
        /// The maximum duration for which calls wait for a database that is away. Then they fail.
        public var maxWait = Duration.seconds(600)
        /// The place of the database among several; nil for one that is not.
        var place: ShardPlace?
        /// The deadlines of connections.
        var deadlines = PostgresMachine.Deadlines()
        /// The time in milliseconds since 1970.
        var wallClock: @Sendable () -> UInt64 = { EventLoop.wallClock }

        /// Creates the default configuration.
        public init() {}
    }

    /// The interval between two passes of the retention, in milliseconds.
    static let passInterval: UInt64 = 600 * 1000  // bound
    /// The age of a room's last use, in milliseconds, beyond which a load updates it.
    static let touchInterval: UInt64 = 3600 * 1000  // bound

    private let pool: PostgresPool
    private let listener: PostgresListener
    private let loop: EventLoop
    private let wallClock: @Sendable () -> UInt64
    private let onEvent: @Sendable (PostgresEvent) -> Void
    private let expiryClock: Guarded<ExpiryClock>
    private let calls = Guarded<[RoomStoreCall]>([])
    private let passes = Guarded<Task<Void, Never>?>(nil)
    private let busKey: [UInt8]
    /// The bounds of each room.
    public let retention: RoomRetention
    /// Roles, membership records, bounds of rooms and the list of rooms; `shared` as in the configuration.
    public let features: RoomStoreFeatures

    /// Connects to a database, and creates the tables or brings them to the newest version.
    ///
    /// - Parameter uri: A URI of libpq, `postgres://user@host/database`. The password can also be in the variable
    ///   PGPASSWORD or in a password file.
    /// - Throws: `PostgresError`.
    public init(
        _ uri: String, configuration: Configuration = Configuration(),
        onEvent: @escaping @Sendable (PostgresEvent) -> Void = { _ in }
    ) async throws {
        try Self.checkURI(uri)
        self.onEvent = onEvent
        wallClock = configuration.wallClock
        retention = configuration.retention.reported
        let always: RoomStoreFeatures = [.roles, .memberships, .roomList, .roomRetention]
        features = configuration.isShared ? always.union(.shared) : always
        loop = try EventLoop(name: "martlet-postgres")
        listener = PostgresListener(on: loop)
        pool = PostgresPool(configuration, on: loop, listener, onEvent: onEvent)
        do {
            try await pool.open(uri)
            let source = try await pool.read { try await $0.run([PostgresQuery(PostgresStatements.copySource)])[0] }
            if let name = source.rows.first.flatMap({ source.text($0, 0) }) {
                throw StoreTransferError.incomplete(source: name)
            }
            let key = try await pool.read { try await $0.run([PostgresQuery(PostgresStatements.busKey)])[0] }
            guard let row = key.rows.first else { throw PostgresError.missingTables }
            busKey = key.bytes(row, 0)
            let clock = PostgresQuery(PostgresStatements.clock)
            let stored = try await pool.read { try await $0.run([clock])[0].int64(0, 0) }
            expiryClock = Guarded(
                ExpiryClock(stored: UInt64(exactly: stored), wall: configuration.wallClock(), steady: .now))
            let now = expiryClock.withLock { $0.now }
            try await pool.read { try await PostgresRetention.saveClock(now, $0) }
            if configuration.place == nil { try await leaveCopy() }
        } catch {
            await pool.close()
            await loop.shutdown()
            throw error
        }
        let task = Task { [weak self] in
            while true {
                do { try await Task.sleep(for: .milliseconds(Self.passInterval)) } catch { return }
                await self?.removeOld(steady: .now)
            }
        }
        passes.withLock { $0 = task }
    }

    /// The store is a copy no more.
    func leaveCopy() async throws {
        try await pool.read { _ = try await $0.run([PostgresQuery(PostgresStatements.leaveCopy)]) }
    }

    deinit {
        passes.withLock { $0?.cancel() }
        Task { [pool, loop] in
            await pool.close()
            await loop.shutdown()
        }
    }

    /// Whether a text names a database and not a directory.
    public static func isURI(_ text: String) -> Bool {
        text.hasPrefix("postgres://") || text.hasPrefix("postgresql://")
    }

    /// Checks a URI without a connection.
    ///
    /// - Throws: `PostgresError.invalidURI`, whose text has no part of the URI.
    public static func checkURI(_ uri: String) throws(PostgresError) {
        guard isURI(uri) else { throw .invalidURI("it does not begin with postgres:// or postgresql://") }
        // The text of libpq has parts of the URI, which may be the password.
        let options = unsafe PQconninfoParse(uri, nil)
        guard unsafe options != nil else {
            throw .invalidURI("libpq cannot parse it; escape characters of names and passwords as %XX")
        }
        unsafe PQconninfoFree(options)
    }

    /// Checks that a database is reachable and fit for the store, and changes nothing.
    ///
    /// - Throws: `PostgresError`, or an error of the system without threads.
    public static func check(_ uri: String) async throws {
        try await check(uri, isAlone: false)
    }

    /// - Parameter isAlone: Whether a database that is one of several is refused.
    package static func check(_ uri: String, isAlone: Bool) async throws {
        let kept = try await PostgresConnection.once(uri) { connection throws(PostgresError) in
            try await PostgresSchema.kept(connection)
        }
        if isAlone, let refusal = kept.refusal(as: nil) { throw refusal }
    }

    /// Completes the waiting calls if the database answers, and ends the connections. Later calls fail.
    public func close() async {
        passes.withLock { $0?.cancel() }
        await pool.close()
        await loop.shutdown()
    }

    /// Calls fail from now on while the database is away, so that a relay can end.
    public func endWaiting() async { await pool.endWaiting() }

    /// Reports what other relays change, by LISTEN and NOTIFY.
    public func observe(_ report: @escaping @Sendable ([RoomRevision]) -> Void) {
        listener.observe(report)
    }

    /// Delays the reports, and returns the key of the database.
    public func beginBus() -> [UInt8]? {
        listener.delayReports()
        return busKey
    }

    /// The bus of the relays that share the database. Without `isShared` it loses everything.
    public var bus: PostgresBus { PostgresBus(listener) }

    /// Performs the calls on the connections of the store.
    public func perform(_ calls: [RoomStoreCall]) {
        let isFirst = self.calls.withLock { waiting in
            defer { waiting += calls }
            return waiting.isEmpty
        }
        guard isFirst else { return }
        loop.execute { self.passCalls() }
    }

    private func passCalls() {
        let taken = calls.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        let time = wallClock()
        pool.assumeIsolated { $0.perform(taken, at: time) }
    }

    /// Whether the store has roles of rooms.
    package func hasRoles() async throws -> Bool {
        try await pool.read { try await PostgresReader.hasRoles($0) }
    }

    /// Makes a pass of the retention, unless another relay has made one. The age of data is measured by the expiry
    /// clock.
    func removeOld(steady: ContinuousClock.Instant, every interval: UInt64 = passInterval) async {
        let (jump, now) = expiryClock.withLock { ($0.observe(wall: wallClock(), steady: steady), $0.now) }
        if let jump { onEvent(.clockJumped(milliseconds: jump)) }
        do { try await pool.removeOld(at: now, every: interval) } catch { onEvent(.retentionFailed(error)) }
    }
}
