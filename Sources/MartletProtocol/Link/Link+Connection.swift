public import MartletWire

extension Link {
    /// What a deadline that passed asks of the engine.
    public enum OnDeadline: Equatable, Sendable {
        /// Nothing, or there is output to transmit.
        case proceed
        /// The connection is silent: another takes its place, and the link resumes on it.
        case replaceConnection
        /// The peer lives but has not acknowledged anything for `ackTimeout`.
        case ackTimeout
    }

    /// When `deadlinePassed` wants to be called.
    public var deadline: Instant? {
        guard carrier != nil else { return nil }
        var earliest = ackDeadline
        for candidate in [ackTimer.deadline, isBlocked ? lastAckProgress + Link.ackTimeout : nil] {
            if let candidate { earliest = min(earliest ?? candidate, candidate) }
        }
        return earliest
    }

    /// Attaches a connection: everything unacknowledged will be sent on it, from the first.
    ///
    /// - Parameter isEarly: the peer has not answered the hello; at most `earlyByteCount` bytes go out until `confirm`.
    public mutating func attach(_ carrier: Carrier, isEarly: Bool, now: Instant) {
        detach()
        self.carrier = carrier
        earlyBudget = isEarly ? Link.earlyByteCount : nil
        lastAckProgress = now
        for slot in sessions.indices where sessions[slot].isLive {
            sessions[slot].send.rewind()
            schedule(slot)
        }
    }

    /// The connection is gone; what was not acknowledged waits for the next.
    public mutating func detach() {
        carrier = nil
        control.removeAll()
        scheduler.removeAll()
        earlyBudget = nil
        ackDeadline = nil
        echo = nil
        probe = nil
        ackTimer.stop()
        flight.reset()
        for slot in sessions.indices where sessions[slot].isLive {
            sessions[slot].isScheduled = false
            sessions[slot].transients.removeAll()
            sessions[slot].needsAck = false
        }
    }

    /// The highest sequence received in order per session: what a resume tells the other side.
    public var positions: [SessionPosition] {
        sessions.lazy.filter(\.isLive).map {
            SessionPosition(session: $0.id, received: $0.receive.cumulative)
        }
    }

    /// Whether the peer's positions can be continued from: a resume is refused whole, never in part.
    public func canResume(from positions: [SessionPosition]) -> Bool {
        positions.allSatisfy { position in
            if let slot = slots[position.session] {
                let send = sessions[slot].send
                return position.received + 1 >= send.base && position.received <= send.highestSent
            }
            return position.received == 0 || retired.contains { $0.session == position.session }
        }
    }

    /// Continues from where the peer says it is; the early limit is lifted.
    ///
    /// A closing session that the peer does not name is finished there and is dropped here.
    public mutating func confirm(_ positions: [SessionPosition]?, now: Instant) {
        earlyBudget = nil
        if let positions {
            counters.resumes += 1
            for slot in sessions.indices where sessions[slot].isLive {
                let session = sessions[slot]
                guard let position = positions.first(where: { $0.session == session.id }) else {
                    if session.state == .closing || session.state == .closingByPeer { remove(slot) }
                    continue
                }
                let part = sessions[slot].send.acknowledge(cumulative: position.received)
                noteReleased(slot, part?.releasedByteCount ?? 0)
                if sessions[slot].isFinished { remove(slot) }
            }
        }
        for slot in sessions.indices where sessions[slot].isLive {
            schedule(slot)
            sessions[slot].needsAck = true
        }
        lastAckProgress = now
        wantAck(at: now + Link.maxAckDelay)
    }

    /// Takes over what hello and welcome agreed on; sessions opened ahead of it get their larger windows.
    public mutating func adopt(_ limits: Limits, features: Features) {
        self.limits = limits
        self.features = features
        linkCreditLimit = max(linkCreditLimit, UInt64(limits.linkWindow))
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
        if isBlocked, lastAckProgress + Link.ackTimeout <= now { return .ackTimeout }
        // The kernel takes more bytes only as the peer takes them: on a stream that is a sign of life.
        if carrier == .reliable, wroteSinceExpiry { ackTimer.heard() }
        let onExpiry = ackTimer.expired(
            now: now, timeout: ackTimeoutInterval, isReliableCarrier: carrier == .reliable)
        switch onExpiry {
        case .none:
            break
        case .probe:
            wroteSinceExpiry = false
            sendProbe(now: now)
        case .sendAgain:
            loseOverdue(now: now)
        case .replaceConnection:
            return .replaceConnection
        }
        return .proceed
    }

    var ackTimeoutInterval: Duration {
        // On a stream the timer asks whether the peer lives, it repairs nothing; a second is soon enough.
        carrier == .reliable ? max(rtt.baseTimeout, .seconds(1)) : rtt.baseTimeout
    }

    private var isBlocked: Bool {
        sessions.contains { $0.isLive && $0.send.hasUnacknowledged }
    }

    private mutating func sendProbe(now: Instant) {
        probes += 1
        let nonce = Link.probeBit | probes
        probe = Probe(nonce: nonce, sentAt: now)
        queueControl(.ping, flags: .ackNow, EncodedBody(Ping(nonce: nonce).encode()))
    }

    private mutating func loseOverdue(now: Instant) {
        for slot in sessions.indices where sessions[slot].isLive {
            if sessions[slot].send.loseFrames(sentBefore: now, limit: 16) > 0 { schedule(slot) }
        }
    }

    private mutating func noteReleased(_ slot: Int, _ byteCount: Int) {
        guard byteCount > 0, sessions[slot].id != .control else { return }
        arrivals.append(.acknowledged(sessions[slot].id, byteCount: byteCount))
    }
}
