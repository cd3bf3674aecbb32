package import MartletWire

extension Link {
    // MARK: Connections

    /// Attaches a connection: all unacknowledged frames are sent on it, from the first (Specs/hostile.md row 31).
    ///
    /// - Parameter isEarly: whether the peer has not answered the hello. At most `earlyByteCount` bytes are sent until
    ///   `confirm`.
    package mutating func attach(_ carrier: Carrier, isEarly: Bool, now: Instant) {
        detach()
        connection = LinkConnection(carrier, isEarly: isEarly, now: now)
        for slot in sessions.slots where sessions.isLive(slot) {
            sessions[slot].send.rewind(losesOvertaken: carrier == .unreliable)
            noteOutstanding(slot)
            schedule(slot)
        }
    }

    /// The connection has ended; unacknowledged frames wait for the next one (C-2).
    package mutating func detach() {
        connection = LinkConnection()
        for slot in sessions.slots where sessions.isLive(slot) { sessions[slot].detach() }
        sessions.recentlyEnded.connectionEnded()
        #if DEBUG
            mustDrain = false
        #endif
    }

    /// The highest sequence received in order, per session: the positions of a resume (W-45, C-29).
    package var positions: [SessionPosition] {
        sessions.liveSlots.map { SessionPosition(session: sessions[$0].id, received: sessions[$0].receive.cumulative) }
    }

    /// Whether the link can continue from the peer's positions: a resume is refused as a whole, never in part (W-46,
    /// C-30).
    package func canResume(from positions: [SessionPosition]) -> Bool {
        positions.allSatisfy { position in
            guard let slot = sessions.slot(of: position.session) else {
                return position.received < sessions.firstSequence || sessions.recentlyEnded[position.session] != nil
            }
            return position.received <= sessions[slot].send.highestSent
                && position.received + 1 >= sessions[slot].send.base
        }
    }

    /// Continues from the peer's positions; the early limit ends.
    ///
    /// A session that the peer has closed and does not name has ended at the peer, and ends here. Any other session
    /// that the peer does not name is unknown to it, or was reset by it, and the reset arrives (C-33).
    package mutating func confirm(_ positions: [SessionPosition]?, now: Instant) {
        connection.confirm()
        if let positions {
            counters.resumes += 1
            var received: [SessionID: UInt64] = [:]
            for position in positions { received[position.session] = position.received }
            for slot in sessions.slots where sessions.isLive(slot) {
                guard let position = received[sessions[slot].id] else {
                    if sessions[slot].peer == .closed { remove(slot, isReset: false) }
                    continue
                }
                guard let part = sessions[slot].send.acknowledge(cumulative: position) else { continue }
                if sessions[slot].priority.isBulk { connection.flight.abandoned(part.byteCount) }
                noteOutstanding(slot)
                _ = finish(slot, released: part.releasedByteCount)
            }
        }
        for slot in sessions.slots where sessions.isLive(slot) {
            schedule(slot)
            delayAck(of: slot, now: now)
        }
        connection.recovery.noteResume(now: now)
        startOverdueTimer(now: now)
    }

    // MARK: Output

    /// Whether `transmit` has something to write now.
    @inline(__always)
    package func hasOutput(now: Instant) -> Bool {
        guard isAttached else { return false }
        if connection.acks.isDue(at: now) || connection.packets.isEnding || !connection.control.isEmpty { return true }
        return connection.hasFrames(now: now)
    }

    /// Writes whole frames as far as they fit and the peer allows; the others remain queued.
    ///
    /// `out` must have room for at least one frame of the negotiated size when it is empty.
    package mutating func transmit(into out: inout OutputRawSpan, now: Instant) {
        assertDrained("output is written before the arrivals of the last frame are drained")
        guard isAttached else { return }
        let start = out.byteCount
        if usesPackets { writePackets(into: &out, now: now) } else { write(.plain, into: &out, now: now) }
        updateCreditProbe(now: now)
        guard out.byteCount > start else { return }
        counters.bytesSent += UInt64(out.byteCount - start)
        connection.recovery.noteOutput()
        guard hasUnacknowledged else { return }
        if connection.recovery.ackTimer.deadline == nil {
            connection.recovery.startAckTimer(now: now, timeout: ackTimeoutInterval)
        }
        if connection.recovery.overdueDeadline == nil { startOverdueTimer(now: now) }
    }

    /// Whether frames wait for credit, and no expected acknowledgement would grant it.
    private var isBlocked: Bool {
        (connection.scheduler.blockedCount > 0 || waitsForCredit) && !hasUnacknowledged && !connection.isEarly
    }

    mutating func updateCreditProbe(now: Instant) {
        // The timeout is computed only where it is needed.
        guard isBlocked || connection.recovery.creditProbe.isRunning else { return }
        connection.recovery.creditProbe.update(isBlocked: isBlocked, now: now, timeout: ackTimeoutInterval)
    }

    /// Whether the peer may send packets: the carrier neither loses nor reorders frames (Specs/wire.md §15).
    @inline(__always)
    package var readsPackets: Bool { features.contains(.compact) && connection.carrier == .reliable }

    /// Whether packets may be sent: the peer has also answered the hello.
    @inline(__always)
    private var usesPackets: Bool { readsPackets && !connection.isEarly }

    private mutating func writePackets(into out: inout OutputRawSpan, now: Instant) {
        // A client's link may take more memory than each of a relay's thousands.
        let size = sessions.role == .client ? DeflateStream.Size.large : .small
        let encoder = FrameEncoder.compact(
            connection.packets.begin(size: features.contains(.sharedDeflate) ? size : nil, into: &out))
        write(encoder, into: &out, now: now)
        if encoder.finish(into: &out) { connection.packets.noteStream(now: now) }
    }

    private mutating func write(_ encoder: FrameEncoder, into out: inout OutputRawSpan, now: Instant) {
        // A delayed acknowledgement is sent with any other output (S-20, S-46).
        let isAckDue =
            connection.acks.isDue(at: now)
            || connection.acks.deadline != nil && (!connection.control.isEmpty || connection.hasFrames(now: now))
        guard !isAckDue || writeAcks(encoder, into: &out, now: now) else { return }
        while let frame = connection.control.first {
            let header = header(frame.type, frame.flags, .control, 0, now)
            guard write(header, frame.body, fragment: 0, encoder, into: &out) != nil else { return }
            connection.control.removeFirst()
        }
        // Control frames are rare, so the queue keeps no memory.
        connection.control.releaseIfEmpty()
        while connection.hasFrames(now: now),
            let turn = connection.scheduler.next(allowsBulk: connection.flight.allows(at: now))
        {
            switch writeNext(turn.slot, limit: turn.byteCount, encoder, into: &out, now: now) {
            case .written(let byteCount):
                let hasMore = sessions.hasUnsent(turn.slot)
                sessions[turn.slot].marks.isScheduled = hasMore
                connection.scheduler.served(turn.priority, byteCount: byteCount, hasMore: hasMore)
            case .nothing:
                connection.scheduler.skipHead(turn.priority)
                sessions[turn.slot].marks.isScheduled = false
            case .noRoom:
                return
            }
        }
    }

    // MARK: Frames of sessions

    private enum OnWrite {
        case written(Int)
        case nothing
        case noRoom
    }

    /// Writes frames of the session whose turn it is, at least one. The last one begins within `limit` bytes.
    private mutating func writeNext(
        _ slot: Int, limit: Int, _ encoder: FrameEncoder, into out: inout OutputRawSpan, now: Instant
    ) -> OnWrite {
        let id = sessions[slot].id
        let priority = sessions[slot].priority
        if !connection.isEarly, !priority.isBulk, sessions[slot].transients.isEmpty {
            let common = header(.data, FrameFlags(.reliable, priority: priority), id, 0, now)
            let batch = sessions[slot].send.writeBatch(
                common, credit: sendCredit.available, limit: limit, asksForAck: asksForAck, encoder, into: &out,
                now: now)
            if batch.frameCount > 0 {
                sendCredit.charge(batch.cost)
                counters.framesSent += UInt64(batch.frameCount)
                noteOutstanding(slot)
                return .written(batch.byteCount)
            }
        }
        // S-49: no transient frame before `open` or `opened`, also when that is sent again after a resume.
        if sessions[slot].send.next > sessions.firstSequence, let body = sessions[slot].transients.first {
            let header = header(.transient, FrameFlags([], priority: priority), id, 0, now)
            guard let written = writeEarly(header, body, fragment: 0, encoder, into: &out) else { return .noRoom }
            _ = sessions[slot].transients.popFirst()
            return .written(written)
        }
        let credit = sendCredit.view(holdable: connection.carrier == .unreliable ? holdableByteCount : .max)
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
            sendCredit.charge(
                sent, slot: slot, reservedBefore: reserved, reservedAfter: sessions[slot].send.reservedCredit)
        } else {
            counters.retransmissions += 1
        }
        if priority.isBulk { connection.flight.sent(entry.byteCount, now: now) }
        noteOutstanding(slot)
        return .written(written)
    }

    /// Bytes that the receiver can still hold behind gaps (S-32).
    private var holdableByteCount: Int {
        sessions.slots.reduce(limits.linkWindow) {
            sessions.isLive($1) ? $0 - sessions[$1].send.heldByteCount : $0
        }
    }

    private mutating func block(_ slot: Int) {
        guard sessions.hasUnsent(slot), !sessions[slot].marks.isBlocked else { return }
        sessions[slot].marks.isBlocked = true
        connection.scheduler.block(slot)
    }

    /// Credit has arrived: every session that waits for credit is scheduled again.
    mutating func unblock() {
        while let slot = connection.scheduler.popBlocked() {
            sessions[slot].marks.isBlocked = false
            schedule(slot)
        }
    }

    /// Updates the count of sessions with unacknowledged frames. The timers of such frames end with the last one
    /// (S-29).
    mutating func noteOutstanding(_ slot: Int) {
        if sessions.noteOutstanding(slot), !hasUnacknowledged { connection.recovery.stop() }
    }

    // MARK: Acknowledgements

    /// The next acknowledgement names the session, and is sent at the next opportunity.
    mutating func requestAck(of slot: Int) {
        guard isAttached else { return }
        nameInAck(slot)
        connection.acks.request()
    }

    /// The next acknowledgement names the session, and is delayed by at most `maxAckDelay`.
    mutating func delayAck(of slot: Int, now: Instant) {
        guard isAttached else { return }
        nameInAck(slot)
        connection.acks.delay(from: now)
    }

    private mutating func nameInAck(_ slot: Int) {
        guard !sessions[slot].marks.needsAck else { return }
        sessions[slot].marks.needsAck = true
        connection.acks.append(slot)
    }

    /// Requests an acknowledgement if the gain of the link's credit justifies one (S-39).
    mutating func announceCredit() {
        if isAttached, receiveCredit.wantsAnnouncement(limits) { connection.acks.request() }
    }

    /// Writes the owed acknowledgement in one or more frames; false when there was no room for all of them.
    private mutating func writeAcks(
        _ encoder: FrameEncoder, into out: inout OutputRawSpan, now: Instant
    ) -> Bool {
        repeat {
            guard encoder.freeByteCount(in: out) >= FrameHeader.byteCount + Link.maxAckByteCount else { return false }
            let credit = receiveCredit.nextLimit(limits, isCompact: usesPackets)
            let echo = connection.acks.takeEcho(now: now)
            let ack = Ack(echo: echo, linkCredit: credit, sessions: takeSessionAcks())
            encoder.append(header(.ack, [], .control, 0, now), ack, into: &out)
            counters.framesSent += 1
            receiveCredit.announce(credit)
        } while !connection.acks.slots.isEmpty || !sessions.recentlyEnded.owed.isEmpty
        connection.acks.finish()
        return true
    }

    /// Takes the acknowledgements of sessions, as many as one frame holds.
    private mutating func takeSessionAcks() -> [SessionAck] {
        var parts: [SessionAck] = []
        var room = Link.maxAckByteCount - Link.maxSessionAckByteCount
        while room > 0, parts.count < Ack.maxSessionCount,
            let part = sessions.recentlyEnded.popOwed() ?? popSessionAck()
        {
            room -= part.byteCount
            parts.append(part)
        }
        return parts
    }

    private mutating func popSessionAck() -> SessionAck? {
        guard let slot = connection.acks.popSlot() else { return nil }
        sessions[slot].marks.needsAck = false
        if !usesPackets || sessions[slot].receive.isCreditGainLarge { sessions[slot].receive.refreshCredit() }
        return SessionAck(
            session: sessions[slot].id, cumulative: sessions[slot].receive.cumulative,
            creditLimit: sessions[slot].receive.creditLimit, ranges: sessions[slot].receive.ranges)
    }

    // MARK: Bytes

    private func header(
        _ type: FrameType, _ flags: FrameFlags, _ session: SessionID, _ sequence: UInt32, _ now: Instant
    ) -> FrameHeader {
        FrameHeader(type: type, sequence: sequence, timestamp: timestamp(now), flags: flags, session: session)
    }

    /// Writes a frame within the early budget, if there is one (C-16).
    private mutating func writeEarly(
        _ header: FrameHeader, _ body: EncodedBody, fragment: Int, _ encoder: FrameEncoder,
        into out: inout OutputRawSpan
    ) -> Int? {
        guard connection.allows(byteCount: FrameHeader.byteCount + body.byteCount(ofFragment: fragment)),
            let written = write(header, body, fragment: fragment, encoder, into: &out)
        else { return nil }
        connection.charge(byteCount: written)
        return written
    }

    /// Writes a frame, and returns the size of header and body; nil when there is no room for them.
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

    // MARK: Deadlines and loss

    /// The answer to a deadline that has passed.
    package enum OnDeadline: Equatable, Sendable {
        /// No action of the engine is needed; there may be output.
        case proceed
        /// A client's stream had no acknowledgement for longer than a path without losses needs: another connection may
        /// be faster.
        case overdue
        /// The connection is silent. The link resumes on another connection.
        case replaceConnection
        /// The peer shows signs of life but has acknowledged no frame for `ackTimeout`.
        case ackTimeout
    }

    /// The instant of the next call of `deadlinePassed`.
    @inline(__always)
    package var deadline: Instant? {
        guard isAttached else { return nil }
        return connection.acks.deadline.orEarlier(connection.recovery.deadline(hasUnacknowledged: hasUnacknowledged))
            .orEarlier(pacingDeadline).orEarlier(connection.packets.deadline)
    }

    /// The instant at which bulk continues that only pacing delays.
    var pacingDeadline: Instant? { connection.pacingDeadline }

    /// Handles the deadlines that have passed.
    package mutating func deadlinePassed(now: Instant) -> OnDeadline {
        guard let carrier = connection.carrier else { return .proceed }
        connection.flight.deadlinePassed(now: now)
        let isWaitingForRoom =
            connection.acks.isRequested || !connection.control.isEmpty || connection.hasFrames(now: now)
        connection.acks.deadlinePassed(now: now)
        connection.packets.deadlinePassed(now: now)
        let action = connection.recovery.deadlinePassed(
            now: now, timeout: ackTimeoutInterval, isReliableCarrier: carrier == .reliable,
            hasUnacknowledged: hasUnacknowledged, isWaitingForRoom: isWaitingForRoom)
        switch action {
        case .none: break
        case .probe: sendProbe(now: now)
        case .retransmit: loseOverdue(now: now)
        case .replaceConnection: return .replaceConnection
        case .ackTimeout: return .ackTimeout
        }
        return connection.recovery.overduePassed(now: now, interval: overdueInterval) ? .overdue : .proceed
    }

    /// A client waits for progress from now on, to detect that its stream does not advance (C-63).
    mutating func startOverdueTimer(now: Instant) {
        let isNeeded = sessions.role == .client && connection.carrier == .reliable && hasUnacknowledged
        connection.recovery.startOverdueTimer(now: now, interval: isNeeded ? overdueInterval : nil)
    }

    /// Three times the lowest round trip of the path. The smoothed round trip is unsuitable, because it includes the
    /// delays of lost packets.
    @inline(__always)
    package var overdueInterval: Duration { max(rtt.minimum.map { $0 * 3 } ?? .seconds(1), Link.minOverdueInterval) }

    @inline(__always)
    var ackTimeoutInterval: Duration {
        // On a stream the timer only detects a dead peer, so a second suffices (S-27).
        connection.carrier == .reliable ? max(rtt.timeout, .seconds(1)) : rtt.timeout
    }

    /// Overdue frames on a carrier that may have lost them are sent again, the oldest of each session first (S-27).
    private mutating func loseOverdue(now: Instant) {
        let sentBefore = now + (.zero - rtt.timeout)
        for slot in sessions.slots where sessions.isLive(slot) {
            let lost = sessions[slot].send.loseFrames(sentBefore: sentBefore, limit: Link.maxOverdueFrames)
            noteLost(slot, lost)
            // The timer runs from the last progress, so the oldest frame may have been sent recently.
            if lost.frameCount == 0 { noteLost(slot, sessions[slot].send.loseFrames(sentBefore: now, limit: 1)) }
        }
        connection.flight.collapse()
    }

    /// Lost frames leave the flight and are scheduled again.
    mutating func noteLost(_ slot: Int, _ lost: SendStream.Lost) {
        guard lost.frameCount > 0 else { return }
        if sessions[slot].priority.isBulk { connection.flight.abandoned(lost.byteCount) }
        schedule(slot)
    }
}
