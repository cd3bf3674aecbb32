import MartletLink
import MartletTransport
import MartletWire

/// The driver of a client's engine on a loop. It reports the events of the application, the connections and the clock
/// to the engine, and performs the engine's outputs. It decides nothing.
///
/// After each event, `settle` performs all outputs, delivers the received items to the rooms, and sets the timer.
///
/// | phase | left by |
/// |---|---|
/// | running | stop, abandon; the shutdown of the loop leads from each phase to over |
/// | flushing | the relay has accepted all messages, or `flushTimeout` has passed |
/// | stopping | the engine has ended the link, within its timeouts |
/// | draining | the outbox has completed its operations; or its outcomes, and `flushTimeout` has passed again (C-83) |
/// | over | nothing |
final class ClientDriver: LoopStopHandler, @unchecked Sendable {  // all state is used on its loop only
    enum Phase {
        case running
        case flushing
        case stopping
        case draining
        case over
    }

    /// The maximum duration, after the flush timeout, until the outbox has stored the outcomes that have arrived.
    static let outcomeTimeout: Duration = .seconds(1)
    /// The maximum duration until the outbox stores the handled cursor.
    static let cursorDelay: Duration = .milliseconds(50)

    let life: ClientLife
    let loop: EventLoop
    let mailbox: Mailbox
    private(set) var device: DeviceID
    var engine: ClientEngine
    var phase = Phase.running

    var configuration: Client.Configuration { life.identity.configuration }

    var rooms = RoomTable()
    var outbox: DriverOutbox
    var requests = PendingRequests()
    var transfers = TransferTable()
    var counts = ClientMetrics.Counts()
    let connector: LinkConnector

    private var timer: LoopTimer?
    private var flushTimer: LoopTimer?
    /// Whether the end waits for the outbox to store outcomes.
    private var waitsForOutcomes = false
    private var cursorTimer: LoopTimer?
    private(set) var telemetryTimer: LoopTimer?
    /// The request with points of the application that has no outcome.
    var telemetryRequest: UInt64?
    private var stopPromises: [Promise<Void>] = []
    /// The calls that wait for the list of the account's rooms.
    var listPromises: [Promise<[RoomSummary]>] = []
    private var commands: [Mailbox.Command] = []
    /// The results of `cancel` calls, which are returned after the states of the messages have changed.
    private var cancellations: [(Promise<Bool>, Bool)] = []
    private var isSettling = false
    /// The number of recordings of faults.
    private var faultCount = 0

    init(_ life: ClientLife, _ opened: OutboxState) {
        self.life = life
        loop = life.loop
        mailbox = life.mailbox
        device = opened.device
        connector = LinkConnector(LinkConnector.Configuration(life.identity), on: life.loop)
        var random = loop.random
        engine = ClientEngine(
            configuration: ClientConfiguration(life.identity, device: opened.device), seed: random.next(),
            now: Instant(nanoseconds: loop.currentTime))
        outbox = DriverOutbox(life, opened)
        life.telemetry?.withBatches { $0.restore(opened.points) }
    }

    /// The time at which this turn of the loop began.
    var now: Instant { Instant(nanoseconds: loop.now) }

    // MARK: Start

    /// Starts the engine. It is called on the loop after the mailbox was opened. Returns false if the loop was shut
    /// down; the client has then ended.
    @discardableResult
    func start() -> Bool {
        guard loop.add(self) else {
            finish()
            return false
        }
        timer = LoopTimer(on: loop) { [weak self] in self?.timerFired() }
        flushTimer = LoopTimer(on: loop) { [weak self] in self?.flushTimeoutPassed() }
        cursorTimer = LoopTimer(on: loop) { [weak self] in self?.pollHandledMarks() }
        telemetryTimer = LoopTimer(on: loop) { [weak self] in
            self?.sendTelemetry()
            self?.settle()
        }
        for fault in connector.proxyFaults.map(\.description).sorted() { log(.warning, "proxy.ignored", fault) }
        connector.start(self)
        openBacklog()
        engine.handle(.start, now: now)
        drainMailbox()
        return true
    }

    // MARK: Time

    private func timerFired() {
        guard phase != .over, let deadline = engine.deadline else { return }
        connector.passDeadline(due: deadline, now: now)
        settle()
    }

    /// Performs the outputs of the engine until none is left.
    func settle() {
        guard !isSettling, phase != .over else { return }
        isSettling = true
        repeat {
            while let output = engine.nextOutput(now: now) { perform(output) }
            deliverArrivals()
        } while takeChangesOfSettledRooms()
        requests.resolveLost()
        isSettling = false
        if let code = engine.takeFault() { recordFault(code) }
        timer?.set(deadline: engine.deadline?.nanoseconds)
        if phase == .flushing || phase == .draining { proceedWithEnd() }
    }

    private func perform(_ output: ClientOutput) {
        switch output {
        case .link(.status(let status)): publish(status)
        case .link(.stopped):
            phase = .draining
            outbox.port.retry()
        case .link(let output): connector.perform(output)
        case .room(let id, let event): handle(event, in: id)
        case .account(let event): handle(event)
        case .response(let request, let outcome) where request == telemetryRequest: telemetryAnswered(outcome)
        case .response(let request, let outcome): requests.finish(request, outcome)
        case .transfer(let id, let event): handle(event, of: id)
        case .replaceDevice: storeAnotherDevice()
        }
    }

    /// The outbox has stored another device ID.
    func replaceDevice(by device: DeviceID) {
        log(.warning, "device.replaced", "the outbox is an earlier state or a copy; the device has another ID")
        self.device = device
        for core in rooms.cores { core.replaceDevice(by: device) }
        engine.replaceDevice(by: device, now: now)
    }

    // MARK: Commands

    func drainMailbox() {
        guard phase != .over else { return }
        let settings = mailbox.take(leaving: &commands)
        if let mode = settings.mode {
            engine.handle(mode == .foreground ? .enterForeground : .setMode(.background), now: now)
        }
        if settings.retriesNow {
            engine.handle(.retryNow, now: now)
            // The attempt precedes the commands, which a client that has stopped retrying refuses.
            settle()
            mailbox.endRetrying()
        }
        if settings.hasTelemetry { sendTelemetry() }
        for command in commands {
            if phase == .over { command.refuse(life.lastMetrics) } else { perform(command) }
        }
        commands.removeAll(keepingCapacity: true)
        settle()
        for (promise, isCancelled) in cancellations { promise.resolve(.success(isCancelled)) }
        cancellations.removeAll(keepingCapacity: true)
    }

    private func perform(_ command: Mailbox.Command) {
        switch command {
        case .changed(let room): takeChanges(of: room)
        case .open(let name, let options, let promise): open(name, options, promise)
        case .abandonOpen(let promise): abandonOpen(promise)
        case .close(let room, let promise): close(room, promise)
        case .cancel(let room, let counter, let promise):
            cancellations.append((promise, cancel(counter, in: room)))
        case .edit(let room, let counter, let content, let promise): edit(counter, content, in: room, promise)
        case .deadLetters(let room, let promise): readDeadLetters(of: room, promise)
        case .discard(let letter, let promise): discard(letter, promise)
        case .acknowledge(let room, let call): acknowledge(call, in: room)
        case .abandonAcknowledgement(let room, let promise): abandonAcknowledgement(promise, in: room)
        case .request(let room, let call): request(call, in: room)
        case .abandonRequest(let promise): abandonRequest(promise)
        case .rooms(let promise): listRooms(promise)
        case .abandonRooms(let promise): abandonList(promise)
        case .watchRooms: watchRooms()
        case .roomsOutdated: engine.noteOwnRoomChange()
        case .accountRequest(let call): accountRequest(call)
        case .transfer(let core): begin(core)
        case .cancelTransfer(let core): cancel(core)
        case .respond(let room, let session, let response):
            engine.respond(
                to: IncomingRequest.ID(session: session, correlation: response.correlation), in: room,
                status: response.status, reason: response.reason, content: response.content, now: now)
        case .outbox(let outcome): take(outcome)
        case .metrics(let promise): promise.resolve(.success(metrics))
        case .recording(let promise): promise.resolve(.success(engine.recording(now: now)))
        case .stop(let promise):
            stopPromises.append(promise)
            beginEnd(flushes: true)
        case .abandon: beginEnd(flushes: false)
        }
    }

    /// The measurements so far.
    var metrics: ClientMetrics {
        var metrics = ClientMetrics(engine.connectionMetrics, now: now)
        metrics.roundTrips = engine.roundTrips
        metrics.acceptances = engine.acceptances
        metrics.deliveries = engine.deliveries
        metrics.commits = outbox.port.writer?.durations ?? Histogram()
        metrics.traffic = engine.counters
        metrics.counts = counts
        metrics.reconnects = engine.status.reconnects
        metrics.resumes = engine.status.resumes
        metrics.pendingCount = rooms.entries.values.reduce(0) { $0 + $1.core.pendingCount }
        metrics.roomCount = rooms.entries.count
        metrics.telemetry = life.telemetry?.withBatches { $0.counts } ?? metrics.telemetry
        return metrics
    }

    /// Writes the flight recording of a fault that has ended a connection.
    private func recordFault(_ code: ErrorCode) {
        guard let folder = configuration.recordingFolder, configuration.recordingByteCount > 0 else { return }
        let number = faultCount % RecordingFile.maxCount
        faultCount += 1
        let file = RecordingFile(folder: folder, device: device, number: number)
        let bytes = engine.recording(now: now)
        mailbox.files.execute { [weak self, loop] in
            let failure = file.write(bytes)
            loop.execute { [weak self] in
                self?.log(.warning, "flight.recorded", "\(code): \(failure.map { "\($0)" } ?? file.path)")
            }
        }
    }

    private func publish(_ status: LinkStatus) {
        if status.isOnline { connector.discardErrors() }
        outbox.port.writer?.isOnline = status.isOnline
        let earlier = life.status.value
        let before = earlier.phase.stopReason
        let published = Client.Status(
            status, now: now, wallClock: loop.instant, roundTrip: engine.smoothedRTT,
            detail: connector.detail(of: status.failedConnection), route: status.isOnline ? connector.route : nil)
        life.status.set(published)
        if published.phase.key != earlier.phase.key || published.explanation != earlier.explanation {
            let level: Client.LogEvent.Level = published.phase.stopReason == nil ? .info : .warning
            log(level, "status.\(published.phase.key)", published.explanation)
            if let route = published.route { log(.info, "route.\(route.key)", "\(route)") }
        }
        if status.isOnline {
            markInFlight()
            for core in rooms.cores { uploadNext(of: core) }
            returnKnownList()
            sendTelemetry()
        }
        guard published.phase.stopReason != before, phase == .running else { return }
        for core in rooms.cores { core.setStopReason(published.phase.stopReason) }
        guard let reason = published.phase.stopReason else { return }
        failOpeners(.gaveUp(reason))
        failLists(.gaveUp(reason))
        for number in requests.failAll(.gaveUp(reason)) { engine.cancelRequest(number, now: now) }
        for id in transfers.failAll(.gaveUp(reason)) { engine.cancel(id, now: now) }
    }

    // MARK: End

    private func beginEnd(flushes: Bool) {
        guard phase == .running else { return }
        for core in rooms.cores {
            core.stopSending()
            takeChanges(of: core)
        }
        failOpeners(.stopped)
        failLists(.stopped)
        for id in transfers.failAll(.stopped, keepsMessages: true) { engine.cancel(id, now: now) }
        outbox.port.retry()
        phase = .flushing
        life.telemetry?.withBatches { $0.flush() }
        sendTelemetry()
        flushTimer?.set(deadline: flushes ? loop.deadline(after: configuration.flushTimeout) : loop.now)
    }

    private func flushTimeoutPassed() {
        switch phase {
        case .flushing: endLink()
        case .draining where outbox.port.hasOutcomes && !waitsForOutcomes:
            // Outcomes that have arrived are stored, unless the outbox stalls (C-83).
            waitsForOutcomes = true
            flushTimer?.set(deadline: loop.deadline(after: Self.outcomeTimeout))
        case .draining: finish()
        case .running, .stopping, .over: break
        }
    }

    /// Continues the end of the client after a change.
    private func proceedWithEnd() {
        switch phase {
        case .flushing where isFlushed: endLink()
        case .draining:
            // The application may have handled messages since the last poll of their marks.
            if outbox.port.isIdle { saveCursors() }
            if outbox.port.isIdle { return finish() }
            guard flushTimer?.deadline == nil else { return }
            flushTimer?.set(deadline: loop.deadline(after: configuration.flushTimeout))
        case .running, .flushing, .stopping, .over: break
        }
    }

    /// Whether the flush is complete. Without a connection it requires only that no message is pending, and after the
    /// client has stopped retrying only that the outbox is idle.
    private var isFlushed: Bool {
        guard outbox.port.isIdle else { return false }
        if case .stopped = engine.status.state { return true }
        guard rooms.entries.values.allSatisfy({ $0.core.pendingCount == 0 }) else { return false }
        return engine.isSettled && isTelemetrySettled || !engine.status.isOnline
    }

    private func endLink() {
        phase = .stopping
        // The points that were not sent are kept.
        sendTelemetry()
        flushTimer?.set(deadline: nil)
        engine.handle(.stop, now: now)
        settle()
    }

    func loopWillStop() {
        finish()
    }

    /// Ends the client in any phase, and resolves all pending promises. Only calls whose messages an outbox is storing
    /// wait for the outbox, so that a failed call has left no message.
    private func finish() {
        guard phase != .over else { return }
        phase = .over
        for timer in [timer, flushTimer, cursorTimer, telemetryTimer] { timer?.set(deadline: nil) }
        loop.remove(self)
        connector.end()
        requests.failAll(.stopped)
        failLists(.stopped)
        life.rooms.finish()
        _ = transfers.failAll(.stopped)
        if case .immediate = outbox.port { saveCursors() }
        for entry in rooms.sorted {
            entry.opener?.resolve(.failure(MartletError.stopped))
            refuse(entry.waitingAcknowledgements, of: entry.core, .stopped)
            entry.core.finish(.stopped)
        }
        outbox.port.abandon()
        let last = metrics
        rooms = RoomTable()
        life.ended(last)
        for promise in stopPromises { promise.resolve(.success(())) }
        stopPromises = []
    }

    // MARK: Handled cursors

    /// Polls the handled mark of the room after `cursorDelay`.
    func watch(_ room: RoomCore) {
        rooms.watched[room.id] = room
        guard cursorTimer?.deadline == nil else { return }
        cursorTimer?.set(deadline: loop.deadline(after: Self.cursorDelay))
    }

    /// Stores the cursors of the messages that were handled since the last poll.
    private func saveCursors() {
        for core in rooms.cores { saveCursor(of: core) }
        for (_, core) in rooms.watched.sorted(by: { $0.key.rawValue < $1.key.rawValue }) { saveCursor(of: core) }
    }

    private func pollHandledMarks() {
        for (id, core) in rooms.watched.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            if let cursor = core.state.withLock({ $0.handled.takeOrUnwatch() }) {
                save(cursor, of: core)
            } else {
                rooms.watched[id] = nil
            }
        }
        if !rooms.watched.isEmpty { cursorTimer?.set(deadline: loop.deadline(after: Self.cursorDelay)) }
        settle()
    }
}

extension ClientDriver: LinkConnectorOwner {
    var status: LinkStatus { engine.status }

    func isAwaitingWelcome(on id: ConnectionID) -> Bool { engine.isAwaitingWelcome(on: id) }

    func hasAnswer(on id: ConnectionID) -> Bool { engine.hasAnswer(on: id) }

    func handle(_ input: LinkInput) { engine.handle(input, now: now) }

    func receive(_ bytes: RawSpan, on id: ConnectionID) { engine.receive(bytes, on: id, now: now) }

    func transmit(on id: ConnectionID, into out: inout OutputRawSpan) -> Bool {
        engine.transmit(on: id, into: &out, now: now)
    }

    func deadlinePassed() { engine.deadlinePassed(now: now) }
}

extension Client.Configuration {
    /// The timeouts of the states of a connection.
    fileprivate var deadlines: ConnectionMachine.Deadlines {
        ConnectionMachine.Deadlines(connecting: connectTimeout)
    }
}

extension LinkConnector.Configuration {
    init(_ identity: ClientIdentity) {
        let configuration = identity.configuration
        self.init(endpoints: identity.endpoints)
        proof = identity.proof
        tls = identity.tls
        tlsOptions = configuration.tls
        deadlines = configuration.deadlines
        allowsPlaintext = configuration.allowsPlaintext
        usesMultipath = configuration.usesMultipath
        proxies = configuration.proxies
        usesWebSocketFallback = configuration.usesWebSocketFallback
        watchesPath = configuration.watchesPath
    }
}

extension ClientConfiguration {
    init(_ identity: ClientIdentity, device: DeviceID) {
        let configuration = identity.configuration
        self.init(account: identity.account, device: device, agent: configuration.agent)
        link.limits = configuration.limits
        link.compressesMessages = configuration.compressesMessages
        if configuration.usesCompactFrames { link.features.formUnion([.compact, .accountSession, .attachments]) }
        if configuration.usesCompactFrames, configuration.compressesMessages { link.features.insert(.sharedDeflate) }
        link.heartbeat = configuration.heartbeat
        link.reconnect = configuration.reconnect
        link.deadlines = configuration.deadlines
        link.recordingByteCount = configuration.recordingByteCount
        maxRequests = configuration.maxRequests
    }
}
