import MartletWire

extension Room {
    /// Bodies read from the store for a lagging member in one go, in bytes and in messages.
    static let readByteCount = 64 * 1024
    static let readCount = 256
    /// Bodies of messages that lie in one array, which whoever gets any of them holds, in bytes.
    static let rowByteCount = 64 * 1024
    /// What a room keeps in memory of what is durable.
    static let tailBounds = LogRows.Bounds(maxCount: 1024, maxByteCount: 1024 * 1024)
    /// Bytes of bodies handed to a member in one go; then its link has a say, and it goes on with the room's next turn.
    static let pumpByteCount = 64 * 1024

    /// Takes a member's message; it is confirmed when it is durable.
    ///
    /// - Parameter draft: what this room's members posted last, or nothing.
    mutating func publish(
        _ handle: MemberHandle, _ message: ClientMessage, acceptedAt: UInt64, draft: inout RoomDraft,
        into effects: inout Deque<RoomEffect>
    ) {
        // The member left while the message was on its way here: its credit goes back all the same (S-38).
        guard let slot = slot(handle) else {
            return effects.append(.release(handle.key, byteCount: message.byteCount))
        }
        if !draft.takes(message, from: handle, at: acceptedAt) {
            take(&draft)
            guard isNew(message.counter, handle, slot, message.byteCount, at: acceptedAt, into: &effects) else {
                return
            }
        }
        guard work.pendingByteCount < Room.maxPendingByteCount else {
            return turnAway(handle, message.byteCount, .serverBusy, into: &effects)
        }
        if draft.poster == nil, let mark = members[slot].mark {
            draft.begin(
                poster: handle, mark: mark, sender: members[slot].who, watermark: marks[mark].lastAppended,
                acceptedAt: acceptedAt, firstOffset: head + 1)
        }
        work.pendingByteCount += draft.append(message)
    }

    /// Whether a message is to be taken: none that was before, nor of a device more than the room remembers. What there
    /// is to be said of it otherwise has been: every message is accepted, refused or ends its session. All
    /// drafts have been taken.
    private mutating func isNew(
        _ counter: UInt64, _ handle: MemberHandle, _ slot: Int, _ credit: Int, at now: UInt64,
        into effects: inout Deque<RoomEffect>
    ) -> Bool {
        guard let mark = mark(ofMember: slot, at: now) else {
            turnAway(handle, credit, .roomFull, into: &effects)
            return false
        }
        switch marks[mark].look(up: counter) {
        case .new: return true
        case .tooFarAhead: refuse(slot, counter, credit, .invalidValue, into: &effects)
        case .tooOld: refuse(slot, counter, credit, .counterTooOld, into: &effects)
        case .duplicate(let offset) where marks[mark].isDurable(counter):
            effects.append(.release(handle.key, byteCount: credit))
            noteAccepted(slot, AcceptedRun(firstCounter: counter, count: 1, firstOffset: offset ?? 0))
        case .duplicate(let offset):
            guard let offset = offset ?? unconfirmedOffset(of: counter, mark), let index = separate(offset) else {
                // It was passed over by what is on its way to the store.
                refuse(slot, counter, credit, .counterTooOld, into: &effects)
                return false
            }
            effects.append(.release(handle.key, byteCount: credit))
            // A copy of what is still on its way to the store: who sent it last is told when it is there.
            work.unconfirmed[index].confirmTo = handle
        }
        return false
    }

    /// A message of a member's that will never be acceptable; the session goes on (R-24, Specs/hostile.md row 40).
    private mutating func refuse(
        _ slot: Int, _ counter: UInt64, _ credit: Int, _ code: ErrorCode, into effects: inout Deque<RoomEffect>
    ) {
        effects.append(.release(members[slot].key, byteCount: credit))
        let receipt = Receipt.refused(Receipt.Refusal(counter: counter, code: code))
        send(.receipt, EncodedBody(receipt.encode()), to: slot, into: &effects)
    }

    /// The draft's messages become entries of the log; only then are they known to be there.
    mutating func take(_ draft: inout RoomDraft) {
        guard let poster = draft.poster else { return }
        // Mostly there is no other in this turn, and the row is kept as long as its messages are.
        if work.unstored.isEmpty { work.unstored.reserveCapacity(draft.count) }
        let first = work.unstored.count
        work.unconfirmed.append(
            Unconfirmed(
                count: draft.count, poster: poster, confirmTo: poster, mark: draft.mark,
                stampByteCount: draft.stampByteCount))
        draft.close(into: &work.unstored, areSummed: hasPlainMembers)
        head += UInt64(work.unstored.count - first)
        var rest = work.unstored[first...]
        while let run = AcceptedRun(takenFrom: &rest) { marks[draft.mark].append(run) }
    }

    /// Where a message is that is not durable, if it is.
    private func unconfirmedOffset(of counter: UInt64, _ mark: Int) -> UInt64? {
        let isMeant: (LogEntry) -> Bool = { $0.counter == counter && Int($0.mark) == mark }
        return (work.unstored.last(where: isMeant) ?? work.storing?.last(where: isMeant))?.offset
    }

    /// Makes an element of `unconfirmed` of the message at an offset, and returns its place; nil when it is durable.
    private mutating func separate(_ offset: UInt64) -> Int? {
        var first = durable + 1
        guard offset >= first else { return nil }
        for index in work.unconfirmed.indices {
            let part = work.unconfirmed[index]
            guard offset >= first + UInt64(part.count) else { return separate(Int(offset - first), ofPart: index) }
            first += UInt64(part.count)
        }
        return nil
    }

    private mutating func separate(_ place: Int, ofPart index: Int) -> Int {
        let part = work.unconfirmed[index]
        guard part.count > 1 else { return index }
        var parts = Array(work.unconfirmed)
        let counts = [place, 1, part.count - place - 1].filter { $0 > 0 }
        parts.replaceSubrange(
            index...index,
            with: counts.map { count in
                var cut = part
                cut.count = count
                return cut
            })
        work.unconfirmed = Deque(parts)
        return place > 0 ? index + 1 : index
    }

    /// A message cannot be taken now: its sender begins again from a new session, so that its order is kept.
    mutating func turnAway(
        _ handle: MemberHandle, _ credit: Int, _ code: ErrorCode, into effects: inout Deque<RoomEffect>
    ) {
        effects.append(.release(handle.key, byteCount: credit))
        effects.append(.reset(handle.key, code))
        leave(handle, into: &effects)
    }

    /// Ends a turn: what is durable goes to the members, what was posted to the store, what was accepted is said.
    mutating func flush(now: Instant, into effects: inout Deque<RoomEffect>) {
        if !presenceChanges.isEmpty { tellPresence(now: now, into: &effects) }
        if !work.unfinished.isEmpty { pumpUnfinished(into: &effects) }
        if hasNews {
            for slot in members.slots where members.isLive(slot) { pump(slot, into: &effects) }
            hasNews = false
            tail.trim(to: Room.tailBounds)
        }
        if work.storing == nil, !work.unstored.isEmpty {
            effects.append(.append(name, work.unstored))
            work.storing = work.unstored
            work.unstored = []
        }
        for slot in work.posters where members.isLive(slot) {
            let count = members[slot].accepted.count
            for start in stride(from: 0, to: count, by: Accepted.maxRunCount) {
                let runs = members[slot].accepted[start..<min(start + Accepted.maxRunCount, count)]
                let accepted = Accepted(runs: Array(runs))
                let body = EncodedBody(accepted.encode(), layout: accepted.layout)
                send(.accepted, body, to: slot, into: &effects)
            }
            members[slot].accepted.removeAll(keepingCapacity: true)
        }
        if !work.posters.isEmpty { work.posters.removeAll(keepingCapacity: true) }
        if !work.closing.isEmpty { endClosing(into: &effects) }
        // A room with messages in memory is written to again and again.
        if tail.isEmpty { releaseIdleMemory() }
    }

    /// Sessions that were closed behind their messages end when these have been accepted.
    private mutating func endClosing(into effects: inout Deque<RoomEffect>) {
        let ended = work.closing.filter { $0.lastOffset <= durable }
        work.closing.removeAll { [durable] in $0.lastOffset <= durable }
        for closing in ended {
            guard let slot = slot(closing.handle) else { continue }
            effects.append(.closed(members[slot].key))
            members.remove(slot)
        }
    }

    private mutating func pumpUnfinished(into effects: inout Deque<RoomEffect>) {
        let slots = work.unfinished
        work.unfinished = []
        for slot in slots where members.isLive(slot) {
            members[slot].isUnfinished = false
            pump(slot, into: &effects)
        }
    }

    /// The store has made everything up to `offset` durable: it is published and confirmed. What of the batch lies
    /// beyond has failed.
    mutating func stored(upTo offset: UInt64, into effects: inout Deque<RoomEffect>) {
        guard let batch = work.storing, let last = batch.last else { return }
        let published = batch.prefix { $0.offset <= offset }
        if let newest = published.last {
            durable = newest.offset
            confirm(published, into: &effects)
            keep(published)
            hasNews = true
        }
        if durable < last.offset { storeFailed(into: &effects) } else { work.storing = nil }
    }

    /// Messages come into memory: in the array in which they went to the store, unless that is large.
    private mutating func keep(_ entries: ArraySlice<LogEntry>) {
        var start = entries.startIndex
        while start < entries.endIndex {
            var end = start
            var byteCount = 0
            repeat {
                byteCount += entries[end].body.byteCount
                end += 1
            } while end < entries.endIndex && byteCount + entries[end].body.byteCount <= Room.rowByteCount
            let row = entries[start..<end]
            tail.append(row.count == entries.count ? row : ArraySlice(Array(row)))
            start = end
        }
    }

    /// Messages for somebody who holds them, and with them the whole array: of one that is mostly others', a copy
    /// . `row` may have lost its beginning, but not its end, so that is where the array ends.
    private static func part(_ range: Range<Int>, of row: ArraySlice<LogEntry>) -> ArraySlice<LogEntry> {
        2 * range.count >= row.endIndex ? row[range] : ArraySlice(Array(row[range]))
    }

    /// The store did not take the batch: nothing of it happened, and its senders begin again from a new session (R-26,
    /// Specs/hostile.md row 29).
    ///
    /// Resetting the sessions keeps each sender's order; refusing single messages would let later ones overtake.
    mutating func storeFailed(into effects: inout Deque<RoomEffect>) {
        guard work.storing != nil else { return }
        // All that is not durable, in the order of `unconfirmed`.
        var entries = (Array((work.storing ?? []).drop { $0.offset <= durable }) + work.unstored)[...]
        work.storing = nil
        work.unstored = []
        head = durable
        work.pendingByteCount = 0
        var failed: Set<MemberHandle> = []
        while let part = work.unconfirmed.popFirst() {
            marks[part.mark].rollBack(to: durable)
            effects.append(.release(part.poster.key, byteCount: part.credit(of: entries.prefix(part.count))))
            entries = entries.dropFirst(part.count)
            for handle in [part.poster, part.confirmTo] where failed.insert(handle).inserted && slot(handle) != nil {
                effects.append(.reset(handle.key, .storeUnavailable))
                leave(handle, into: &effects)
            }
        }
        // What the others waited to be told of will not come.
        for index in work.closing.indices { work.closing[index].lastOffset = 0 }
    }

    /// The store no longer has the log: everybody begins again from a new session, with the log that is there then
    ///
    mutating func logLost(into effects: inout Deque<RoomEffect>) {
        storeFailed(into: &effects)
        for slot in members.slots where isPresent(slot) {
            effects.append(.reset(members[slot].key, .storeUnavailable))
            leave(handle(slot), into: &effects)
        }
        endClosing(into: &effects)
    }

    /// Messages read from the store for a lagging member.
    mutating func read(
        _ handle: MemberHandle, _ entries: [LogEntry]?, first: UInt64, into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = slot(handle) else { return }
        members[slot].isReading = false
        guard let entries else {
            effects.append(.reset(handle.key, .storeUnavailable))
            return leave(handle, into: &effects)
        }
        self.first = max(self.first, first)
        // What comes while the member holds back is read again when it goes on.
        guard !members[slot].isSuspended else { return }
        var start = entries.firstIndex { $0.offset > members[slot].cursor } ?? entries.endIndex
        while start < entries.endIndex {
            skipGap(slot, to: entries[start].offset, into: &effects)
            let row = members[slot].takeRow(of: entries, from: start)
            if !row.isSpared {
                effects.append(.deliver(members[slot].key, Room.part(start..<row.end, of: entries[...])))
            }
            start = row.end
        }
        let cursor = members[slot].cursor
        if entries.isEmpty, cursor < durable, cursor + 1 < tail.first {
            skipGap(slot, to: tail.first, into: &effects)
        }
        pump(slot, into: &effects)
    }

    /// A member's session has sent this much on: it may be given more.
    mutating func credit(_ handle: MemberHandle, byteCount: Int, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle) else { return }
        members[slot].credit = min(members[slot].credit + byteCount, RoomMember.creditByteCount)
        pump(slot, into: &effects)
    }

    /// Moves a member's cursor, when it asks to go on from elsewhere.
    mutating func seek(_ handle: MemberHandle, to cursor: UInt64?) {
        guard let slot = slot(handle), let cursor else { return }
        members[slot].cursor = max(members[slot].cursor, min(cursor, durable))
    }

    /// Hands a member what it lacks, as far as its credit goes.
    mutating func pump(_ slot: Int, into effects: inout Deque<RoomEffect>) {
        guard isPresent(slot) else { return }
        var room = Room.pumpByteCount
        while let wanted = members[slot].wanted(upTo: durable) {
            guard room > 0 else {
                members[slot].isUnfinished = true
                return work.unfinished.append(slot)
            }
            if case let row = tail.row(from: wanted), !row.isEmpty {
                deliver(row, to: slot, &room, into: &effects)
            } else if wanted < first {
                skipGap(slot, to: first, into: &effects)
            } else {
                members[slot].isReading = true
                let range = ReadRange(from: wanted, maxCount: Room.readCount, maxByteCount: Room.readByteCount)
                return effects.append(.read(name, handle(slot), range))
            }
        }
    }

    /// Hands a member the first of these messages, up to its credit and to `room`.
    private mutating func deliver(
        _ entries: ArraySlice<LogEntry>, to slot: Int, _ room: inout Int, into effects: inout Deque<RoomEffect>
    ) {
        let taken = members[slot].take(entries, &room)
        if !taken.isEmpty { effects.append(.deliver(members[slot].key, Room.part(taken, of: entries))) }
    }

    private mutating func skipGap(_ slot: Int, to offset: UInt64, into effects: inout Deque<RoomEffect>) {
        let cursor = members[slot].cursor
        guard cursor + 1 < offset else { return }
        members[slot].cursor = offset - 1
        send(.gap, EncodedBody(Gap(offsets: cursor + 1...offset - 1).encode()), to: slot, into: &effects)
    }

    /// Entries are durable: those who sent them are told, and get their credit back.
    private mutating func confirm(_ entries: ArraySlice<LogEntry>, into effects: inout Deque<RoomEffect>) {
        var rest = entries
        var owed: (poster: MemberHandle, credit: Int)?
        while !rest.isEmpty, let part = work.unconfirmed.first {
            var own = rest.prefix(part.count)
            rest = rest.dropFirst(part.count)
            let credit = part.credit(of: own)
            work.pendingByteCount -= credit + own.count * part.stampByteCount
            // Mostly all are one poster's.
            if let before = owed, before.poster == part.poster {
                owed = (part.poster, before.credit + credit)
            } else {
                if let owed { effects.append(.release(owed.poster.key, byteCount: owed.credit)) }
                owed = (part.poster, credit)
            }
            work.unconfirmed[0].count -= own.count
            if work.unconfirmed[0].count == 0 { _ = work.unconfirmed.popFirst() }
            let slot = slot(part.confirmTo)
            while let run = AcceptedRun(takenFrom: &own) {
                marks[part.mark].confirm(run)
                if let slot { noteAccepted(slot, run) }
            }
        }
        if let owed { effects.append(.release(owed.poster.key, byteCount: owed.credit)) }
    }

    private mutating func noteAccepted(_ slot: Int, _ run: AcceptedRun) {
        guard members.isLive(slot) else { return }
        if members[slot].accepted.isEmpty { work.posters.append(slot) }
        members[slot].noteAccepted(run)
    }
}

extension Room.Unconfirmed {
    /// What was paid for messages, all of which are of these.
    fileprivate func credit(of entries: ArraySlice<LogEntry>) -> Int {
        var byteCount = 0
        for index in entries.indices { byteCount += entries[index].body.byteCount - stampByteCount }
        return byteCount
    }
}

extension AcceptedRun {
    /// The first messages of one device, as far as their counters follow one another, which are taken away; nil when
    /// there are none.
    fileprivate init?(takenFrom entries: inout ArraySlice<LogEntry>) {
        guard let first = entries.indices.first else { return nil }
        let (counter, offset) = (entries[first].counter, entries[first].offset)
        var end = first + 1
        while end < entries.endIndex, entries[end].counter == counter &+ UInt64(end - first) { end += 1 }
        self.init(firstCounter: counter, count: UInt32(end - first), firstOffset: offset)
        entries = entries[end...]
    }
}
