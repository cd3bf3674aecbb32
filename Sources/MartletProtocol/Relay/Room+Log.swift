import MartletWire

extension Room {
    /// Bodies read from the store for a lagging member in one go, in bytes and in messages.
    static let readByteCount = 64 * 1024
    static let readCount = 256
    /// Bytes of bodies handed to a member in one go; then its link has a say, and it goes on with the room's next turn.
    static let pumpByteCount = 64 * 1024

    /// Takes a member's message, whose body has been checked; it is confirmed when it is durable.
    mutating func post(
        _ handle: MemberHandle, counter: UInt64, _ body: RawSpan, credit: Int, acceptedAt: UInt64,
        into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = slot(handle), let who = members[slot]?.who else { return }
        guard let mark = mark(ofMember: slot) else { return turnAway(handle, credit, .roomFull, into: &effects) }
        switch marks[mark].look(up: counter) {
        case .duplicate(let offset):
            effects.append(.release(handle.key, byteCount: credit))
            if marks[mark].isDurable(counter) { return noteAccepted(slot, counter, at: offset ?? 0) }
            // A copy of what is still on its way to the store: who sent it last is told when it is there.
            guard let index = unconfirmed.lastIndex(where: { $0.counter == counter && $0.mark == mark }) else { return }
            unconfirmed[index].confirmTo = handle
        case .new:
            guard pendingByteCount < Room.maxPendingByteCount else {
                return turnAway(handle, credit, .serverBusy, into: &effects)
            }
            head += 1
            marks[mark].append(counter, at: head)
            let relayed = Message.encodeRelay(
                offset: head, acceptedAt: acceptedAt, sender: who.account, device: who.device, clientBody: body)
            let entry = LogEntry(
                offset: head, sender: who.account, device: who.device, counter: counter, acceptedAt: acceptedAt,
                body: EncodedBody(relayed))
            tail.append(entry)
            unstored.append(entry)
            pendingByteCount += entry.body.bytes.count
            unconfirmed.append(
                Unconfirmed(poster: handle, confirmTo: handle, mark: mark, counter: counter, credit: credit))
        }
    }

    /// A message cannot be taken now: its sender begins again from a new session, so that its order is kept.
    private mutating func turnAway(
        _ handle: MemberHandle, _ credit: Int, _ code: ErrorCode, into effects: inout Deque<RoomEffect>
    ) {
        effects.append(.release(handle.key, byteCount: credit))
        effects.append(.reset(handle.key, code))
        leave(handle, into: &effects)
    }

    /// Ends a turn: what is durable goes to the members, what was posted to the store, what was accepted is said.
    mutating func flush(into effects: inout Deque<RoomEffect>) {
        let slots = unfinished
        unfinished.removeAll(keepingCapacity: true)
        for slot in slots {
            members[slot]?.isUnfinished = false
            pump(slot, into: &effects)
        }
        if hasNews {
            hasNews = false
            for slot in members.indices where members[slot] != nil { pump(slot, into: &effects) }
            tail.trim(durable: durable)
        }
        if storing == nil, let last = unstored.last {
            storing = last.offset
            effects.append(.append(name, unstored))
            unstored = []
        }
        for slot in posters {
            var runs = (members[slot]?.accepted ?? [])[...]
            while !runs.isEmpty {
                let accepted = Accepted(runs: Array(runs.prefix(Accepted.maxRunCount)))
                send(.accepted, EncodedBody(accepted.encode()), to: slot, into: &effects)
                runs = runs.dropFirst(Accepted.maxRunCount)
            }
            members[slot]?.accepted.removeAll(keepingCapacity: true)
        }
        posters.removeAll(keepingCapacity: true)
    }

    /// The store has made everything up to `offset` durable: it is published and confirmed. What of the batch lies
    /// beyond has failed.
    mutating func stored(upTo offset: UInt64, into effects: inout Deque<RoomEffect>) {
        guard let batch = storing else { return }
        let published = durable + 1
        durable = max(durable, min(offset, batch))
        if published <= durable {
            for offset in published...durable {
                if let entry = tail[offset] { confirm(entry, into: &effects) }
            }
            hasNews = true
        }
        if durable < batch { storeFailed(into: &effects) } else { storing = nil }
    }

    /// The store did not take the batch: nothing of it happened, and its senders begin again from a new session (R-26,
    /// Specs/hostile.md row 29).
    ///
    /// Resetting the sessions keeps each sender's order; refusing single messages would let later ones overtake.
    mutating func storeFailed(into effects: inout Deque<RoomEffect>) {
        guard storing != nil else { return }
        storing = nil
        unstored = []
        head = durable
        tail.rollBack(to: durable)
        pendingByteCount = 0
        var failed: Set<MemberHandle> = []
        while let message = unconfirmed.popFirst() {
            marks[message.mark].rollBack(to: durable)
            effects.append(.release(message.poster.key, byteCount: message.credit))
            for handle in [message.poster, message.confirmTo]
            where failed.insert(handle).inserted && slot(handle) != nil {
                effects.append(.reset(handle.key, .storeUnavailable))
                leave(handle, into: &effects)
            }
        }
    }

    /// Messages read from the store for a lagging member.
    mutating func read(
        _ handle: MemberHandle, _ entries: [LogEntry]?, first: UInt64, into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = slot(handle) else { return }
        members[slot]?.isReading = false
        guard let entries else {
            effects.append(.reset(handle.key, .storeUnavailable))
            return leave(handle, into: &effects)
        }
        self.first = max(self.first, first)
        // What comes while the member holds back is read again when it goes on.
        guard members[slot]?.isSuspended == false else { return }
        for entry in entries where entry.offset > (members[slot]?.cursor ?? .max) {
            skipGap(slot, to: entry.offset, into: &effects)
            deliver(entry, to: slot, into: &effects)
        }
        if entries.isEmpty, let cursor = members[slot]?.cursor, cursor < durable, cursor + 1 < tail.first {
            skipGap(slot, to: tail.first, into: &effects)
        }
        pump(slot, into: &effects)
    }

    /// A member's session has sent this much on: it may be given more.
    mutating func credit(_ handle: MemberHandle, byteCount: Int, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle), let credit = members[slot]?.credit else { return }
        members[slot]?.credit = min(credit + byteCount, RoomMember.creditByteCount)
        pump(slot, into: &effects)
    }

    /// Moves a member's cursor, when it asks to go on from elsewhere.
    mutating func seek(_ handle: MemberHandle, to cursor: UInt64?) {
        guard let slot = slot(handle), let cursor, let current = members[slot]?.cursor else { return }
        members[slot]?.cursor = max(current, min(cursor, durable))
    }

    /// Hands a member what it lacks, as far as its credit goes.
    mutating func pump(_ slot: Int, into effects: inout Deque<RoomEffect>) {
        // Not `members[slot]?.cursor`: optional chaining copies the whole member to look at one field of it.
        guard members[slot] != nil, !members[slot]!.isUnfinished else { return }
        var byteCount = 0
        while members[slot]!.mayReceive, members[slot]!.cursor < durable {
            guard byteCount < Room.pumpByteCount else {
                members[slot]!.isUnfinished = true
                return unfinished.append(slot)
            }
            let wanted = members[slot]!.cursor + 1
            if let entry = tail[wanted] {
                deliver(entry, to: slot, into: &effects)
                byteCount += entry.body.bytes.count
            } else if wanted < first {
                skipGap(slot, to: first, into: &effects)
            } else {
                members[slot]!.isReading = true
                let handle = MemberHandle(room: index, slot: Int32(slot), key: members[slot]!.key)
                let range = ReadRange(from: wanted, maxCount: Room.readCount, maxByteCount: Room.readByteCount)
                return effects.append(.read(name, handle, range))
            }
        }
    }

    private mutating func deliver(_ entry: LogEntry, to slot: Int, into effects: inout Deque<RoomEffect>) {
        members[slot]!.cursor = entry.offset
        guard !members[slot]!.isSparedOf(entry) else { return }
        send(.data, entry.body, to: slot, into: &effects)
    }

    private mutating func skipGap(_ slot: Int, to offset: UInt64, into effects: inout Deque<RoomEffect>) {
        guard let cursor = members[slot]?.cursor, cursor + 1 < offset else { return }
        members[slot]?.cursor = offset - 1
        send(.gap, EncodedBody(Gap(offsets: cursor + 1...offset - 1).encode()), to: slot, into: &effects)
    }

    private mutating func confirm(_ entry: LogEntry, into effects: inout Deque<RoomEffect>) {
        guard let message = unconfirmed.popFirst() else { return }
        pendingByteCount -= entry.body.bytes.count
        marks[message.mark].confirm(entry.counter)
        effects.append(.release(message.poster.key, byteCount: message.credit))
        guard let slot = slot(message.confirmTo) else { return }
        noteAccepted(slot, entry.counter, at: entry.offset)
    }

    private mutating func noteAccepted(_ slot: Int, _ counter: UInt64, at offset: UInt64) {
        if members[slot]?.accepted.isEmpty == true { posters.append(slot) }
        members[slot]?.noteAccepted(counter, at: offset)
    }
}
