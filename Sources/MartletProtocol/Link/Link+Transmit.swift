import MartletWire

extension Link {
    /// Whether `transmit` has something to write now.
    public func hasOutput(now: Instant) -> Bool {
        guard carrier != nil else { return false }
        if !control.isEmpty { return true }
        if let ackDeadline, ackDeadline <= now { return true }
        if let earlyBudget, earlyBudget <= 0 { return false }
        return scheduler.hasWork(isAllowed)
    }

    /// Writes whole frames as long as they fit and the peer allows; what does not fit stays.
    ///
    /// `out` must have room for at least one frame of the negotiated size when it is empty.
    public mutating func transmit(into out: inout OutputRawSpan, now: Instant) {
        guard carrier != nil else { return }
        let start = out.byteCount
        if let ackDeadline, ackDeadline <= now || !control.isEmpty || scheduler.hasWork(isAllowed) {
            guard writeAck(into: &out, now: now) else { return }
        }
        while let frame = control.first {
            guard writeControl(frame, into: &out, now: now) else { return }
            _ = control.popFirst()
        }
        while earlyBudget.map({ $0 > 0 }) ?? true, let turn = scheduler.next(where: isAllowed) {
            guard sessions[turn.slot].isScheduled, sessions[turn.slot].priority == turn.priority else {
                scheduler.skipHead(turn.priority)
                continue
            }
            guard let written = writeNext(turn.slot, into: &out, now: now) else { break }
            if written == 0 {
                scheduler.skipHead(turn.priority)
                sessions[turn.slot].isScheduled = false
                continue
            }
            let hasMore = hasWork(turn.slot)
            sessions[turn.slot].isScheduled = hasMore
            scheduler.served(turn.priority, byteCount: written, hasMore: hasMore)
        }
        guard out.byteCount > start else { return }
        counters.bytesSent += UInt64(out.byteCount - start)
        wroteSinceExpiry = true
        if hasUnacknowledged { ackTimer.sent(now: now, timeout: ackTimeoutInterval) }
    }

    /// The milliseconds since the link began, as frames carry them; they wrap after 49 days and only differences count.
    func timestamp(_ now: Instant) -> UInt32 {
        UInt32(truncatingIfNeeded: (now - began).milliseconds)
    }

    private func isAllowed(_ priority: Priority) -> Bool {
        priority < .normal || flight.hasRoom
    }

    private func hasWork(_ slot: Int) -> Bool {
        !sessions[slot].transients.isEmpty || sessions[slot].send.nextToSend(linkCredit: linkCreditLeft) != nil
    }

    private var linkCreditLeft: UInt64 {
        linkCreditLimit - min(linkCreditUsed, linkCreditLimit)
    }

    /// Writes the session's next frame: nil when it does not fit, 0 when there is none that may go.
    private mutating func writeNext(_ slot: Int, into out: inout OutputRawSpan, now: Instant) -> Int? {
        let id = sessions[slot].id
        if let body = sessions[slot].transients.first {
            let header = header(.transient, FrameFlags([], priority: sessions[slot].priority), id, 0, now)
            guard let written = write(header, body, fragment: 0, into: &out) else { return nil }
            _ = sessions[slot].transients.popFirst()
            return written
        }
        guard let sequence = sessions[slot].send.nextToSend(linkCredit: linkCreditLeft) else { return 0 }
        let entry = sessions[slot].send[sequence]
        let isLast = Int(entry.fragment) + 1 == entry.body.fragmentCount
        var flags = FrameFlags(.reliable, priority: sessions[slot].priority)
        if !isLast { flags.insert(.moreFragments) }
        let header = header(entry.type, flags, id, UInt32(truncatingIfNeeded: sequence), now)
        guard let written = write(header, entry.body, fragment: Int(entry.fragment), into: &out) else { return nil }
        if sequence < sessions[slot].send.neverSent { counters.retransmissions += 1 }
        let wasOutstanding = entry.sentAt > 0 && sequence < sessions[slot].send.next
        linkCreditUsed += sessions[slot].send.markSent(sequence, at: now)
        if isBulk(sessions[slot].priority), !wasOutstanding { flight.sent(written - FrameHeader.byteCount) }
        if let earlyBudget { self.earlyBudget = earlyBudget - written }
        return written
    }

    private mutating func writeControl(_ frame: ControlOutput, into out: inout OutputRawSpan, now: Instant) -> Bool {
        write(header(frame.type, frame.flags, .control, 0, now), frame.body, fragment: 0, into: &out) != nil
    }

    /// Says what has arrived, of as many sessions as a body of the least size holds; the rest follows in the next
    /// frame.
    private mutating func writeAck(into out: inout OutputRawSpan, now: Instant) -> Bool {
        var parts: [SessionAck] = finalAcks.prefix(Link.maxRetired).map {
            SessionAck(session: $0.session, cumulative: $0.cumulative, creditLimit: 0)
        }
        var room = Link.maxAckByteCount - parts.reduce(0) { $0 + $1.byteCount }
        var isComplete = true
        for slot in sessions.indices where sessions[slot].isLive && sessions[slot].needsAck {
            sessions[slot].receive.refreshCredit()
            let part = SessionAck(
                session: sessions[slot].id, cumulative: sessions[slot].receive.cumulative,
                creditLimit: sessions[slot].receive.creditLimit, ranges: sessions[slot].receive.ranges())
            room -= part.byteCount
            isComplete = room >= 0
            guard isComplete else { break }
            parts.append(part)
        }
        let echoed = echo.map { Echo(timestamp: $0.timestamp, delay: max(now - $0.arrived, .zero)) }
        let credit = linkCreditReleased + UInt64(limits.linkWindow)
        let body = EncodedBody(Ack(echo: echoed, linkCredit: credit, sessions: parts).encode())
        guard write(header(.ack, [], .control, 0, now), body, fragment: 0, into: &out) != nil else { return false }
        announcedLinkCredit = max(announcedLinkCredit, credit)
        finalAcks.removeAll()
        for part in parts {
            if let slot = slots[part.session] { sessions[slot].needsAck = false }
        }
        ackDeadline = isComplete ? nil : .zero
        return true
    }

    private func header(
        _ type: FrameType, _ flags: FrameFlags, _ session: SessionID, _ sequence: UInt32, _ now: Instant
    ) -> FrameHeader {
        FrameHeader(type: type, sequence: sequence, timestamp: timestamp(now), flags: flags, session: session)
    }

    private mutating func write(
        _ header: FrameHeader, _ body: EncodedBody, fragment index: Int, into out: inout OutputRawSpan
    ) -> Int? {
        let fragment = body.fragment(index)
        let byteCount = FrameHeader.byteCount + fragment.range.count
        guard out.freeCapacity >= byteCount else { return nil }
        if let earlyBudget, header.session != .control, byteCount > earlyBudget {
            self.earlyBudget = 0
            return nil
        }
        var header = header
        header.compression = fragment.compression
        header.bodyByteCount = UInt32(fragment.range.count)
        header.seal(bodyChecksum: fragment.checksum)
        header.encode(into: &out)
        let bytes = body.bytes[fragment.range]
        out.append(bytes: bytes.rawBytes)
        counters.framesSent += 1
        return byteCount
    }
}
