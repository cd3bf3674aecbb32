import MartletWire

/// A request on its way through a room: where its answer belongs.
struct RoutedRequest: Sendable {
    var from: MemberHandle
    var to: MemberHandle?
    /// The requester's own number for it.
    var correlation: UInt64
    var deadline: Instant
}

/// What members tell each other beside messages: receipts, typing, requests.
extension Room {
    /// Requests of one member that may be open at a time.
    static let maxRequestsPerMember = 64
    /// The longest that a request is kept for its answer.
    static let maxRequestDeadline: Duration = .seconds(300)

    // MARK: Receipts

    /// A member has taken or read everything up to an offset: those who wrote it since the last time are told.
    mutating func progressed(_ handle: MemberHandle, _ told: Receipt.Progress, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle), let who = members[slot]?.who else { return }
        let upTo = min(told.upTo, durable)
        guard progress[who.account] != nil || progress.count < Room.maxMarkedAccounts else { return }
        var mine = progress[who.account] ?? Progress()
        let before = told.mark == .read ? mine.read : mine.delivered
        guard upTo > before else { return }
        if told.mark == .read { mine.read = upTo }
        mine.delivered = max(mine.delivered, upTo)
        progress[who.account] = mine
        var authors: Set<DeviceKey> = []
        for offset in max(before + 1, tail.first)...max(upTo, tail.first) {
            guard let entry = tail[offset], offset <= upTo, entry.sender != who.account else { continue }
            authors.insert(DeviceKey(account: entry.sender, device: entry.device))
        }
        guard !authors.isEmpty else { return }
        let stamped = Receipt.Progress(told.mark, upTo: upTo, sender: who.account, device: who.device)
        let body = EncodedBody(Receipt.progress(stamped).encode())
        for member in members {
            if let member, authors.contains(member.who) { effects.append(.send(member.key, .receipt, body)) }
        }
    }

    /// A member that comes back learns how far the others are: marks are cumulative, so one each is enough.
    func sendProgress(to key: MemberKey, into effects: inout Deque<RoomEffect>) {
        guard memberCount <= Room.maxPresenceMembers else { return }
        for (account, mark) in progress.sorted(by: { $0.key.text < $1.key.text }) {
            if mark.delivered > 0 {
                let told = Receipt.Progress(.delivered, upTo: mark.delivered, sender: account, device: nil)
                effects.append(.send(key, .receipt, EncodedBody(Receipt.progress(told).encode())))
            }
            if mark.read > 0 {
                let told = Receipt.Progress(.read, upTo: mark.read, sender: account, device: nil)
                effects.append(.send(key, .receipt, EncodedBody(Receipt.progress(told).encode())))
            }
        }
    }

    // MARK: Transient frames

    /// Passes typing and the like on to whoever is there; presence is the relay's own to say.
    mutating func whisper(_ handle: MemberHandle, _ transient: Transient, into effects: inout Deque<RoomEffect>) {
        guard let slot = slot(handle), let who = members[slot]?.who else { return }
        if case .presence = transient.content { return }
        let body = EncodedBody(Transient(transient.content, sender: who.account).encode())
        for (other, member) in members.enumerated() where other != slot {
            guard let member, !member.isAway, !member.isSuspended else { continue }
            effects.append(.sendTransient(member.key, body))
        }
    }

    // MARK: Requests

    /// Passes a request on to the member it names, or out to the relay's own handler when it names none.
    mutating func request(
        _ handle: MemberHandle, _ request: Request, now: Instant, into effects: inout Deque<RoomEffect>
    ) {
        guard let slot = slot(handle), let member = members[slot] else { return }
        guard member.requestCount < Room.maxRequestsPerMember else {
            return answer(handle.key, request.correlation, .tooManyRequests, into: &effects)
        }
        var recipient: MemberHandle?
        if let name = request.recipient {
            guard let index = members.indices.last(where: { isReachable($0, as: name, from: slot) }),
                let key = members[index]?.key
            else { return answer(handle.key, request.correlation, .noRecipient, into: &effects) }
            recipient = MemberHandle(room: self.index, slot: Int32(index), key: key)
        }
        let correlation = nextCorrelation
        nextCorrelation += 1
        let deadline = min(request.deadline, Room.maxRequestDeadline)
        requests[correlation] = RoutedRequest(
            from: handle, to: recipient, correlation: request.correlation, deadline: now + deadline)
        members[slot]?.requestCount += 1
        let routed = Request(
            correlation: correlation, method: request.method, deadline: deadline, recipient: request.recipient,
            sender: member.who.account, content: request.content)
        if let recipient {
            effects.append(.send(recipient.key, .request, EncodedBody(routed.encode())))
        } else {
            effects.append(.request(name, handle, routed))
        }
    }

    /// Brings an answer back to whoever asked; only the member that was asked may give it.
    mutating func respond(_ handle: MemberHandle?, _ response: Response, into effects: inout Deque<RoomEffect>) {
        guard let routed = requests[response.correlation], routed.to == handle else { return }
        finish(response.correlation)
        let answer = Response(
            correlation: routed.correlation, status: response.status, reason: response.reason, content: response.content
        )
        guard slot(routed.from) != nil else { return }
        effects.append(.send(routed.from.key, .response, EncodedBody(answer.encode())))
    }

    /// The requester no longer wants an answer.
    mutating func cancel(_ handle: MemberHandle, _ correlation: UInt64, into effects: inout Deque<RoomEffect>) {
        guard let entry = requests.first(where: { $0.value.from == handle && $0.value.correlation == correlation })
        else { return }
        finish(entry.key)
        guard let recipient = entry.value.to else { return }
        let body = EncodedBody(CancelRequest(correlation: entry.key).encode())
        effects.append(.send(recipient.key, .cancel, body))
    }

    /// Answers requests whose time is up; returns when the next one's is.
    mutating func expireRequests(now: Instant, into effects: inout Deque<RoomEffect>) -> Instant? {
        for (correlation, routed) in ordered(requests) where routed.deadline <= now {
            finish(correlation)
            answer(routed.from.key, routed.correlation, .deadlineExceeded, into: &effects)
        }
        return requests.values.map(\.deadline).min()
    }

    /// A member leaves: what it asked is forgotten, what it was asked is answered for it.
    mutating func cancelRequests(of handle: MemberHandle, into effects: inout Deque<RoomEffect>) {
        for (correlation, routed) in ordered(requests) where routed.from == handle || routed.to == handle {
            finish(correlation)
            guard routed.from != handle else { continue }
            answer(routed.from.key, routed.correlation, .noRecipient, into: &effects)
        }
    }

    /// In the order in which they came: effects must not depend on how a table hashes.
    private func ordered(_ requests: [UInt64: RoutedRequest]) -> [(key: UInt64, value: RoutedRequest)] {
        requests.sorted { $0.key < $1.key }
    }

    private mutating func finish(_ correlation: UInt64) {
        guard let routed = requests.removeValue(forKey: correlation), let slot = slot(routed.from) else { return }
        members[slot]?.requestCount -= 1
    }

    private func answer(
        _ key: MemberKey, _ correlation: UInt64, _ status: ErrorCode, into effects: inout Deque<RoomEffect>
    ) {
        let response = Response(correlation: correlation, status: status, reason: nil, content: nil)
        effects.append(.send(key, .response, EncodedBody(response.encode())))
    }

    private func isReachable(_ index: Int, as name: AccountName, from slot: Int) -> Bool {
        guard index != slot, let member = members[index] else { return false }
        return member.who.account == name && !member.isAway && !member.isSuspended
    }
}
