package import MartletWire

extension Link {
    /// The answer to a received frame.
    package enum Reception: Equatable, Sendable {
        /// The link has handled the frame. The caller requests `nextArrival` until it is nil.
        case handled
        /// The frame is the session's next one. The caller uses its body in place; `release` returns `creditByteCount`.
        case deliver(SessionID, creditByteCount: Int)
        /// The type is unknown and not critical. The frame was counted.
        case skipped
    }

    /// Counts bytes that arrived while the link was attached, in any form.
    package mutating func noteReceived(byteCount: Int) {
        counters.bytesReceived += UInt64(byteCount)
    }

    /// Receives a frame whose checksum has been verified.
    ///
    /// - Throws: `LinkError` of scope connection when the peer broke a rule; faults of one session reset that session
    ///   instead.
    package mutating func receive(
        _ header: FrameHeader, _ content: FrameContent, inflater: inout Inflater, now: Instant
    ) throws(LinkError) -> Reception {
        assertDrained("a frame is reported before the arrivals of the last one are drained")
        let reception = try process(header, content, inflater: &inflater, now: now)
        #if DEBUG
            mustDrain = reception == .handled && (!arrivals.isEmpty || sessions.hasReady)
        #endif
        return reception
    }

    /// The next result of the received frames, in order; nil when there is none.
    package mutating func nextArrival(now: Instant) throws(LinkError) -> LinkArrival? {
        while true {
            if let arrival = arrivals.popFirst() { return arrival }
            guard let (slot, frame) = sessions.popReady() else {
                #if DEBUG
                    mustDrain = false
                #endif
                return nil
            }
            guard frame.type.rule != nil else { continue }
            guard sessions[slot].peer != .closed else { throw .peer(.protocolViolation) }
            guard frame.type.isLifecycle else { return .frame(sessions[slot].id, frame) }
            try handleLifecycle(frame.type, frame.body.rawBytes, slot: slot, now: now)
        }
    }

    /// Checks the drain contract in debug builds.
    func assertDrained(_ message: @autoclosure () -> String) {
        #if DEBUG
            assert(!mustDrain, message())
        #endif
    }

    @inline(__always)
    private mutating func process(
        _ header: FrameHeader, _ content: FrameContent, inflater: inout Inflater, now: Instant
    ) throws(LinkError) -> Reception {
        counters.framesReceived += 1
        connection.recovery.ackTimer.heard()
        if let credit = takeNext(header, content.byteCount, now) {
            return .deliver(header.session, creditByteCount: credit)
        }
        let rule = header.type.rule
        if header.compression != .none, !features.contains(.zlib) || rule?.isHandshake == true {  // W-8, W-18
            throw .peer(.compressionNotAllowed)
        }
        guard let rule else { return try skip(header, now: now) }
        // Checked before the session: a frame that only a relay sends is a fault on every session (W-8, W-74).
        guard rule.allows(header), !rule.isHandshake || header.type == .auth,
            !rule.isServerOnly || sessions.role == .client
        else { throw .peer(.protocolViolation) }
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

    /// Receives a message, or an acceptance at a client, in one plain frame that is next in order and within the
    /// credit. Returns its cost in credit; nil, without a change, for any other frame, which `takeReliable` handles.
    @inline(__always)
    private mutating func takeNext(_ header: FrameHeader, _ byteCount: Int, _ now: Instant) -> Int? {
        let isAccepted = header.type == .accepted && sessions.role == .client
        let credit = isAccepted ? 0 : byteCount
        guard header.type == .data || isAccepted && byteCount <= ReceiveStream.maxUncreditedByteCount,
            header.compression == .none, header.session != .control,
            FrameFlags(header.flags, priority: .urgent) == [.reliable, .checksummed],
            UInt64(credit) <= receiveCredit.available, let slot = sessions.slot(of: header.session),
            sessions[slot].takeNext(low: header.sequence, byteCount: credit)
        else { return nil }
        receiveCredit.charge(UInt64(credit))
        connection.acks.noteTimestamp(header.timestamp, now: now)
        if !sessions[slot].marks.needsAck || connection.acks.isIdle { delayAck(of: slot, now: now) }
        return credit
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
        connection.acks.noteTimestamp(header.timestamp, now: now)
        // Fragments of an unexpected `opened` would be joined without credit (S-5).
        guard header.type != .opened || sessions.isOurs(header.session) else { throw .peer(.protocolViolation) }
        guard let slot = try slot(for: header, plain, now: now) else { return .handled }
        guard let sequence = sessions[slot].receive.sequence(low: header.sequence) else { throw .peer(.outOfWindow) }
        if header.flags.contains(.moreFragments), plain.byteCount < Link.minFragmentByteCount {
            guard plain.byteCount > 0 else { throw .peer(.protocolViolation) }  // S-42
            try chargeUnproductive(now: now)
        }
        guard let arrival = try accept(sequence, header, plain, slot: slot, isInPlace: isInPlace) else {
            return .handled
        }
        let isUrgent = arrival == .duplicate || header.flags.contains(.ackNow) || sessions[slot].receive.hasGap  // S-20
        if isUrgent || arrival == .dropped { requestAck(of: slot) } else { delayAck(of: slot, now: now) }
        switch arrival {
        case .duplicate:
            counters.duplicates += 1
            try chargeUnproductive(now: now)
        case .dropped:
            try chargeUnproductive(now: now)
        case .held:
            break
        case .ready:
            sessions.markReady(slot)
        case .deliver where header.type.rule == nil:
            break
        case .deliver where sessions[slot].peer == .closed:
            throw .peer(.protocolViolation)
        case .deliver where header.type.isLifecycle:
            try handleLifecycle(header.type, plain, slot: slot, now: now)
        case .deliver:
            return .deliver(sessions[slot].id, creditByteCount: header.type.isCredited ? plain.byteCount : 0)
        }
        return .handled
    }

    /// Passes a frame to its session's stream; nil when the session was reset because of it.
    private mutating func accept(
        _ sequence: UInt64, _ header: FrameHeader, _ plain: RawSpan, slot: Int, isInPlace: Bool
    ) throws(LinkError) -> ReceiveStream.Arrival? {
        let hadGap = sessions[slot].receive.hasGap
        let before = sessions[slot].receive.usage
        var arrival: ReceiveStream.Arrival?
        var fault: LinkError?
        do throws(LinkError) {
            arrival = try sessions[slot].receive.accept(
                sequence, type: header.type, hasMore: header.flags.contains(.moreFragments), plain: plain,
                isInPlace: isInPlace, heldRoom: limits.linkWindow - receiveCredit.heldByteCount,
                linkCredit: receiveCredit.available)
        } catch {
            fault = error
        }
        receiveCredit.charge(sessions[slot].receive.usage, since: before)
        guard let fault else {
            // A gap that closes is acknowledged at once too.
            if hadGap { requestAck(of: slot) }
            return arrival
        }
        guard fault.scope == .session else {
            if sessions[slot].receive.hasReady { sessions.markReady(slot) }
            throw fault
        }
        // A fault of the peer in one session resets that session only.
        let id = sessions[slot].id
        reset(id, code: fault.code)
        arrivals.append(.event(.reset(id, code: fault.code)))
        return nil
    }

    /// The slot of a reliable frame's session; an `open` inserts one.
    private mutating func slot(for header: FrameHeader, _ plain: RawSpan, now: Instant) throws(LinkError) -> Int? {
        let id = header.session
        if let slot = sessions.slot(of: id) { return slot }
        guard sessions.recentlyEnded[id] == nil else {
            sessions.recentlyEnded.oweAck(id)
            // Frames in flight when the session ended arrive once each: one acknowledgement covers them (S-14, S-20).
            guard sessions.recentlyEnded.noteLate(header.sequence, of: id) else {
                if isAttached { connection.acks.request() }
                try chargeUnproductive(now: now)
                return nil
            }
            if isAttached { connection.acks.delay(from: now) }
            return nil
        }
        guard header.type == .open else {
            // On a carrier without order the `open` may still be in flight; unacknowledged frames arrive again (S-15).
            guard connection.carrier == .reliable || sessions.isOurs(id) else { return nil }
            try rates.countOpen(now: now)
            refuse(id, .unknownSession)
            return nil
        }
        try rates.countOpen(now: now)
        guard !sessions.isOurs(id), header.sequence == UInt32(truncatingIfNeeded: sessions.firstSequence) else {
            throw .peer(.protocolViolation)
        }  // S-3
        let open = try Link.parse(Open.self, plain)
        // The connection continues: the open may be an honest mistake (S-4).
        guard sessionCount < min(limits.maxSessions, Link.maxSessions) else {
            refuse(id, .tooManySessions)
            return nil
        }
        return insert(id, kind: open.kind, .accepting)
    }

    /// Refuses a session that the peer opens or uses (S-6).
    private mutating func refuse(_ id: SessionID, _ code: ErrorCode) {
        rememberUnopened(id)
        appendReset(id, code, creditUsed: 0)
    }

    /// Remembers a session as ended, of which no frame was accepted.
    private mutating func rememberUnopened(_ id: SessionID) {
        let record = RecentlyEndedSessions.Record(cumulative: sessions.firstSequence - 1)
        receiveCredit.release(sessions.recentlyEnded.insert(id, record))
    }

    private mutating func skip(_ header: FrameHeader, now: Instant) throws(LinkError) -> Reception {
        guard !header.type.isCritical else { throw .peer(.unknownCritical) }
        try rates.countUnknownFrame(now: now)
        counters.skipped += 1
        guard header.flags.contains(.reliable) else { return .skipped }
        // An unknown reliable frame has a sequence of its session like any other (S-19).
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
        case .auth:
            // Each one has the relay's authenticator decide (S-59, Specs/hostile.md row 56).
            if sessions.role == .relay { try chargeUnproductive(now: now) }
            arrivals.append(.event(.auth(try Link.parse(Auth.self, plain))))
        default:
            guard let slot = sessions.slot(of: header.session), sessions[slot].peer != .closed else {
                // A relay forwards frames of many members to a client, more than the client may send itself.
                if sessions.role == .relay { try chargeUnproductive(now: now) }
                return .handled
            }
            guard !isInPlace else { return .deliver(header.session, creditByteCount: 0) }
            let frame = OrderedFrame(type: header.type, body: [UInt8](copying: plain), creditByteCount: 0)
            arrivals.append(.frame(header.session, frame))
        }
        return .handled
    }

    /// Parses a body; a fault in it is a fault of the connection.
    package static func parse<Body: FrameBody>(_: Body.Type, _ body: RawSpan) throws(LinkError) -> Body {
        do { return try Body(parsing: body) } catch { throw .peer(error.code) }
    }

    private mutating func takePing(_ ping: Ping, _ header: FrameHeader, now: Instant) throws(LinkError) {  // W-70
        try rates.countPing(now: now)
        connection.acks.noteTimestamp(header.timestamp, now: now)
        if header.flags.contains(.ackNow) {  // S-28
            for slot in sessions.slots where sessions.isLive(slot) { requestAck(of: slot) }
        }
        let echo = Echo(timestamp: header.timestamp, delay: .zero)  // S-24
        guard isAttached else { return }
        connection.control.appendPong(Pong(nonce: ping.nonce, echo: echo, reconnectSpread: reconnectSpread))
    }

    private mutating func takePong(_ pong: Pong, now: Instant) throws(LinkError) {
        if !connection.control.takePong() { try chargeUnproductive(now: now) }
        sampleRTT(pong.echo, sentAt: nil, now: now)
        if sessions.role == .client, let spread = pong.reconnectSpread {
            arrivals.append(.event(.reconnectSpread(spread)))
        }
        guard pong.nonce & Link.probeBit != 0 else { return arrivals.append(.event(.pong(nonce: pong.nonce))) }
        guard let sentAt = connection.recovery.takePong(pong.nonce) else { return }
        // The acknowledgement that the probe requested came before this pong, so the peer has not received the frames
        // that it does not contain (S-28).
        for slot in sessions.slots where sessions.isLive(slot) {
            noteLost(slot, sessions[slot].send.loseFrames(sentBefore: sentAt, limit: SendStream.maxEntries))
        }
    }

    private mutating func takeAck(_ ack: Ack, now: Instant) throws(LinkError) {
        var isProductive = sendCredit.raise(to: ack.linkCredit, limits)
        sessions.beginAck()
        var staleCount = 0
        var total = SendStream.Acknowledged()
        var bulk = SendStream.Acknowledged()
        for index in 0..<ack.sessionCount {
            let entry = ack.session(index)
            guard let slot = sessions.slot(of: entry.session) else {
                staleCount += 1
                continue
            }
            try sessions.noteAck(of: slot)
            let part = try acknowledge(entry, slot: slot, now: now)
            let gainsCredit = entry.creditLimit > sessions[slot].send.creditLimit
            let raisesCredit = sessions[slot].send.raiseCreditLimit(
                to: entry.creditLimit, windowByteCount: sessions.windowByteCount(of: slot, limits),
                maxMessageByteCount: limits.maxMessageByteCount)
            if part.frameCount > 0 || raisesCredit { isProductive = true } else { staleCount += 1 }
            if sessions.hasUnsent(slot) || waitsForCredit { connection.recovery.creditProbe.noteAnswer() }
            if sessions[slot].priority.isBulk { bulk.add(part) }
            total.add(part)
            if !finish(slot, released: part.releasedByteCount, gainsCredit: gainsCredit) { schedule(slot) }
        }
        unblock()
        let sample = ack.echo.flatMap { sampleRTT($0, sentAt: total.largestSentAt, now: now) }
        let timesBulk = bulk.largestSentAt == total.largestSentAt
        connection.flight.acknowledged(
            bulk.byteCount, frameByteCount: bulk.byteCount / max(bulk.frameCount, 1), rtt: sample, timesBulk: timesBulk,
            now: now)
        try chargeUnproductive((isProductive ? 0 : 1) + staleCount / Link.staleSessionsPerFrame, now: now)
        guard total.frameCount > 0 else { return }
        connection.recovery.noteProgress(
            now: now, timeout: ackTimeoutInterval, hasUnacknowledged: hasUnacknowledged)
        startOverdueTimer(now: now)
    }

    private mutating func acknowledge(
        _ entry: SessionAck, slot: Int, now: Instant
    ) throws(LinkError) -> SendStream.Acknowledged {
        guard var part = sessions[slot].send.acknowledge(cumulative: entry.cumulative) else { throw .peer(.ackUnsent) }
        for range in entry.ranges {
            guard let more = sessions[slot].send.acknowledge(range: range) else { throw .peer(.ackUnsent) }
            part.add(more)
        }
        noteLost(slot, sessions[slot].send.loseOvertaken(sentBy: now + (.zero - rtt.lossDelay)))
        noteOutstanding(slot)
        return part
    }

    /// Reports bytes that left a session's queue, and ends a finished session. Returns whether the session has ended.
    mutating func finish(_ slot: Int, released: Int, gainsCredit: Bool = false) -> Bool {
        if let byteCount = sessions[slot].noteReleased(released, gainsCredit: gainsCredit) {
            arrivals.append(.event(.acknowledged(sessions[slot].id, byteCount: byteCount)))
        }
        guard sessions.isFinished(slot) else { return false }
        remove(slot, isReset: false)
        return true
    }

    /// Samples the round-trip time from an echoed timestamp in milliseconds, refined by the recorded send time.
    ///
    /// The record alone is ambiguous for a frame that was sent twice (Karn's problem, RFC 6298 §3), so it is used only
    /// where it agrees with the echo (S-25).
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

    private mutating func handleLifecycle(
        _ type: FrameType, _ body: RawSpan, slot: Int, now: Instant
    ) throws(LinkError) {
        let id = sessions[slot].id
        switch type {
        case .open:
            let open = try Link.parse(Open.self, body)
            guard !sessions.isOurs(id) else { throw .peer(.protocolViolation) }
            try sessions[slot].noteOpenedByPeer()
            arrivals.append(.event(.open(id, open)))
        case .opened:
            let opened = try Link.parse(Opened.self, body)
            guard sessions.isOurs(id) else { throw .peer(.protocolViolation) }
            try sessions[slot].noteOpenedByPeer()
            arrivals.append(.event(.opened(id, opened)))
        case .close:
            let close = try Link.parse(Close.self, body)
            sessions[slot].noteClosedByPeer()
            arrivals.append(.event(.closed(id, code: close.code)))
            _ = finish(slot, released: 0)
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

    /// The peer resets a session (S-10, S-11).
    private mutating func takeReset(_ reset: Reset, now: Instant) throws(LinkError) {
        let id = reset.session
        if let slot = sessions.slot(of: id) {
            // Unacknowledged frames may not have arrived: the peer needs the credit that they used (S-12).
            let creditUsed = sessions[slot].send.hasUnacknowledgedCredit ? sessions[slot].send.creditUsed : nil
            remove(slot, isReset: true)
            if let creditUsed { appendReset(id, reset.code, creditUsed: creditUsed) }
            arrivals.append(.event(.reset(id, code: reset.code, retryAfter: reset.retryAfter)))
        } else {
            try chargeUnproductive(now: now)
            if sessions.recentlyEnded[id] == nil {
                // The session's `open` may still be in flight, and must not open it (S-12).
                rememberUnopened(id)
            }
        }
        guard let creditUsed = reset.creditUsed else { return }
        guard let missing = sessions.recentlyEnded.settle(id, creditUsed: creditUsed) else {
            throw .peer(.protocolViolation)
        }
        guard receiveCredit.settle(missing) else { throw .peer(.creditExceeded) }
        announceCredit()
    }
}

extension FrameType {
    /// Frames that the link itself handles: they open, close, reset, suspend and resume sessions.
    var isLifecycle: Bool {
        switch self {
        case .open, .opened, .close, .reset, .suspend, .resume: true
        default: false
        }
    }
}
