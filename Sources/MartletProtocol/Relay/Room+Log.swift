import MartletWire

extension Room {
    /// Bodies read from the store for a lagging member in one go, in bytes and in messages.
    static let readByteCount = 64 * 1024
    static let readCount = 256

    /// Takes a member's message, whose body has been checked; it is confirmed when it is durable.
    mutating func post(
        _ handle: MemberHandle, counter: UInt64, _ body: RawSpan, credit: Int, acceptedAt: UInt64,
        into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = slot(handle), let who = members[slot]?.who, let mark = slotOfMark[slot] else { return }
        switch marks[mark].look(up: counter) {
        case .duplicate(let offset):
            effects.append(.release(handle.key, byteCount: credit))
            // A copy of what is still on its way to the store: who sent it last is told when it is there.
            guard marks[mark].isDurable(counter) else {
                for index in unconfirmed.indices
                where unconfirmed[index].mark == mark && unconfirmed[index].counter == counter {
                    unconfirmed[index].poster = handle
                    unconfirmed[index].credit = 0
                }
                return
            }
            noteAccepted(slot, counter, at: offset ?? 0)
        case .new:
            head += 1
            marks[mark].append(counter, at: head)
            let relayed = Message.encodeRelay(
                offset: head, acceptedAt: acceptedAt, sender: who.account, device: who.device, clientBody: body)
            let entry = LogEntry(
                offset: head, sender: who.account, device: who.device, counter: counter, acceptedAt: acceptedAt,
                body: EncodedBody(relayed))
            tail.append(entry)
            unstored.append(entry)
            unconfirmed.append(Unconfirmed(poster: handle, mark: mark, counter: counter, credit: credit))
        }
    }

    /// Ends a turn: what was posted goes to the store, what was accepted is said.
    mutating func flush(into effects: inout Deque<RoomEffect>) {
        if !isStoring, !unstored.isEmpty {
            isStoring = true
            effects.append(.append(name, unstored))
            unstored = []
        }
        for slot in posters {
            guard let member = members[slot], !member.accepted.isEmpty else { continue }
            var runs = member.accepted[...]
            while !runs.isEmpty {
                let body = EncodedBody(Accepted(runs: Array(runs.prefix(Accepted.maxRunCount))).encode())
                effects.append(.send(member.key, .accepted, body))
                runs = runs.dropFirst(Accepted.maxRunCount)
            }
            members[slot]?.accepted.removeAll(keepingCapacity: true)
        }
        posters.removeAll(keepingCapacity: true)
    }

    /// The store has made everything up to `offset` durable: it is published and confirmed.
    mutating func stored(upTo offset: UInt64, into effects: inout Deque<RoomEffect>) {
        guard isStoring else { return }
        isStoring = false
        let published = durable + 1
        durable = min(offset, head)
        guard published <= durable else { return }
        for offset in published...durable {
            guard let entry = tail[offset] else { continue }
            confirm(entry, into: &effects)
        }
        for slot in members.indices where members[slot] != nil {
            pump(slot, into: &effects)
        }
        tail.trim(durable: durable)
    }

    /// The store did not take the batch: nothing of it happened, and its senders begin again from a new session.
    ///
    /// Resetting the sessions keeps each sender's order; refusing single messages would let later ones overtake.
    mutating func storeFailed(into effects: inout Deque<RoomEffect>) {
        isStoring = false
        unstored = []
        head = durable
        tail.rollBack(to: durable)
        var failed: Set<MemberHandle> = []
        while let message = unconfirmed.popFirst() {
            marks[message.mark].rollBack(to: durable)
            guard failed.insert(message.poster).inserted, slot(message.poster) != nil else { continue }
            effects.append(.reset(message.poster.key, .storeUnavailable))
            leave(message.poster, into: &effects)
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
        for entry in entries where entry.offset > (members[slot]?.cursor ?? .max) {
            skipGap(slot, to: entry.offset, into: &effects)
            deliver(entry, to: slot, isHistory: true, into: &effects)
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
        while let member = members[slot], member.mayReceive, member.cursor < durable {
            let wanted = member.cursor + 1
            if let entry = tail[wanted] {
                deliver(entry, to: slot, isHistory: false, into: &effects)
            } else if wanted < first {
                skipGap(slot, to: first, into: &effects)
            } else {
                members[slot]?.isReading = true
                let handle = MemberHandle(room: index, slot: Int32(slot), key: member.key)
                let range = ReadRange(from: wanted, maxCount: Room.readCount, maxByteCount: Room.readByteCount)
                return effects.append(.read(name, handle, range))
            }
        }
    }

    private mutating func deliver(
        _ entry: LogEntry, to slot: Int, isHistory: Bool, into effects: inout Deque<RoomEffect>
    ) {
        guard let member = members[slot] else { return }
        members[slot]?.cursor = entry.offset
        if member.noLocal, entry.device == member.who.device, entry.sender == member.who.account { return }
        members[slot]?.credit -= entry.body.bytes.count
        effects.append(.send(member.key, .data, entry.body))
    }

    private mutating func skipGap(_ slot: Int, to offset: UInt64, into effects: inout Deque<RoomEffect>) {
        guard let member = members[slot], member.cursor + 1 < offset else { return }
        let gap = Gap(offsets: member.cursor + 1...offset - 1)
        members[slot]?.cursor = offset - 1
        effects.append(.send(member.key, .gap, EncodedBody(gap.encode())))
    }

    private mutating func confirm(_ entry: LogEntry, into effects: inout Deque<RoomEffect>) {
        guard let message = unconfirmed.popFirst() else { return }
        marks[message.mark].confirm(entry.counter)
        effects.append(.release(message.poster.key, byteCount: message.credit))
        guard let slot = slot(message.poster) else { return }
        noteAccepted(slot, entry.counter, at: entry.offset)
    }

    private mutating func noteAccepted(_ slot: Int, _ counter: UInt64, at offset: UInt64) {
        if members[slot]?.accepted.isEmpty == true { posters.append(slot) }
        members[slot]?.noteAccepted(counter, at: offset)
    }
}
