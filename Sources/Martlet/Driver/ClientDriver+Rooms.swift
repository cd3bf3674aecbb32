import MartletLink
import MartletTransport
import MartletWire

/// The rooms of a client's driver.
struct RoomTable {
    /// The maximum number of rooms that are open only to send an earlier client's messages. The other sessions of the
    /// link remain for the application's rooms.
    static let maxHiddenCount = 16
    /// The maximum number of rooms that the application may open.
    static let maxVisibleCount = ClientConfiguration.maxRoomsLimit - maxHiddenCount

    struct Entry {
        let core: RoomCore
        /// The log of the offsets.
        var log: LogID?
        var options: Room.Options
        /// The items of this turn.
        var arrivals: [Inbox.Item] = []
        /// The call that waits until the relay has admitted the session.
        var opener: Promise<RoomCore>?
        /// The end of this call.
        var openingTimer: LoopTimer?
        var isOpen = false
        /// Whether the room was opened only to send an earlier client's messages. The application does not see it.
        var isHidden = false
        /// The messages of an earlier client, until the application has received the room.
        var earlier: [OutboxEntry] = []
        /// The acknowledgements whose replies wait for space.
        var waitingAcknowledgements: [Acknowledgement] = []
        /// The messages that the outbox has not marked as in flight.
        var unmarked = UnmarkedMessages()
    }

    var entries: [RoomID: Entry] = [:]
    /// The rooms whose handled marks are polled after `cursorDelay`.
    var watched: [RoomID: RoomCore] = [:]
    /// The rooms with items of this turn.
    fileprivate var withArrivals: [RoomID] = []
    /// The rooms in which messages were settled, so that there may be space for waiting sends.
    var withSettledMessages: [RoomID] = []

    subscript(id: RoomID) -> Entry? {
        get { entries[id] }
        _modify { yield &entries[id] }
    }

    /// The entries in the order of their rooms' IDs.
    var sorted: [Entry] { entries.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value) }

    /// The rooms in the order of their IDs.
    var cores: [RoomCore] { sorted.map(\.core) }

    /// The number of rooms that are open only to send an earlier client's messages.
    var hiddenCount: Int { entries.values.count { $0.isHidden } }

    func id(of name: RoomName) -> RoomID? { entries.first { $0.value.core.name == name }?.key }
}

extension ClientDriver {
    // MARK: Opening and closing

    func open(_ name: RoomName, _ options: Room.Options, _ promise: Promise<RoomCore>) {
        guard phase == .running else { return refuse(promise, .stopped) }
        // The application may have handled messages of a room that the relay has closed.
        for core in rooms.watched.values where core.name == name { saveCursor(of: core) }
        if options.waitsForRelay, let reason = life.status.value.phase.stopReason {
            return refuse(promise, .gaveUp(reason))
        }
        let id = rooms.id(of: name)
        if let id, !rooms[id]!.isHidden { return refuse(promise, .roomAlreadyOpen(name)) }
        guard rooms.entries.count - rooms.hiddenCount < configuration.maxRooms else {
            return refuse(promise, .tooManyRooms(limit: configuration.maxRooms))
        }
        guard let id else { return create(name, options, promise) }
        rooms[id]!.isHidden = false
        defer { openBacklog() }
        if !rooms[id]!.options.areContinued(by: options) {
            // The messages of an earlier client are sent again on the new session.
            let stored = RoomOptions(options, stored: outbox.cursors[name])
            rooms[id]!.core.reopened(in: stored.cursor.log)
            rooms[id]!.isOpen = false
            engine.reopen(id, stored, now: now)
        }
        rooms[id]!.options = options
        addOpener(id, promise, isDone: rooms[id]!.isOpen || !options.waitsForRelay)
    }

    private func refuse(_ promise: Promise<RoomCore>, _ error: MartletError) {
        promise.resolve(.failure(error))
    }

    func create(_ name: RoomName, _ options: Room.Options, _ promise: Promise<RoomCore>?) {
        let stored = RoomOptions(options, stored: outbox.cursors[name])
        let core = RoomCore(
            id: engine.nextRoomID, name: name, account: life.identity.account, device: device, log: stored.cursor.log,
            configuration: configuration, source: outbox.counters, outbox: outbox.port.writer, mailbox: mailbox)
        let id: RoomID
        do throws(ClientError) {
            id = try engine.open(name, stored, now: now)
        } catch {
            promise?.resolve(.failure(MartletError.tooManyRooms(limit: ClientConfiguration.maxRoomsLimit)))
            return
        }
        rooms[id] = RoomTable.Entry(core: core, options: options, isHidden: promise == nil)
        core.setStopReason(life.status.value.phase.stopReason)
        restoreMessages(of: id)
        if let promise { addOpener(id, promise, isDone: !options.waitsForRelay) }
    }

    private func addOpener(_ id: RoomID, _ promise: Promise<RoomCore>, isDone: Bool) {
        rooms[id]!.opener = promise
        if isDone { return resolveOpener(id) }
        guard let timeout = rooms[id]!.options.timeout else { return }
        let timer = LoopTimer(on: loop) { [weak self] in self?.abandonOpen(promise, MartletError.deadlineExceeded) }
        rooms[id]!.openingTimer = timer
        timer.set(deadline: loop.deadline(after: timeout))
    }

    private func resolveOpener(_ id: RoomID) {
        guard let core = rooms[id]?.core, let promise = takeOpener(id) else { return }
        rooms[id]!.earlier = []
        discardOutcomes(of: core)
        promise.resolve(.success(core))
    }

    private func takeOpener(_ id: RoomID) -> Promise<RoomCore>? {
        rooms[id]?.openingTimer.take()?.set(deadline: nil)
        return rooms[id]?.opener.take()
    }

    /// Handles the cancellation or the timeout of an `open` call. The call ends after the room was closed, so that its
    /// caller can open the room again.
    func abandonOpen(_ promise: Promise<RoomCore>, _ error: any Error = CancellationError()) {
        guard let id = rooms.entries.first(where: { $0.value.opener === promise })?.key else { return }
        _ = takeOpener(id)
        closeUnopened(id)
        settle()
        promise.resolve(.failure(error))
    }

    /// Fails the pending calls of `open`, and closes their rooms.
    func failOpeners(_ error: MartletError) {
        for id in rooms.entries.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let promise = takeOpener(id) else { continue }
            refuse(promise, error)
            closeUnopened(id)
        }
    }

    /// Closes a room that the application does not receive, after the messages of an earlier client were sent.
    private func closeUnopened(_ id: RoomID) {
        if rooms[id]!.core.pendingCount > 0 { rooms[id]!.isHidden = true } else { engine.close(id, now: now) }
    }

    func close(_ room: RoomCore, _ promise: Promise<Void>) {
        takeChanges(of: room)
        engine.close(room.id, now: now)
        settle()
        promise.resolve(.success(()))
    }

    // MARK: Requests

    func request(_ call: RequestCall, in room: RoomCore) {
        guard phase == .running else { return refuse(call, .stopped) }
        guard let entry = rooms[room.id] else {
            return refuse(call, room.end?.error(of: room.name) ?? .roomClosed(nil, room: room.name))
        }
        if let reason = life.status.value.phase.stopReason { return refuse(call, .gaveUp(reason)) }
        do throws(ClientError) {
            let number = try engine.request(
                call.method, content: call.content, to: call.recipient, in: entry.core.id, deadline: call.deadline,
                now: now)
            requests.add(number, in: room, call.promise)
        } catch {
            refuse(call, MartletError(error, call, in: room, configuration))
        }
    }

    private func refuse(_ call: RequestCall, _ error: MartletError) {
        call.promise.resolve(.failure(error))
    }

    func abandonRequest(_ promise: Promise<Answer>) {
        guard let number = requests.number(of: promise) else { return }
        engine.cancelRequest(number, now: now)
    }

    private func closeIfDone(_ id: RoomID) {
        guard let entry = rooms[id], entry.isHidden, entry.core.pendingCount == 0 else { return }
        engine.close(id, now: now)
    }

    // MARK: Changes by the application

    func takeChanges(of room: RoomCore) {
        admitAcknowledgements(of: room)
        let (changes, messages, replaced) = room.takeChanges()
        if let taken = changes.takenUpTo {
            engine.consumed(room.id, byteCount: changes.takenByteCount, upTo: taken, now: now)
        }
        saveCursor(of: room)
        if room.state.withLock({ $0.handled.isWatched }) { watch(room) }
        if let read = changes.readUpTo { engine.markRead(room.id, upTo: read, now: now) }
        if let isTyping = changes.isTyping { engine.setTyping(isTyping, in: room.id, now: now) }
        for transient in changes.transients {
            engine.sendTransient(transient.kind, transient.content, in: room.id, now: now)
        }
        if let isSuspended = changes.isSuspended {
            if isSuspended { engine.suspend(room.id, now: now) } else { engine.resume(room.id, now: now) }
        }
        outbox.port.writer?.begin()
        if !messages.isEmpty { store(messages, replacing: replaced, of: room) }
    }

    func saveCursor(of room: RoomCore) {
        if let cursor = room.state.withLock({ $0.handled.take() }) { save(cursor, of: room) }
    }

    /// Records the cursor of a room. Returns whether the cursor has advanced.
    @discardableResult
    func advanceCursor(of room: RoomCore, to cursor: RoomCursor) -> Bool {
        outbox.cursors.advance(room.name, to: cursor) { Set(rooms.entries.values.map { $0.core.name }) }
    }

    /// Stores the cursor, and reports the messages as delivered. An iteration reports a batch only after its last
    /// message, which a slow application receives late.
    func save(_ cursor: RoomCursor, of room: RoomCore) {
        guard advanceCursor(of: room, to: cursor) else { return }
        outbox.port.commit { $0.cursors[room.name] = cursor }
        engine.consumed(room.id, byteCount: 0, upTo: cursor, now: now)
    }

    // MARK: Events of the engine

    func handle(_ event: RoomEvent, in id: RoomID) {
        guard let core = rooms[id]?.core else { return }
        switch event {
        case .logReplaced(let previous, let current, let branch):
            core.logReplaced(upTo: branch)
            if current.offset < previous.offset {
                core.events.publish(.logReplaced(previous: previous, current: current))
                log(.warning, "log.replaced", "the relay has lost the log up to \(previous)", in: core)
            }
            arrive(.logReplaced(previous: previous, current: current), in: id)
        case .opened(let head, let first, let members, let log, let branch):
            rooms[id]!.isOpen = true
            rooms[id]!.log = log
            core.opened(firstOffset: first, lastOffset: head, members: members, log: log, branch: branch)
            resolveOpener(id)
            self.log(.info, "room.opened", "opened with offsets \(first) to \(head)", in: core)
        case .message(let message, let credit):
            guard let message = RoomMessage(message, log: rooms[id]!.log) else { break }
            counts.received += 1
            received(message.id, in: core)
            arrive(.message(message, creditByteCount: credit), in: id)
        case .gap(let offsets):
            arrive(.gap(offsets, of: rooms[id]!.log), in: id)
            core.events.publish(.gap(offsets))
        case .sent(let counters): core.sent(counters)
        case .accepted(let run): accepted(run, in: core)
        case .failed(let counter, let failure): failed(counter, failure, in: core)
        case .progress(let progress): handle(progress, in: core)
        case .presence(let account, let presence): core.presenceChanged(account, Room.Presence(presence))
        case .typing(let account, let isTyping): core.typingChanged(account, isTyping)
        case .transient(let account, let kind, let content):
            core.events.publish(.transient(account, kind, content))
        case .request(let incoming): core.received(RoomRequest(incoming, in: core, now: loop.instant))
        case .requestCancelled(let request): core.requestCancelled(request)
        case .delayed(let code):
            core.events.publish(.delayed(code))
            log(.info, "room.delayed", code.description, in: core)
        case .closed(let code): closed(id, code)
        }
    }

    private func handle(_ progress: Receipt.Progress, in core: RoomCore) {
        guard let account = progress.sender else { return }
        core.progressed(progress.mark, of: account, upTo: progress.upTo)
        switch progress.mark {
        case .delivered: core.events.publish(.delivered(to: account, upTo: progress.upTo))
        case .read: core.events.publish(.read(by: account, upTo: progress.upTo))
        }
    }

    /// Removes a room that the engine has removed.
    private func closed(_ id: RoomID, _ code: ErrorCode?) {
        deliverArrivals()
        guard let entry = rooms.entries.removeValue(forKey: id) else { return }
        entry.openingTimer?.set(deadline: nil)
        let core = entry.core
        let lacksSession = entry.isHidden && code == .tooManySessions
        if lacksSession { returnToBacklog(entry) }
        let end: RoomCore.End = code.map { .closedByRelay($0) } ?? .closed
        entry.opener?.resolve(.failure(end.error(of: core.name)))
        refuse(entry.waitingAcknowledgements, of: core, end.error(of: core.name))
        for counter in core.finish(end) { failed(counter, end.failure, in: core) }
        log(code == nil ? .info : .warning, "room.closed", "\(end.error(of: core.name))", in: core)
        // A room without a session waits for the end of another room.
        if phase == .running, !lacksSession { openBacklog() }
    }

    // MARK: Batches

    private func arrive(_ item: Inbox.Item, in id: RoomID) {
        if rooms[id]!.arrivals.isEmpty { rooms.withArrivals.append(id) }
        rooms[id]!.arrivals.append(item)
    }

    /// Delivers to each room all items received for it in this turn.
    func deliverArrivals() {
        guard !rooms.withArrivals.isEmpty else { return }
        for id in rooms.withArrivals {
            guard rooms[id] != nil else { continue }
            rooms[id]!.core.received(rooms[id]!.arrivals)
            let keepsStorage = rooms[id]!.arrivals.capacity <= Inbox.maxKeptItemCount
            rooms[id]!.arrivals.removeAll(keepingCapacity: keepsStorage)
        }
        rooms.withArrivals.removeAll(keepingCapacity: true)
    }

    /// Takes the changes of the rooms in which messages were settled, because there may be space for waiting sends.
    /// Returns false if there are no such rooms.
    func takeChangesOfSettledRooms() -> Bool {
        guard !rooms.withSettledMessages.isEmpty else { return false }
        let ids = Set(rooms.withSettledMessages)
        rooms.withSettledMessages.removeAll(keepingCapacity: true)
        for id in ids.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let core = rooms[id]?.core else { continue }
            takeChanges(of: core)
            closeIfDone(id)
        }
        return true
    }
}

extension RoomOptions {
    init(_ options: Room.Options, stored: RoomCursor?) {
        self.init(kind: options.kind, includesOwnMessages: options.includesOwnMessages)
        switch options.from {
        case .stored: if let stored { cursor = stored }
        case .start: break
        case .latest(let count): tail = UInt32(clamping: count)
        case .cursor(let position): cursor = position
        }
    }
}

extension Room.Options {
    /// Whether a room that was opened with these options can serve an application that requests the other options.
    fileprivate func areContinued(by options: Room.Options) -> Bool {
        kind == options.kind && includesOwnMessages == options.includesOwnMessages && from == .stored
            && options.from == .stored
    }
}

extension Room.Presence {
    init(_ presence: Transient.Presence) {
        self =
            switch presence {
            case .left: .left
            case .online: .online
            case .away: .away
            }
    }
}

extension MartletError {
    init(
        _ error: ClientError, _ call: RequestCall, in room: RoomCore?, _ configuration: Client.Configuration
    ) {
        self =
            switch error {
            case .messageTooLarge:
                .messageTooLarge(byteCount: call.content?.count ?? 0, limit: configuration.maxContentByteCount)
            case .noRoom: .roomClosed(nil, room: room?.name)
            // The limit of the client or, with `queueFull`, of the room.
            default: .tooManyRequests(limit: configuration.maxRequests)
            }
    }
}
