import MartletLink
import MartletWire

/// The part of the room at other relays of the bus.
extension RelayRoom {
    // MARK: Members

    /// Reports changed members to the other relays. Returns whether they are asked for theirs.
    ///
    /// - Parameter relays: The other relays, with the numbers before which datagrams may be missing.
    mutating func reportMembers(
        to relays: [RelayID: UInt64], now: Instant, into effects: inout Deque<RoomEffect>
    ) -> Bool {
        let count = members.count
        let (changes, isWhole) = members.remote.takeChanges(count: count, now: now)
        let isFirst = count > 0 && !members.remote.isAnnounced
        members.remote.setAnnounced(count > 0)
        guard !relays.isEmpty else { return false }
        if isFirst { effects.append(.bus(BusMessage(.wanted([name])))) }
        guard !isWhole, !isFirst else {
            sendMembers(to: nil, into: &effects)
            return isFirst
        }
        var entries = changes.map { entry(of: $0, on: $1) }
        let isAlone = members.remote.count == 0 && members.remote.isComplete(relays)
        if isAlone, count > 0 {
            // The accounts with a record may watch the room elsewhere.
            entries.removeAll { ($0.delivered == 0 && $0.read == 0) || !hasRecord($0.account) }
        }
        if !entries.isEmpty { send(entries, isWhole: false, to: nil, into: &effects) }
        return false
    }

    /// A relay that has members in the room asks for those of this one.
    mutating func answerMembers(to relay: RelayID, into effects: inout Deque<RoomEffect>) {
        members.remote.noteMembers(at: relay)
        sendMembers(to: relay, into: &effects)
    }

    private mutating func sendMembers(to relay: RelayID?, into effects: inout Deque<RoomEffect>) {
        let accounts = members.count > RoomMembers.maxPresenceCount ? [] : members.localAccounts
        send(accounts.map { entry(of: $0, on: nil) }, isWhole: true, to: relay, into: &effects)
    }

    private func send(
        _ entries: [BusMember], isWhole: Bool, to relay: RelayID?, into effects: inout Deque<RoomEffect>
    ) {
        var rest = entries[...]
        repeat {
            let item = BusMembers(
                room: name, log: log.id, count: UInt32(members.count), isWhole: isWhole && rest.count == entries.count,
                entries: Array(rest.prefix(BusMembers.maxEntryCount)))
            rest = rest.dropFirst(BusMembers.maxEntryCount)
            effects.append(.bus(BusMessage(.members(item), to: relay)))
        } while !rest.isEmpty
    }

    private func entry(of account: AccountName, on device: DeviceID?) -> BusMember {
        let progress = receipts[account] ?? AccountProgress()
        return BusMember(
            account, members.localPresence(of: account), delivered: progress.delivered, read: progress.read,
            device: device)
    }

    /// Members of another relay, and their progress.
    mutating func take(
        _ item: BusMembers, from relay: RelayID, number: UInt64, into effects: inout Deque<RoomEffect>
    ) {
        members.take(item, from: relay, number: number)
        guard case .ready = state, item.log == log.id else { return }
        for entry in item.entries { progressed(entry, into: &effects) }
    }

    /// An account has taken or read messages at another relay, which saves its progress. Offsets beyond the copy wait
    /// for the messages.
    private mutating func progressed(_ entry: BusMember, into effects: inout Deque<RoomEffect>) {
        if max(entry.delivered, entry.read) > log.lastOffset { members.remote.wait(entry) }
        for (mark, upTo) in [(Receipt.Mark.delivered, entry.delivered), (.read, entry.read)] where upTo > 0 {
            advance(
                entry.account, on: entry.device, Receipt.Progress(mark, upTo: upTo), from: nil, isSaved: true,
                into: &effects)
        }
    }

    /// The copy may have messages for which progress waits.
    mutating func applyWaitingProgress(into effects: inout Deque<RoomEffect>) {
        for entry in members.remote.takeWaiting() { progressed(entry, into: &effects) }
    }

    /// A relay is away, and its members with it. Its requests are cancelled, and those to it answered.
    mutating func lost(_ relay: RelayID, into effects: inout Deque<RoomEffect>) {
        members.lost(relay)
        if usesForwarding { forwarding.value.lost(relay) }
        for number in requests.unanswered(by: relay) { fail(number, .noRecipient, into: &effects) }
        for number in requests.asked(by: relay) { cancel(number, into: &effects) }
    }

    // MARK: Messages

    /// The maximum number of bytes of messages in an item. More are read from the store.
    static let maxEntriesByteCount = 32 * 1024
    /// The number of bytes of an item besides the room's name and the messages.
    private static let entriesOverhead = 128

    /// Sends messages that have become durable to the relays with members in the room, as the store has them.
    func sendEntries(from first: UInt64, count: Int, into effects: inout Deque<RoomEffect>) {
        guard members.busItemByteCount > 0, members.remote.count > 0, let id = log.id else { return }
        let row = log.tail.row(from: first)
        // Long messages are in several rows.
        let isKept = RoomReplica.byteCount(of: row) <= RoomReplica.maxEarlyByteCount
        if row.count == count, isKept, let parts = busParts(of: row) {
            for part in parts { effects.append(.bus(BusMessage(.entries(busEntries(part, of: id))))) }
        } else {
            let named = BusEntries(room: name, log: id, offset: first &+ UInt64(count) &- 1, batch: nil)
            effects.append(.bus(BusMessage(.entries(named))))
        }
    }

    /// Messages in parts that fit into items of the bus; nil if one of them fits into no item.
    func busParts(of entries: ArraySlice<LogEntry>) -> [ArraySlice<LogEntry>]? {
        let free = members.busItemByteCount - name.text.utf8.count - Self.entriesOverhead
        let bound = min(Self.maxEntriesByteCount, free)
        var parts: [ArraySlice<LogEntry>] = []
        var rest = entries
        while !rest.isEmpty {
            let part = StoredBatch.prefix(of: rest.prefix(Self.readCount), maxByteCount: bound)
            guard !part.isEmpty else { return nil }
            parts.append(part)
            rest = rest.dropFirst(part.count)
        }
        return parts
    }

    /// The item of a part.
    func busEntries(_ part: ArraySlice<LogEntry>, of log: LogID) -> BusEntries {
        BusEntries(room: name, log: log, offset: part[part.startIndex].offset, batch: StoredBatch.encode(part))
    }

    /// Messages that another relay has stored. They wait until the copy takes them (R-219, Specs/hostile.md row 126).
    mutating func receive(_ item: BusEntries, from relay: RelayID) {
        guard case .ready = state, item.log == log.id else { return }
        if usesForwarding { forwarding.value.noteAppend(of: relay, upTo: item.offset) }
        guard item.batch != nil else {
            if item.offset > log.lastOffset { replica.noteUnsent(upTo: item.offset) }
            return
        }
        guard let entries = item.entries, let last = entries.last, last.offset > log.lastOffset else { return }
        replica.note(end: last.offset)
        replica.keep(entries)
    }

    // MARK: Transient frames and requests

    /// A typing or transient message of a member at another relay.
    mutating func broadcast(_ transient: Transient, into effects: inout Deque<RoomEffect>) {
        guard let feature = transient.feature else { return }
        sendTransient(transient, feature, except: nil, into: &effects)
    }

    /// A request of a member at another relay, which has judged it.
    mutating func request(
        _ request: Request, from relay: RelayID, now: Instant, into effects: inout Deque<RoomEffect>
    ) {
        let slot = request.recipient.flatMap { reachableSlot(of: $0, from: nil) }
        guard let slot, !requests.hasManyRemote, !receipts.hasManyCancels(slot) else {
            let status: ErrorCode = slot == nil ? .noRecipient : .serverBusy
            let response = Response(correlation: request.correlation, status: status)
            return effects.append(.bus(BusMessage(.response(name, response), to: relay)))
        }
        let timeout = min(request.deadline, RoomRequests.maxTimeout)
        let number = requests.insert(
            from: .relay(relay), to: .member(handle(slot)), correlation: request.correlation, deadline: now + timeout)
        let routed = Request(
            correlation: number, method: request.method, deadline: timeout, recipient: request.recipient,
            sender: request.sender, content: request.content)
        send(.request, EncodedBody(routed.encode()), to: slot, into: &effects)
    }

    /// The answer of another relay. Only the relay that was asked may answer.
    mutating func respond(_ response: Response, from relay: RelayID, into effects: inout Deque<RoomEffect>) {
        guard requests[response.correlation]?.to == .relay(relay),
            let routed = requests.finish(response.correlation)
        else { return }
        reply(response, to: routed, into: &effects)
    }

    /// A requester at another relay no longer needs the answer.
    mutating func cancel(_ correlation: UInt64, from relay: RelayID, into effects: inout Deque<RoomEffect>) {
        if let number = requests.number(of: correlation, from: relay) { cancel(number, into: &effects) }
    }
}

extension Transient {
    /// What the link of a sender and a receiver has to have; nil for presence, which relays report.
    var feature: Features? {
        switch content {
        case .presence: nil
        case .typing: .presence
        case .message: []
        }
    }
}

extension BusEntries {
    /// The messages; nil if there are none or if they are not valid.
    var entries: [LogEntry]? {
        guard let batch, let entries = try? StoredBatch.decode(batch, firstOffset: offset),
            entries.count <= RelayRoom.readCount, entries.allSatisfy(\.hasOwnStamp)
        else { return nil }
        return entries
    }
}

extension LogEntry {
    /// Whether the body is a message with the stamp of the entry.
    fileprivate var hasOwnStamp: Bool {
        do throws(WireError) {
            let message = try MessageView(parsing: body.rawBytes)
            guard message.counter == counter, message.offset == offset, message.device == device,
                let bytes = message.sender
            else { return false }
            return sender.text.hasUTF8(bytes)
        } catch {
            return false
        }
    }
}

extension BusMember {
    var progress: AccountProgress { AccountProgress(delivered: delivered, read: read) }
}

extension BusMembership {
    init(_ room: RoomName, _ account: AccountName, _ record: MembershipRecord?) {
        let state: RoomMembershipState = record.map { $0.isJoined ? .joined : .invited } ?? .none
        self.init(
            room: room, account: account, state: state, inviter: record?.inviter, changedAt: record?.changedAt ?? 0)
    }

    /// The record; nil if there is none any more.
    var record: MembershipRecord? {
        state == .none
            ? nil : MembershipRecord(isJoined: state == .joined, inviter: inviter, changedAt: changedAt)
    }
}
