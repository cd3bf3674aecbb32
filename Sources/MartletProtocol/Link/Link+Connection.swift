public import MartletWire

extension Link {
    /// What a deadline that passed asks of the engine.
    public enum OnDeadline: Equatable, Sendable {
        /// Nothing, or there is output to transmit.
        case proceed
        /// Nothing was acknowledged on a stream for longer than a path needs that loses nothing: another connection may
        /// be faster.
        case overdue
        /// The connection is silent: another takes its place, and the link resumes on it.
        case replaceConnection
        /// The peer lives but has not acknowledged anything for `ackTimeout`.
        case ackTimeout
    }

    /// When `deadlinePassed` wants to be called.
    @inline(__always)
    public var deadline: Instant? {
        guard carrier != nil else { return nil }
        let overdue = hasUnacknowledged ? lastAckProgress + Link.ackTimeout : nil
        return ackDeadline.orEarlier(ackTimer.deadline).orEarlier(creditProbe.deadline).orEarlier(overdue)
            .orEarlier(pacingDeadline).orEarlier(overdueDeadline).orEarlier(streamDeadline)
    }

    /// Attaches a connection: everything unacknowledged will be sent on it, from the first (Specs/hostile.md row 31).
    ///
    /// - Parameter isEarly: the peer has not answered the hello; at most `earlyByteCount` bytes go out until `confirm`.
    public mutating func attach(_ carrier: Carrier, isEarly: Bool, now: Instant) {
        detach()
        self.carrier = carrier
        earlyBudget = isEarly ? Link.earlyByteCount : nil
        lastAckProgress = now
        for slot in sessions.indices where sessions[slot].isLive {
            sessions[slot].send.rewind(losesOvertaken: carrier == .unreliable)
            noteOutstanding(slot)
            schedule(slot)
        }
    }

    /// The connection is gone; what was not acknowledged waits for the next (C-2).
    public mutating func detach() {
        carrier = nil
        control.removeAll()
        scheduler.removeAll()
        blockedSlots.removeAll()
        ackSlots.removeAll()
        earlyBudget = nil
        ackDeadline = nil
        isAckDue = false
        echo = nil
        newestTimestamp = nil
        packets = nil
        streamDeadline = nil
        endsStream = false
        probe = nil
        pongsDue = 0
        ackTimer.stop()  // S-33
        overdueDeadline = nil
        creditProbe = CreditProbe()
        wasWaitingForRoom = false
        flight.reset()
        for slot in sessions.indices where sessions[slot].isLive {
            sessions[slot].isScheduled = false
            sessions[slot].isBlocked = false
            sessions[slot].transients.removeAll()
            sessions[slot].needsAck = false
        }
    }

    /// The highest sequence received in order per session: what a resume tells the other side (W-45, C-29).
    public var positions: [SessionPosition] {
        sessions.lazy.filter(\.isLive).map {
            SessionPosition(session: $0.id, received: $0.receive.cumulative)
        }
    }

    /// Whether the peer's positions can be continued from: a resume is refused whole, never in part (W-46, C-30).
    public func canResume(from positions: [SessionPosition]) -> Bool {
        positions.allSatisfy { position in
            guard let slot = slots[position.session] else {
                return position.received < firstSequence || retired[position.session] != nil
            }
            let send = sessions[slot].send
            return position.received <= send.highestSent && position.received + 1 >= send.base
        }
    }

    /// Continues from where the peer says it is; the early limit is lifted.
    ///
    /// A session that the peer has closed and does not name is finished there and is dropped here. Any other that it
    /// does not name it has not heard of yet, or has reset and says so (C-33).
    public mutating func confirm(_ positions: [SessionPosition]?, now: Instant) {
        earlyBudget = nil
        if let positions {
            counters.resumes += 1
            let received = Dictionary(positions.map { ($0.session, $0.received) }) { $1 }
            for slot in sessions.indices where sessions[slot].isLive {
                guard let position = received[sessions[slot].id] else {
                    if sessions[slot].peerClosed { remove(slot, isReset: false) }
                    continue
                }
                guard let part = sessions[slot].send.acknowledge(cumulative: position) else { continue }
                if sessions[slot].priority.isBulk { flight.abandoned(part.byteCount) }
                noteOutstanding(slot)
                report(slot, released: part.releasedByteCount)
                if sessions[slot].isFinished { remove(slot, isReset: false) }
            }
        }
        for slot in sessions.indices where sessions[slot].isLive {
            schedule(slot)
            wantAck(of: slot, at: now + Link.maxAckDelay)
        }
        lastAckProgress = now
        armOverdue(now: now)
    }

    /// Whether the link can go on under what a resume has agreed on: frames may wait that need what held before, so
    /// no limit may be lower and compression may not cease to hold (C-23, C-24).
    public func canAdopt(_ limits: Limits, features: Features) -> Bool {
        self.limits.negotiated(with: limits) == self.limits
            && (features.contains(.zlib) || !self.features.contains(.zlib))
    }

    /// Takes over what hello and welcome agreed on; sessions opened ahead of it get their larger windows.
    public mutating func adopt(_ limits: Limits, features: Features) {
        self.limits = limits
        self.features = features
        announcedLinkCredit = max(announcedLinkCredit, UInt64(limits.linkWindow))
        for slot in sessions.indices.dropFirst() where sessions[slot].isLive {
            let window = min(limits.sessionWindow, SessionPreset(sessions[slot].kind).windowByteCount)
            sessions[slot].send.raiseCreditLimit(to: UInt64(window))
            sessions[slot].receive.raiseWindow(to: window, maxMessageByteCount: limits.maxMessageByteCount)
        }
    }

    /// Acts on the deadlines that have passed.
    public mutating func deadlinePassed(now: Instant) -> OnDeadline {
        guard let carrier else { return .proceed }
        pacingNoted = now
        let isWaitingForRoom = isAckDue || !control.isEmpty || hasFrames(now: now)
        if let ackDeadline, ackDeadline <= now {
            self.ackDeadline = nil
            isAckDue = true
        }
        checkStream(now: now)
        if hasUnacknowledged, lastAckProgress + Link.ackTimeout <= now { return .ackTimeout }  // S-30
        if creditProbe.expired(now: now, timeout: ackTimeoutInterval) { sendProbe(now: now) }
        let onExpiry = ackTimer.expired(
            now: now, timeout: ackTimeoutInterval, isReliableCarrier: carrier == .reliable)
        switch onExpiry {
        case .none:
            break
        case .probe:
            wasWaitingForRoom = isWaitingForRoom
            sendProbe(now: now)
        case .sendAgain:
            loseOverdue(now: now)
        case .replaceConnection:
            return .replaceConnection
        }
        guard let overdueDeadline, overdueDeadline <= now else { return .proceed }
        self.overdueDeadline = now + overdueInterval / 2
        return .overdue
    }

    /// Something was sent or acknowledged: from here on the client waits to see whether its stream is stuck (C-63).
    mutating func armOverdue(now: Instant) {
        overdueDeadline = role == .client && carrier == .reliable && hasUnacknowledged ? now + overdueInterval : nil
    }

    /// Three times what the path needs at its best. The smoothed round trip would not do: where packets are lost, it is
    /// the losses that it measures.
    @inline(__always)
    var overdueInterval: Duration { max(rtt.minimum.map { $0 * 3 } ?? .seconds(1), Link.leastOverdue) }

    @inline(__always)
    var ackTimeoutInterval: Duration {
        // On a stream the timer asks whether the peer lives, it repairs nothing; a second is soon enough (S-27).
        carrier == .reliable ? max(rtt.baseTimeout, .seconds(1)) : rtt.baseTimeout
    }

    private mutating func sendProbe(now: Instant) {
        probes += 1
        let nonce = Link.probeBit | probes
        probe = Probe(nonce: nonce, sentAt: now)
        queueControl(.ping, flags: .ackNow, EncodedBody(Ping(nonce: nonce).encode()))
    }

    /// What is overdue on a carrier that may have lost it goes out again, the oldest frames of each session first
    /// (S-27).
    private mutating func loseOverdue(now: Instant) {
        let sentBefore = now + (.zero - rtt.baseTimeout)
        for slot in sessions.indices where sessions[slot].isLive {
            let lost = sessions[slot].send.loseFrames(sentBefore: sentBefore, limit: Link.maxOverdueFrames)
            noteLost(slot, lost)
            // The timer runs since the last news; a frame that left a moment ago is then the oldest there is.
            if lost.frameCount == 0 { noteLost(slot, sessions[slot].send.loseFrames(sentBefore: now, limit: 1)) }
        }
        flight.collapse()
    }

    /// Frames are to go out again.
    mutating func noteLost(_ slot: Int, _ lost: SendStream.Lost) {
        guard lost.frameCount > 0 else { return }
        if sessions[slot].priority.isBulk { flight.abandoned(lost.byteCount) }
        schedule(slot)
    }
}
