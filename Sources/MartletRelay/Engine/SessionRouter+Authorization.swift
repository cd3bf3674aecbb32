import MartletLink
import MartletWire

/// Decisions of the room policy about sessions.
extension SessionRouter {
    /// Asks the policy about a session that has no other question.
    mutating func askPolicy(about session: SessionID, of slot: Int, open: Open?, now: Instant) {
        guard let index = relayLinks[slot].sessions.index(of: session) else { return }
        let member = MemberKey(link: links[slot].key, session: session)
        relayLinks[slot].sessions[at: index].question = authorizations.ask(
            RoomAuthorizations.Question(member: member, open: open), timeout: configuration.policyTimeout, now: now)
        relayLinks[slot].sessions[at: index].isAsked = open != nil
    }

    /// The next output for the driver: the room of an overdue question, or a question.
    mutating func nextPolicyOutput() -> RelayOutput? {
        if let room = overdueRooms.popLast() { return .policyOverdue(room) }
        while let (id, question) = authorizations.next() {
            if let room = question.call?.room ?? question.entry?.room {
                guard let slot = links.slot(question.member.link) else {
                    _ = authorizations.answered(id)
                    continue
                }
                return .authorize(id, authorization(of: slot, in: room))
            }
            guard let slot = links.slot(question.member.link),
                let index = relayLinks[slot].sessions.index(of: question.member.session),
                let room = question.open?.room ?? room(at: index, of: slot)
            else {
                _ = authorizations.answered(id)
                continue
            }
            return .authorize(id, authorization(of: slot, in: room))
        }
        return nil
    }

    private mutating func authorization(of slot: Int, in room: RoomName) -> RoomAuthorizationRequest {
        let identity = Identity(links[slot].who.account, claims: relayLinks[slot].claims)
        return RoomAuthorizationRequest(identity: identity, device: links[slot].who.device, room: room)
    }

    private mutating func room(at index: Int, of slot: Int) -> RoomName? {
        if let room = relayLinks[slot].sessions[at: index].room { return room }
        guard let handle = relayLinks[slot].sessions[at: index].handle else { return nil }
        return rooms.local.name(of: handle)
    }

    /// The policy's decision; nil if the policy failed. A session without a decision is reset with `serverBusy` and
    /// opened again later, because the last decision is no longer valid.
    ///
    /// - Returns: The fault of a frame that waited for the decision.
    mutating func authorized(_ id: QuestionID, _ decision: RoomDecision?, now: Instant) -> HeldFault? {
        guard let question = authorizations.answered(id) else { return nil }
        if let call = question.call {
            authorized(call, decision, now: now)
            return nil
        }
        if let entry = question.entry {
            authorized(entry, of: question.member, decision, now: now)
            return nil
        }
        guard let slot = links.slot(question.member.link),
            let index = relayLinks[slot].sessions.index(of: question.member.session)
        else { return nil }
        let session = question.member.session
        markDirty(slot)
        relayLinks[slot].sessions[at: index].question = nil
        switch decision {
        case nil: reset(session, .serverBusy, of: slot)
        case .refused:
            let room = question.open?.room ?? room(at: index, of: slot)
            reset(session, .roomForbidden, of: slot)
            if let room { refusedEntries.append((.roomRefused(links[slot].who, room), links[slot].connection)) }
        case .granted(let permissions, let validity):
            relayLinks[slot].sessions[at: index].permissions = permissions
            relayLinks[slot].sessions[at: index].isAsked = false
            relayLinks[slot].sessions[at: index].waitsForDecision = false
            if let validity { authorizations.setExpiry(of: question.member, after: validity, now: now) }
            if let open = question.open {
                join(open, session, permissions, of: slot)
            } else if let handle = relayLinks[slot].sessions[at: index].handle {
                if configuration.roomRoles != nil { rooms.call(.setPermissions(handle, permissions)) }
                return deliverHeld(of: session, to: handle, of: slot, now: now)
            }
        }
        return nil
    }

    /// Ends sessions whose questions have no answer in time, and asks again about those whose decisions have expired.
    mutating func expireDecisions(now: Instant) {
        while let question = authorizations.popOverdue(now: now) {
            if let call = question.call {
                overdueRooms.append(call.room)
                authorized(call, nil, now: now)
                continue
            }
            if let entry = question.entry {
                overdueRooms.append(entry.room)
                authorized(entry, of: question.member, nil, now: now)
                continue
            }
            guard let slot = links.slot(question.member.link) else { continue }
            if let index = relayLinks[slot].sessions.index(of: question.member.session),
                let room = question.open?.room ?? room(at: index, of: slot)
            {
                overdueRooms.append(room)
            }
            markDirty(slot)
            reset(question.member.session, .serverBusy, of: slot)
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
            let open = authorizations.withdraw(relayLinks[slot].sessions[at: index].question)
            askPolicy(about: session, of: slot, open: open, now: now)
        }
    }
}
