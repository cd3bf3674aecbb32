import MartletWire

extension Link {
    /// Whether `transmit` has something to write now.
    @inline(__always)
    public func hasOutput(now: Instant) -> Bool {
        guard carrier != nil else { return false }
        if isAckDue || endsStream || !control.isEmpty { return true }
        if let ackDeadline, ackDeadline <= now { return true }
        return hasFrames(now: now)
    }

    /// Writes whole frames as long as they fit and the peer allows; what does not fit stays.
    ///
    /// `out` must have room for at least one frame of the negotiated size when it is empty.
    public mutating func transmit(into out: inout OutputRawSpan, now: Instant) {
        guard carrier != nil else { return }
        let start = out.byteCount
        if usesPackets { writePackets(into: &out, now: now) } else { write(.plain, into: &out, now: now) }
        // The timeout is reckoned for nobody but who needs it.
        if isStuck || creditProbe.isAsking {
            creditProbe.update(isStuck: isStuck, now: now, timeout: ackTimeoutInterval)
        }
        guard out.byteCount > start else { return }
        counters.bytesSent += UInt64(out.byteCount - start)
        if wasWaitingForRoom {
            // A stream takes more bytes only as the peer takes them: a sign of life (S-29).
            wasWaitingForRoom = false
            ackTimer.heard()
        }
        guard hasUnacknowledged else { return }
        if ackTimer.deadline == nil {
            lastAckProgress = now
            ackTimer.sent(now: now, timeout: ackTimeoutInterval)
        }
        if overdueDeadline == nil { armOverdue(now: now) }
    }

    /// The milliseconds since the link began, as frames carry them; they wrap after 49 days and only differences count
    /// (W-15).
    func timestamp(_ now: Instant) -> UInt32 {
        UInt32(truncatingIfNeeded: (Int64(clamping: now.nanoseconds) - Int64(clamping: began.nanoseconds)) / 1_000_000)
    }

    mutating func write(_ encoder: FrameEncoder, into out: inout OutputRawSpan, now: Instant) {
        // An acknowledgement that is owed rides along with whatever goes out (S-20, S-46).
        if isAckDue || ackDeadline.map({ $0 <= now || !control.isEmpty || hasFrames(now: now) }) ?? false {
            guard writeAcks(encoder, into: &out, now: now) else { return }
        }
        while let frame = control.first {
            let header = header(frame.type, frame.flags, .control, 0, now)
            guard write(header, frame.body, fragment: 0, encoder, into: &out) != nil else { return }
            _ = control.popFirst()
        }
        // The next is far off, if there is one.
        control.releaseIfEmpty()
        while hasFrames(now: now), let turn = scheduler.next(allowsBulk: flight.allows(at: now)) {
            switch writeNext(turn.slot, limit: turn.byteCount, encoder, into: &out, now: now) {
            case .written(let byteCount):
                let hasMore = sessions[turn.slot].hasUnsent
                sessions[turn.slot].isScheduled = hasMore
                scheduler.served(turn.priority, byteCount: byteCount, hasMore: hasMore)
            case .nothing:
                scheduler.skipHead(turn.priority)
                sessions[turn.slot].isScheduled = false
            case .noRoom:
                return
            }
        }
    }

    // MARK: Frames of sessions

    @inline(__always)
    func hasFrames(now: Instant) -> Bool {
        earlyBudget != 0 && scheduler.hasWork(allowsBulk: flight.allows(at: now))
    }

    /// When bulk that waits for nothing else may go on; nil when that has been noted, and the carrier's room is all
    /// that it waits for.
    var pacingDeadline: Instant? {
        guard earlyBudget != 0, flight.hasRoom, scheduler.hasBulkWork, flight.pacedUntil > pacingNoted else {
            return nil
        }
        return flight.pacedUntil
    }

    /// Whether frames wait for credit, and nothing under way will bring news of it.
    private var isStuck: Bool {
        !blockedSlots.isEmpty && !hasUnacknowledged && earlyBudget == nil
    }

    private enum OnWrite {
        case written(Int)
        case nothing
        case noRoom
    }

    /// Writes frames of the session whose turn it is, the last of which begins within `limit` bytes; at least one.
    private mutating func writeNext(
        _ slot: Int, limit: Int, _ encoder: FrameEncoder, into out: inout OutputRawSpan, now: Instant
    ) -> OnWrite {
        let id = sessions[slot].id
        let priority = sessions[slot].priority
        if earlyBudget == nil, !priority.isBulk, sessions[slot].transients.isEmpty {
            let common = header(.data, FrameFlags(.reliable, priority: priority), id, 0, now)
            let run = sessions[slot].send.writeRun(
                common, credit: linkCredit.available, limit: limit, asksForAck: asksForAck, encoder, into: &out,
                now: now)
            if run.frameCount > 0 {
                linkCreditUsed += run.cost
                counters.framesSent += UInt64(run.frameCount)
                noteOutstanding(slot)
                return .written(run.byteCount)
            }
        }
        // S-49: no transient frame before `open` or `opened`.
        if sessions[slot].send.highestSent >= firstSequence, let body = sessions[slot].transients.first {
            let header = header(.transient, FrameFlags([], priority: priority), id, 0, now)
            guard let written = writeEarly(header, body, fragment: 0, encoder, into: &out) else { return .noRoom }
            _ = sessions[slot].transients.popFirst()
            return .written(written)
        }
        var credit = linkCredit
        if carrier == .unreliable { credit.holdable = holdableByteCount }
        guard let sequence = sessions[slot].send.nextToSend(credit) else {
            block(slot)
            return .nothing
        }
        let entry = sessions[slot].send[sequence]
        var flags = FrameFlags(.reliable, priority: priority)  // S-45
        if !entry.isLast { flags.insert(.moreFragments) }
        if asksForAck, sequence + 1 == sessions[slot].send.end { flags.insert(.ackNow) }
        let header = header(entry.type, flags, id, UInt32(truncatingIfNeeded: sequence), now)
        guard let written = writeEarly(header, entry.body, fragment: entry.fragment, encoder, into: &out) else {
            return .noRoom
        }
        let reserved = sessions[slot].send.reservedCredit
        if let sent = sessions[slot].send.markSent(sequence, at: now, available: credit.available) {
            linkCreditUsed += sent.cost
            linkCreditReserved = linkCreditReserved - reserved + sessions[slot].send.reservedCredit
            if sent.isUnreserved {
                unreservedSlot = slot
            } else if unreservedSlot == slot {
                unreservedSlot = nil
            }
        } else {
            counters.retransmissions += 1
        }
        if priority.isBulk { flight.sent(entry.byteCount, now: now) }
        noteOutstanding(slot)
        return .written(written)
    }

    /// Bytes that the receiver can still hold behind gaps (S-32).
    private var holdableByteCount: Int {
        sessions.reduce(limits.linkWindow) { $1.isLive ? $0 - $1.send.heldByteCount : $0 }
    }

    private mutating func block(_ slot: Int) {
        guard sessions[slot].hasUnsent, !sessions[slot].isBlocked else { return }
        sessions[slot].isBlocked = true
        blockedSlots.append(slot)
    }

    /// Credit has come: every session that waited for some tries again.
    mutating func unblock() {
        for slot in blockedSlots where sessions[slot].isLive {
            sessions[slot].isBlocked = false
            schedule(slot)
        }
        blockedSlots.removeAll(keepingCapacity: true)
    }

    // MARK: Acknowledgements

    /// Writes what is to be acknowledged, in as many frames as it takes; false when there was no room for all.
    private mutating func writeAcks(
        _ encoder: FrameEncoder, into out: inout OutputRawSpan, now: Instant
    ) -> Bool {
        repeat {
            guard encoder.freeByteCount(in: out) >= FrameHeader.byteCount + Link.maxAckByteCount else { return false }
            let credit = linkCreditToSay
            let echoed = echo.map { Echo(timestamp: $0.timestamp, delay: max(now - $0.arrived, .zero)) }
            let ack = Ack(echo: echoed, linkCredit: credit, sessions: takeSessionAcks())
            encoder.append(header(.ack, [], .control, 0, now), ack, into: &out)
            counters.framesSent += 1
            announcedLinkCredit = credit
            echo = nil
        } while !ackSlots.isEmpty || !retired.owed.isEmpty
        ackDeadline = nil
        isAckDue = false
        return true
    }

    /// What there is to say of sessions, as much as one frame holds; it counts as said.
    private mutating func takeSessionAcks() -> [SessionAck] {
        var parts: [SessionAck] = []
        var room = Link.maxAckByteCount - Link.maxSessionAckByteCount
        while room > 0, parts.count < Ack.maxSessionCount, let part = retired.popOwed() ?? popSessionAck() {
            room -= part.byteCount
            parts.append(part)
        }
        return parts
    }

    private mutating func popSessionAck() -> SessionAck? {
        guard let slot = ackSlots.popFirst() else { return nil }
        sessions[slot].needsAck = false
        if !usesPackets || sessions[slot].receive.isCreditWorthSaying { sessions[slot].receive.refreshCredit() }
        let receive = sessions[slot].receive
        return SessionAck(
            session: sessions[slot].id, cumulative: receive.cumulative, creditLimit: receive.creditLimit,
            ranges: receive.ranges)
    }

    // MARK: Bytes

    private func header(
        _ type: FrameType, _ flags: FrameFlags, _ session: SessionID, _ sequence: UInt32, _ now: Instant
    ) -> FrameHeader {
        FrameHeader(type: type, sequence: sequence, timestamp: timestamp(now), flags: flags, session: session)
    }

    /// Writes a frame that has to keep within the early budget; the first that does not ends the early phase (C-16).
    private mutating func writeEarly(
        _ header: FrameHeader, _ body: EncodedBody, fragment: Int, _ encoder: FrameEncoder,
        into out: inout OutputRawSpan
    ) -> Int? {
        guard let earlyBudget else { return write(header, body, fragment: fragment, encoder, into: &out) }
        guard FrameHeader.byteCount + body.byteCount(ofFragment: fragment) <= earlyBudget else {
            self.earlyBudget = 0
            return nil
        }
        guard let written = write(header, body, fragment: fragment, encoder, into: &out) else { return nil }
        self.earlyBudget = earlyBudget - written
        return written
    }

    /// Returns how many bytes header and body have; nil when there is no room for so many.
    private mutating func write(
        _ header: FrameHeader, _ body: EncodedBody, fragment index: Int, _ encoder: FrameEncoder,
        into out: inout OutputRawSpan
    ) -> Int? {
        let fragment = body.fragment(index)
        let byteCount = FrameHeader.byteCount + fragment.range.count
        guard encoder.freeByteCount(in: out) >= byteCount else { return nil }
        var header = header
        header.compression = fragment.compression
        encoder.append(
            header, body.rawBytes.extracting(fragment.range), layout: body.layout, checksum: fragment.checksum,
            isSecret: body.isSecret, into: &out)
        counters.framesSent += 1
        return byteCount
    }
}
