import MartletLink
import MartletWire

/// Receipts, presence, transient frames and requests of members.
extension RelayRoom {
    // MARK: Receipts

    /// A member has taken or read the messages up to an offset. All devices of the authors of messages since the last
    /// receipt are notified, and of read messages the account's other devices.
    mutating func progressed(
        _ handle: MemberHandle, _ receipt: Receipt.Progress, into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = members.slot(handle), members[slot].features.contains(.receipts) else { return }  // C-23
        progressed(members[slot].who, receipt, from: slot, into: &effects)
    }

    /// A device has taken or read messages.
    ///
    /// - Parameter slot: the member that reports it; nil for a request on an account's session.
    mutating func progressed(
        _ who: DeviceKey, _ receipt: Receipt.Progress, from slot: Int?, into effects: inout Deque<RoomEffect>
    ) {
        let isNew = advance(who.account, on: who.device, receipt, from: slot, isSaved: false, into: &effects)
        if isNew, members.busItemByteCount > 0 { members.remote.noteChange(of: who.account, on: who.device) }
    }

    /// An account has taken or read messages, at this relay or elsewhere. Returns whether the receipt is new.
    ///
    /// - Parameter isSaved: Whether another relay passes the progress to the store.
    @discardableResult
    mutating func advance(
        _ account: AccountName, on device: DeviceID?, _ receipt: Receipt.Progress, from slot: Int?, isSaved: Bool,
        into effects: inout Deque<RoomEffect>
    ) -> Bool {
        let upTo = min(receipt.upTo, log.lastOffset)
        guard let before = receipts.advance(account, receipt.mark, upTo: upTo, isSaved: isSaved) else { return false }
        if isWatched { changes.note(account) }
        var slots = slotsOfAuthors(from: before + 1, upTo: upTo, except: account)
        if receipt.mark == .read {
            for other in members.slots(of: account) where other != slot {
                if members[other].features.contains(.receipts) { slots.append(other) }
            }
        }
        for slot in slots { noteReceipt(receipt.mark, of: account, on: device, for: slot, into: &effects) }
        return true
    }

    /// The members that read receipts and whose accounts published messages in memory: all devices of an account show
    /// the same receipts. They are found by the messages, because a receipt of each member must not visit all
    /// members.
    private func slotsOfAuthors(from first: UInt64, upTo last: UInt64, except account: AccountName) -> [Int] {
        // Another relay may have stored earlier messages, whose authors are not known here.
        if first < log.tail.first, members.busItemByteCount > 0, members.reportsPresence {
            return members.slots.filter { slot in
                members.isPresent(slot) && members[slot].who.account != account
                    && members[slot].features.contains(.receipts)
            }
        }
        let first = max(first, log.tail.first)
        guard first <= last else { return [] }
        var seen: Set<Int32> = []
        var authors: Set<AccountName> = []
        var slots: [Int] = []
        var previous: Int32 = -1
        var offset = first
        while offset <= last {
            let row = log.tail.row(from: offset).prefix(Int(last &- offset) &+ 1)
            guard !row.isEmpty else { break }
            for index in row.indices {
                // A window is of a device of one account. Usually a device has published several messages in sequence.
                let window = row[index].window
                if window >= 0, window == previous { continue }
                previous = window
                let entry = row[index]
                guard entry.sender != account else { continue }
                if window >= 0, !seen.insert(window).inserted { continue }
                guard authors.insert(entry.sender).inserted else { continue }
                slots += members.slots(of: entry.sender).filter { members[$0].features.contains(.receipts) }
            }
            offset &+= UInt64(row.count)
        }
        return slots.sorted()
    }

    /// A member that joins receives the progress of the others, of many accounts that of the furthest.
    mutating func noteEarlierProgress(for slot: Int, into effects: inout Deque<RoomEffect>) {
        guard members.reportsPresence, members[slot].features.contains(.receipts) else { return }
        for account in receipts.furthest() {
            let progress = receipts[account] ?? AccountProgress()
            for (mark, upTo) in [(Receipt.Mark.delivered, progress.delivered), (.read, progress.read)] where upTo > 0 {
                noteReceipt(mark, of: account, on: nil, for: slot, into: &effects)
            }
        }
    }

    private mutating func noteReceipt(
        _ mark: Receipt.Mark, of account: AccountName, on device: DeviceID?, for slot: Int,
        into effects: inout Deque<RoomEffect>
    ) {
        if receipts.note(mark, of: account, on: device, for: slot) { effects.append(.pending(members[slot].key)) }
    }

    /// Sends pending changes, for which a member's link has room. Cancels precede receipts, because other members'
    /// requests wait for them (R-52, Specs/hostile.md row 46, Specs/hostile.md row 47). Presence waits until the member
    /// has a connection.
    mutating func sendPending(_ handle: MemberHandle, into effects: inout Deque<RoomEffect>) {
        guard let slot = members.slot(handle), var changes = receipts.takePending(slot) else { return }
        var room = PendingChanges.maxStepCount
        while room > 0, let number = changes.popCancel() {
            // A request that was answered meanwhile, or has expired, is not cancelled.
            guard requests[number]?.isCancelled == true else { continue }
            requests.finish(number)
            send(.cancel, EncodedBody(CancelRequest(correlation: number).encode()), to: slot, into: &effects)
            room -= 1
        }
        while room > 0, let (account, marks) = changes.popMarks() {
            guard let progress = receipts[account] else { continue }
            for (mark, upTo, origin) in [
                (Receipt.Mark.delivered, progress.delivered, marks.delivered), (.read, progress.read, marks.read),
            ] {
                guard let origin else { continue }
                let receipt = Receipt.Progress(mark, upTo: upTo, sender: account, device: origin.device)
                send(.receipt, EncodedBody(Receipt.progress(receipt).encode()), to: slot, into: &effects)
                room -= 1
            }
        }
        let isAway = members[slot].isAway
        room = min(room, PendingChanges.maxPresenceStepCount)
        while !isAway, room > 0, let account = changes.popPresence() {
            guard members[slot].features.contains(.presence) else { continue }
            effects.append(.sendTransient(members[slot].key, presenceBody(of: account)))
            room -= 1
        }
        guard !changes.isEmpty else { return }
        receipts.putBack(changes, slot)
        if !isAway || changes.hasReliable { effects.append(.pending(members[slot].key)) }
    }

    // MARK: Transient frames

    /// A member that joins receives the presence of the accounts that are away, when its link has room.
    mutating func noteAwayAccounts(for slot: Int, into effects: inout Deque<RoomEffect>) {
        guard members.reportsPresence else { return }
        let accounts = members.awayAccounts
        guard !accounts.isEmpty else { return }
        if receipts.note(presenceOf: accounts, for: slot) { effects.append(.pending(members[slot].key)) }
    }

    /// A member's link has another connection. The member receives the presence of the accounts whose reports may have
    /// been lost with the last one, when its link has room.
    ///
    /// - Parameter lastReceived: The instant of the last bytes from the last connection.
    mutating func reconnected(
        _ handle: MemberHandle, lastReceived: Instant, into effects: inout Deque<RoomEffect>
    ) {
        if setAttachmentsAway(false, handle, into: &effects) { return }
        guard let slot = members.slot(handle) else { return }
        members.setAway(false, of: slot)
        let account = members[slot].who.account
        let accounts = members.accountsReported(since: lastReceived).filter { $0 != account }
        let wasPending = receipts.hasPresence(slot)
        guard wasPending || !accounts.isEmpty else { return }
        if receipts.note(presenceOf: accounts, for: slot) || wasPending {
            effects.append(.pending(members[slot].key))
        }
    }

    private func presenceBody(of account: AccountName) -> EncodedBody {
        EncodedBody(Transient(.presence(members.presence(of: account)), sender: account).encode())
    }

    /// Reports the presence of accounts that have changed, one batch at a time.
    mutating func sendPresence(
        now: Instant, budget: inout PresenceBudget, into effects: inout Deque<RoomEffect>
    ) {
        for change in members.takePresenceChanges(now: now, budget: &budget) {
            let body = presenceBody(of: change.account)
            for other in members.slots where members.isPresent(other) && members[other].key != change.member {
                guard !members[other].isAway, members[other].features.contains(.presence) else { continue }
                effects.append(.sendTransient(members[other].key, body))
            }
        }
    }

    /// Sends a member's typing or transient message to all other members. Presence is reported by the relay only
    ///
    ///
    /// - Parameter now: the relay's wall clock in milliseconds since 1970.
    mutating func broadcast(
        _ handle: MemberHandle, _ transient: Transient, at now: UInt64 = 0, into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = members.slot(handle), mayPublish(slot, at: now) else { return }
        guard let feature = transient.feature, members[slot].features.isSuperset(of: feature) else { return }  // C-23
        let transient = Transient(transient.content, sender: members[slot].who.account)
        sendTransient(transient, feature, except: slot, into: &effects)
        if members.hasRemote, fits(.transient(name, transient)) {
            effects.append(.bus(BusMessage(.transient(name, transient))))
        }
    }

    /// Sends a transient frame to the members that have a feature.
    mutating func sendTransient(
        _ transient: Transient, _ feature: Features, except slot: Int?, into effects: inout Deque<RoomEffect>
    ) {
        let body = EncodedBody(transient.encode())
        for other in members.slots where other != slot && members.isPresent(other) {
            let member = members[other]
            guard !member.isAway, !member.isSuspended, member.features.isSuperset(of: feature) else { continue }
            effects.append(.sendTransient(member.key, body))
        }
    }

    // MARK: Requests

    /// Passes a request to its recipient, or to the relay's request handler when it names none.
    mutating func request(
        _ handle: MemberHandle, _ request: Request, at wallClock: UInt64, now: Instant,
        into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = members.slot(handle) else { return }
        guard !requests.isFull(slot) else {
            return answer(slot, request.correlation, .tooManyRequests, into: &effects)
        }
        // A request to a member has content like a message.
        guard request.recipient == nil || mayPublish(slot, at: wallClock) else {
            return answer(slot, request.correlation, .forbidden, into: &effects)
        }
        var recipient: RoomRequests.Party?
        if let name = request.recipient {
            if let slot = reachableSlot(of: name, from: slot) {
                recipient = .member(self.handle(slot))
            } else if members.hasRemote {
                recipient = members.remote.relay(of: name).map { .relay($0) }
            }
            guard let recipient else { return answer(slot, request.correlation, .noRecipient, into: &effects) }
            // The recipient receives its pending cancels first (R-52, Specs/hostile.md row 46).
            if let handle = recipient.handle, receipts.hasManyCancels(Int(handle.slot)) {
                return answer(slot, request.correlation, .serverBusy, into: &effects)
            }
        }
        let timeout = min(request.deadline, RoomRequests.maxTimeout)
        let number = requests.insert(
            from: .member(handle), to: recipient, correlation: request.correlation, deadline: now + timeout)
        let routed = Request(
            correlation: number, method: request.method, deadline: timeout, recipient: request.recipient,
            sender: members[slot].who.account, content: request.content)
        guard let recipient else {
            if routed.method == HistoryQuery.method { return readHistory(number, routed, for: handle, into: &effects) }
            if usesRoles, let method = RoomMethod(routed.method) {
                return operate(number, routed, method, of: slot, into: &effects)
            }
            return effects.append(.request(name, handle, routed))
        }
        switch recipient {
        case .member(let handle): send(.request, EncodedBody(routed.encode()), to: Int(handle.slot), into: &effects)
        case .relay where !fits(.request(name, routed)): fail(number, .messageTooLarge, into: &effects)
        case .relay(let relay): effects.append(.bus(BusMessage(.request(name, routed), to: relay)))
        }
    }

    /// Whether an item has a place in a datagram of the bus.
    private func fits(_ item: BusItem) -> Bool {
        BusWriter.byteCount(of: BusMessage(item, to: RelayID(rawValue: 0))) <= members.busItemByteCount
    }

    /// Passes an answer to the requester. Only the recipient may answer.
    mutating func respond(_ handle: MemberHandle?, _ response: Response, into effects: inout Deque<RoomEffect>) {
        guard let routed = requests[response.correlation], routed.to == handle.map({ .member($0) }) else { return }
        requests.finish(response.correlation)
        guard !routed.isCancelled else { return }  // S-56
        reply(response, to: routed, into: &effects)
    }

    /// Passes an answer to the requester of a request that has ended.
    mutating func reply(
        _ response: Response, to routed: RoomRequests.Entry, into effects: inout Deque<RoomEffect>
    ) {
        let answer = Response(
            correlation: routed.correlation, status: response.status, reason: response.reason,
            retryAfter: response.retryAfter, content: response.content)
        switch routed.from {
        case .member(let handle):
            guard let slot = members.slot(handle) else { return }
            send(.response, EncodedBody(answer.encode()), to: slot, into: &effects)
        case .relay(let relay):
            let answer =
                fits(.response(name, answer))
                ? answer : Response(correlation: answer.correlation, status: .messageTooLarge)
            effects.append(.bus(BusMessage(.response(name, answer), to: relay)))
        }
    }

    /// The requester no longer needs the answer (S-56).
    mutating func cancel(_ handle: MemberHandle, _ correlation: UInt64, into effects: inout Deque<RoomEffect>) {
        if usesAttachments { cancelAttachment(handle, correlation) }
        guard let slot = members.slot(handle), let number = requests.number(of: correlation, from: slot) else { return }
        cancel(number, into: &effects)
    }

    /// Answers the requests whose timeout is over (S-55).
    mutating func expireRequests(now: Instant, into effects: inout Deque<RoomEffect>) {
        while let number = requests.popExpired(now: now) { fail(number, .deadlineExceeded, into: &effects) }
    }

    /// A member leaves: its requests to other members are cancelled, and the requests to it are answered with an error.
    mutating func endForwardedRequests(of slot: Int, into effects: inout Deque<RoomEffect>) {
        for number in requests.asked(by: slot) where requests[number]?.to != nil { cancel(number, into: &effects) }
        requests.removeForwarded(of: slot)
        for number in requests.unanswered(by: handle(slot)) { fail(number, .noRecipient, into: &effects) }
    }

    /// A member is removed: its requests to the relay are cancelled too.
    mutating func endRequests(of slot: Int, into effects: inout Deque<RoomEffect>) {
        for number in requests.asked(by: slot) { cancel(number, into: &effects) }
    }

    mutating func cancel(_ number: UInt64, into effects: inout Deque<RoomEffect>) {
        let recipient: MemberHandle
        switch requests.cancel(number) {
        case .none, .finished: return
        case .forward(let relay):
            return effects.append(.bus(BusMessage(.cancel(name, CancelRequest(correlation: number)), to: relay)))
        case .notify(let handle): recipient = handle
        }
        guard let slot = members.slot(recipient) else {
            requests.finish(number)
            return
        }
        if receipts.note(cancel: number, for: slot) { effects.append(.pending(members[slot].key)) }
    }

    mutating func fail(_ number: UInt64, _ status: ErrorCode, into effects: inout Deque<RoomEffect>) {
        guard let routed = requests.finish(number), !routed.isCancelled else { return }
        reply(Response(correlation: routed.correlation, status: status), to: routed, into: &effects)
    }

    private mutating func answer(
        _ slot: Int, _ correlation: UInt64, _ status: ErrorCode, into effects: inout Deque<RoomEffect>
    ) {
        let response = Response(correlation: correlation, status: status, reason: nil, content: nil)
        send(.response, EncodedBody(response.encode()), to: slot, into: &effects)
    }

    /// The account's last member that can answer now.
    func reachableSlot(of account: AccountName, from slot: Int?) -> Int? {
        members.slots(of: account).last { other in
            guard other != slot else { return false }
            let member = members[other]
            return !member.isAway && !member.isSuspended && member.features.contains(.requests)
        }
    }
}
