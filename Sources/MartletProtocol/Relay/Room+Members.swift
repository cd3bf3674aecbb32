import MartletWire

/// A request on its way through a room: where its answer belongs.
struct RoutedRequest: Sendable {
    var from: MemberHandle
    var to: MemberHandle?
    /// The requester's own number for it.
    var correlation: UInt64
    /// Whether the requester waits no longer, which the member that was asked is still to be told.
    var isWithdrawn = false
}

/// What members tell each other beside messages: receipts, typing, requests.
extension Room {
    /// Requests of one member that may be open at a time.
    static let maxRequestsPerMember = 64
    /// The longest that a request is kept for its answer.
    static let maxRequestDeadline: Duration = .seconds(300)

    // MARK: Receipts

    /// A member has taken or read everything up to an offset: those who wrote it since the last time are told, and the
    /// account's other devices of what was read.
    mutating func progressed(_ handle: MemberHandle, _ told: Receipt.Progress, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle), members[slot].features.contains(.receipts) else { return }  // C-23
        let who = members[slot].who
        let upTo = min(told.upTo, durable)
        guard progress[who.account] != nil || progress.count < Room.maxMarkedAccounts else { return }
        var mine = progress[who.account] ?? Progress()
        let before = told.mark == .read ? mine.read : mine.delivered
        guard upTo > before else { return }
        if told.mark == .read { mine.read = upTo }
        mine.delivered = max(mine.delivered, upTo)
        progress[who.account] = mine
        var slots = slotsOfAuthors(from: before + 1, upTo: upTo, except: who.account)
        // The account's other devices hear what was read on this one.
        if told.mark == .read {
            for other in memberSlots(of: who.account) where other != slot {
                if members[other].features.contains(.receipts) { slots.append(other) }
            }
        }
        for slot in slots { noteMark(told.mark, of: who.account, on: who.device, for: slot, into: &effects) }
    }

    /// The members whose devices wrote messages that the room has at hand, and that are told how far these came. Found
    /// by the messages: there are as many receipts as members, and each must not look at all of them.
    private func slotsOfAuthors(from first: UInt64, upTo last: UInt64, except account: AccountName) -> [Int] {
        let first = max(first, tail.first)
        guard first <= last else { return [] }
        var seen: Set<Int32> = []
        var slots: Set<Int> = []
        for offset in first...last {
            guard let entry = tail[offset], entry.sender != account else { continue }
            if entry.mark >= 0, !seen.insert(entry.mark).inserted { continue }
            for slot in memberSlots(of: entry.sender) where members[slot].who.device == entry.device {
                if members[slot].features.contains(.receipts) { slots.insert(slot) }
            }
        }
        return slots.sorted()
    }

    /// A member that comes back learns how far the others are: marks are cumulative, so one each is enough, and of many
    /// accounts those that are furthest.
    mutating func sendProgress(to slot: Int, into effects: inout Deque<RoomEffect>) {
        guard memberCount <= Room.maxPresenceMembers, members[slot].features.contains(.receipts) else {
            return
        }
        let furthest = progress.sorted { ($1.value.delivered, $0.key.text) < ($0.value.delivered, $1.key.text) }
        for (account, mark) in furthest.prefix(Room.maxPresenceMembers) {
            for (kind, upTo) in [(Receipt.Mark.delivered, mark.delivered), (.read, mark.read)] where upTo > 0 {
                noteMark(kind, of: account, on: nil, for: slot, into: &effects)
            }
        }
    }

    // MARK: Transient frames

    /// Passes typing and the like on to whoever is there; presence is the relay's own to say.
    mutating func broadcast(_ handle: MemberHandle, _ transient: Transient, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle) else { return }
        let feature: Features
        switch transient.content {
        case .presence: return
        case .typing: feature = .presence
        case .message: feature = []
        }
        guard members[slot].features.isSuperset(of: feature) else { return }  // C-23
        let body = EncodedBody(Transient(transient.content, sender: members[slot].who.account).encode())
        for other in members.slots where other != slot && isPresent(other) {
            let member = members[other]
            guard !member.isAway, !member.isSuspended, member.features.isSuperset(of: feature) else { continue }
            effects.append(.sendTransient(member.key, body))
        }
    }

    // MARK: Requests

    /// Passes a request on to the member it names, or out to the relay's own handler when it names none.
    mutating func request(
        _ handle: MemberHandle, _ request: Request, now: Instant, into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = slot(handle) else { return }
        let member = members[slot]
        guard member.asked.count < Room.maxRequestsPerMember else {
            return answer(slot, request.correlation, .tooManyRequests, into: &effects)
        }
        var recipient: (slot: Int, handle: MemberHandle)?
        if let name = request.recipient {
            guard let found = reachableSlot(of: name, from: slot) else {
                return answer(slot, request.correlation, .noRecipient, into: &effects)
            }
            // Those that wait to be withdrawn are told first (R-52, Specs/hostile.md row 46).
            guard work.news[found]?.withdrawnCount ?? 0 < MemberNews.maxWithdrawn else {
                return answer(slot, request.correlation, .serverBusy, into: &effects)
            }
            recipient = (found, self.handle(found))
        }
        let correlation = nextCorrelation
        nextCorrelation += 1
        let deadline = min(request.deadline, Room.maxRequestDeadline)
        work.requests[correlation] = RoutedRequest(
            from: handle, to: recipient?.handle, correlation: request.correlation)
        work.requestTimers.set(correlation, at: now + deadline)
        members[slot].asked.append(correlation)
        let routed = Request(
            correlation: correlation, method: request.method, deadline: deadline, recipient: request.recipient,
            sender: member.who.account, content: request.content)
        guard let recipient else { return effects.append(.request(name, handle, routed)) }
        members[recipient.slot].answeringCount += 1
        send(.request, EncodedBody(routed.encode()), to: recipient.slot, into: &effects)
    }

    /// Brings an answer back to whoever asked; only the member that was asked may give it.
    mutating func respond(_ handle: MemberHandle?, _ response: Response, into effects: inout Deque<RoomEffect>) {
        guard let routed = work.requests[response.correlation], routed.to == handle else { return }
        finish(response.correlation)
        guard !routed.isWithdrawn else { return }  // S-56
        let answer = Response(
            correlation: routed.correlation, status: response.status, reason: response.reason, content: response.content
        )
        guard let slot = slot(routed.from) else { return }
        send(.response, EncodedBody(answer.encode()), to: slot, into: &effects)
    }

    /// The requester no longer wants an answer (S-56).
    mutating func cancel(_ handle: MemberHandle, _ correlation: UInt64, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle),
            let number = members[slot].asked.first(where: { isOpen($0, as: correlation) })
        else { return }
        withdraw(number, into: &effects)
    }

    private func isOpen(_ number: UInt64, as correlation: UInt64) -> Bool {
        guard let routed = work.requests[number] else { return false }
        return routed.correlation == correlation && !routed.isWithdrawn
    }

    /// Answers requests whose time is up (S-55).
    mutating func expireRequests(now: Instant, into effects: inout Deque<RoomEffect>) {
        guard isBusy else { return }
        while let number = work.requestTimers.popExpired(now: now) {
            fail(number, .deadlineExceeded, into: &effects)
        }
    }

    /// A member leaves: what it asked is withdrawn, what it was asked is answered for it.
    mutating func cancelRequests(of handle: MemberHandle, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle) else { return }
        let member = members[slot]
        for number in member.asked { withdraw(number, into: &effects) }
        guard member.answeringCount > 0 else { return }
        // In the order in which they came: effects must not depend on how a table hashes.
        for number in work.requests.filter({ $0.value.to == handle }).keys.sorted() {
            fail(number, .noRecipient, into: &effects)
        }
    }

    /// It stays one of the requester's open ones until the member that was asked is told, or the next could follow at
    /// once and both would wait in that member's queue (R-52, Specs/hostile.md row 46).
    private mutating func withdraw(_ number: UInt64, into effects: inout Deque<RoomEffect>) {
        guard let routed = work.requests[number], !routed.isWithdrawn else { return }
        guard let recipient = routed.to, let slot = slot(recipient) else {
            finish(number)
            return
        }
        work.requests[number]?.isWithdrawn = true
        noteWithdrawn(number, for: slot, into: &effects)
    }

    private mutating func fail(_ number: UInt64, _ status: ErrorCode, into effects: inout Deque<RoomEffect>) {
        guard let routed = finish(number), !routed.isWithdrawn, let slot = slot(routed.from) else { return }
        answer(slot, routed.correlation, status, into: &effects)
    }

    @discardableResult
    mutating func finish(_ number: UInt64) -> RoutedRequest? {
        guard isBusy, let routed = work.requests.removeValue(forKey: number) else { return nil }
        work.requestTimers.cancel(number)
        if let slot = slot(routed.from) { members[slot].asked.removeAll { $0 == number } }
        if let recipient = routed.to, let slot = slot(recipient) { members[slot].answeringCount -= 1 }
        return routed
    }

    private mutating func answer(
        _ slot: Int, _ correlation: UInt64, _ status: ErrorCode, into effects: inout Deque<RoomEffect>
    ) {
        let response = Response(correlation: correlation, status: status, reason: nil, content: nil)
        send(.response, EncodedBody(response.encode()), to: slot, into: &effects)
    }

    /// The account's member that came last and can be asked now.
    private func reachableSlot(of account: AccountName, from slot: Int) -> Int? {
        memberSlots(of: account).last { other in
            guard other != slot else { return false }
            let member = members[other]
            return !member.isAway && !member.isSuspended && member.features.contains(.requests)
        }
    }
}
