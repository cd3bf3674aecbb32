import MartletLink
import MartletWire

/// Publishing, storing and delivering messages.
extension RelayRoom {
    /// The maximum numbers of bytes and messages of one read of the store for a lagging member.
    static let readByteCount = 64 * 1024
    static let readCount = 256
    /// Bytes of bodies delivered to a member in one step. The member continues in the room's next step, after its link
    /// has checked its queue.
    static let stepByteCount = 64 * 1024

    // MARK: Publishing

    /// A member's message, which is confirmed when it is durable.
    ///
    /// - Parameter batch: the last messages of one member of this room, or empty.
    mutating func publish(
        _ handle: MemberHandle, _ message: ClientMessage, acceptedAt: UInt64, batch: inout RoomBatch,
        into effects: inout Deque<RoomEffect>
    ) {
        // The member has left. The credit is released nevertheless (S-38).
        guard let slot = members.slot(handle) else {
            return effects.append(.release(handle.key, byteCount: message.byteCount))
        }
        if message.isChange || !batch.takes(message, from: handle, at: acceptedAt) {
            take(&batch)
            guard admits(message, handle, slot, at: acceptedAt, into: &effects) else { return }
        }
        guard !publication.isFull else { return reject(handle, message.byteCount, .serverBusy, into: &effects) }
        if batch.publisher == nil, let window = members[slot].window {
            let offset = publication.lastOffset(durable: log.lastOffset) + 1
            if let change = message.change {
                note(change, of: members[slot].who.account, at: offset)
            }
            batch.begin(
                publisher: handle, window: window, sender: members[slot].who,
                watermark: windows[window].lastAppended, acceptedAt: acceptedAt, firstOffset: offset)
        }
        publication.addPending(byteCount: batch.append(message))
    }

    /// Whether the first message of a batch, or a change, may be published and is new. The batch is empty.
    ///
    /// A function of its own: most messages need none of it.
    @inline(never)
    private mutating func admits(
        _ message: ClientMessage, _ handle: MemberHandle, _ slot: Int, at acceptedAt: UInt64,
        into effects: inout Deque<RoomEffect>
    ) -> Bool {
        let change = message.change
        // A message that was taken before is accepted all the same.
        let permissions = members[slot].permissions
        var mayPublish = permissions.contains(.publish)
        // Roles that are held decide when the copy has the messages before them.
        if !(usesRoles && moderation.isHolding), mayPublish {
            let isPermitted = change.map { permits($0, by: members[slot].who.account, permissions) } ?? true
            mayPublish = isPermitted && self.mayPublish(slot, at: acceptedAt)
        }
        guard mayPublish || windows[members[slot].who] != nil else {
            refuse(slot, message.counter, message.byteCount, .forbidden, into: &effects)
            return false
        }
        guard isNew(message, handle, slot, at: acceptedAt, into: &effects) else { return false }
        guard mayPublish else {
            refuse(slot, message.counter, message.byteCount, .forbidden, into: &effects)
            return false
        }
        if let change, !mayErase(by: change, of: members[slot].who.account) {
            reject(handle, message.byteCount, .serverBusy, into: &effects)
            return false
        }
        return true
    }

    /// Whether a message is new. Every other message is accepted, refused, or ends its session. The batch is
    /// empty.
    private mutating func isNew(
        _ message: ClientMessage, _ handle: MemberHandle, _ slot: Int, at now: UInt64,
        into effects: inout Deque<RoomEffect>
    ) -> Bool {
        let (counter, credit) = (message.counter, message.byteCount)
        guard !members[slot].isSetBack else {
            refuse(slot, counter, credit, .counterReused, into: &effects)
            return false
        }
        guard let window = window(ofMember: slot, at: now) else {
            reject(handle, credit, .roomFull, into: &effects)
            return false
        }
        switch windows[window].find(counter, digest: message.digest) {
        case .new: return true
        case .reused:
            // Later messages are refused, too: they would overtake this one (R-151, Specs/hostile.md row 94).
            members[slot].isSetBack = true
            refuse(slot, counter, credit, .counterReused, into: &effects)
        case .tooFarAhead: refuse(slot, counter, credit, .invalidValue, into: &effects)
        case .tooOld: refuse(slot, counter, credit, .counterTooOld, into: &effects)
        case .duplicate(let offset) where windows[window].isDurable(counter):
            effects.append(.release(handle.key, byteCount: credit))
            noteAccepted(slot, AcceptedRun(firstCounter: counter, count: 1, firstOffset: offset ?? 0))
        case .duplicate(let offset):
            // A message that a later one overtook on its way to the store is not found.
            guard publication.redirect(counter, window, at: offset, to: handle, durable: log.lastOffset) else {
                refuse(slot, counter, credit, .counterTooOld, into: &effects)
                return false
            }
            effects.append(.release(handle.key, byteCount: credit))
        }
        return false
    }

    /// The window of a member's device, which exists from the first message on; nil when the account or the room has
    /// the maximum number.
    mutating func window(ofMember slot: Int, at now: UInt64) -> Int? {
        let device = members[slot].who
        guard let window = members[slot].window ?? windows[device] ?? addWindow(device, at: now) else { return nil }
        windows.use(window, at: now)
        members[slot].window = window
        return window
    }

    mutating func addWindow(_ device: DeviceKey, at now: UInt64) -> Int? {
        switch windows.add(device, at: now) {
        case .added(let window): return window
        case .none: return nil
        case .full:
            // Indexes are used again when nothing in memory contains them (Specs/hostile.md row 62).
            guard let unused = windows.removeUnused(at: now) else { return nil }
            log.removeTail()
            for other in unused { members.removeWindow(of: other) }
            return addWindow(device, at: now)
        case .replaced(let window, let other):
            members.removeWindow(of: other)
            return window
        }
    }

    /// Refuses a message that will never be acceptable. The session continues (R-24, Specs/hostile.md row 40).
    mutating func refuse(
        _ slot: Int, _ counter: UInt64, _ credit: Int, _ code: ErrorCode, into effects: inout Deque<RoomEffect>
    ) {
        effects.append(.refuse(members[slot].key, counter: counter, code, byteCount: credit))
    }

    /// Resets the session of a message that cannot be taken now, so that the order of its messages is kept.
    mutating func reject(
        _ handle: MemberHandle, _ credit: Int, _ code: ErrorCode, into effects: inout Deque<RoomEffect>
    ) {
        effects.append(.release(handle.key, byteCount: credit))
        effects.append(.reset(handle.key, code))
        leave(handle, into: &effects)
    }

    // MARK: Storing

    /// Passes the next batch to the store if it is its turn, sends acceptances, and ends closed sessions.
    mutating func flushPublication(mayAppend: Bool, into effects: inout Deque<RoomEffect>) {
        if mayAppend { startStoring(into: &effects) }
        sendAcceptances(into: &effects)
        endClosed(into: &effects)
        releaseIdleMemory()
    }

    private mutating func sendAcceptances(into effects: inout Deque<RoomEffect>) {
        for slot in publication.publishers where members.isLive(slot) {
            let count = members[slot].accepted.count
            for start in stride(from: 0, to: count, by: Accepted.maxRunCount) {
                let runs = members[slot].accepted[start..<min(start + Accepted.maxRunCount, count)]
                let accepted = Accepted(runs: Array(runs))
                let body = EncodedBody(accepted.encode(), layout: accepted.layout)
                send(.accepted, body, to: slot, into: &effects)
            }
            members[slot].accepted.removeAll(keepingCapacity: true)
        }
        publication.removePublishers()
    }

    /// Passes the next batch to the store, which has one call of a room that changes it.
    mutating func startStoring(into effects: inout Deque<RoomEffect>) {
        guard isBusy, !awaitsRoles, let batch = publication.startStoring() else { return }
        let append = RoomAppend(
            room: name, entries: batch.entries, erasures: batch.erasures, log: log.id, rolesVersion: rolesVersion)
        effects.append(.store(.append(append)))
    }

    /// Ends the closed sessions whose messages are accepted and whose requests to the relay are answered.
    private mutating func endClosed(into effects: inout Deque<RoomEffect>) {
        guard publication.isClosing else { return }
        let waiting = publication.closingMembers.filter { !requests.asked(by: Int($0.slot)).isEmpty }
        for handle in publication.takeClosed(durable: log.lastOffset, except: waiting) {
            guard let slot = members.slot(handle) else { continue }
            effects.append(.closed(members[slot].key))
            members.remove(slot)
        }
    }

    /// The store has made its batch durable up to an offset: these messages are confirmed and offered to the members.
    /// The rest has failed.
    mutating func stored(upTo offset: UInt64, first: UInt64, into effects: inout Deque<RoomEffect>) {
        guard let published = publication.stored(upTo: offset) else { return }
        if !published.isEmpty {
            confirm(published, into: &effects)
            log.append(published)
            eraseStored(into: &effects)
            sendEntries(from: published[published.startIndex].offset, count: published.count, into: &effects)
            announcementsStored(into: &effects)
            commandsStored(into: &effects)
        }
        log.raiseFirstOffset(to: first)
        if usesForwarding { forwarding.value.stored(upTo: log.lastOffset) }
        if !publication.endStoring(durable: log.lastOffset) { storeFailed(into: &effects) }
    }

    /// Confirms durable messages: their publishers are notified and their credit is released.
    private mutating func confirm(_ entries: ArraySlice<LogEntry>, into effects: inout Deque<RoomEffect>) {
        var rest = entries
        var owed: (publisher: MemberHandle, credit: Int)?
        while let confirmation = publication.confirmNext(&rest) {
            let (part, credit) = (confirmation.part, confirmation.credit)
            // Usually all messages have one publisher.
            if let before = owed, before.publisher == part.publisher {
                owed = (part.publisher, before.credit + credit)
            } else {
                if let owed { release(owed.publisher, owed.credit, into: &effects) }
                owed = (part.publisher, credit)
            }
            let slot = members.slot(part.confirmTo)
            var own = confirmation.entries
            while let run = AcceptedRun(takenFrom: &own) {
                windows[part.window].confirm(run)
                if let slot { noteAccepted(slot, run) }
            }
        }
        if let owed { release(owed.publisher, owed.credit, into: &effects) }
    }

    mutating func noteAccepted(_ slot: Int, _ run: AcceptedRun) {
        guard members.isLive(slot) else { return }
        if members[slot].accepted.isEmpty { publication.notePublisher(slot) }
        members[slot].noteAccepted(run)
    }

    /// The store did not take the batch: no message of it exists, and the sessions of its publishers are reset (R-26,
    /// Specs/hostile.md row 29). A refusal of single messages would let later ones overtake them.
    mutating func storeFailed(into effects: inout Deque<RoomEffect>) {
        guard isBusy, publication.isStoring else { return }
        discardPublication(into: &effects)
    }

    /// Ends all messages that are not durable, and the sessions of their publishers.
    private mutating func discardPublication(into effects: inout Deque<RoomEffect>) {
        var failed: Set<MemberHandle> = []
        for (part, credit) in publication.discard(durable: log.lastOffset) {
            windows[part.window].rollBack(to: log.lastOffset)
            effects.append(.release(part.publisher.key, byteCount: credit))
            for handle in [part.publisher, part.confirmTo]
            where failed.insert(handle).inserted && members.slot(handle) != nil {
                effects.append(.reset(handle.key, .storeUnavailable))
                leave(handle, into: &effects)
            }
        }
        announcementsDiscarded(into: &effects)
        commandsDiscarded(into: &effects)
    }

    /// The store has lost the log: all sessions are reset, and the next ones open the next log.
    mutating func logLost(into effects: inout Deque<RoomEffect>) {
        // The store may have no append, while messages wait for roles that are loaded or saved.
        if isBusy {
            sendAcceptances(into: &effects)
            discardPublication(into: &effects)
        }
        for slot in members.slots where members.isPresent(slot) {
            effects.append(.reset(members[slot].key, .storeUnavailable))
            leave(handle(slot), into: &effects)
        }
        resetAwaiting(into: &effects)
        discardAttachments(.storeUnavailable, into: &effects)
        // Closed sessions may also wait for requests, whose answers will find no room. Their acceptances precede the
        // close.
        for slot in members.slots where members.isLive(slot) {
            effects.append(.closed(members[slot].key))
            members.remove(slot)
        }
    }

    // MARK: Delivering

    /// Messages that were read from the store for a lagging member; nil when the store failed.
    mutating func read(
        _ handle: MemberHandle, _ entries: [LogEntry]?, first: UInt64, into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = members.slot(handle) else { return }
        members[slot].isReading = false
        guard var entries else {
            effects.append(.reset(handle.key, .storeUnavailable))
            return leave(handle, into: &effects)
        }
        // The store may have later messages of other relays, which the copy does not have.
        if let last = entries.last, last.offset > log.lastOffset { entries.removeAll { $0.offset > log.lastOffset } }
        log.raiseFirstOffset(to: first)
        // A suspended member reads the messages again when it continues.
        guard !members[slot].isSuspended else { return }
        var start = entries.firstIndex { $0.offset > members[slot].cursor } ?? entries.endIndex
        while start < entries.endIndex {
            skipGap(slot, to: entries[start].offset, into: &effects)
            let row = members[slot].takeRow(of: entries, from: start)
            if !row.isExcluded {
                effects.append(.deliver(members[slot].key, RelayRoom.part(start..<row.end, of: entries[...])))
            }
            start = row.end
        }
        let cursor = members[slot].cursor
        if entries.isEmpty, cursor < log.lastOffset, cursor + 1 < log.tail.first {
            skipGap(slot, to: log.tail.first, into: &effects)
        }
        deliverNext(slot, into: &effects)
    }

    /// A member has returned credit of messages, so it may receive more.
    mutating func credit(_ handle: MemberHandle, byteCount: Int, into effects: inout Deque<RoomEffect>) {
        guard let slot = members.slot(handle) else {
            return usesAttachments ? creditAttachments(handle, byteCount: byteCount, into: &effects) : ()
        }
        if members[slot].addCredit(byteCount) { effects.append(.waitsForCredit(members[slot].key, false)) }
        deliverNext(slot, into: &effects)
    }

    /// Delivers the next messages to a member, within its credit and one step.
    mutating func deliverNext(_ slot: Int, into effects: inout Deque<RoomEffect>) {
        guard members.isPresent(slot) else { return }
        var room = RelayRoom.stepByteCount
        while let wanted = members[slot].wanted(upTo: log.lastOffset) {
            guard room > 0 else { return members.noteUnfinished(slot) }
            if case let row = log.tail.row(from: wanted), !row.isEmpty {
                let taken = members[slot].take(row, &room)
                if !taken.isEmpty { effects.append(.deliver(members[slot].key, RelayRoom.part(taken, of: row))) }
            } else if wanted < log.firstOffset {
                skipGap(slot, to: log.firstOffset, into: &effects)
            } else {
                members[slot].isReading = true
                let range = ReadRange(
                    from: wanted, maxCount: RelayRoom.readCount,
                    maxByteCount: min(RelayRoom.readByteCount, members[slot].credit), log: log.id)
                let id = ReadID(member: handle(slot), erasureCount: log.erasureCount)
                return effects.append(.store(.read(name, id, range)))
            }
        }
        if members[slot].beginsToWait(upTo: log.lastOffset) { effects.append(.waitsForCredit(members[slot].key, true)) }
    }

    /// Moves a member beyond offsets that it does not receive, and reports them.
    mutating func skipGap(_ slot: Int, to offset: UInt64, into effects: inout Deque<RoomEffect>) {
        let cursor = members[slot].cursor
        guard cursor + 1 < offset else { return }
        members[slot].cursor = offset - 1
        send(.gap, EncodedBody(Gap(offsets: cursor + 1...offset - 1).encode()), to: slot, into: &effects)
    }

    /// Messages for a queue, which retains their whole array. A small part of an array is copied. `row` may have
    /// lost its first messages but not its last, so the array ends where it ends.
    private static func part(_ range: Range<Int>, of row: ArraySlice<LogEntry>) -> ArraySlice<LogEntry> {
        2 * range.count >= row.endIndex ? row[range] : ArraySlice(Array(row[range]))
    }
}
