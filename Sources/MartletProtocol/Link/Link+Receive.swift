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

    /// Takes a frame whose checksum has been verified.
    ///
    /// - Throws: `LinkError` of scope connection when the peer broke a rule; faults of one session reset that session
    ///   instead.
    public mutating func receive(
        _ header: FrameHeader, _ body: RawSpan, inflater: inout Inflater, now: Instant
    ) throws(LinkError) -> Reception {
        counters.framesReceived += 1
        counters.bytesReceived += UInt64(FrameHeader.byteCount + body.byteCount)
        ackTimer.heard()
        guard let rule = header.type.rule else { return try skip(header, now: now) }
        guard rule.allows(header), !rule.isHandshake else { throw .peer(.protocolViolation) }
        guard header.compression != .none else {
            return try take(header, rule, body, isInPlace: true, body.byteCount, now)
        }
        guard features.contains(.zlib), header.compression == .zlib else { throw .peer(.compressionNotAllowed) }
        let plain: [UInt8]
        do { plain = try inflater.inflate(body, limit: limits.maxBodyByteCount) } catch { throw LinkError(error) }
        return try take(header, rule, plain.rawBytes, isInPlace: false, body.byteCount, now)
    }

    private mutating func take(
        _ header: FrameHeader, _ rule: FrameRule, _ plain: RawSpan, isInPlace: Bool, _ wireByteCount: Int,
        _ now: Instant
    ) throws(LinkError) -> Reception {
        guard rule.isReliable else { return try takeUnreliable(header, plain, isInPlace: isInPlace, now: now) }
        echo = PendingEcho(timestamp: header.timestamp, arrived: now)
        guard let slot = try slot(for: header, now: now) else { return .handled }
        guard let sequence = sessions[slot].receive.sequence(low: header.sequence) else { return .handled }
        let arrival: ReceiveStream.Arrival
        do throws(LinkError) {
            arrival = try sessions[slot].receive.accept(
                sequence, type: header.type, hasMore: header.flags.contains(.moreFragments), plain: plain,
                wireByteCount: wireByteCount, isInPlace: isInPlace)
        } catch {
            guard error.scope == .session else { throw error }
            fail(slot, error.code)
            return .handled
        }
        sessions[slot].needsAck = true
        let isUrgent = arrival == .held || arrival == .duplicate || header.flags.contains(.ackNow)
        wantAck(at: isUrgent || sessions[slot].receive.hasGap ? nil : now + Link.maxAckDelay)
        switch arrival {
        case .duplicate:
            counters.duplicates += 1
            return .handled
        case .held:
            return .handled
        case .ready:
            readySlots.append(slot)
            return .handled
        case .deliver:
            guard !header.type.isLifecycle else {
                try handleLifecycle(header.type, plain, slot: slot, now: now)
                return .handled
            }
            let credit = header.type.isCredited ? wireByteCount : 0
            try charge(credit)
            return .deliver(sessions[slot].id, creditByteCount: credit)
        }
    }

    /// The slot of a reliable frame's session; an `open` makes one.
    private mutating func slot(for header: FrameHeader, now: Instant) throws(LinkError) -> Int? {
        if let slot = slots[header.session] { return slot }
        if let late = retired.first(where: { $0.session == header.session }) {
            // The peer has not heard our last acknowledgement: it is repeated.
            if finalAcks.count < Link.maxRetired, !finalAcks.contains(late) { finalAcks.append(late) }
            wantAck(at: nil)
            return nil
        }
        guard header.type == .open else {
            // On a carrier without order the open may still be under way; what is not acknowledged comes again.
            if carrier == .reliable { reset(header.session, code: .unknownSession) }
            return nil
        }
        guard openBudget.take(now: now) else { throw .peer(.churnLimit) }
        guard (header.session.rawValue % 2 == 1) == (role == .relay) else { throw .peer(.protocolViolation) }
        guard sessionCount < limits.maxSessions else {
            reset(header.session, code: .tooManySessions)
            return nil
        }
        return insert(header.session, kind: .chat, state: .accepting)
    }

    private mutating func skip(_ header: FrameHeader, now: Instant) throws(LinkError) -> Reception {
        guard !header.type.isCritical else { throw .peer(.unknownCritical) }
        guard unknownBudget.take(now: now) else { throw .peer(.unknownFlood) }
        counters.skipped += 1
        guard header.flags.contains(.reliable) else { return .skipped }
        // An unknown reliable frame still has its place in the sequence of its session.
        guard let slot = slots[header.session], let sequence = sessions[slot].receive.sequence(low: header.sequence)
        else { return .skipped }
        let empty: [UInt8] = []
        let arrival = try sessions[slot].receive.accept(
            sequence, type: header.type, hasMore: false, plain: empty.rawBytes, wireByteCount: 0, isInPlace: true)
        if arrival == .ready { readySlots.append(slot) }
        sessions[slot].needsAck = true
        wantAck(at: now + Link.maxAckDelay)
        return .skipped
    }

    private mutating func takeUnreliable(
        _ header: FrameHeader, _ plain: RawSpan, isInPlace: Bool, now: Instant
    ) throws(LinkError) -> Reception {
        switch header.type {
        case .ping:
            try takePing(try Link.parse(Ping.self, plain), header, now: now)
        case .pong:
            takePong(try Link.parse(Pong.self, plain), now: now)
        case .ack:
            try takeAck(try Link.parse(Ack.self, plain), now: now)
        case .goaway:
            arrivals.append(.goAway(try Link.parse(GoAway.self, plain)))
        default:
            guard isInPlace, let slot = slots[header.session], sessions[slot].expectsMessages else { return .handled }
            return .deliver(header.session, creditByteCount: 0)
        }
        return .handled
    }

    /// Parses a body whose faults are the connection's.
    static func parse<Body: FrameBody>(_: Body.Type, _ body: RawSpan) throws(LinkError) -> Body {
        do { return try Body(parsing: body) } catch { throw .peer(error.code) }
    }

    private mutating func takePing(_ ping: Ping, _ header: FrameHeader, now: Instant) throws(LinkError) {
        guard pingBudget.take(now: now) else { throw .peer(.controlFlood) }
        echo = PendingEcho(timestamp: header.timestamp, arrived: now)
        if header.flags.contains(.ackNow) {
            for slot in sessions.indices where sessions[slot].isLive { sessions[slot].needsAck = true }
            wantAck(at: nil)
        }
        let queued = control.reduce(0) { $0 + ($1.type == .pong ? 1 : 0) }
        guard queued < Link.maxQueuedPongs else { return }
        let echo = Echo(timestamp: header.timestamp, delay: .zero)
        queueControl(.pong, flags: [], EncodedBody(Pong(nonce: ping.nonce, echo: echo).encode()))
    }

    private mutating func takePong(_ pong: Pong, now: Instant) {
        sampleRTT(pong.echo, sentAt: nil, now: now)
        guard pong.nonce & Link.probeBit != 0 else { return arrivals.append(.pong(nonce: pong.nonce)) }
        guard let probe, probe.nonce == pong.nonce else { return }
        self.probe = nil
        // The acknowledgement that the probe asked for came before this pong: what it lacks, the peer lacks.
        for slot in sessions.indices where sessions[slot].isLive {
            let lost = sessions[slot].send.loseFrames(sentBefore: probe.sentAt, limit: SendStream.maxEntries)
            if lost > 0 { schedule(slot) }
        }
    }

    private mutating func takeAck(_ ack: Ack, now: Instant) throws(LinkError) {
        raiseLinkCredit(to: ack.linkCredit)
        var total = SendStream.Acknowledged()
        var bulk = 0
        for entry in ack.sessions {
            guard let slot = slots[entry.session] else { continue }
            guard var part = sessions[slot].send.acknowledge(cumulative: entry.cumulative) else {
                throw .peer(.ackUnsent)
            }
            for range in entry.ranges {
                guard let more = sessions[slot].send.acknowledge(range: range) else { throw .peer(.ackUnsent) }
                part.add(more)
            }
            sessions[slot].send.raiseCreditLimit(to: entry.creditLimit)
            if carrier == .unreliable, let highest = entry.ranges.last?.upperBound {
                _ = sessions[slot].send.loseFrames(behind: highest)
            }
            if isBulk(sessions[slot].priority) { bulk += part.byteCount }
            total.add(part)
            report(slot, released: part.releasedByteCount)
            if sessions[slot].isFinished { remove(slot) } else { schedule(slot) }
        }
        let sample = ack.echo.flatMap { sampleRTT($0, sentAt: total.largestSentAt, now: now) }
        flight.acknowledged(bulk, rtt: sample, now: now)
        guard total.frameCount > 0 else { return }
        lastAckProgress = now
        probe = nil
        ackTimer.progressed(now: now, timeout: ackTimeoutInterval, hasOutstanding: hasUnacknowledged)
    }

    /// Sessions that only the link's credit held back have their turn again.
    private mutating func raiseLinkCredit(to limit: UInt64) {
        guard limit > linkCreditLimit else { return }
        linkCreditLimit = limit
        for slot in sessions.indices where sessions[slot].isLive && sessions[slot].send.hasUnsent { schedule(slot) }
    }

    private mutating func report(_ slot: Int, released: Int) {
        guard released > 0 else { return }
        sessions[slot].unreportedByteCount += released
        let unreported = sessions[slot].unreportedByteCount
        guard unreported >= 16 * 1024 || sessions[slot].send.isEmpty else { return }
        sessions[slot].unreportedByteCount = 0
        guard sessions[slot].id != .control else { return }
        arrivals.append(.acknowledged(sessions[slot].id, byteCount: unreported))
    }

    /// A round-trip time from an echoed timestamp (milliseconds), made finer by our own record of when the frame left.
    ///
    /// The record alone would be ambiguous for a frame that was sent twice (Karn's problem, RFC 6298 §3); it is used
    /// only where it agrees with the echo.
    @discardableResult
    private mutating func sampleRTT(_ echo: Echo, sentAt: UInt64?, now: Instant) -> Duration? {
        let elapsed = timestamp(now) &- echo.timestamp
        guard elapsed < 3_600_000 else { return nil }
        var sample = Duration.milliseconds(Int64(elapsed))
        if let sentAt, sentAt > 0 {
            let fine = now - Instant(nanoseconds: sentAt)
            if fine >= .zero, abs((fine - sample).nanoseconds) <= 2_000_000 { sample = fine }
        }
        counters.roundTripSamples += 1
        rtt.sample(sample, ackDelay: min(echo.delay, Link.maxAckDelay))
        return max(sample - echo.delay, .zero)
    }

    mutating func handleLifecycle(
        _ type: FrameType, _ body: RawSpan, slot: Int, now: Instant
    ) throws(LinkError) {
        let id = sessions[slot].id
        switch type {
        case .open:
            let open = try Link.parse(Open.self, body)
            guard sessions[slot].state == .accepting else { throw .peer(.protocolViolation) }
            sessions[slot].kind = open.kind
            sessions[slot].priority = SessionPreset(open.kind).priority
            arrivals.append(.open(id, open))
        case .opened:
            let opened = try Link.parse(Opened.self, body)
            if sessions[slot].state == .opening { sessions[slot].state = .open }
            arrivals.append(.opened(id, opened))
        case .close:
            let close = try Link.parse(Close.self, body)
            sessions[slot].peerClosed = true
            arrivals.append(.closed(id, code: close.code))
            finishClose(slot)
        case .reset:
            let reset = try Link.parse(Reset.self, body)
            guard let target = slots[reset.session], target != 0 else { return }
            remove(target)
            arrivals.append(.reset(reset.session, code: reset.code))
        case .suspend:
            arrivals.append(.suspended(id))
        default:
            arrivals.append(.resumed(id, cursor: try Link.parse(Resume.self, body).cursor))
        }
    }

    private mutating func finishClose(_ slot: Int) {
        switch sessions[slot].state {
        case .opening, .open, .accepting:
            append(slot, .close, EncodedBody(Close(code: nil, reason: nil).encode()))
            sessions[slot].state = .closingByPeer
        case .closing, .closingByPeer:
            if sessions[slot].isFinished { remove(slot) }
        }
    }

    /// A fault of the peer's in one session resets that session only.
    mutating func fail(_ slot: Int, _ code: ErrorCode) {
        let id = sessions[slot].id
        reset(id, code: code)
        arrivals.append(.reset(id, code: code))
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
