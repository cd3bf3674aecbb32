public import MartletWire

extension Link {
    /// What the engine has to do with a frame it handed over.
    public enum Reception: Equatable, Sendable {
        /// The link dealt with it; see `nextArrival`.
        case handled
        /// It is the session's next frame: use the body where it lies; `creditByteCount` is what `release` gives back.
        case deliver(SessionID, creditByteCount: Int)
        /// Its type is not known and not critical; it was counted.
        case skipped
    }

    /// Counts bytes that came while the link was attached, in whatever form.
    public mutating func noteReceived(byteCount: Int) {
        counters.bytesReceived += UInt64(byteCount)
    }

    /// Takes a frame whose checksum has been verified.
    ///
    /// - Throws: `LinkError` of scope connection when the peer broke a rule; faults of one session reset that session
    ///   instead.
    public mutating func receive(
        _ header: FrameHeader, _ content: FrameContent, inflater: inout Inflater, now: Instant
    ) throws(LinkError) -> Reception {
        counters.framesReceived += 1
        ackTimer.heard()
        if let credit = takeNext(header, content.byteCount, now) {
            return .deliver(header.session, creditByteCount: credit)
        }
        let rule = header.type.rule
        if header.compression != .none, !features.contains(.zlib) || rule?.isHandshake == true {  // W-8, W-18
            throw .peer(.compressionNotAllowed)
        }
        guard let rule else { return try skip(header, now: now) }
        // Before the session is looked for: what a client never sends is wrong on every session (W-8, W-74).
        guard rule.allows(header), !rule.isHandshake, !rule.isServerOnly || role == .client else {
            throw .peer(.protocolViolation)
        }
        if case .ack(let values) = content {
            try takeAck(values.ack, now: now)
            return .handled
        }
        return try content.withBody { body throws(LinkError) in
            guard header.compression != .none else { return try take(header, rule, body, isInPlace: true, now) }
            let plain: [UInt8]
            do throws(WireError) { plain = try inflater.inflate(body, limit: limits.maxBodyByteCount) } catch {
                throw LinkError(error)
            }
            return try take(header, rule, plain.rawBytes, isInPlace: false, now)
        }
    }

    /// What nearly all frames are, with their session looked at once: a message, or what a relay has accepted, in one
    /// plain frame that comes next and is within the credit. Returns what it costs in credit; nil, and nothing has
    /// changed, when it is anything else, which `takeReliable` knows what to do with.
    @inline(__always)
    private mutating func takeNext(_ header: FrameHeader, _ byteCount: Int, _ now: Instant) -> Int? {
        let isAccepted = header.type == .accepted && role == .client
        let credit = isAccepted ? 0 : byteCount
        guard header.type == .data || isAccepted && byteCount <= ReceiveStream.maxUncreditedByteCount,
            header.compression == .none, header.session != .control,
            FrameFlags(header.flags, priority: .urgent) == [.reliable, .checksummed],
            UInt64(credit) <= announcedLinkCredit - linkCreditReceived, let slot = slots[header.session],
            sessions[slot].takeNext(low: header.sequence, byteCount: credit)
        else { return nil }
        linkCreditReceived += UInt64(credit)
        noteTimestamp(header, now: now)
        if !sessions[slot].needsAck || ackDeadline == nil {
            wantAck(of: slot, at: ackDeadline ?? now + Link.maxAckDelay)
        }
        return credit
    }

    /// A timestamp that is not the last one again is to be echoed (W-83).
    @inline(__always)
    private mutating func noteTimestamp(_ header: FrameHeader, now: Instant) {
        guard header.timestamp != newestTimestamp else { return }
        newestTimestamp = header.timestamp
        echo = PendingEcho(timestamp: header.timestamp, arrived: now)
    }

    private mutating func take(
        _ header: FrameHeader, _ rule: FrameRule, _ plain: RawSpan, isInPlace: Bool, _ now: Instant
    ) throws(LinkError) -> Reception {
        guard rule.isReliable else { return try takeUnreliable(header, plain, isInPlace: isInPlace, now: now) }
        return try takeReliable(header, plain, isInPlace: isInPlace, now)
    }

    private mutating func takeReliable(
        _ header: FrameHeader, _ plain: RawSpan, isInPlace: Bool, _ now: Instant
    ) throws(LinkError) -> Reception {
        noteTimestamp(header, now: now)
        // Pieces of an answer that was never due would be joined beside all credit (S-5).
        guard header.type != .opened || isOurs(header.session) else { throw .peer(.protocolViolation) }
        guard let slot = try slot(for: header, plain, now: now) else { return .handled }
        guard let sequence = sessions[slot].receive.sequence(low: header.sequence) else { throw .peer(.outOfWindow) }
        if header.flags.contains(.moreFragments), plain.byteCount < Link.leastFragmentByteCount {
            guard plain.byteCount > 0 else { throw .peer(.protocolViolation) }  // S-42
            try chargeUnproductive(now: now)
        }
        guard let arrival = try accept(sequence, header, plain, slot: slot, isInPlace: isInPlace) else {
            return .handled
        }
        let isUrgent = arrival == .duplicate || header.flags.contains(.ackNow) || sessions[slot].receive.hasGap  // S-20
        wantAck(of: slot, at: isUrgent || arrival == .dropped ? nil : ackDeadline ?? now + Link.maxAckDelay)
        switch arrival {
        case .duplicate:
            counters.duplicates += 1
            try chargeUnproductive(now: now)
        case .dropped:
            try chargeUnproductive(now: now)
        case .held:
            break
        case .ready:
            readySlots.append(slot)
        case .deliver where header.type.rule == nil:
            break
        case .deliver where sessions[slot].peerClosed:
            throw .peer(.protocolViolation)
        case .deliver where header.type.isLifecycle:
            try handleLifecycle(header.type, plain, slot: slot, now: now)
        case .deliver:
            return .deliver(sessions[slot].id, creditByteCount: header.type.isCredited ? plain.byteCount : 0)
        }
        return .handled
    }

    /// Gives a frame to its session's stream; nil when the session was reset for it.
    private mutating func accept(
        _ sequence: UInt64, _ header: FrameHeader, _ plain: RawSpan, slot: Int, isInPlace: Bool
    ) throws(LinkError) -> ReceiveStream.Arrival? {
        let hadGap = sessions[slot].receive.hasGap
        let assembling = sessions[slot].receive.assemblingByteCount
        let held = sessions[slot].receive.heldByteCount
        let received = sessions[slot].receive.creditReceived
        let fault: LinkError
        do throws(LinkError) {
            let arrival = try sessions[slot].receive.accept(
                sequence, type: header.type, hasMore: header.flags.contains(.moreFragments), plain: plain,
                isInPlace: isInPlace, heldRoom: limits.linkWindow - heldByteCount,
                linkCredit: announcedLinkCredit - linkCreditReceived)
            assemblingByteCount += sessions[slot].receive.assemblingByteCount - assembling
            heldByteCount += sessions[slot].receive.heldByteCount - held
            linkCreditReceived += sessions[slot].receive.creditReceived - received
            // A gap that was filled is said at once too.
            if hadGap { wantAck(of: slot, at: nil) }
            return arrival
        } catch {
            fault = error
        }
        assemblingByteCount += sessions[slot].receive.assemblingByteCount - assembling
        heldByteCount += sessions[slot].receive.heldByteCount - held
        // A frame with a fault is charged on both levels or on neither: the link outlives the connection (S-36,
        // Specs/hostile.md row 41).
        linkCreditReceived += sessions[slot].receive.creditReceived - received
        guard fault.scope == .session else {
            if sessions[slot].receive.hasReady { readySlots.append(slot) }
            throw fault
        }
        fail(slot, fault.code)
        return nil
    }

    /// The slot of a reliable frame's session; an `open` makes one.
    private mutating func slot(for header: FrameHeader, _ plain: RawSpan, now: Instant) throws(LinkError) -> Int? {
        let id = header.session
        if let slot = slots[id] { return slot }
        guard retired[id] == nil else {
            retired.oweAck(id)
            // Frames under way when the session ended arrive once each: one acknowledgement covers them (S-14, S-20).
            guard retired.noteLate(header.sequence, of: id) else {
                wantAck(at: nil)
                try chargeUnproductive(now: now)
                return nil
            }
            wantAck(at: ackDeadline ?? now + Link.maxAckDelay)
            return nil
        }
        guard header.type == .open else {
            // On a carrier without order the open may still be under way; what is not acknowledged comes again (S-15).
            guard carrier == .reliable || isOurs(id) else { return nil }
            guard openBudget.take(now: now) else { throw .peer(.churnLimit) }
            refuse(id, .unknownSession)
            return nil
        }
        guard openBudget.take(now: now) else { throw .peer(.churnLimit) }
        guard !isOurs(id), header.sequence == UInt32(truncatingIfNeeded: firstSequence) else {
            throw .peer(.protocolViolation)
        }  // S-3
        let open = try Link.parse(Open.self, plain)
        // Refused one by one: it may be an honest mistake (S-4).
        guard sessionCount < min(limits.maxSessions, Link.maxSessions) else {
            refuse(id, .tooManySessions)
            return nil
        }
        return insert(id, kind: open.kind, state: .accepting)
    }

    // Specs/hostile.md row 10
    private mutating func skip(_ header: FrameHeader, now: Instant) throws(LinkError) -> Reception {
        guard !header.type.isCritical else { throw .peer(.unknownCritical) }
        guard unknownFrames.take(now: now) else { throw .peer(.unknownFlood) }  // W-73
        counters.skipped += 1
        guard header.flags.contains(.reliable) else { return .skipped }
        // An unknown reliable frame still has its place in the sequence of its session (S-19).
        var header = header
        header.flags.remove(.moreFragments)
        let nothing: [UInt8] = []
        _ = try takeReliable(header, nothing.rawBytes, isInPlace: true, now)
        return .skipped
    }

    private mutating func takeUnreliable(
        _ header: FrameHeader, _ plain: RawSpan, isInPlace: Bool, now: Instant
    ) throws(LinkError) -> Reception {
        switch header.type {
        case .ping:
            try takePing(try Link.parse(Ping.self, plain), header, now: now)
        case .pong:
            try takePong(try Link.parse(Pong.self, plain), now: now)
        case .ack:
            try takeAck(try Link.parse(Ack.self, plain), now: now)
        case .goaway:
            arrivals.append(.event(.goAway(try Link.parse(GoAway.self, plain))))
        default:
            guard let slot = slots[header.session], !sessions[slot].peerClosed else {
                // To a client a relay passes on what many say, more than it may say itself.
                if role == .relay { try chargeUnproductive(now: now) }
                return .handled
            }
            guard !isInPlace else { return .deliver(header.session, creditByteCount: 0) }
            let frame = OrderedFrame(type: header.type, body: [UInt8](copying: plain), creditByteCount: 0)
            arrivals.append(.frame(header.session, frame))
        }
        return .handled
    }

    /// Parses a body whose faults are the connection's.
    static func parse<Body: FrameBody>(_: Body.Type, _ body: RawSpan) throws(LinkError) -> Body {
        do { return try Body(parsing: body) } catch { throw .peer(error.code) }
    }

    private mutating func takePing(_ ping: Ping, _ header: FrameHeader, now: Instant) throws(LinkError) {  // W-70
        guard pings.take(now: now) else { throw .peer(.controlFlood) }
        noteTimestamp(header, now: now)
        if header.flags.contains(.ackNow) {  // S-28
            for slot in sessions.indices where sessions[slot].isLive { wantAck(of: slot, at: nil) }
        }
        let queued = control.reduce(0) { $0 + ($1.type == .pong ? 1 : 0) }
        guard queued < Link.maxQueuedPongs else { return }
        let echo = Echo(timestamp: header.timestamp, delay: .zero)  // S-24
        queueControl(.pong, flags: [], EncodedBody(Pong(nonce: ping.nonce, echo: echo).encode()))
    }

    private mutating func takePong(_ pong: Pong, now: Instant) throws(LinkError) {
        if pongsDue > 0 { pongsDue -= 1 } else { try chargeUnproductive(now: now) }
        sampleRTT(pong.echo, sentAt: nil, now: now)
        guard pong.nonce & Link.probeBit != 0 else { return arrivals.append(.event(.pong(nonce: pong.nonce))) }
        guard let probe, probe.nonce == pong.nonce else { return }
        self.probe = nil
        // The acknowledgement that the probe asked for came before this pong: what it lacks, the peer lacks (S-28).
        for slot in sessions.indices where sessions[slot].isLive {
            noteLost(slot, sessions[slot].send.loseFrames(sentBefore: probe.sentAt, limit: SendStream.maxEntries))
        }
    }

    private mutating func takeAck(_ ack: Ack, now: Instant) throws(LinkError) {
        var isProductive = raisesLinkCredit(ack.linkCredit)
        if ack.linkCredit > linkCreditLimit ?? 0 { linkCreditLimit = ack.linkCredit }
        ackCount += 1
        var staleCount = 0
        var total = SendStream.Acknowledged()
        var bulk = SendStream.Acknowledged()
        for index in 0..<ack.sessionCount {
            let entry = ack.session(index)
            guard let slot = slots[entry.session] else {
                staleCount += 1
                continue
            }
            guard sessions[slot].lastAck != ackCount else { throw .peer(.protocolViolation) }  // S-21
            sessions[slot].lastAck = ackCount
            let raisesCredit = sessions[slot].send.isWorthwhile(
                entry.creditLimit, window: sendWindow(of: slot), maxMessageByteCount: limits.maxMessageByteCount)
            let part = try acknowledge(entry, slot: slot, now: now)
            if part.frameCount > 0 || raisesCredit { isProductive = true } else { staleCount += 1 }
            if sessions[slot].priority.isBulk { bulk.add(part) }
            total.add(part)
            report(slot, released: part.releasedByteCount)
            if sessions[slot].isFinished { remove(slot, isReset: false) } else { schedule(slot) }
        }
        unblock()
        let sample = ack.echo.flatMap { sampleRTT($0, sentAt: total.largestSentAt, now: now) }
        let timesBulk = bulk.largestSentAt == total.largestSentAt
        flight.acknowledged(bulk.byteCount, rtt: sample, timesBulk: timesBulk, now: now)
        try chargeUnproductive((isProductive ? 0 : 1) + staleCount / Link.staleSessionsPerFrame, now: now)
        guard total.frameCount > 0 else { return }
        lastAckProgress = now
        probe = nil
        ackTimer.progressed(now: now, timeout: ackTimeoutInterval, hasOutstanding: hasUnacknowledged)
        armOverdue(now: now)
    }

    private mutating func acknowledge(
        _ entry: SessionAck, slot: Int, now: Instant
    ) throws(LinkError) -> SendStream.Acknowledged {
        guard var part = sessions[slot].send.acknowledge(cumulative: entry.cumulative) else { throw .peer(.ackUnsent) }
        for range in entry.ranges {
            guard let more = sessions[slot].send.acknowledge(range: range) else { throw .peer(.ackUnsent) }
            part.add(more)
        }
        sessions[slot].send.raiseCreditLimit(to: entry.creditLimit)
        noteLost(slot, sessions[slot].send.loseOvertaken(sentBy: now + (.zero - rtt.lossDelay)))
        noteOutstanding(slot)
        return part
    }

    /// Tells the engine of room in a session's queue, in steps that are worth it.
    mutating func report(_ slot: Int, released: Int) {
        guard released > 0 else { return }
        let unreported = Int(sessions[slot].unreportedByteCount) + released
        sessions[slot].unreportedByteCount = Int32(clamping: unreported)
        guard unreported >= 16 * 1024 || sessions[slot].send.isEmpty else { return }
        sessions[slot].unreportedByteCount = 0
        guard sessions[slot].id != .control else { return }
        arrivals.append(.event(.acknowledged(sessions[slot].id, byteCount: unreported)))
    }

    /// A round-trip time from an echoed timestamp (milliseconds), made finer by our own record of when the frame left.
    ///
    /// The record alone would be ambiguous for a frame that was sent twice (Karn's problem, RFC 6298 §3); it is used
    /// only where it agrees with the echo (S-25).
    @discardableResult
    private mutating func sampleRTT(_ echo: Echo, sentAt: UInt64?, now: Instant) -> Duration? {
        let elapsed = timestamp(now) &- echo.timestamp
        var sample = Int64(elapsed) * 1_000_000
        guard sample <= RTTEstimator.maximumSample.nanoseconds else { return nil }
        if let sentAt, sentAt > 0, sentAt <= now.nanoseconds {
            let fine = Int64(clamping: now.nanoseconds - sentAt)
            if abs(fine - sample) <= 2_000_000 { sample = fine }
        }
        let delay = Int64(echo.delayMicroseconds) * 1_000
        counters.roundTripSamples += 1
        rtt.sample(nanoseconds: sample, ackDelay: delay)
        return .nanoseconds(max(sample - delay, 0))
    }

    mutating func handleLifecycle(
        _ type: FrameType, _ body: RawSpan, slot: Int, now: Instant
    ) throws(LinkError) {
        let id = sessions[slot].id
        switch type {
        case .open:
            let open = try Link.parse(Open.self, body)
            try noteOpenedByPeer(slot, isAllowed: !isOurs(id))
            arrivals.append(.event(.open(id, open)))
        case .opened:
            let opened = try Link.parse(Opened.self, body)
            try noteOpenedByPeer(slot, isAllowed: isOurs(id))
            if sessions[slot].state == .opening { sessions[slot].state = .open }
            arrivals.append(.event(.opened(id, opened)))
        case .close:
            let close = try Link.parse(Close.self, body)
            sessions[slot].peerClosed = true
            arrivals.append(.event(.closed(id, code: close.code)))
            if sessions[slot].isFinished { remove(slot, isReset: false) }
        case .reset:
            try takeReset(try Link.parse(Reset.self, body), now: now)
        case .suspend:
            try chargeUnproductive(now: now)
            _ = try Link.parse(Suspend.self, body)
            arrivals.append(.event(.suspended(id)))
        default:
            try chargeUnproductive(now: now)
            arrivals.append(.event(.resumed(id, cursor: try Link.parse(Resume.self, body).cursor)))
        }
    }

    /// A session is opened once, by one side, and confirmed once, by the other (S-3, S-5).
    private mutating func noteOpenedByPeer(_ slot: Int, isAllowed: Bool) throws(LinkError) {
        guard isAllowed, !sessions[slot].wasOpenedByPeer else { throw .peer(.protocolViolation) }
        sessions[slot].wasOpenedByPeer = true
    }

}

extension FrameType {
    /// Frames that the link itself understands: they open, close and hold sessions.
    var isLifecycle: Bool {
        switch self {
        case .open, .opened, .close, .reset, .suspend, .resume: true
        default: false
        }
    }
}
