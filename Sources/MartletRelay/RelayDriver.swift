import MartletLink
import MartletTransport
import MartletWebSocket
import MartletWire

/// Drives a relay's engine on one loop: reports events to it and performs its outputs.
///
/// Events (bytes, results of the store, deadlines) are reported at once. Outputs are performed at the end of the turn,
/// so a turn causes one append for each room and one write for each connection. A turn reads as much of each connection
/// as `TurnBudget` allows, and continues with one of the connections that have unread input.
///
/// `@unchecked Sendable`: the loop accesses all state, and `enter` checks that. Other threads retain the driver and
/// submit work with `loop.execute`.
final class RelayDriver: LinkAcceptorOwner, TurnEndHandler, @unchecked Sendable {
    /// The unread input in bytes beyond which reads are small.
    static let maxUnreadByteCount = 4 << 20
    /// The size of a small read, in bytes.
    static let smallReadByteCount = 4 << 10  // bound

    /// The interval in which expired attachments are removed.
    static let expiryInterval: Duration = .seconds(60)

    let loop: EventLoop
    let parts: RelayParts
    /// The connection to the bus; nil without one.
    let port: RelayBusPort?
    var engine: RelayEngine
    let acceptor = LinkAcceptor()
    /// The drivers of all loops in order; empty while the relay does not run.
    private(set) var drivers: [RelayDriver] = []
    /// The traffic to each loop.
    var traffic: [LoopTraffic] = []
    /// The connections throttled because of the traffic.
    var throttled: [ConnectionKey] = []
    private(set) var isClosing = false
    /// Calls of the room store in progress, and removals of expired attachments. A shutdown waits for them.
    var storeCalls = 0
    /// Whether `perform` of the store has not returned.
    var isAskingStore = false
    /// Answers of the store that wait for a turn.
    let storeAnswers = Guarded<[(StoreAnswer, duration: Duration)]>([])
    var authentications = 0
    /// The number of authentications started so far.
    var authenticationsStarted: UInt64 = 0
    /// `authenticationsStarted` at the revocation of each account.
    var revokedAt: [AccountName: UInt64] = [:]
    /// The reports of undelivered messages, and the calls of their handler by number.
    var undelivered = UndeliveredQueue()
    var reportCalls: [UInt64: Task<Void, Never>] = [:]
    /// The calls that wait for the results of commands, by number.
    var commands: [UInt64: CheckedContinuation<RoomCommandResult, Never>] = [:]
    /// The number of commands so far.
    var commandCount: UInt64 = 0
    /// Whether the relay is drained when the response to the request for it has left.
    var drainsAfterTurn = false
    /// The page that is read, and those that wait.
    private var pages = Deque<() -> Void>()
    private var isTurnEndPending = false
    private lazy var timer = LoopTimer(on: loop) { [weak self] in self?.deadlinePassed() }
    private lazy var touchTimer = LoopTimer(on: loop) { [weak self] in self?.touchRooms() }
    private lazy var expiryTimer = LoopTimer(on: loop) { [weak self] in self?.expireAttachments() }
    private lazy var busTimer = LoopTimer(on: loop) { [weak self] in self?.beat() }
    private lazy var diskTimer = LoopTimer(on: loop) { [weak self] in self?.measureDisk() }
    private var diskLevel = DiskSpace.Level.ample
    private var idleWaiters: [IdleWaiter] = []
    private var heapTrim: HeapTrim
    var measured = LoopMetrics()

    init(_ parts: RelayParts, on loop: EventLoop, place: LoopPlace, _ port: RelayBusPort?) {
        self.parts = parts
        self.port = port
        self.loop = loop
        heapTrim = HeapTrim(budget: parts.configuration.engine.memoryBudget / place.count)
        var random = loop.random
        var configuration = parts.configuration.engine
        configuration.link.busyRetryAfter = parts.configuration.busyRetryAfter
        if parts.attachments == nil { configuration.link.features.remove(.attachments) }
        configuration.asksRoomPolicy = !(parts.policy is AllowAllRooms)
        configuration.keepsMemberships = parts.store.features.contains(.memberships)
        configuration.sharesRooms = parts.store.features.contains(.shared)
        configuration.busDatagramByteCount = port?.maxDatagramByteCount
        configuration.reportsUndelivered = parts.undeliveredHandler != nil
        configuration.retention = parts.store.retention
        // Without a handler, requests are refused at once.
        configuration.maxRequests = parts.requestHandler == nil ? .max : parts.configuration.maxRequests
        engine = RelayEngine(configuration: configuration, seed: random.next(), place: place)
    }

    /// Sets the drivers of all loops, before any event; an empty array after the last.
    func setDrivers(_ drivers: [RelayDriver]) {
        self.drivers = drivers
        if drivers.isEmpty { failCommands() }
        traffic = Array(repeating: LoopTraffic(), count: drivers.count)
        let interval = parts.configuration.touchInterval
        touchTimer.set(deadline: drivers.isEmpty ? nil : loop.deadline(after: interval))
        // One of the loops suffices.
        let expires = parts.attachments != nil && drivers.first === self
        expiryTimer.set(deadline: expires ? loop.deadline(after: Self.expiryInterval) : nil)
        if port != nil { busTimer.set(deadline: drivers.isEmpty ? nil : loop.currentTime) }
        if parts.configuration.disk != nil {
            diskTimer.set(deadline: drivers.first === self ? loop.currentTime : nil)
        }
    }

    /// Measures the free space on another thread, and reports a change.
    private func measureDisk() {
        guard let disk = parts.configuration.disk else { return }
        loop.startTask { [loop] in
            disk.update()
            loop.execute {
                guard !self.drivers.isEmpty else { return }
                if disk.level != self.diskLevel {
                    self.diskLevel = disk.level
                    self.parts.onEvent(.diskSpaceChanged(disk.level, freeByteCount: disk.freeByteCount))
                }
                self.diskTimer.set(deadline: self.loop.deadline(after: DiskSpace.interval))
            }
        }
    }

    /// Reports the counts of the loop for the relay's beat.
    private func beat() {
        let statistics = engine.statistics
        port?.beat(self, links: statistics.links, rooms: statistics.rooms)
        busTimer.set(deadline: loop.deadline(after: BusPeers.beatInterval))
    }

    /// Events of the bus for the loop.
    func busReceived(_ events: [BusPeers.Event]) {
        let now = enter()
        for event in events { engine.busReceived(event, now: now) }
    }

    private func expireAttachments() {
        enter()
        removeExpiredAttachments()
        expiryTimer.set(deadline: loop.deadline(after: Self.expiryInterval))
    }

    var now: Instant { Instant(nanoseconds: loop.now) }

    // MARK: - Turns

    /// Starts an event. The first event of a turn sets the engine's wall clock and requests the end of the turn.
    @discardableResult
    func enter() -> Instant {
        if !isTurnEndPending {
            loop.preconditionOnLoop()
            isTurnEndPending = true
            engine.wallClock = loop.wallTime
            loop.onTurnEnd(self)
        }
        return now
    }

    func loopTurnWillEnd() {
        noteUnsent()
        performOutputs()
        isTurnEndPending = false
        trimHeap()
        let isMuchUnread = engine.unreadByteCount > Self.maxUnreadByteCount
        loop.readByteCount = isMuchUnread ? Self.smallReadByteCount : EventLoop.readBufferByteCount
        var deadline = engine.deadline
        if let trim = heapTrim.deadline { deadline = min(deadline ?? trim, trim) }
        timer.set(deadline: deadline?.nanoseconds)
        resumeIdleWaiters()
        let end = Instant(nanoseconds: loop.currentTime)
        engine.turnEnded(begunAt: now, now: end)
        measured.turnEnded(after: end - now)
        drainIfRequested()
    }

    private func performOutputs() {
        let now = now
        while let output = engine.nextOutput(now: now) { perform(output, now: now) }
    }

    private func deadlinePassed() {
        engine.deadlinePassed(now: enter())
    }

    /// Notifies the store of the rooms that have members, once in an interval.
    private func touchRooms() {
        enter()
        let rooms = engine.residentRooms
        if !rooms.isEmpty { ask([.touch(rooms)]) }
        touchTimer.set(deadline: loop.deadline(after: parts.configuration.touchInterval))
    }

    private func trimHeap() {
        guard heapTrim.isDue(engine.memoryByteCount, now: now), loop.host == nil else { return }
        Task.detached(priority: .background) { SystemHeap.trim() }
    }

    // MARK: - Connections

    /// Admits a connection by its address; nil if it is to be released and thereby closed (C-11).
    func admit(_ address: SocketAddress?) -> AdmittedPeer? {
        let isForwarder = parts.configuration.webSockets?.isForwarder(address) ?? false
        return AdmittedPeer.admit(address, isForwarder: isForwarder, to: parts, now: now)
    }

    func accept(_ transport: any Transport, _ admitted: AdmittedPeer) {
        // A connection beyond the maximum is released and thereby closed (C-11).
        guard let key = engine.accepted(.reliable, now: enter()) else { return }
        start(transport, key, admitted, webSockets: parts.configuration.webSockets)
    }

    func start(
        _ transport: any Transport, _ key: ConnectionKey, _ admitted: AdmittedPeer, webSockets: WebSocketOptions? = nil
    ) {
        let peer = RelayPeer(admitted, since: loop.wallTime)
        acceptor.start(transport, key, peer, of: self, webSockets: webSockets)
    }

    /// The peer of a connection; nil after its last event.
    func peer(_ key: ConnectionKey) -> RelayPeer? { acceptor[key]?.state as? RelayPeer }

    func received(_ bytes: RawSpan, on key: ConnectionKey) {
        engine.receive(bytes, on: key, now: enter())
        if traffic.contains(where: \.isFull) { throttle(key) }
    }

    /// A fill changes the engine's deadline, so a fill after the end of the turn requests another end.
    func fill(_ buffer: inout OutputRawSpan, on key: ConnectionKey) -> Bool {
        acceptor.noteFill(key)
        return engine.transmit(on: key, into: &buffer, now: enter())
    }

    /// Reports the unsent bytes of connections, which count in the engine's memory budget.
    func noteUnsent() {
        acceptor.takeUnsent { engine.noteUnsent($0, on: $1) }
    }

    func ended(_ key: ConnectionKey) {
        engine.endOfStream(key, now: enter())
    }

    /// Takes the share of the address that a proxy states, or else of its own (C-122).
    func connected(_ connection: AcceptedConnection) {
        guard let peer = connection.state as? RelayPeer, peer.admitted.isForwarder else { return }
        guard let admitted = AdmittedPeer.admit(connection.transport.remoteAddress, to: parts, now: now) else {
            return connection.transport.abort()
        }
        peer.admitted = admitted
    }

    func closed(_ connection: AcceptedConnection, _ reason: CloseReason) {
        let address = connection.transport.remoteAddress
        switch reason {
        case .error(.tls(let error)): parts.onEvent(.tlsFailed(error, peer: address))
        case .error(.webSocket(let error)): parts.onEvent(.webSocketFailed(error, peer: address))
        default: break
        }
        // The peer counts until the end of a response in place of an upgrade (C-131).
        if (connection.transport as? WebSocketTransport)?.isResponding == true { connected(connection) }
        let peer = connection.state as? RelayPeer
        peer?.authentication?.cancel()
        peer?.authenticationDelay = nil
        acceptor.remove(connection)
        engine.closed(connection.key, now: enter())
    }

    /// Runs `work` on the loop and returns the result.
    func onLoop<Answer: Sendable>(_ work: @escaping @Sendable (RelayDriver) -> Answer) async -> Answer {
        await withCheckedContinuation { continuation in
            loop.execute { continuation.resume(returning: work(self)) }
        }
    }

    /// Reads a page on the loop, one after another. A turn reads few of them, so that administrators who list at the
    /// same time delay the links little.
    func page<Answer: Sendable>(_ read: @escaping @Sendable (RelayDriver) -> Answer) async -> Answer {
        await withCheckedContinuation { continuation in
            loop.execute { [self] in
                pages.append { continuation.resume(returning: read(self)) }
                if pages.count == 1 { readPage() }
            }
        }
    }

    private func readPage() {
        pages[0]()
        loop.execute { [self] in
            _ = pages.popFirst()
            if !pages.isEmpty { readPage() }
        }
    }

    // MARK: - Operator

    func drain(_ notice: Notice) {
        acceptor.noteStop()
        engine.drain(retryAfter: notice.retryAfter, redirect: notice.redirect, now: enter())
    }

    func revoke(_ account: AccountName) {
        if authentications > 0 { revokedAt[account] = authenticationsStarted }
        engine.revoke(account, now: enter())
    }

    func kick(_ account: AccountName) { engine.kick(account, now: enter()) }

    func revokeRoomDecisions(of account: AccountName?, in room: RoomName?) {
        engine.revokeRoomDecisions(of: account, in: room, now: enter())
    }

    /// Whether the account was revoked during its authentication (C-28).
    func wasRevoked(_ account: AccountName, sinceAuthentication number: UInt64) -> Bool {
        revokedAt[account].map { number <= $0 } ?? false
    }

    /// Aborts all connections.
    func closeAll() {
        enter()
        isClosing = true
        endReports()
        acceptor.abortAll()
    }

    /// The measurements of the loop.
    var metrics: RelayMetrics {
        var metrics = RelayMetrics()
        metrics.engine = engine.metrics
        metrics.engine.statistics = statistics
        metrics.loops = measured
        metrics.storeCallCount = storeCalls
        metrics.authenticationCount = authentications
        return metrics
    }

    // MARK: - Idle state

    /// What the end of a relay waits for.
    enum Condition {
        case hasNoConnection
        /// There is no call of the stores either.
        case isIdle
    }

    private func holds(_ condition: Condition) -> Bool {
        switch condition {
        case .hasNoConnection: acceptor.isEmpty
        case .isIdle: acceptor.isEmpty && storeCalls == 0 && engine.attachmentCallCount == 0
        }
    }

    /// Resumes with true when the condition holds, and with false at the deadline `end` of the loop's clock.
    func wait(for condition: Condition, until end: UInt64?, _ continuation: CheckedContinuation<Bool, Never>) {
        enter()
        let waiter = IdleWaiter(condition, continuation)
        idleWaiters.append(waiter)
        guard let end else { return }
        waiter.timer = LoopTimer(on: loop) { [weak self] in
            self?.idleWaiters.removeAll { $0 === waiter }
            waiter.finish(false)
        }
        waiter.timer?.set(deadline: end)
    }

    private func resumeIdleWaiters() {
        guard !idleWaiters.isEmpty else { return }
        idleWaiters.removeAll { waiter in
            guard holds(waiter.condition) else { return false }
            waiter.finish(true)
            return true
        }
    }
}

/// A waiting call of `wait(for:)`, with its timer.
private final class IdleWaiter {
    let condition: RelayDriver.Condition
    private let continuation: CheckedContinuation<Bool, Never>
    var timer: LoopTimer?

    init(_ condition: RelayDriver.Condition, _ continuation: CheckedContinuation<Bool, Never>) {
        (self.condition, self.continuation) = (condition, continuation)
    }

    func finish(_ isIdle: Bool) {
        timer?.set(deadline: nil)
        timer = nil
        continuation.resume(returning: isIdle)
    }
}
