import MartletAuthentication
import MartletLink
import MartletRelay
import MartletTransport

/// What the relays of a database notify each other of, on a connection of its own: reports of changed rooms, and the
/// datagrams of the bus.
///
/// What cannot be sent is dropped, and what arrives while the connection is away is missed.
actor PostgresListener {
    /// The maximum duration of a wait until the server has the last datagrams.
    private static let flushTimeout = Duration.seconds(1)  // bound
    /// The least interval of reports. A room in which messages are frequent is reported once in it.
    private static let reportInterval = Duration.milliseconds(20)  // bound
    /// The least interval of reports beside a bus, which brings the messages. A report then replaces a lost datagram
    /// only, and wakes a session and a relay for each relay of the database.
    private static let busReportInterval = Duration.milliseconds(250)  // bound

    private nonisolated let loop: EventLoop
    private var connection: PostgresConnection?
    private var reports = RevisionReports()
    /// The time in nanoseconds of the loop's clock before which no reports are sent.
    private var reportsDueAt: UInt64 = 0
    private var interval = PostgresListener.reportInterval
    private lazy var reportTimer = LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.wake() } }
    private nonisolated let receivers = Guarded(Receivers())
    /// The channel of the bus, of which the schema's is the one of reports; nil before the first connection.
    private var busChannel: String?
    private var sender: CheckedContinuation<Void, Never>?
    private var isClosed = false
    private var isSending = false
    /// Who waits until the datagrams are sent.
    private var flushes: [CheckedContinuation<Void, Never>] = []
    private lazy var flushTimer = LoopTimer(on: loop) { [weak self] in self?.assumeIsolated { $0.endFlush() } }
    /// The datagrams of all threads.
    private nonisolated let datagrams = Guarded(DatagramQueue())

    private struct Receivers {
        var reports: (@Sendable ([RoomRevision]) -> Void)?
        var datagrams: (@Sendable ([UInt8]) -> Void)?
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: loop) }

    init(on loop: EventLoop) { self.loop = loop }

    func open(_ uri: String, as place: ShardPlace?, _ deadlines: PostgresMachine.Deadlines) {
        let connection = PostgresConnection(
            to: uri, on: loop, deadlines,
            prepareSession: { [weak self] connection throws(PostgresError) in
                try await PostgresSchema.prepare(connection, creates: false)
                try await PostgresSchema.check(place, connection)
                let channels = try await PostgresSchema.channels(connection)
                // A notification can arrive with the result of LISTEN.
                await self?.listens(on: channels.bus)
                try await PostgresSchema.listen(to: channels, connection)
            }, onFailure: { _ in },
            onNotification: { [weak self] channel, text in self?.assumeIsolated { $0.notified(channel, text) } })
        self.connection = connection
        Task(executorPreference: loop) { await self.serve(connection) }
    }

    func close() async {
        isClosed = true
        endFlush()
        wake()
        await connection?.close()
    }

    private func listens(on channel: String) { busChannel = channel }

    /// Sets the recipient of the reports of other relays.
    nonisolated func observe(_ observer: @escaping @Sendable ([RoomRevision]) -> Void) {
        receivers.withLock { $0.reports = observer }
    }

    /// The relay uses a bus.
    nonisolated func delayReports() {
        loop.execute { self.assumeIsolated { $0.interval = Self.busReportInterval } }
    }

    /// Sets the recipient of datagrams.
    nonisolated func receive(_ receiver: @escaping @Sendable ([UInt8]) -> Void) {
        receivers.withLock { $0.datagrams = receiver }
    }

    /// Ends the calls of the recipient of datagrams. A current call has returned, since it is made on the loop.
    func endReceiving() { receivers.withLock { $0.datagrams = nil } }

    /// Other relays are to learn of a change.
    func report(_ revision: RoomRevision) {
        guard connection != nil else { return }
        reports.add(revision)
        scheduleReports()
    }

    private var areReportsDue: Bool { !reports.isEmpty && reportsDueAt <= loop.now }

    private func scheduleReports() {
        if areReportsDue { wake() } else if !reports.isEmpty { reportTimer.set(deadline: reportsDueAt) }
    }

    /// Sends datagrams, on any thread.
    nonisolated func send(_ datagrams: [[UInt8]]) {
        let isFirst = self.datagrams.withLock { queue in
            defer { queue.add(datagrams, maxDatagramByteCount: PostgresBus.maxDatagramByteCount) }
            return queue.isEmpty
        }
        if isFirst { loop.execute { self.assumeIsolated { $0.wake() } } }
    }

    /// Waits until the server has the datagrams, for at most `flushTimeout`.
    func flush() async {
        guard connection != nil, !isClosed, isSending || !datagrams.withLock({ $0.isEmpty }) else { return }
        flushTimer.set(deadline: loop.deadline(after: Self.flushTimeout))
        await withCheckedContinuation { flushes.append($0) }
    }

    private func endFlush() {
        guard !flushes.isEmpty else { return }
        flushTimer.set(deadline: nil)
        for flush in flushes { flush.resume() }
        flushes = []
    }

    private func wake() {
        sender?.resume()
        sender = nil
    }

    private func notified(_ channel: String, _ text: String) {
        guard channel == busChannel else {
            if let revision = RevisionReports.revision(in: text) { receivers.withLock(\.reports)?([revision]) }
            return
        }
        // Each program with access to the database can notify.
        guard let datagram = Base64.decode(text.utf8, .standard), !datagram.isEmpty else { return }
        receivers.withLock(\.datagrams)?(datagram)
    }

    private func serve(_ connection: PostgresConnection) async {
        while await connection.ready() {
            while !areReportsDue, datagrams.withLock({ $0.isEmpty }) {
                guard !isClosed else { return }
                await withCheckedContinuation { sender = $0 }
            }
            guard !isClosed else { return }
            isSending = true
            _ = try? await connection.run(takeQueries())
            isSending = false
            if datagrams.withLock({ $0.isEmpty }) { endFlush() }
        }
    }

    /// What waits, as one transaction.
    private func takeQueries() -> [PostgresQuery] {
        var queries: [PostgresQuery] = []
        let texts = datagrams.withLock { $0.take() }.map { Base64.encode($0, .standard) }
        if !texts.isEmpty {
            var query = PostgresQuery(PostgresStatements.notifyBus)
            query.add(texts.map { Array($0.utf8) })
            queries.append(query)
        }
        if areReportsDue {
            var query = PostgresQuery(PostgresStatements.notify)
            query.add(reports.take().map { Array(RevisionReports.text(of: $0).utf8) })
            queries.append(query)
            reportsDueAt = loop.deadline(after: interval)
            scheduleReports()
        }
        return queries
    }
}
