import MartletLink
import MartletWire

/// Decisions of the room policy about sessions.
extension SessionRouter {
    /// Asks the policy about a session that has no other question.
    mutating func askPolicy(about session: SessionID, of slot: Int, open: Open?, now: Instant) {
        guard let index = relayLinks[slot].sessions.index(of: session) else { return }
        let member = MemberKey(link: links[slot].key, session: session)
        relayLinks[slot].sessions[at: index].question = ask(.session(member, open), now: now)
        relayLinks[slot].sessions[at: index].isAsked = open != nil
        authorizations.cancelExpiry(of: member)
    }

    /// Asks the policy a question, in its turn.
    @discardableResult
    mutating func ask(_ question: RoomAuthorizations.Question, now: Instant) -> RelayCallID {
        calls.enqueue(question, timeout: configuration.policyTimeout, now: now)
    }

    /// The next question to the policy.
    mutating func nextQuestion() -> RelayOutput? {
        while let (id, question) = calls.next() {
            if let slot = links.slot(question.member.link), let room = room(of: question) {
                return .call(id, .authorize(authorization(of: slot, in: room)))
            }
            _ = calls.completed(id)
        }
        return nil
    }

    private mutating func authorization(of slot: Int, in room: RoomName) -> RoomAuthorizationRequest {
        let identity = Identity(links[slot].who.account, claims: relayLinks[slot].claims)
        return RoomAuthorizationRequest(identity: identity, device: links[slot].who.device, room: room)
    }

    /// The room of a question; nil if its session has ended.
    private mutating func room(of question: RoomAuthorizations.Question) -> RoomName? {
        switch question {
        case .call(let call): return call.room
        case .entry(_, let room, _): return room
        case .administration: return .administration
        case .session(let member, let open):
            guard let (slot, index) = position(of: member) else { return nil }
            return open?.room ?? self.room(at: index, of: slot)
        }
    }

    /// The slot of a session's link, and the index of the session there; nil if it has ended.
    private mutating func position(of member: MemberKey) -> (slot: Int, index: Int)? {
        guard let slot = links.slot(member.link) else { return nil }
        return relayLinks[slot].sessions.index(of: member.session).map { (slot, $0) }
    }

    private mutating func room(at index: Int, of slot: Int) -> RoomName? {
        if let room = relayLinks[slot].sessions[at: index].room { return room }
        guard let handle = relayLinks[slot].sessions[at: index].handle else { return nil }
        return rooms.local.name(of: handle)
    }

    /// The policy's decision; nil if the policy failed.
    mutating func decided(_ question: RoomAuthorizations.Question, _ decision: RoomDecision?, now: Instant) {
        switch question {
        case .session(let member, let open): authorized(member, opening: open, decision, now: now)
        case .call(let call): authorized(call, decision, now: now)
        case .administration(let call): authorized(call, decision, now: now)
        case .entry(let member, let room, let generation):
            authorized(room, asked: generation, of: member, decision, now: now)
        }
    }

    /// The policy's decision about a session, which has joined its room if no `open` waits. A session without a
    /// decision is reset with `serverBusy` and opened again later, because the last decision is no longer valid.
    private mutating func authorized(
        _ member: MemberKey, opening open: Open?, _ decision: RoomDecision?, now: Instant
    ) {
        guard let (slot, index) = position(of: member) else { return }
        let session = member.session
        markDirty(slot)
        relayLinks[slot].sessions[at: index].question = nil
        switch decision {
        case nil: reset(session, .serverBusy, of: slot)
        case .refused:
            let room = open?.room ?? room(at: index, of: slot)
            reset(session, .roomForbidden, of: slot)
            if let room { refusedEntries.append((.roomRefused(links[slot].who, room), links[slot].connection)) }
        case .granted(let permissions, let validity):
            relayLinks[slot].sessions[at: index].permissions = permissions
            relayLinks[slot].sessions[at: index].isAsked = false
            relayLinks[slot].sessions[at: index].waitsForDecision = false
            if let validity { authorizations.setExpiry(of: member, after: validity, now: now) }
            if let open {
                join(open, session, permissions, of: slot)
            } else if let handle = relayLinks[slot].sessions[at: index].handle {
                rooms.call(.setPermissions(handle, permissions))
                deliverHeld(of: session, of: slot, now: now)
            }
        }
    }

    /// Ends sessions whose questions have no answer in time, and asks again about those whose decisions have expired.
    mutating func expireDecisions(now: Instant) {
        while let waiter = calls.popOverdue(now: now) {
            if case .decision(let question) = waiter, let room = room(of: question) {
                outputs.append(.policyOverdue(room))
            }
            conclude(waiter, waiter.kind.failure, now: now)
        }
        while let member = authorizations.popExpired(now: now) {
            guard let slot = links.slot(member.link) else { continue }
            askPolicy(about: member.session, of: slot, open: nil, now: now)
        }
    }

    /// Asks again about the sessions of an account, or of all accounts, in a room, or in all rooms. The decisions stay
    /// in effect until the answers.
    mutating func revokeDecisions(of account: AccountName?, in room: RoomName?, now: Instant) {
        guard configuration.asksRoomPolicy else { return }
        for slot in links.slots where links.isLive(slot) && (account == nil || links[slot].who.account == account) {
            askAgain(in: room, of: slot, now: now)
        }
    }

    /// Replaces the claims of a link. Decisions about other claims are no longer valid: frames of its sessions wait for
    /// the next ones.
    mutating func setClaims(_ claims: Claims, of slot: Int, now: Instant) {
        guard claims != relayLinks[slot].claims else { return }
        relayLinks[slot].claims = claims
        guard configuration.asksRoomPolicy else { return }
        for index in relayLinks[slot].sessions.indices { relayLinks[slot].sessions[at: index].waitsForDecision = true }
        askAgain(in: nil, of: slot, now: now)
    }

    private mutating func askAgain(in name: RoomName?, of slot: Int, now: Instant) {
        accounts[MemberKey(link: links[slot].key, session: relayLinks[slot].accountSession)]?.forgetDecisions()
        for session in relayLinks[slot].sessions.keys {
            guard let index = relayLinks[slot].sessions.index(of: session),
                name == nil || room(at: index, of: slot) == name
            else { continue }
            // A question that waits or is in flight may have been asked before the change.
            let question = relayLinks[slot].sessions[at: index].question.flatMap { calls.withdraw($0) }
            let open: Open? = if case .decision(.session(_, let open))? = question { open } else { nil }
            askPolicy(about: session, of: slot, open: open, now: now)
        }
    }
}
