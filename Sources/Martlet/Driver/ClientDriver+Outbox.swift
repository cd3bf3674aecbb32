import MartletLink
import MartletTransport
import MartletWire

/// The outbox of a client's driver, and the state that an earlier client left in it.
struct DriverOutbox {
    /// The maximum number of dead letters that are compared with received messages. Others remain until the application
    /// retries or discards them.
    static let maxLetterCount = 4096
    let port: OutboxPort
    let counters: CounterSource
    /// The counter of the first message of this client. Those below belong to earlier ones.
    let firstCounter: UInt64
    /// Messages of an earlier client whose rooms have not been opened.
    fileprivate var backlog: [RoomName: [OutboxEntry]]
    /// Outcomes of an earlier client's messages, until the application has received their room.
    fileprivate var outcomes: [RoomName: [OutboxOutcome]]
    /// The messages that have become dead letters.
    private var letters: Set<MessageID> = []
    var cursors: RoomCursors

    init(_ life: ClientLife, _ opened: OutboxState) {
        backlog = Dictionary(grouping: opened.pending) { $0.room }
        outcomes = Dictionary(grouping: opened.outcomes) { $0.room }
        cursors = RoomCursors(opened.cursors)
        life.keptOutcomes.add(opened.outcomes)
        let highest = opened.pending.lazy.map(\.id.counter).max() ?? 0
        firstCounter = max(opened.nextCounter, highest + 1)
        counters = CounterSource(first: firstCounter)
        if let outbox = life.outbox as? any ImmediateOutbox {
            port = .immediate(outbox)
        } else {
            port = .queued(OutboxWriter(life.outbox, mailbox: life.mailbox))
        }
        noteLetters(of: opened.outcomes)
    }

    fileprivate mutating func noteLetters(of outcomes: [OutboxOutcome]) {
        for outcome in outcomes {
            if case .failed(let failure) = outcome.result, failure != .cancelled { letters.insert(outcome.id) }
        }
        while letters.count > Self.maxLetterCount { letters.removeFirst() }
    }

    fileprivate mutating func takeLetter(_ id: MessageID) -> Bool { !letters.isEmpty && letters.remove(id) != nil }
}

extension ClientDriver {
    // MARK: Messages of an earlier client

    /// Opens rooms that have messages to send, up to the limit of these rooms. The end of a room opens the next one.
    func openBacklog() {
        for room in outbox.backlog.keys.sorted() {
            guard rooms.hiddenCount < RoomTable.maxHiddenCount else { return }
            create(room, Room.Options(), nil)
        }
    }

    /// Restores the messages and outcomes of an earlier client in a new room. A message that was not in flight keeps
    /// its remaining time to live. A message that was in flight is sent again without a time to live, within the resend
    /// window (C-75, C-76, C-80).
    func restoreMessages(of id: RoomID) {
        let core = rooms[id]!.core
        let earlier = outbox.backlog.removeValue(forKey: core.name) ?? []
        let outcomes = (outbox.outcomes[core.name] ?? []).sorted { $0.id.counter < $1.id.counter }
        let restored = core.restore(earlier, outcomes, at: loop.wallTime)
        guard !earlier.isEmpty else { return }
        rooms[id]!.earlier = earlier
        rooms[id]!.unmarked.stored(earlier)
        engine.restore(restored, releasedUpTo: rooms[id]!.unmarked.releasedUpTo, in: id, now: now)
        markInFlight()
        uploadNext(of: core)
    }

    /// Returns the messages of a room for which the relay has no session to the backlog. The room is opened again after
    /// the end of another room.
    func returnToBacklog(_ room: RoomTable.Entry) {
        let wallClock = loop.wallTime
        let waiting = room.earlier.filter { entry in
            room.core.messageState(of: entry.id.counter) == .failed(Self.lackOfSession)
        }
        guard !waiting.isEmpty else { return }
        outbox.backlog[room.core.name] = waiting.map { entry in
            var entry = entry
            let isUnmarked = room.unmarked.counters.contains(entry.id.counter)
            entry.inFlightSince = entry.inFlightSince ?? (isUnmarked ? nil : wallClock)
            return entry
        }
    }

    /// The failure of messages in a room for which the relay has no session.
    private static var lackOfSession: SendFailure { .refused(.tooManySessions, reason: nil) }

    // MARK: Storing

    /// Stores messages in an immediate outbox. The engine sends them after they were stored. With a connection they are
    /// stored as in flight.
    func store(_ messages: [MessageLedger.Pending], replacing letters: [UInt64: MessageID], of room: RoomCore) {
        guard case .immediate(let outbox) = outbox.port else { return }
        let wallClock = loop.wallTime
        let isInFlight = engine.status.isOnline
        let files = room.state.withLock { $0.files }
        let entries = messages.map { OutboxEntry($0, in: room, files, isInFlight: isInFlight, now: wallClock) }
        var addition = OutboxWriter.Addition(room: room, entries: entries)
        for (counter, letter) in letters { addition.replaced[room.messageID(counter)] = letter }
        let failures = addition.unknownLetters(in: outbox)
        var transaction = OutboxTransaction()
        transaction.appended = entries.filter { failures[$0.id] == nil }
        transaction.replaced = addition.replaced.filter { failures[$0.key] == nil }
        outbox.commit(transaction)
        end(addition, failures)
    }

    /// Stores another device ID, at random as the first one (C-103).
    func storeAnotherDevice() {
        var random = loop.random
        let device = DeviceID(rawValue: max(random.next(), 1))
        outbox.port.commit { $0.device = device }
        if case .immediate = outbox.port { replaceDevice(by: device) }
    }

    /// Reports the results of new messages. Those that were not stored fail before the others are released.
    private func end(_ addition: OutboxWriter.Addition, _ failures: [MessageID: MartletError]) {
        guard !failures.isEmpty else { return stored(addition.entries, of: addition.room) }
        for entry in addition.entries {
            guard let failure = failures[entry.id] else { continue }
            if let letter = addition.replaced[entry.id] { addition.room.unclaim([letter]) }
            addition.room.stored([entry.id.counter], failure)
        }
        rooms.withSettledMessages.append(addition.room.id)
        stored(addition.entries.filter { failures[$0.id] == nil }, of: addition.room)
    }

    func stored(_ entries: [OutboxEntry], of room: RoomCore) {
        guard !entries.isEmpty else { return }
        let counters = entries.map(\.id.counter)
        let messages = room.takeStored(counters)
        rooms[room.id]?.unmarked.stored(entries)
        if messages.count < entries.count { storeEarlyOutcomes(entries, of: room) }
        if let released = rooms[room.id]?.unmarked.releasedUpTo {
            engine.messagesStored(messages, releasedUpTo: released, in: room.id, now: now)
        }
        room.stored(counters, nil)
        if rooms[room.id]?.unmarked.counters.isEmpty == false { markInFlight() }
        uploadNext(of: room)
    }

    /// Stores the outcomes of messages that failed while the outbox stored them. An outcome that is stored before its
    /// message has no effect.
    private func storeEarlyOutcomes(_ entries: [OutboxEntry], of room: RoomCore) {
        let outcomes = room.state.withLock { state in
            entries.compactMap { entry -> OutboxOutcome? in
                guard case .failed(let reason)? = state.messages.state(of: entry.id.counter) else { return nil }
                return OutboxOutcome(id: entry.id, room: entry.room, result: .failed(reason))
            }
        }
        for outcome in outcomes { _ = rooms[room.id]?.unmarked.remove(outcome.id.counter) }
        outbox.port.commit { $0.outcomes += outcomes }
        outbox.noteLetters(of: outcomes)
    }

    /// Marks all messages as in flight if there is a connection. Those with a time to live are then sent (C-75).
    func markInFlight() {
        guard engine.status.isOnline else { return }
        var marks: [RoomName: [MessageID]] = [:]
        for entry in rooms.entries.values where !entry.unmarked.markable.isEmpty {
            marks[entry.core.name] = entry.unmarked.markable.map { entry.core.messageID($0) }
        }
        guard !marks.isEmpty else { return }
        let wallClock = loop.wallTime
        outbox.port.commit {
            $0.inFlight = marks
            $0.inFlightAt = wallClock
        }
        if case .immediate = outbox.port { marked(marks) }
    }

    private func marked(_ marks: [RoomName: [MessageID]]) {
        for (room, ids) in marks.sorted(by: { $0.key < $1.key }) {
            guard let last = ids.map(\.counter).max(), let id = rooms.id(of: room) else { continue }
            rooms[id]!.unmarked.marked(upTo: last)
            engine.messagesStored(releasedUpTo: rooms[id]!.unmarked.releasedUpTo, in: id, now: now)
        }
    }

    func take(_ outcome: OutboxWriter.Outcome) {
        guard case .queued(let writer) = outbox.port else { return }
        let round = writer.finished(outcome)
        for (index, addition) in round.additions.enumerated() {
            if let call = addition.acknowledgement {
                end(call, addition, outcome.acknowledgementFailures[index])
            } else {
                end(addition, outcome.failures)
            }
        }
        // The last edit of a message is undone first, so that its earliest content remains.
        for (index, edit) in round.edits.enumerated().reversed() { edited(edit, outcome.editFailures[index]) }
        if let failure = outcome.restFailure {
            counts.outboxFailures += 1
            log(.error, "outbox.failed", "\(failure)")
            for promise in round.promises { promise.resolve(.failure(failure)) }
        } else {
            marked(round.rest.inFlight)
            if let device = round.rest.device { replaceDevice(by: device) }
            for promise in round.promises { promise.resolve(.success(())) }
        }
    }

    // MARK: Outcomes

    func accepted(_ run: AcceptedRun, in core: RoomCore) {
        core.accepted(run)
        counts.accepted += UInt64(run.count)
        let outcomes = run.counters.map { counter in
            OutboxOutcome(
                id: core.messageID(counter), room: core.name,
                result: .accepted(offset: run.offset(of: counter) ?? 0))
        }
        outbox.port.commit { $0.outcomes += outcomes }
        keep(outcomes, of: core)
        rooms.withSettledMessages.append(core.id)
    }

    func failed(_ counter: UInt64, _ failure: SendFailure, in core: RoomCore) {
        core.failed(counter, failure)
        // The message returns to the backlog.
        if failure == Self.lackOfSession, rooms[core.id]?.isHidden == true { return }
        counts.failures[failure.key, default: 0] += 1
        log(
            .warning, "message.failed", "\(MartletError.notAccepted(failure))", in: core,
            concernsEarlierClient: counter < outbox.firstCounter)
        let outcome = OutboxOutcome(id: core.messageID(counter), room: core.name, result: .failed(failure))
        outbox.port.commit { $0.outcomes.append(outcome) }
        outbox.noteLetters(of: [outcome])
        keep([outcome], of: core)
        rooms.withSettledMessages.append(core.id)
        if rooms[core.id]?.unmarked.remove(counter) == true {
            engine.messagesStored(releasedUpTo: rooms[core.id]!.unmarked.releasedUpTo, in: core.id, now: now)
        }
        fileMessageFailed(counter, of: core)
    }

    /// Removes the dead letter of a message that the log of the room has (C-77).
    func received(_ id: MessageID, in core: RoomCore) {
        guard outbox.takeLetter(id) else { return }
        // The outbox may be storing other changes when the application reads the dead letters.
        _ = core.state.withLock { $0.letters.claim(id) }
        outbox.port.commit { $0.discarded.append(id) }
    }

    /// Keeps the outcomes of an earlier client's messages until the application receives the room. The room can end
    /// before that, and be opened again.
    private func keep(_ outcomes: [OutboxOutcome], of core: RoomCore) {
        guard let entry = rooms[core.id], entry.isHidden || entry.opener != nil else { return }
        outbox.outcomes[core.name, default: []] += outcomes
        if entry.isHidden { life.keptOutcomes.add(outcomes) }
    }

    /// Discards the kept outcomes of a room that the application has received. The room contains them.
    func discardOutcomes(of core: RoomCore) {
        outbox.outcomes[core.name] = nil
        life.keptOutcomes.discard { $0.room == core.name }
    }

    // MARK: Calls of the application

    /// Cancels a message that was not written to a connection.
    func cancel(_ counter: UInt64, in room: RoomCore) -> Bool {
        guard room.cancelUnstored(counter) else { return engine.cancel(counter: counter, in: room.id, now: now) }
        failed(counter, .cancelled, in: room)
        return true
    }

    /// Replaces the content of a message that was not written to a connection, in the room and in the outbox.
    func edit(_ counter: UInt64, _ content: MessageContent, in room: RoomCore, _ promise: Promise<Bool>) {
        guard rooms[room.id] != nil, let earlier = replaceContent(of: counter, by: content, in: room) else {
            promise.resolve(.success(false))
            return
        }
        let edit = OutboxEdit(id: room.messageID(counter), room: room.name, content: content)
        switch outbox.port {
        case .immediate(let outbox):
            var transaction = OutboxTransaction()
            transaction.edits = [edit]
            outbox.commit(transaction)
            promise.resolve(.success(true))
        case .queued(let writer):
            writer.add {
                $0.edits.append(OutboxWriter.Edit(room: room, edit: edit, earlier: earlier, promise: promise))
            }
        }
    }

    /// Reports the result of an edit. An error restores the earlier content, unless the new content was written to a
    /// connection meanwhile or a later edit has replaced it (C-82).
    private func edited(_ edit: OutboxWriter.Edit, _ failure: MartletError?) {
        let counter = edit.edit.id.counter
        if let failure, edit.isReplaced || replaceContent(of: counter, by: edit.earlier, in: edit.room) != nil {
            edit.promise.resolve(.failure(failure))
        } else {
            edit.promise.resolve(.success(true))
        }
    }

    /// Replaces the content of a message, and returns the earlier one. From the storing on, the engine decides.
    private func replaceContent(
        of counter: UInt64, by content: MessageContent, in room: RoomCore
    ) -> MessageContent? {
        guard room.isUnstored(counter) || engine.edit(counter: counter, content, in: room.id, now: now) else {
            return nil
        }
        return room.edit(counter, content)
    }

    func readDeadLetters(of room: RoomCore, _ promise: Promise<[DeadLetter]>) {
        switch outbox.port {
        case .immediate(let outbox): promise.resolve(.success(outbox.deadLetters(in: room.name)))
        case .queued(let writer): writer.add { $0.reads.append(OutboxWriter.Read(room: room, promise: promise)) }
        }
    }

    func discard(_ letter: MessageID, _ promise: Promise<Void>) {
        switch outbox.port {
        case .immediate(let outbox):
            var transaction = OutboxTransaction()
            transaction.discarded = [letter]
            outbox.commit(transaction)
            promise.resolve(.success(()))
        case .queued(let writer):
            writer.add {
                $0.rest.discarded.append(letter)
                $0.promises.append(promise)
            }
        }
    }
}
