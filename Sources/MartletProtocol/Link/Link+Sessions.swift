import MartletWire

/// How sessions come and go inside a link, and what becomes of their credit.
///
/// Credit is counted from the link's beginning, so what a session used has to be counted by both sides, also when it
/// ends in the middle: each reset says how much credit its sender had used (RFC 9000 §4.5, final size).
extension Link {
    mutating func insert(_ id: SessionID, kind: SessionKind, state: Session.State) -> Int {
        let window = min(limits.sessionWindow, SessionPreset(kind).windowByteCount)  // W-51
        var session = Session(
            id: id, kind: kind, state: state, sendLimit: window, receiveWindow: window,
            maxMessageByteCount: limits.maxMessageByteCount, first: firstSequence)
        session.send.rewind(losesOvertaken: carrier == .unreliable)
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
            sessions[slot] = session
        } else {
            slot = sessions.count
            sessions.append(session)
        }
        slots[id] = slot
        return slot
    }

    /// A session is over; its slot waits to be used again, and what is left of it is kept with the retired.
    ///
    /// - Parameters:
    ///   - isReset: the peer may have used credit for frames that have not arrived.
    ///   - isKnown: the peer may have heard of the session.
    mutating func remove(_ slot: Int, isReset: Bool, isKnown: Bool = true) {
        let session = sessions[slot]
        guard slots.removeValue(forKey: session.id) != nil else { return }
        if session.priority.isBulk { flight.abandoned(session.send.inFlightByteCount) }
        linkCreditReserved -= session.send.reservedCredit
        if unreservedSlot == slot { unreservedSlot = nil }
        assemblingByteCount -= session.receive.assemblingByteCount
        heldByteCount -= session.receive.heldByteCount
        scheduler.remove(slot, priority: session.priority)
        if session.isOutstanding { countOutstanding(-1) }
        if session.send.hasQueue { queueCount -= 1 }
        if session.needsAck { ackSlots = Deque(ackSlots.filter { $0 != slot }) }
        if session.isBlocked { blockedSlots.removeAll { $0 == slot } }
        let receive = session.receive
        linkCreditReleased += receive.creditReceived - receive.creditDelivered
        if isKnown {
            let record = RetiredSessions.Record(
                cumulative: receive.cumulative, creditReceived: receive.creditReceived,
                unreleased: receive.creditDelivered - receive.creditReleased, isSettled: !isReset,
                owesAck: session.needsAck)
            linkCreditReleased += retired.insert(session.id, record)
        }
        sessions[slot] = Session(
            id: session.id, kind: .chat, state: .closing, sendLimit: 0, receiveWindow: 0, maxMessageByteCount: 0)
        sessions[slot].isLive = false
        freeSlots.append(slot)
    }

    mutating func appendReset(_ id: SessionID, _ code: ErrorCode, creditUsed: UInt64) {
        append(0, .reset, EncodedBody(Reset(session: id, code: code, creditUsed: creditUsed).encode()))
    }

    /// Refuses a session that the peer means to have (S-6).
    mutating func refuse(_ id: SessionID, _ code: ErrorCode) {
        linkCreditReleased += retired.insert(id, RetiredSessions.Record(cumulative: 0))
        appendReset(id, code, creditUsed: 0)
    }

    /// The peer ends a session at once (S-10, S-11).
    mutating func takeReset(_ reset: Reset, now: Instant) throws(LinkError) {
        let id = reset.session
        if slots[id] == nil { try chargeUnproductive(now: now) }
        if let slot = slots[id] {
            let send = sessions[slot].send
            remove(slot, isReset: true)
            // What has not been acknowledged may not have arrived: the peer has to know how much there was (S-12).
            if send.hasUnacknowledgedCredit { appendReset(id, reset.code, creditUsed: send.creditUsed) }
            arrivals.append(.event(.reset(id, code: reset.code)))
        } else if retired[id] == nil {
            // Its open may still be under way, or never come: it must not open the session when it does (S-12).
            linkCreditReleased += retired.insert(id, RetiredSessions.Record(cumulative: 0))
        }
        guard let creditUsed = reset.creditUsed else { return }
        guard let missing = retired.settle(id, creditUsed: creditUsed) else { throw .peer(.protocolViolation) }
        guard missing <= announcedLinkCredit - linkCreditReceived else { throw .peer(.creditExceeded) }
        linkCreditReceived += missing
        linkCreditReleased += missing
        announceLinkCredit()
    }

    /// A fault of the peer's in one session resets that session only.
    mutating func fail(_ slot: Int, _ code: ErrorCode) {
        let id = sessions[slot].id
        reset(id, code: code)
        arrivals.append(.event(.reset(id, code: code)))
    }

    /// Keeps the number of sessions with unacknowledged frames true after a stream has changed.
    mutating func noteOutstanding(_ slot: Int) {
        let isOutstanding = sessions[slot].send.hasUnacknowledged
        guard sessions[slot].isOutstanding != isOutstanding else { return }
        sessions[slot].isOutstanding = isOutstanding
        countOutstanding(isOutstanding ? 1 : -1)
    }

    /// With the last session that waits for an acknowledgement the timers of that wait end, however it ended: by an
    /// acknowledgement, a reset or a resume (S-29).
    private mutating func countOutstanding(_ change: Int) {
        outstandingCount += change
        guard outstandingCount == 0 else { return }
        ackTimer.stop()
        overdueDeadline = nil
        probe = nil
    }

    // MARK: Credit of the link

    /// The limit up to which the peer may send: what was given back, a window, and what has arrived of incomplete
    /// messages, since nobody can give that back; of these at most as much as one message may be long (S-37).
    var linkCreditToAnnounce: UInt64 {
        let assembling = min(assemblingByteCount, limits.maxMessageByteCount)
        return max(announcedLinkCredit, linkCreditReleased + UInt64(limits.linkWindow) + UInt64(assembling))
    }

    /// The link credit of the next acknowledgement. In a compact one it costs bytes when it has changed.
    @inline(__always)
    var linkCreditToSay: UInt64 {
        let credit = linkCreditToAnnounce
        let isWorthSaying = credit - announcedLinkCredit > UInt64(limits.linkWindow / 16)
        return usesPackets && !isWorthSaying ? announcedLinkCredit : credit
    }

    @inline(__always)
    func announcesLinkCredit() -> Bool {  // S-39
        let gained = linkCreditToAnnounce - announcedLinkCredit
        if gained >= UInt64(limits.linkWindow / 2) { return true }
        return linkCreditReleased == linkCreditReceived && gained > UInt64(limits.linkWindow / 16)
    }

    mutating func announceLinkCredit() {
        if announcesLinkCredit() { wantAck(at: nil) }
    }

    /// Whether a limit that the peer names lets this side send more by an amount that an honest peer speaks for (S-39).
    /// Before the first one, the limit is a window.
    func raisesLinkCredit(_ limit: UInt64) -> Bool {
        let window = UInt64(limits.linkWindow)
        let known = linkCreditLimit ?? window
        let limit = min(limit, linkCreditUsed + window + UInt64(limits.maxMessageByteCount))
        return limit > known && limit - known >= window / 16
    }

    /// The window of a session that this side sends on, in bytes.
    func sendWindow(of slot: Int) -> Int {
        guard slot != 0 else { return Link.controlWindowByteCount }
        return min(limits.sessionWindow, SessionPreset(sessions[slot].kind).windowByteCount)
    }

    var linkCredit: SendStream.LinkCredit {
        let limit = linkCreditLimit ?? UInt64(limits.linkWindow)
        let spent = linkCreditUsed + linkCreditReserved
        return SendStream.LinkCredit(available: limit - min(spent, limit), mayBeginUnreserved: unreservedSlot == nil)
    }
}

extension SendStream {
    /// Whether a limit that the peer names lets more be sent by an amount that an honest peer speaks for, and is not
    /// beyond what it can have room for (S-37, S-39).
    func isWorthwhile(_ limit: UInt64, window: Int, maxMessageByteCount: Int) -> Bool {
        let limit = min(limit, creditUsed + UInt64(window) + UInt64(maxMessageByteCount))
        return limit > creditLimit && limit - creditLimit >= UInt64(window / 16)
    }
}
