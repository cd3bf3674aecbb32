import CMartletPostgres
import MartletLink
import MartletTransport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The first exchanges of a connection, on its loop.
typealias PostgresPreparation =
    nonisolated(nonsending) @Sendable (PostgresConnection) async throws(PostgresError) -> Void
/// A call that uses a connection, on its loop.
typealias PostgresWork<Value> = nonisolated(nonsending) @Sendable (PostgresConnection) async throws -> Value

/// A connection of libpq on a loop: its socket, its timer, and the statements under way. `PostgresMachine` decides.
///
/// The connection is in pipeline mode. The statements of an exchange are sent together, and are one transaction unless
/// they begin one by themselves.
@safe actor PostgresConnection {
    private struct Exchange {
        /// Whether each result that is still to come is that of a statement, and not of its preparation.
        var isStatement: ArraySlice<Bool>
        var results: [PostgresResult] = []
        var error: PostgresError?
        let continuation: CheckedContinuation<Result<[PostgresResult], PostgresError>, Never>
    }

    private nonisolated let loop: EventLoop
    private let uri: String
    private let prepareSession: PostgresPreparation
    private let onReady: @Sendable () -> Void
    private let onFailure: @Sendable (PostgresError) -> Void
    private let onNotification: @Sendable (_ channel: String, _ text: String) -> Void
    private var machine: PostgresMachine
    private var timer: LoopTimer?
    /// The duration after which the server cancels a statement, or ends the connection within a transaction.
    nonisolated let serverTimeout: Duration
    private var connection: OpaquePointer?
    private var watch: DescriptorWatch?
    /// Whether libpq has connected, so that statements can be sent.
    private var isConnected = false
    /// The number of connections that libpq has made.
    private var attempt: UInt64 = 0
    private var prepared: Set<PostgresStatement> = []
    private var exchange: Exchange?
    private var waiters: [CheckedContinuation<Bool, Never>] = []
    private var isClosed = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: loop) }

    /// - Parameters:
    ///   - prepareSession: Performs the first exchanges of each connection.
    ///   - onReady: Is called on the loop for each connection that was prepared.
    ///   - onFailure: Is called on the loop for each attempt that fails, and for each connection that ends.
    ///   - onNotification: Is called on the loop for each notification of other sessions.
    init(
        to uri: String, on loop: EventLoop, _ deadlines: PostgresMachine.Deadlines,
        prepareSession: @escaping PostgresPreparation, onReady: @escaping @Sendable () -> Void = {},
        onFailure: @escaping @Sendable (PostgresError) -> Void,
        onNotification: @escaping @Sendable (_ channel: String, _ text: String) -> Void = { _, _ in }
    ) {
        self.onNotification = onNotification
        self.loop = loop
        self.uri = uri
        self.prepareSession = prepareSession
        self.onReady = onReady
        self.onFailure = onFailure
        serverTimeout = deadlines.server
        machine = PostgresMachine(deadlines, now: Instant(nanoseconds: EventLoop.clock))
    }

    /// A connection that was prepared by the first attempt.
    static func open(
        _ uri: String, on loop: EventLoop, _ deadlines: PostgresMachine.Deadlines = PostgresMachine.Deadlines(),
        _ prepareSession: @escaping PostgresPreparation
    ) async throws(PostgresError) -> PostgresConnection {
        let (results, continuation) = AsyncStream<PostgresError?>.makeStream()
        let connection = PostgresConnection(
            to: uri, on: loop, deadlines, prepareSession: prepareSession, onReady: { continuation.yield(nil) },
            onFailure: { continuation.yield($0) })
        // The first attempt begins with the first wait.
        let waiting = Task(executorPreference: loop) { await connection.ready() }
        for await failure in results {
            guard let failure else { return connection }
            await connection.close()
            _ = await waiting.value
            throw failure
        }
        return connection
    }

    /// Connects on a loop of its own, performs a body, and ends both.
    ///
    /// - Throws: `PostgresError`, or an error of the system without threads.
    static func once<Value: Sendable>(
        _ uri: String, _ deadlines: PostgresMachine.Deadlines = PostgresMachine.Deadlines(),
        _ body: nonisolated(nonsending) @escaping @Sendable (PostgresConnection) async throws(PostgresError) -> Value
    ) async throws -> Value {
        try PostgresStore.checkURI(uri)
        let loop = try EventLoop(name: "martlet-postgres")
        let value = Guarded<Value?>(nil)
        do {
            let connection = try await open(uri, on: loop, deadlines) { connection throws(PostgresError) in
                let result = try await body(connection)
                value.withLock { $0 = result }
            }
            await connection.close()
        } catch {
            await loop.shutdown()
            throw error
        }
        await loop.shutdown()
        guard let value = value.withLock({ $0 }) else { throw PostgresError.closed }
        return value
    }

    private var now: Instant { Instant(nanoseconds: loop.now) }

    /// Waits until statements can be sent. Returns false if the connection is closed.
    func ready() async -> Bool {
        if timer == nil { arm() }
        if isClosed || machine.isIdle { return !isClosed }
        return await withCheckedContinuation { waiters.append($0) }
    }

    /// Sends statements to a connection that is ready, and waits for their results.
    func run(_ queries: [PostgresQuery]) async throws(PostgresError) -> [PostgresResult] {
        guard machine.isIdle else { throw .unavailable("the connection has ended") }
        machine.send(now: now)
        arm()
        let results = try await perform(queries)
        return results
    }

    /// Performs an exchange, also before the connection is ready.
    func perform(_ queries: [PostgresQuery]) async throws(PostgresError) -> [PostgresResult] {
        guard isConnected, exchange == nil else { throw .unavailable("the connection has ended") }
        return try await withCheckedContinuation { continuation in
            exchange = Exchange(isStatement: [], continuation: continuation)
            var isStatement: [Bool] = []
            for query in queries {
                if prepared.insert(query.statement).inserted {
                    isStatement.append(false)
                    guard
                        unsafe PQsendPrepare(connection, query.statement.name, query.statement.text, 0, nil) == 1
                    else { return fail(libraryError) }
                }
                isStatement.append(true)
                guard send(query) else { return fail(libraryError) }
            }
            exchange?.isStatement = isStatement[...]
            guard unsafe PQpipelineSync(connection) == 1 else { return fail(libraryError) }
            flush()
        }.get()
    }

    private func send(_ query: PostgresQuery) -> Bool {
        let (count, name) = (query.ranges.count, query.statement.name)
        let lengths = query.ranges.map { Int32($0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: count)
        return unsafe query.bytes.withUnsafeBytes { bytes in
            // A value of no bytes needs an address, too. NULL has none.
            let empty: StaticString = ""
            let base = unsafe bytes.baseAddress ?? UnsafeRawPointer(empty.utf8Start)
            let values = unsafe query.ranges.map { range in
                unsafe range.map { unsafe (base + $0.lowerBound).assumingMemoryBound(to: CChar.self) }
            }
            return unsafe PQsendQueryPrepared(connection, name, Int32(count), values, lengths, formats, 1) == 1
        }
    }

    /// Ends a connection whose transaction was not completed, so that the server rolls it back.
    func finishTransaction() {
        guard isConnected, unsafe PQtransactionStatus(connection) != PQTRANS_IDLE else { return }
        fail(.unavailable("a transaction was not completed"))
    }

    /// Ends the connection because of an error, and connects again.
    private func fail(_ error: PostgresError, isReported: Bool = true) {
        guard machine.broken(now: now, random: .random(in: 0 ... .max)) == .disconnect else { return }
        disconnect(error)
        arm()
        if isReported { onFailure(error) }
    }

    /// Ends the connection. Waiting tasks return.
    func close() {
        isClosed = true
        if machine.close() == .disconnect { disconnect(.closed) }
        timer?.set(deadline: nil)
        resumeWaiters()
    }

    // MARK: Time

    private func arm() {
        if timer == nil {
            timer = LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.expired() } }
        }
        timer?.set(deadline: machine.deadline?.nanoseconds)
    }

    private func expired() {
        switch machine.expired(now: now, random: .random(in: 0 ... .max)) {
        case .nothing: arm()
        case .connect:
            arm()
            connect()
        case .disconnect:
            let error = PostgresError.unavailable("the deadline has passed")
            disconnect(error)
            arm()
            onFailure(error)
        }
    }

    // MARK: The library

    private var libraryError: PostgresError { .unavailable(unsafe String(cString: PQerrorMessage(connection))) }

    private func connect() {
        // Options behind the URI would replace its own.
        let options: [(String, String)] = [
            ("fallback_application_name", "martlet"), ("connect_timeout", "10"), ("tcp_user_timeout", "15000"),
            ("target_session_attrs", "read-write"),
            ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
            ("dbname", uri), ("client_encoding", "UTF8"),
        ]
        unsafe connection = Self.withPointers(to: options.map(\.0)) { keys in
            unsafe Self.withPointers(to: options.map(\.1)) { values in unsafe PQconnectStartParams(keys, values, 1) }
        }
        guard unsafe connection != nil, unsafe PQstatus(connection) != CONNECTION_BAD else { return fail(libraryError) }
        // Notices would be written to standard error.
        unsafe PQsetNoticeReceiver(connection, { _, _ in }, nil)
        wait(readable: false)
    }

    /// Calls `body` with an array of C strings that ends with nil.
    private static func withPointers<Result>(
        to texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        let pointers = unsafe texts.map { unsafe UnsafePointer(strdup($0)) } + [nil]
        defer { unsafe pointers.forEach { unsafe free(UnsafeMutablePointer(mutating: $0)) } }
        return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress!) }
    }

    /// Waits for the library's socket, which can be a new one after each step of an attempt.
    private func wait(readable: Bool) {
        watch?.close()
        do {
            watch = try DescriptorWatch(unsafe PQsocket(connection), on: loop) { [weak self] in
                self?.assumeIsolated { $0.pollReady() }
            }
            watch?.wait(readable: readable, writable: !readable)
        } catch {
            fail(.unavailable("\(error)"))
        }
    }

    private func pollReady() {
        if isConnected { return receive() }
        switch unsafe PQconnectPoll(connection) {
        case PGRES_POLLING_READING: wait(readable: true)
        case PGRES_POLLING_WRITING: wait(readable: false)
        case PGRES_POLLING_OK:
            guard unsafe PQsetnonblocking(connection, 1) == 0, unsafe PQenterPipelineMode(connection) == 1 else {
                return fail(libraryError)
            }
            isConnected = true
            wait(readable: true)
            attempt += 1
            Task(executorPreference: loop) { [attempt] in await self.setUp(attempt) }
        default: fail(libraryError)
        }
    }

    /// - Parameter number: The connection for which the session is prepared; a later one may have begun meanwhile.
    private func setUp(_ number: UInt64) async {
        do throws(PostgresError) {
            try await prepareSession(self)
        } catch {
            if isCurrent(number) {
                fail(error)
            } else if !isClosed, !error.isTransient {
                // The refused statement has ended the connection, and calls would have reported it themselves.
                onFailure(error)
            }
            return
        }
        guard isCurrent(number) else { return }
        machine.connected()
        arm()
        onReady()
        resumeWaiters()
    }

    private func isCurrent(_ number: UInt64) -> Bool { number == attempt && isConnected }

    private func resumeWaiters() {
        let resumed = waiters
        waiters = []
        for waiter in resumed { waiter.resume(returning: !isClosed) }
    }

    /// Sends what the library holds, and waits for the answers, or until more can be sent.
    private func flush() {
        switch unsafe PQflush(connection) {
        case 0: watch?.wait(readable: true, writable: false)
        case 1: watch?.wait(readable: true, writable: true)
        default: fail(libraryError)
        }
    }

    private func receive() {
        guard unsafe PQconsumeInput(connection) == 1 else { return fail(libraryError) }
        flush()
        while isConnected, exchange != nil, unsafe PQisBusy(connection) == 0 {
            // The results of a statement end with nil.
            guard let pointer = unsafe PQgetResult(connection) else {
                if unsafe PQstatus(connection) == CONNECTION_BAD { return fail(libraryError) }
                continue
            }
            let status = unsafe PQresultStatus(pointer)
            let result = unsafe PostgresResult(pointer)
            switch status {
            case PGRES_PIPELINE_SYNC:
                complete()
                return takeNotifications()
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                if exchange?.isStatement.popFirst() == true { exchange?.results.append(result) }
            default:
                _ = exchange?.isStatement.popFirst()
                // The first error has the reason; the statements behind it are skipped.
                if exchange?.error == nil { exchange?.error = result.error }
            }
        }
        guard isConnected else { return }
        takeNotifications()
        if exchange == nil, unsafe PQstatus(connection) == CONNECTION_BAD { fail(libraryError) }
    }

    private func takeNotifications() {
        while let notification = unsafe PQnotifies(connection) {
            let isOwn = unsafe notification.pointee.be_pid == PQbackendPID(connection)
            if !isOwn, let channel = unsafe notification.pointee.relname, let text = unsafe notification.pointee.extra {
                onNotification(unsafe String(cString: channel), unsafe String(cString: text))
            }
            unsafe PQfreemem(notification)
        }
    }

    private func complete() {
        guard let done = exchange else { return }
        exchange = nil
        if done.error?.isTransient != true {
            machine.answered()
            arm()
        }
        guard let error = done.error else { return done.continuation.resume(returning: .success(done.results)) }
        done.continuation.resume(returning: .failure(error))
        // It is not known which statements were prepared.
        fail(error, isReported: error.isTransient)
    }

    private func disconnect(_ error: PostgresError) {
        watch?.close()
        watch = nil
        if unsafe connection != nil { unsafe PQfinish(connection) }
        unsafe connection = nil
        isConnected = false
        prepared = []
        exchange?.continuation.resume(returning: .failure(error))
        exchange = nil
    }
}
