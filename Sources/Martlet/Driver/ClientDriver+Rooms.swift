import MartletProtocol
import MartletWire

extension ClientDriver {
    /// A room as its loop has it.
    struct RoomEntry {
        let core: RoomCore
        /// The log that offsets are of.
        var log: LogID?
        /// What came in this turn.
        var arrivals: [Inbox.Item] = []
        /// Who waits until the relay has let us in.
        var opener: OneShot<RoomCore>?
        var isOpen = false
        /// Opened only to send what the outbox had from earlier; the application does not know it.
        var isHidden = false
    }

    /// A room that is opened as the application wants it once what an earlier client left is sent.
    struct DeferredOpen {
        let options: Room.Options
        let shot: OneShot<RoomCore>
    }

    // MARK: Opening and closing

    func open(_ name: RoomName, _ options: Room.Options, _ shot: OneShot<RoomCore>) {
        guard phase == .running else { return refuse(shot, .stopped) }
        if options.waitsForRelay, let reason = life.status.value.phase.givenUp { return refuse(shot, .gaveUp(reason)) }
        guard deferredOpens[name] == nil else { return refuse(shot, .roomAlreadyOpen(name.text)) }
        guard let id = roomOfName[name] else { return create(name, options, shot) }
        guard rooms[id]!.isHidden else { return refuse(shot, .roomAlreadyOpen(name.text)) }
        guard options.kind == .chat, options.from == .stored, !options.echo else {
            deferredOpens[name] = DeferredOpen(options: options, shot: shot)
            return closeIfDone(id)
        }
        rooms[id]!.isHidden = false
        welcome(id, shot, isDone: rooms[id]!.isOpen || !options.waitsForRelay)
    }

    private func refuse(_ shot: OneShot<RoomCore>, _ error: MartletError) {
        shot.resolve(.failure(error))
    }

    private func create(_ name: RoomName, _ options: Room.Options, _ shot: OneShot<RoomCore>?) {
        let id: RoomID
        do throws(ClientError) {
            id = try engine.open(name, RoomOptions(options, stored: cursors[name.text]), now: now)
        } catch {
            shot?.resolve(.failure(MartletError.tooManyRooms(limit: configuration.maxRooms)))
            return
        }
        let core = RoomCore(
            id: id, name: name, account: life.identity.account, device: device, configuration: configuration,
            source: counters,
            waitsForOutbox: waitsForOutbox, mailbox: mailbox)
        rooms[id] = RoomEntry(core: core, isHidden: shot == nil)
        roomOfName[name] = id
        core.gaveUp(life.status.value.phase.givenUp)
        let earlier = backlog.removeValue(forKey: name.text) ?? []
        core.restore(earlier)
        for entry in earlier { send(OutgoingQueue.Arriving(entry), in: core) }
        if let shot { welcome(id, shot, isDone: !options.waitsForRelay) }
    }

    private var waitsForOutbox: Bool {
        if case .queued = outbox { true } else { false }
    }

    private func welcome(_ id: RoomID, _ shot: OneShot<RoomCore>, isDone: Bool) {
        rooms[id]!.opener = shot
        if isDone { resolveOpener(id) }
    }

    /// Who gave up waiting meanwhile does not want the room any more.
    private func resolveOpener(_ id: RoomID) {
        guard let core = rooms[id]?.core, let shot = rooms[id]?.opener.take() else { return }
        if !shot.resolve(.success(core)) { engine.close(id, now: now) }
    }

    func abandonOpen(_ shot: OneShot<RoomCore>) {
        if let name = deferredOpens.first(where: { $0.value.shot === shot })?.key { deferredOpens[name] = nil }
        guard let id = rooms.first(where: { $0.value.opener === shot })?.key else { return }
        engine.close(id, now: now)
    }

    /// Nobody waits for a room any more, and rooms that are not open yet are closed.
    func failOpeners(_ error: MartletError) {
        for deferred in deferredOpens.values { refuse(deferred.shot, error) }
        deferredOpens = [:]
        for id in rooms.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let shot = rooms[id]?.opener.take() else { continue }
            refuse(shot, error)
            if rooms[id]!.core.pendingCount > 0 { rooms[id]!.isHidden = true } else { engine.close(id, now: now) }
        }
    }

    func close(_ room: RoomCore, _ shot: OneShot<Void>) {
        takeNews(of: room)
        engine.close(room.id, now: now)
        settle()
        shot.resolve(.success(()))
    }

    // MARK: What an earlier client left

    /// Opens the rooms that have messages to send, as many as may be open.
    func openBacklog() {
        for room in backlog.keys.sorted() {
            guard let name = RoomName(room) else { continue }
            create(name, Room.Options(), nil)
        }
    }

    private func closeIfDone(_ id: RoomID) {
        guard let entry = rooms[id], entry.isHidden, entry.core.pendingCount == 0 else { return }
        engine.close(id, now: now)
    }

    // MARK: What the application says

    func takeNews(of room: RoomCore) {
        let news = room.takeNews()
        if let taken = news.takenUpTo {
            engine.consumed(room.id, byteCount: news.takenByteCount, upTo: taken, now: now)
        }
        if let dealtWith = news.dealtWithUpTo {
            let before = cursors[room.name.text]
            cursors[room.name.text].advance(to: dealtWith)
            if cursors[room.name.text] != before { outbox.saveCursor(dealtWith, room: room.name.text) }
        }
        if let read = news.readUpTo { engine.markRead(room.id, upTo: read, now: now) }
        if let isTyping = news.isTyping { engine.setTyping(isTyping, in: room.id, now: now) }
        for transient in news.transients {
            engine.sendTransient(transient.kind, transient.content, in: room.id, now: now)
        }
        if let isSuspended = news.isSuspended {
            if isSuspended { engine.suspend(room.id, now: now) } else { engine.resume(room.id, now: now) }
        }
        if !news.arriving.isEmpty { queue(news.arriving, in: room) }
    }

    /// First into the outbox, then to the engine.
    private func queue(_ arriving: [OutgoingQueue.Arriving], in room: RoomCore) {
        switch outbox {
        case .immediate(let outbox):
            outbox.append(arriving.map { OutboxEntry($0, in: room) })
            for message in arriving { send(message, in: room) }
        case .queued(let writer):
            writer.append(arriving.map { OutboxWriter.Appending(room: room, arriving: $0) })
        }
    }

    func take(_ outcome: OutboxWriter.Outcome) {
        outboxFailures += outcome.failureCount
        for message in outcome.appended {
            if let failure = outcome.appendFailure {
                _ = message.room.failed(message.arriving.counter, .closed)
                freed.append(message.room.id)
                message.arriving.shot?.resolve(.failure(MartletError.outboxFailed(failure)))
            } else {
                send(message.arriving, in: message.room)
                let sending = Sending(room: message.room, counter: message.arriving.counter)
                message.arriving.shot?.resolve(.success(sending))
            }
        }
        if case .queued(let writer) = outbox { writer.finished() }
    }

    private func send(_ message: OutgoingQueue.Arriving, in room: RoomCore) {
        do throws(ClientError) {
            try engine.send(
                counter: message.counter, content: message.message.content, timeToLive: message.message.timeToLive,
                isCompressible: message.message.isCompressible, in: room.id, now: now)
        } catch {
            let failure: SendFailure = error == .messageTooLarge ? .refused(.messageTooLarge, reason: nil) : .closed
            failed(message.counter, failure, in: room)
        }
    }

    // MARK: What the engine says

    func handle(_ event: RoomEvent, in id: RoomID) {
        guard let core = rooms[id]?.core else { return }
        switch event {
        case .logReplaced(let previous, let current):
            core.logReplaced(previous: previous, current: current)
            arrive(.logReplaced(previous: previous, current: current), in: id)
        case .opened(let head, let first, let members, let log):
            rooms[id]!.isOpen = true
            rooms[id]!.log = log
            core.opened(head: head, first: first, members: members, log: log)
            resolveOpener(id)
        case .message(let message, let credit):
            guard let message = RoomMessage(message, log: rooms[id]!.log) else { break }
            arrive(.message(message, creditByteCount: credit), in: id)
        case .gap(let offsets):
            arrive(.gap(offsets, of: rooms[id]!.log), in: id)
            core.events.publish(.gap(offsets))
        case .sent(let counters): core.sent(counters)
        case .accepted(let run):
            settled(core.accepted(run), in: core)
        case .failed(let counter, let failure): failed(counter, failure, in: core)
        case .progress(let progress): handle(progress, in: core)
        case .presence(let account, let presence): core.present(account, Room.Presence(presence))
        case .typing(let account, let isTyping): core.events.publish(.typing(account, isTyping))
        case .transient(let account, let kind, let content):
            core.events.publish(.transient(account, kind, content))
        case .request(let incoming): core.received(RoomRequest(incoming, in: core, now: .now))
        case .requestCancelled(let correlation): core.cancelled(correlation)
        case .closed(let code): closed(id, code)
        }
    }

    private func handle(_ progress: Receipt.Progress, in core: RoomCore) {
        guard let account = progress.sender else { return }
        // That another device of ours has it tells nothing of those it was sent to.
        if account != life.identity.account { core.progressed(account, progress.mark, upTo: progress.upTo) }
        switch progress.mark {
        case .delivered: core.events.publish(.delivered(to: account, upTo: progress.upTo))
        case .read: core.events.publish(.read(by: account, upTo: progress.upTo))
        }
    }

    private func failed(_ counter: UInt64, _ failure: SendFailure, in core: RoomCore) {
        if core.failed(counter, failure) { settled([counter], in: core) }
    }

    private func settled(_ counters: [UInt64], in core: RoomCore) {
        guard !counters.isEmpty else { return }
        let account = life.identity.account
        outbox.remove(
            counters.map { MessageID(sender: account, device: device, counter: $0) }, room: core.name.text)
        freed.append(core.id)
    }

    /// The engine has forgotten the room.
    private func closed(_ id: RoomID, _ code: ErrorCode?) {
        deliverArrivals()
        guard let entry = rooms.removeValue(forKey: id) else { return }
        let core = entry.core
        roomOfName[core.name] = nil
        let end: RoomCore.End = code.map { .closedByRelay($0) } ?? .closed
        entry.opener?.resolve(.failure(end.error))
        core.finish(end)
        guard let deferred = deferredOpens.removeValue(forKey: core.name) else { return }
        create(core.name, deferred.options, deferred.shot)
    }

    // MARK: Batches

    private func arrive(_ item: Inbox.Item, in id: RoomID) {
        if rooms[id]!.arrivals.isEmpty { withArrivals.append(id) }
        rooms[id]!.arrivals.append(item)
    }

    /// Each room gets all that came for it at once.
    func deliverArrivals() {
        guard !withArrivals.isEmpty else { return }
        for id in withArrivals {
            guard rooms[id] != nil else { continue }
            rooms[id]!.core.received(rooms[id]!.arrivals)
            let keepsStorage = rooms[id]!.arrivals.capacity <= Inbox.maxKeptItemCount
            rooms[id]!.arrivals.removeAll(keepingCapacity: keepsStorage)
        }
        withArrivals.removeAll(keepingCapacity: true)
    }

    /// Rooms in which messages were settled have room for those who wait. True when there were any.
    func takeNewsOfFreed() -> Bool {
        guard !freed.isEmpty else { return false }
        let ids = Set(freed)
        freed.removeAll(keepingCapacity: true)
        for id in ids.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let core = rooms[id]?.core else { continue }
            takeNews(of: core)
            closeIfDone(id)
        }
        return true
    }
}

extension RoomOptions {
    init(_ options: Room.Options, stored: RoomCursor?) {
        self.init(kind: options.kind, echo: options.echo)
        switch options.from {
        case .stored: if let stored { cursor = stored }
        case .start: break
        case .latest(let count): tail = UInt32(clamping: count)
        case .cursor(let place): cursor = place
        }
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

extension OutgoingQueue.Arriving {
    /// A message that the outbox kept.
    init(_ entry: OutboxEntry) {
        let message = OutgoingMessage(
            entry.content, timeToLive: entry.timeToLive, isCompressible: entry.isCompressible)
        self.init(counter: entry.id.counter, message: message, shot: nil)
    }
}
