package import MartletLink
import MartletWire

/// Connections: input, handshake, end.
extension RelayEngine {
    // MARK: Input

    /// Bytes arrived on a connection, in any pieces; they are borrowed.
    ///
    /// Input beyond the connection's budget of a turn is kept, `.pauseReading` stops further input, and
    /// `deadlinePassed` continues (R-50, Specs/hostile.md row 42).
    package mutating func receive(_ bytes: RawSpan, on key: ConnectionKey, now: Instant) {
        noteEvent()
        guard let slot = connections.slot(key), connections[slot].phase != .closing else { return }
        connections[slot].noteReceived(byteCount: bytes.byteCount, now: now)
        guard connections[slot].phase != .authenticating else { return hold(bytes, on: slot, now: now) }
        guard !connections[slot].hasUnread else { return unread.extend(key, with: bytes) }
        sessions.budget.begin(key)
        read(bytes, on: slot, now: now)
    }

    /// Parses as much as the budget permits and keeps the rest.
    mutating func read(_ bytes: RawSpan, on slot: Int, now: Instant) {
        guard let count = parse(bytes, on: slot, now: now) else { return }
        connections[slot].hasUnread = true
        unread.append(bytes.extracting(droppingFirst: count), of: connections.key(slot))
        outputs.append(.pauseReading(connections.key(slot)))
    }

    /// Parses the unread input of the connection that has waited longest, as much as a budget permits.
    mutating func continueReading(now: Instant) {
        while var part = unread.popFirst() {
            guard let slot = connections.slot(part.connection), connections[slot].phase != .closing else { continue }
            sessions.budget.restart(part.connection)
            let count = parse(part.bytes.rawBytes.extracting(droppingFirst: part.readByteCount), on: slot, now: now)
            if let count {
                part.readByteCount += count
                return unread.append(part)
            }
            return finishUnread(part, now: now)
        }
    }

    /// All unread input of a connection was parsed.
    private mutating func finishUnread(_ part: UnreadInput.Part, now: Instant) {
        guard let slot = connections.slot(part.connection), connections[slot].phase != .closing else { return }
        connections[slot].hasUnread = false
        if part.isLast { return endOfStream(part.connection, now: now) }
        // A connection that is authenticating is read again after the authenticator's answer.
        if connections[slot].phase != .authenticating { outputs.append(.resumeReading(part.connection)) }
    }

    /// Keeps input behind a hello. Input of an unauthenticated peer is bounded (C-9).
    private mutating func hold(_ bytes: RawSpan, on slot: Int, now: Instant) {
        guard let entry = connections[slot].entry,
            entry.held.count + bytes.byteCount <= RelayConnection.maxHeldByteCount
        else { return fail(slot, .peer(.protocolViolation), now: now) }
        entry.held.append(bytes: bytes)
    }

    /// Parses input. Returns the number of parsed bytes when the budget is spent, otherwise nil.
    private mutating func parse(_ bytes: RawSpan, on slot: Int, now: Instant) -> Int? {
        let box = takeFramer(for: slot)
        defer { returnFramer(box, of: slot) }
        var consumed = 0
        var frameCount = 0
        while consumed < bytes.byteCount || box.framer.hasWaitingFrames {
            guard !sessions.budget.isSpent else { return consumed }
            var failure: LinkError?
            let before = consumed
            do throws(WireError) {
                consumed += try box.framer.consumeContents(bytes.extracting(droppingFirst: consumed)) {
                    frameCount += 1
                    do throws(LinkError) { return try receive($0, $1, on: slot, now: now) } catch { failure = error }
                    return .stop
                }
            } catch {
                failure = LinkError(error)
            }
            if let failure {
                fail(slot, failure, now: now)
                return nil
            }
            if box.framer.allowsPackets, !chargePackets(box, on: slot, now: now) { return nil }
            switch connections.phase(slot) {
            case nil, .closing: return nil
            case .authenticating:
                hold(bytes.extracting(droppingFirst: consumed), on: slot, now: now)
                return nil
            case .attached(let link): sessions.links[Int(link)].link.noteReceived(byteCount: consumed - before)
            case .awaitingHello, .challenged: break
            }
        }
        checkPartial(slot, box, hadFrames: frameCount > 0, now: now)
        return nil
    }

    /// The framer with the connection's incomplete frame, or the one for all other connections.
    private mutating func takeFramer(for slot: Int) -> FramerBox {
        if let own = connections[slot].framer { return own }
        let box = spareFramer ?? FramerBox(Framer(maxBodyByteCount: 0))
        spareFramer = nil
        box.framer.maxBodyByteCount = Int(connections[slot].maxBodyByteCount)
        box.framer.maxPacketsPerCall = TurnBudget.packetsPerCall
        if let link = connections[slot].linkSlot {
            sessions.links[link].serve(&box.framer)
        } else {
            box.framer.serve()
        }
        // Early frames of a refused resume precede the client's next hello. A datagram may overtake the hello; its
        // frames are retransmitted (C-13, C-34).
        box.framer.expectsHello =
            connections[slot].phase == .awaitingHello && connections[slot].carrier == .reliable
            && connections[slot].entry?.skipsFrames == false
        return box
    }

    /// The connection keeps the framer while it holds an incomplete frame. A framer that has failed is discarded.
    private mutating func returnFramer(_ box: FramerBox, of slot: Int) {
        guard connections.isLive(slot), connections[slot].phase != .closing else { return }
        if let link = connections[slot].linkSlot { sessions.links[link].keepReader(of: box.framer) }
        if !box.framer.isBetweenUnits {
            connections[slot].framer = box
            connections.settle(slot)
        } else {
            if connections[slot].framer != nil {
                connections[slot].framer = nil
                connections.settle(slot)
            }
            spareFramer = box
        }
    }

    /// Charges packets beside their frames. Returns false when too many packets without frames have ended the
    /// connection (S-59).
    private mutating func chargePackets(_ box: FramerBox, on slot: Int, now: Instant) -> Bool {
        let counts = box.framer.takePacketCounts()
        sessions.budget.charge(counts.packets + counts.streams * TurnBudget.streamUnits)
        let unproductive = counts.withoutFrames + counts.streams * TurnBudget.streamUnits
        guard unproductive > 0, let link = connections[slot].linkSlot else { return true }
        do throws(LinkError) {
            try sessions.links[link].link.chargeUnproductive(unproductive, now: now)
            return true
        } catch {
            fail(slot, error, now: now)
            return false
        }
    }

    /// Starts the timeout of an incomplete frame (Specs/hostile.md row 5).
    private mutating func checkPartial(_ slot: Int, _ box: FramerBox, hadFrames: Bool, now: Instant) {
        let before = connections[slot].partialSince
        if box.framer.bufferedByteCount == 0 {
            connections[slot].partialSince = nil
        } else if before == nil || hadFrames {
            connections[slot].partialSince = now
            if before == nil { connections.arm(slot, configuration) }
        }
    }

    private mutating func receive(
        _ header: FrameHeader, _ content: FrameContent, on slot: Int, now: Instant
    ) throws(LinkError) -> FramerStep {
        switch connections.phase(slot) {
        case .awaitingHello:
            guard header.type == .hello else {
                sessions.budget.charge(frameOf: content.byteCount)
                return sessions.budget.isSpent ? .stop : .proceed
            }
            try content.withBody { body throws(LinkError) in try receiveHello(header, body, on: slot, now: now) }
            return .stop
        case .attached(let link):
            switch try sessions.receive(header, content, on: Int(link), now: now) {
            case .proceed: break
            case .disconnect: end(slot, afterFlush: true, now: now)
            case .endLink: endLink(Int(link), nil, now: now)
            case .renew(let credential): try renew(slot, Int(link), with: credential)
            }
            if case .attached = connections.phase(slot), !sessions.budget.isSpent { return .proceed }
            return .stop
        case .challenged: return try receiveAnswer(header, content, on: slot, now: now)
        case .authenticating, .closing, nil: return .stop
        }
    }

    // MARK: Handshake

    private mutating func receiveHello(
        _ header: FrameHeader, _ body: RawSpan, on slot: Int, now: Instant
    ) throws(LinkError) {
        guard header.compression == .none else { throw .peer(.compressionNotAllowed) }
        guard header.type.rule?.allows(header) == true else { throw .peer(.protocolViolation) }
        let hello: Hello
        do { hello = try Hello(parsing: body) } catch {
            throw .peer(error.scope == .frame ? .invalidHello : error.code)
        }
        guard hello.spokenVersions.contains(where: { $0.major == WireVersion.current.major }) else {
            throw .peer(.unsupportedVersion)
        }
        if let notice = refusal(of: hello, now: now) { return end(slot, with: .reject, notice, now: now) }
        connections[slot].authenticate(hello, now: now)
        connections.arm(slot, configuration)
        outputs.append(.pauseReading(connections.key(slot)))  // C-9
        outputs.append(
            .authenticate(
                connections.key(slot),
                AuthenticationRequest(
                    account: hello.account, device: hello.device, mechanism: hello.mechanism,
                    credential: hello.credential, agent: hello.agent, presentedToken: hello.resume?.token)))
    }

    /// Admits an authenticated peer, and parses its early input, in its order (C-18).
    mutating func finishHandshake(
        _ slot: Int, _ entry: ConnectionEntry, _ admission: Admission, now: Instant
    ) {
        guard !revocations.covers(admission.account, provenAt: entry.askedAt) else {
            note(.refused(admission.account, .revoked), on: slot)
            return end(slot, with: .reject, Notice(code: .revoked), now: now)
        }
        guard admission.account != configuration.reservedAccount else {  // R-59, Specs/hostile.md row 59
            note(.refused(admission.account, .forbidden), on: slot)
            return end(slot, with: .reject, Notice(code: .forbidden), now: now)
        }
        admit(slot, admission, now: now)
        guard connections.phase(slot) != .closing else { return }
        outputs.append(.resumeReading(connections.key(slot)))
        let held = entry.held
        entry.held = []
        // The timer of the handshake is no longer needed.
        connections[slot].disarm()
        connections.arm(slot, configuration)
        sessions.budget.restart(connections.key(slot))
        if !held.isEmpty { read(held.rawBytes, on: slot, now: now) }
    }

    private mutating func admit(_ slot: Int, _ admission: Admission, now: Instant) {
        let (hello, who, token) = (admission.hello, admission.device, admission.grant.digest)
        // Minor versions only add: a client of a later one uses the current version, a client of an earlier one its
        // own (W-40, C-22).
        let spoken = hello.spokenVersions.filter { $0.major == WireVersion.current.major }.max() ?? .current
        let version = min(spoken, configuration.features.spokenVersion)
        let features = hello.features.intersection(configuration.features).available(in: version)  // W-41
        let limits = hello.limits.negotiated(with: configuration.limits)
        var resumed: [SessionPosition]?
        let link: Int
        if let point = hello.resume {
            guard let found = resumable(point, by: admission),
                sessions.links[found].link.canAdopt(limits, features: features)
            else { return refuseResume(slot, who, now: now) }
            link = found
            // The older connection is fenced before the welcome, so that the link has one owner (W-47, C-32, C-38,
            // Specs/hostile.md row 22).
            if let older = sessions.links[link].connection {
                sessions.links[link].replaceConnection(lastReceived: connections[older].lastReceived)
                end(older, with: .goaway, Notice(code: .staleEpoch), now: now)
            }
            sessions.resume(link, limits, features, admission.identity.claims, token, now: now)
            attach(link, to: slot, now: now)
            sessions.links[link].link.confirm(point.positions, now: now)
            resumed = sessions.links[link].link.positions
            note(.resumed(who, sessions.links[link].id, epoch: sessions.links[link].epoch), on: slot)
        } else {
            if let older = sessions.links.slot(of: who) {
                endLink(older, Notice(code: .replaced), now: now)  // C-2, C-39
            }
            if let code = makeRoom(forLinkOf: who.account, now: now) {
                let retryAfter = code == .serverBusy ? configuration.busyRetryAfter : nil
                return end(slot, with: .reject, Notice(code: code, retryAfter: retryAfter), now: now)
            }
            link = sessions.insert(who, admission.identity.claims, limits, features, token, now: now)
            attach(link, to: slot, now: now)
            note(.linked(who, sessions.links[link].id), on: slot)
        }
        sessions.noteArrival(now: now)
        let welcome = Welcome(
            version: version, features: features, limits: limits, account: who.account, link: sessions.links[link].id,
            resumeToken: admission.grant.token, epoch: sessions.links[link].epoch,
            resumeLifetime: configuration.resumeLifetime, heartbeatInterval: nil,
            reconnectSpread: sessions.reconnectSpread(now: now), credential: admission.final,
            credentialLifetime: setExpiry(of: admission.identity, on: slot, now: now), resumed: resumed)
        enqueue(.welcome, welcome.encode(), on: slot, now: now)
        sessions.markDirty(link)
    }

    /// The link that a client may resume. Every obstacle has the same answer (C-31, C-35).
    private func resumable(_ point: ResumePoint, by admission: Admission) -> Int? {
        guard let presented = admission.presented, let slot = sessions.links.slot(of: point.link),
            sessions.links[slot].who == admission.device, sessions.links[slot].accepts(presented),
            sessions.links[slot].link.canResume(from: point.positions)
        else { return nil }
        return slot
    }

    /// Refuses a whole resume. The connection may send another hello a limited number of times (Specs/hostile.md row
    /// 23), unless early frames of the old link can overtake it (C-34, C-35, W-38).
    private mutating func refuseResume(_ slot: Int, _ who: DeviceKey, now: Instant) {
        note(.refused(who.account, .resumeRejected), on: slot)
        let notice = Notice(code: .resumeRejected)
        if connections[slot].awaitAnotherHello(maxResumeAttempts: configuration.maxResumeAttempts) {
            enqueue(.reject, Reject(notice).encode(), on: slot, now: now)
        } else {
            end(slot, with: .reject, notice, now: now)
        }
    }

    /// Makes room for one more link of an account; otherwise returns the reason of the refusal.
    private mutating func makeRoom(forLinkOf account: AccountName, now: Instant) -> ErrorCode? {
        let maxCount = configuration.maxLinksPerAccount
        switch sessions.links.check(anotherLinkOf: account, maxCount: maxCount, now: now) {
        case .fits: break
        case .replaces(let slot): removeLink(slot, now: now)
        case .tooManyLinks: return .tooManyLinks
        }
        return sessions.links.count < configuration.maxLinks && !memory.isFull ? nil : .serverBusy
    }

    // MARK: Links

    private mutating func attach(_ link: Int, to slot: Int, now: Instant) {
        sessions.attach(link, to: slot, connections[slot].carrier, now: now)
        connections[slot].attach(link, maxBodyByteCount: sessions.links[link].link.limits.maxBodyByteCount)
    }

    /// Suspends the connection's link.
    mutating func detach(_ slot: Int, now: Instant) {
        let lastReceived = connections[slot].lastReceived
        guard let link = connections[slot].linkSlot,
            sessions.detach(link, from: slot, lastReceived: lastReceived, now: now)
        else { return }
        note(.suspended(sessions.links[link].who, sessions.links[link].id), on: slot)
        while let surplus = sessions.links.surplusSuspended(maxCount: configuration.maxSuspendedLinks) {
            removeLink(surplus, now: now)
        }
    }

    /// Ends a link and its connection, with a notice if the peer did not ask for it. The link is not suspended
    /// meanwhile, so no other link is removed for it (C-62).
    mutating func endLink(_ slot: Int, _ notice: Notice?, now: Instant) {
        let link = sessions.remove(slot, now: now)
        note(.ended(link.who, link.id), on: link.connection)
        guard let connection = link.connection else { return }
        if let notice {
            end(connection, with: .goaway, notice, now: now)
        } else {
            end(connection, afterFlush: true, now: now)
        }
    }

    /// Ends a link that has no connection.
    mutating func removeLink(_ slot: Int, now: Instant) { endLink(slot, nil, now: now) }

    // MARK: End

    /// Ends a connection for a fault, which a notice reports if possible (C-41).
    mutating func fail(_ slot: Int, _ error: LinkError, now: Instant) {
        guard connections[slot].phase != .closing else { return }
        note(.faulted(error.code), on: slot)
        if error.code == .authTimeout, let account = connections[slot].entry?.hello?.account {
            note(.refused(account, .authTimeout), on: slot)
        }
        // C-22
        let spoken: [WireVersion] = error.code == .unsupportedVersion ? configuration.features.spokenVersions : []
        // An invalid hello has the answer of a refused one (C-13).
        let type: FrameType = error.code == .invalidHello ? .reject : .goaway
        end(slot, with: type, Notice(code: error.code, spokenVersions: spoken), now: now)
    }

    /// Queues a goaway or a reject, and ends the connection behind it (C-40).
    ///
    /// The answer to an unauthenticated peer has at most three times the bytes of its input, so that no third host can
    /// be flooded (Specs/hostile.md row 32). A longer notice is shortened or omitted (W-37, C-15).
    mutating func end(_ slot: Int, with type: FrameType, _ notice: Notice, now: Instant) {
        for shorter in [notice, notice.withoutReason, Notice(code: notice.code)] {
            let body = type == .reject ? Reject(shorter).encode() : GoAway(shorter).encode()
            if let entry = connections[slot].entry, !entry.maySend(bodyByteCount: body.count) { continue }
            enqueue(type, body, on: slot, now: now)
            break
        }
        end(slot, afterFlush: true, now: now)
    }

    /// Ends a connection. Its link is suspended.
    mutating func end(_ slot: Int, afterFlush: Bool, now: Instant) {
        guard connections[slot].phase != .closing else { return }
        detach(slot, now: now)
        renewals.remove(connections.key(slot))
        connections[slot].close()
        connections.disarm(slot)
        outputs.append(.close(connections.key(slot), afterFlush: afterFlush))
        if !afterFlush { connections.remove(slot) }
    }

    /// Queues a handshake frame.
    mutating func enqueue(_ type: FrameType, _ body: [UInt8], on slot: Int, now: Instant) {
        let byteCount = connections[slot].outbox.append(type, body)
        connections[slot].entry?.sentByteCount += byteCount
        transmits.request(slot, in: &connections, now: now)
    }
}

extension Notice {
    fileprivate var withoutReason: Notice {
        Notice(code: code, retryAfter: retryAfter, redirect: redirect, spokenVersions: spokenVersions)
    }
}

extension RelayEngine {
    /// Notes refused entries, and ends the connections of peers whose held frames were at fault.
    mutating func finishCall(_ fault: SessionRouter.HeldFault?, now: Instant) {
        while let refusal = sessions.refusedEntries.popLast() { note(refusal.note, on: refusal.connection) }
        if let fault { sessions.accountFaults.append(fault) }
        endHeldFaults(now: now)
    }

    /// Ends the connections of peers whose held frames were at fault.
    mutating func endHeldFaults(now: Instant) {
        while let fault = sessions.accountFaults.popLast() {
            if let connection = sessions.links[fault.slot].connection { fail(connection, fault.error, now: now) }
        }
    }
}
