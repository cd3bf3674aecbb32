import MartletLink
import MartletWire

/// The copy of a log to which other relays append, too.
///
/// An append is a compare-and-set: the store refuses it if the log has gone on. The room then takes the messages of the
/// others, admits its own waiting messages again, and appends those that remain under the next offsets. Nothing that
/// waits was accepted or delivered, so no client sees an offset that changes.
extension RelayRoom {
    /// The state of the room in this relay, which the store compares with its own; nil while the room is loaded.
    var revision: RoomRevision? {
        guard case .ready = state else { return nil }
        return RoomRevision(room: name, log: log.id, lastOffset: log.lastOffset, rolesVersion: rolesVersion)
    }

    /// The version of the roles in memory; 0 without roles.
    var rolesVersion: UInt64 { usesRoles ? moderation.version : 0 }

    /// Whether nothing is appended until roles are saved, loaded or in effect.
    var awaitsRoles: Bool { replica.isLoading || usesRoles && (moderation.isSaving || moderation.isHolding) }

    /// The store has refused the append, because other relays have appended these messages. False if the copy cannot
    /// continue, because the store has removed messages that it does not have.
    mutating func conflicted(_ history: RoomHistory, at now: UInt64, into effects: inout Deque<RoomEffect>) -> Bool {
        guard isBusy, publication.isStoring else { return true }
        forwarding.value.refused()
        guard let first = history.entries.first, first.offset == log.lastOffset &+ 1 else { return false }
        return advance(by: history.entries[...], at: now, into: &effects)
    }

    /// The store has refused the append, because another relay has changed the roles. The waiting messages are admitted
    /// again when they are loaded.
    mutating func rolesChanged(into effects: inout Deque<RoomEffect>) {
        if isBusy { publication.suspendStoring() }
        // The store may have reported them before.
        if !(usesRoles && moderation.isHolding) { loadRoles(needsLater: true, into: &effects) }
    }

    /// Loads the roles of the store.
    ///
    /// - Parameter needsLater: Whether the store has refused the version of those in memory.
    mutating func loadRoles(needsLater: Bool, into effects: inout Deque<RoomEffect>) {
        if replica.beginLoad(needsLater: needsLater) { effects.append(.store(.load(name))) }
    }

    /// The store has other state than the copy. False if it has another log.
    mutating func noteChange(_ found: RoomRevision, into effects: inout Deque<RoomEffect>) -> Bool {
        guard case .ready = state else { return true }
        guard found.log == log.id else { return false }
        replica.note(end: found.lastOffset)
        if usesRoles { moderation.noteEnd(found.lastOffset, ofVersion: found.rolesVersion) }
        if found.rolesVersion > (usesRoles ? moderation.knownVersion : 0) {
            loadRoles(needsLater: false, into: &effects)
        }
        return true
    }

    /// A session that has seen messages which the copy misses, at another relay, joins when the copy has them. False if
    /// it joins at once.
    mutating func awaitMessages(_ join: JoinRequest) -> Bool {
        guard case .ready = state, join.open.log == log.id, join.open.cursor > log.lastOffset else { return false }
        return replica.append(join)
    }

    /// The copy cannot take the messages that sessions have seen.
    mutating func resetAwaiting(into effects: inout Deque<RoomEffect>) {
        for join in replica.takeJoins(upTo: .max) { effects.append(.reset(join.member, .storeUnavailable)) }
    }

    /// The sessions whose messages the copy has join.
    mutating func admitAwaiting(upTo offset: UInt64, into effects: inout Deque<RoomEffect>) {
        for join in replica.takeJoins(upTo: offset) { self.join(join, into: &effects) }
    }

    // MARK: Messages of other relays

    /// Whether messages of this relay wait, whose append brings those that the copy misses. Forwarded ones, and those
    /// that wait for roles, have no append.
    private var hasWaiting: Bool {
        let mayAppend = !usesForwarding && !(usesRoles && moderation.isHolding)
        return isBusy && (mayAppend ? publication.entryCount > 0 : publication.isStoring)
    }

    /// The instant of a delayed read; nil while messages wait, whose append brings what it would read.
    var readDeadline: Instant? { hasWaiting ? nil : replica.deadline }

    /// Takes the messages of the bus that continue the copy, unless the store has an append, whose answer decides about
    /// the order, or changed roles are loaded, which may end sessions. Returns the number of batches; nil if
    /// the copy cannot continue.
    mutating func takeEarly(at now: UInt64, into effects: inout Deque<RoomEffect>) -> Int? {
        guard case .ready = state, !(isBusy && publication.isStoring), !replica.isLoading else { return 0 }
        var (taken, count): ([LogEntry], Int) = ([], 0)
        while let entries = replica.takeEarly(after: taken.last?.offset ?? log.lastOffset) {
            taken += entries
            count += 1
        }
        guard count > 0 else { return 0 }
        replica.endDelay()
        return advance(by: taken[...], at: now, into: &effects) ? count : nil
    }

    /// Reads the messages of other relays that the copy misses. A waiting append brings them as well.
    mutating func readMissed(now: Instant, into effects: inout Deque<RoomEffect>) {
        // Nothing is appended while roles are held, which only a read ends.
        let isDelayed = members.remote.count > 0 && !(usesRoles && moderation.isHolding)
        guard !hasWaiting, replica.beginRead(after: log.lastOffset, isDelayed: isDelayed, now: now) else { return }
        let range = ReadRange(
            from: log.lastOffset &+ 1, maxCount: RelayRoom.readCount, maxByteCount: RelayRoom.readByteCount,
            log: log.id)
        let id = ReadID(member: relayHandle, erasureCount: log.erasureCount)
        effects.append(.store(.read(name, id, range)))
    }

    /// The result of `readMissed`; nil when the store failed. False if the copy cannot continue.
    mutating func missedRead(_ history: RoomHistory?, at now: UInt64, into effects: inout Deque<RoomEffect>) -> Bool {
        let isCurrent = replica.readEnded()
        guard let history else { return false }
        // The answer of the append has the messages.
        guard !(isBusy && publication.isStoring) else { return true }
        guard history.firstOffset <= log.lastOffset &+ 1 else { return false }
        guard history.entries.isEmpty else {
            // The bus, or the answer of an append, may have brought all of them meanwhile.
            let missed = history.entries.drop { $0.offset <= log.lastOffset }
            replica.continueRead()
            return missed.isEmpty || advance(by: missed, at: now, into: &effects)
        }
        // The store may have had later messages before the roles that are held.
        guard isCurrent else { return true }
        // The store has no more messages, although it has reported them or sessions have seen them.
        replica.forgetEnd()
        admitAwaiting(upTo: .max, into: &effects)
        if usesRoles { moderation.endHold() }
        return true
    }

    /// The roles of the store, which another relay has changed. False if they are earlier than those in memory, or the
    /// ones that the store has refused, and at a relay without roles.
    mutating func rolesLoaded(_ roles: RoomRoles?, version: UInt64, upTo end: UInt64) -> Bool {
        let needsLater = replica.needsLaterRoles
        replica.loadEnded()
        guard usesRoles, let roles, version >= moderation.version else { return false }
        // The store may have reported a change of this relay before it has answered it.
        guard version > moderation.version else { return !needsLater }
        holdRoles(roles, version: version, upTo: end)
        return true
    }

    /// Roles take effect when the copy has the messages that the store had before: some may wait here, too, and the
    /// roles may forbid them now.
    mutating func holdRoles(_ roles: RoomRoles, version: UInt64, upTo end: UInt64) {
        moderation.hold(roles, version: version, upTo: end)
        replica.noteHold(upTo: end)
    }

    /// Held roles take effect, if the copy has the messages before them, as if this relay had saved them. The waiting
    /// messages keep their counters, so that all of them can wait.
    mutating func applyRoles(at now: UInt64, into effects: inout Deque<RoomEffect>) {
        guard usesRoles, !(isBusy && publication.isStoring), moderation.takeHeld(upTo: log.lastOffset) else { return }
        expelUnentitled(members.slots.filter { members.isPresent($0) }, into: &effects)
        expelAttachments(.roomForbidden, into: &effects)
        _ = advance(by: [], at: now, into: &effects)
        // Messages and operations alternate (Specs/hostile.md row 58).
        startStoring(into: &effects)
    }

    /// Takes messages of other relays, and admits the waiting ones of this relay again. False if one of them cannot
    /// wait any more, so that the room has to be loaded again.
    ///
    /// - Precondition: The store has no append of this room.
    private mutating func advance(
        by entries: ArraySlice<LogEntry>, at now: UInt64, into effects: inout Deque<RoomEffect>
    ) -> Bool {
        var waiting = isBusy ? publication.takeWaiting() : []
        for message in waiting { windows[message.part.window].rollBack(to: log.lastOffset) }
        // Their relays forward them to the relay of the last append. A session of this relay may have published
        // them again.
        waiting.removeAll { $0.part.confirmTo == forwarderHandle }
        let taken = take(entries, at: now, into: &effects)
        // A window has the offsets of its last runs only, which may not be those of all waiting messages.
        var offsets: [WindowCounter: UInt64] = [:]
        if !waiting.isEmpty { for entry in taken { offsets[WindowCounter(entry)] = entry.offset } }
        var moved: [UInt64: UInt64] = [:]
        var setBack: Set<Int> = []
        for message in waiting {
            guard canAppendAgain(message) else { return false }
            let known = offsets[WindowCounter(message.entry)]
            guard let offset = admitAgain(message, takenAt: known, setBack: &setBack, at: now, into: &effects) else {
                continue
            }
            moved[message.entry.offset] = offset
        }
        if usesForwarding {
            forwarding.value.took(entries.count, of: waiting.map { moved[$0.entry.offset] == nil })
        }
        if hasCommands { commands.move(moved) }
        if usesRoles { moderation.moveAnnounced(moved) }
        if isBusy { publication.endAdmission(durable: log.lastOffset) }
        return true
    }

    /// Whether a message of the relay can have another counter: a client can have published with the last one, where
    /// the account of the relay is not reserved.
    private func canAppendAgain(_ message: Publication.Waiting) -> Bool {
        message.part.publisher != relayHandle || windows[message.part.window].lastAppended < .max
    }

    /// Appends messages of other relays to the copy, and returns them. They are durable.
    private mutating func take(
        _ entries: ArraySlice<LogEntry>, at now: UInt64, into effects: inout Deque<RoomEffect>
    ) -> [LogEntry] {
        guard entries.first?.offset == log.lastOffset &+ 1 else { return [] }
        var taken: [LogEntry] = []
        taken.reserveCapacity(entries.count)
        for entry in entries {
            guard entry.offset == log.lastOffset &+ UInt64(taken.count) &+ 1 else { break }
            let device = DeviceKey(account: entry.sender, device: entry.device)
            let window = windows.replicate(device, at: entry.acceptedAt)
            let own = LogEntry(
                offset: entry.offset, sender: entry.sender, device: entry.device, counter: entry.counter,
                acceptedAt: entry.acceptedAt, body: entry.body, window: Int32(window), digest: entry.contentDigest)
            windows[window].append([own])
            windows[window].confirm(AcceptedRun(firstCounter: own.counter, count: 1, firstOffset: own.offset))
            taken.append(own)
            if let change = own.change {
                let isOfRelay = entry.device == RoomRolesConfiguration.serverDevice
                note(change, of: isOfRelay ? nil : entry.sender, at: entry.offset)
            }
        }
        log.append(taken[...])
        if isWatched { changes.noteReplicated(taken.count) }
        eraseStored(into: &effects)
        return taken
    }

    /// Decides about a waiting message again, in the order in which the messages were published. Returns its
    /// offset if it still waits.
    ///
    /// - Parameters:
    ///   - taken: The offset of the message if it is one of those that were just taken.
    ///   - setBack: The members with a waiting message before this one whose counter was reused.
    private mutating func admitAgain(
        _ message: Publication.Waiting, takenAt taken: UInt64?, setBack: inout Set<Int>, at now: UInt64,
        into effects: inout Deque<RoomEffect>
    ) -> UInt64? {
        let (part, entry) = (message.part, message.entry)
        if part.publisher == relayHandle { return appendAgain(message, at: now) }
        let session = members.slot(part.confirmTo)
        let found: DeduplicationWindow.OnCounter = windows[part.window].find(entry.counter, digest: entry.digest)
        if case .duplicate(let offset) = found {
            // The device has published the message through another relay, too, or this one has forwarded it.
            release(part.publisher, message.credit, into: &effects)
            if let session {
                // A client takes offset 0 for that of a different message with the counter.
                let offset = offset ?? taken ?? 0
                noteAccepted(session, AcceptedRun(firstCounter: entry.counter, count: 1, firstOffset: offset))
            }
            return nil
        }
        let permissions = session.map { members[$0].permissions } ?? RoomPermissions()
        // Roles that are held decide when the copy has the messages before them.
        if usesRoles, !moderation.isHolding, let roles = moderation.roles {
            let isPermitted = entry.change.map { permits($0, by: entry.sender, permissions) } ?? true
            // A different relay may have refused the message before a mute has ended.
            guard isPermitted, roles.mayPublish(entry.sender, permissions, at: entry.acceptedAt) else {
                refuse(session, message, .forbidden, into: &effects)
                return nil
            }
        }
        if let session, setBack.contains(session) {
            refuse(session, message, .counterReused, into: &effects)
            return nil
        }
        switch found {
        case .new: return appendAgain(message, at: now)
        case .reused:
            if let session {
                members[session].isSetBack = true
                setBack.insert(session)
            }
            refuse(session, message, .counterReused, into: &effects)
        case .tooFarAhead: refuse(session, message, .invalidValue, into: &effects)
        case .tooOld: refuse(session, message, .counterTooOld, into: &effects)
        case .duplicate: break
        }
        return nil
    }

    /// Refuses a message to the session that has published it last. Its credit is that of the session that has
    /// published it first.
    private mutating func refuse(
        _ session: Int?, _ message: Publication.Waiting, _ code: ErrorCode, into effects: inout Deque<RoomEffect>
    ) {
        let isFirst = session != nil && message.part.publisher == message.part.confirmTo
        if !isFirst { release(message.part.publisher, message.credit, into: &effects) }
        if let session { refuse(session, message.entry.counter, isFirst ? message.credit : 0, code, into: &effects) }
    }

    /// A message waits under the next offset. One of the relay itself gets the next counter, too: other relays use the
    /// same device.
    private mutating func appendAgain(_ message: Publication.Waiting, at now: UInt64) -> UInt64? {
        let offset = publication.lastOffset(durable: log.lastOffset) &+ 1
        var entry = message.entry
        if message.part.publisher == relayHandle {
            entry = entry.renumbered(windows[message.part.window].lastAppended + 1)
        }
        entry = entry.moved(to: offset)
        publication.append(entry, of: message.part)
        windows[message.part.window].append([entry])
        if let change = entry.change {
            note(change, of: message.part.publisher == relayHandle ? nil : entry.sender, at: offset)
        }
        return offset
    }
}

/// A message of a device, which has a window.
private struct WindowCounter: Hashable {
    private let window: Int32
    private let counter: UInt64

    init(_ entry: LogEntry) { (window, counter) = (entry.window, entry.counter) }
}

extension LogEntry {
    /// The content of an edit or a deletion; nil for other messages, and if it is damaged (M-1).
    var change: MessageBody? {
        ClientMessage(counter: counter, body: body.rawBytes, layout: body.layout).change
    }

    /// The digest of the content, as for a client's message; 0 for a message whose content is erased.
    var contentDigest: UInt16 {
        do throws(WireError) {
            guard try MessageView(parsing: body.rawBytes).content.byteCount > 0 else { return 0 }
        } catch {
            return 0
        }
        return ClientMessage(counter: counter, body: body.rawBytes, layout: .unknown).digest
    }

    /// The entry at another offset, before it is durable.
    fileprivate func moved(to offset: UInt64) -> LogEntry {
        offset == self.offset ? self : moved(to: offset, window: window, digest: digest)
    }

    /// The entry at an offset, in the terms of this copy of the room.
    func moved(to offset: UInt64, window: Int32, digest: UInt16) -> LogEntry {
        var bytes = [UInt8](copying: body.rawBytes)
        RelayStamp.setOffset(offset, of: &bytes)
        return LogEntry(
            offset: offset, sender: sender, device: device, counter: counter, acceptedAt: acceptedAt,
            body: EncodedBody(bytes, layout: body.layout, isSummed: body.checksum != nil), window: window,
            digest: digest)
    }

    /// The entry of a message of the relay with another counter.
    fileprivate func renumbered(_ counter: UInt64) -> LogEntry {
        guard counter != self.counter, let message = try? Message(parsing: body.rawBytes) else { return self }
        let other = Message(counter: counter, content: message.content, relay: message.relay)
        return LogEntry(
            offset: offset, sender: sender, device: device, counter: counter, acceptedAt: acceptedAt,
            body: EncodedBody(other.encode(), isSummed: body.checksum != nil), window: window, digest: digest)
    }
}
