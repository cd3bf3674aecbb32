import MartletWire

extension RelayEngine {
    /// Takes bytes that arrived on a connection, in whatever pieces; they are borrowed.
    ///
    /// What goes beyond the connection's budget of a turn is kept, `.pauseReading` asks for no more of it, and
    /// `deadlinePassed` reads on (R-50, Specs/hostile.md row 42).
    public mutating func receive(_ bytes: RawSpan, on key: ConnectionKey, now: Instant) {
        guard let slot = slot(key), connections[slot].phase != .closing else { return }
        connections[slot].lastReceived = now
        connections[slot].entry?.receivedByteCount += bytes.byteCount
        guard connections[slot].phase != .authenticating else { return hold(bytes, on: slot, now: now) }
        guard !connections[slot].hasUnread else { return unread.extend(key, with: bytes) }
        turn.begin(key)
        read(bytes, on: slot, now: now)
    }

    /// Reads as far as the budget goes; the rest waits.
    private mutating func read(_ bytes: RawSpan, on slot: Int, now: Instant) {
        guard let count = parse(bytes, on: slot, now: now) else { return }
        connections[slot].hasUnread = true
        unread.append(bytes.extracting(droppingFirst: count), of: key(slot))
        outputs.append(.pauseReading(key(slot)))
    }

    /// Reads on for the connection that has waited for longest, as far as a budget goes.
    mutating func readOn(now: Instant) {
        while var part = unread.popFirst() {
            guard let slot = slot(part.connection), connections[slot].phase != .closing else { continue }
            turn.beginAnew(part.connection)
            let count = parse(part.bytes.rawBytes.extracting(droppingFirst: part.readByteCount), on: slot, now: now)
            if let count {
                part.readByteCount += count
                return unread.append(part)
            }
            return finishUnread(part, now: now)
        }
    }

    /// All that waited of a connection has been read.
    private mutating func finishUnread(_ part: UnreadInput.Part, now: Instant) {
        guard let slot = slot(part.connection), connections[slot].phase != .closing else { return }
        connections[slot].hasUnread = false
        if part.isLast { return endOfStream(part.connection, now: now) }
        // One that waits for its hello's answer is read again after that.
        if connections[slot].phase != .authenticating { outputs.append(.resumeReading(part.connection)) }
    }

    /// The shell's answer to `.authenticate`.
    public mutating func authenticated(_ key: ConnectionKey, _ answer: AuthenticationAnswer, now: Instant) {
        guard let slot = slot(key), connections[slot].phase == .authenticating,
            let entry = connections[slot].entry, let hello = entry.hello
        else { return }
        entry.hello = nil
        switch answer {
        case .refused(let notice):
            outputs.append(.note(.refused(hello.account, notice.code), on: key))
            return say(.reject, notice, on: slot, now: now)
        case .accepted(let account, let grant, let presented):
            let admission = Admission(hello: hello, account: account, grant: grant, presented: presented)
            let loop = place.loop(of: account)
            guard loop == place.index else {
                entry.admission = admission
                return outputs.append(.transfer(key, loop: loop))
            }
            finishHandshake(slot, entry, admission, now: now)
        }
    }

    /// Admits who has been authenticated, and takes up what came early, in its order (C-18).
    mutating func finishHandshake(
        _ slot: Int, _ entry: ConnectionEntry, _ admission: Admission, now: Instant
    ) {
        guard !revocations.covers(admission.account, provenAt: entry.askedAt) else {
            outputs.append(.note(.refused(admission.account, .revoked), on: key(slot)))
            return say(.reject, Notice(code: .revoked), on: slot, now: now)
        }
        admit(
            slot, admission.hello, as: DeviceKey(account: admission.account, device: admission.hello.device),
            admission.grant, admission.presented, now: now)
        guard phase(slot) != .closing else { return }
        outputs.append(.resumeReading(key(slot)))
        let held = entry.held
        entry.held = []
        // The handshake's time is over: nobody is woken for it.
        connections[slot].armedAt = nil
        armConnection(slot)
        turn.beginAnew(key(slot))
        if !held.isEmpty { read(held.rawBytes, on: slot, now: now) }
    }

    /// Ends a connection for a fault of the peer's and tells it where that is possible (C-41).
    mutating func fail(_ slot: Int, _ error: LinkError, now: Instant) {
        guard connections[slot].phase != .closing else { return }
        counted.faults += 1
        outputs.append(.note(.faulted(error.code), on: key(slot)))
        // C-22
        let spoken: [WireVersion] = error.code == .unsupportedVersion ? configuration.features.spokenVersions : []
        // A hello whose fields are wrong is answered like any that is not let in (C-13).
        let type: FrameType = error.code == .invalidHello ? .reject : .goaway
        say(type, Notice(code: error.code, spokenVersions: spoken), on: slot, now: now)
    }

    /// Ends a connection; its link waits to be resumed.
    mutating func end(_ slot: Int, afterFlush: Bool, now: Instant) {
        guard connections[slot].phase != .closing else { return }
        detach(slot, now: now)
        connections[slot].phase = .closing
        connections[slot].entry?.held = []
        timers.cancel(TimerKey.connection(slot))
        outputs.append(.close(key(slot), afterFlush: afterFlush))
        if !afterFlush { forget(slot) }
    }

    mutating func connectionDeadline(_ slot: Int, now: Instant) {
        guard connections.isLive(slot) else { return }
        connections[slot].armedAt = nil
        guard let due = connections[slot].deadline(configuration) else { return }
        guard due.at <= now else { return armConnection(slot) }
        if due.code == .idleTimeout { return end(slot, afterFlush: false, now: now) }
        fail(slot, .peer(due.code), now: now)
    }

    /// The timer is only ever moved to the earliest that was known; what has moved on is seen when it fires.
    mutating func armConnection(_ slot: Int) {
        guard connections.isLive(slot), let due = connections[slot].deadline(configuration)?.at else { return }
        if let armedAt = connections[slot].armedAt, armedAt <= due { return }
        connections[slot].armedAt = due
        timers.set(TimerKey.connection(slot), at: due)
    }

    func slot(_ key: ConnectionKey) -> Int? {
        let slot = Int(key.slot)
        return connections.isLive(slot) && connections[slot].generation == key.generation ? slot : nil
    }

    @inline(__always)
    private func phase(_ slot: Int) -> RelayConnection.Phase? {
        connections.isLive(slot) ? connections[slot].phase : nil
    }

    func key(_ slot: Int) -> ConnectionKey {
        ConnectionKey(slot: Int32(slot), generation: connections[slot].generation)
    }

    mutating func forget(_ slot: Int) {
        guard connections.isLive(slot) else { return }
        memory.changeConnections(by: -Int(connections[slot].chargedByteCount))
        connections.remove(slot)
        timers.cancel(TimerKey.connection(slot))
        counted.connections -= 1
    }

    // MARK: Bytes

    /// The framer that holds what has come of a frame, or the one that serves all other connections between frames.
    private mutating func framer(for slot: Int) -> FramerBox {
        if let own = connections[slot].framer { return own }
        let box = spareFramer ?? FramerBox(Framer(maxBodyByteCount: 0))
        spareFramer = nil
        box.framer.maxBodyByteCount = Int(connections[slot].maxBodyByteCount)
        box.framer.maxPacketsPerCall = TurnBudget.packetsPerCall
        if let link = connections[slot].linkSlot, links[link].link.readsPackets {
            box.framer.serve(links[link].packetReader, deflated: links[link].link.features.contains(.sharedDeflate))
        } else {
            box.framer.serve()
        }
        return box
    }

    /// The framer stays with its connection as long as it holds something; one that has failed serves nobody else.
    private mutating func takeBack(_ box: FramerBox, from slot: Int) {
        guard connections.isLive(slot), connections[slot].phase != .closing else { return }
        if box.framer.allowsPackets, let link = connections[slot].linkSlot {
            links[link].packetReader = box.framer.reader
        }
        if !box.framer.isBetweenUnits {
            connections[slot].framer = box
            memory.changeConnections(by: connections[slot].takeChargeChange())
        } else {
            if connections[slot].framer != nil {
                connections[slot].framer = nil
                memory.changeConnections(by: connections[slot].takeChargeChange())
            }
            spareFramer = box
        }
    }

    /// Bytes kept of what was received and not understood yet.
    mutating func heldByteCount(of slot: Int) -> Int {
        (connections[slot].framer?.framer.storageByteCount ?? 0) + (connections[slot].entry?.held.count ?? 0)
    }

    private mutating func hold(_ bytes: RawSpan, on slot: Int, now: Instant) {
        // What nobody has vouched for is bounded (C-9).
        guard let entry = connections[slot].entry,
            entry.held.count + bytes.byteCount <= RelayConnection.maxHeldByteCount
        else { return fail(slot, .peer(.protocolViolation), now: now) }
        entry.held.append(bytes: bytes)
    }

    private mutating func parse(_ bytes: RawSpan, on slot: Int, now: Instant) -> Int? {
        let box = framer(for: slot)
        defer { takeBack(box, from: slot) }
        var consumed = 0
        var frames = 0
        while consumed < bytes.byteCount || box.framer.hasWaitingFrames {
            guard !turn.isSpent else { return consumed }
            var failure: LinkError?
            let before = consumed
            do throws(WireError) {
                consumed += try box.framer.consumeContents(bytes.extracting(droppingFirst: consumed)) {
                    frames += 1
                    do throws(LinkError) { return try take($0, $1, on: slot, now: now) } catch { failure = error }
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
            switch phase(slot) {
            case nil, .closing: return nil
            case .authenticating:
                hold(bytes.extracting(droppingFirst: consumed), on: slot, now: now)
                return nil
            case .attached(let link): links[link].link.noteReceived(byteCount: consumed - before)
            case .awaitingHello: break
            }
        }
        checkPartial(slot, box, hadFrames: frames > 0, now: now)
        return nil
    }

    /// Packets cost beside their frames; false when they were so many without any that the connection is over (S-59).
    private mutating func chargePackets(_ box: FramerBox, on slot: Int, now: Instant) -> Bool {
        let counts = box.framer.takePacketCounts()
        turn.charge(counts.packets + counts.streams * TurnBudget.streamUnits)
        let unproductive = counts.withoutFrames + counts.streams * TurnBudget.streamUnits
        guard unproductive > 0, let link = connections[slot].linkSlot else { return true }
        do throws(LinkError) { try links[link].link.chargeUnproductive(unproductive, now: now) } catch {
            fail(slot, error, now: now)
            return false
        }
        return true
    }

    /// A first frame that is not hello is refused by its header, before its body (Specs/hostile.md row 4); a frame that
    /// is not complete has a deadline (row 5; C-13; W-32).
    private mutating func checkPartial(_ slot: Int, _ box: FramerBox, hadFrames: Bool, now: Instant) {
        if connections[slot].phase == .awaitingHello, connections[slot].entry?.isPassingOver == false,
            let header = box.framer.pendingHeader, header.type != .hello
        {
            return fail(slot, .peer(.expectedHello), now: now)
        }
        let before = connections[slot].partialSince
        if box.framer.bufferedByteCount == 0 {
            connections[slot].partialSince = nil
        } else if before == nil || hadFrames {
            connections[slot].partialSince = now
            if before == nil { armConnection(slot) }
        }
    }

    private mutating func take(
        _ header: FrameHeader, _ content: FrameContent, on slot: Int, now: Instant
    ) throws(LinkError) -> FramerStep {
        switch phase(slot) {
        case .awaitingHello:
            guard header.type == .hello else {
                // Early frames of a link whose resume was refused: the client begins again with another hello. And
                // datagrams may overtake the hello; what is not acknowledged comes again (C-13, C-34).
                guard connections[slot].entry?.isPassingOver == true || connections[slot].carrier == .unreliable else {
                    throw .peer(.expectedHello)
                }
                turn.charge(frameOf: content.byteCount)
                return turn.isSpent ? .stop : .proceed
            }
            try content.withBody { body throws(LinkError) in try takeHello(header, body, on: slot, now: now) }
            return .stop
        case .attached(let link):
            try receive(header, content, onLink: link, now: now)
            if case .attached = phase(slot), !turn.isSpent { return .proceed }
            return .stop
        case .authenticating, .closing, nil:
            return .stop
        }
    }

    // MARK: Hello

    private mutating func takeHello(
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
        if let drainNotice {
            say(.reject, drainNotice, on: slot, now: now)
            return
        }
        connections[slot].phase = .authenticating
        connections[slot].entry?.hello = hello
        connections[slot].entry?.askedAt = now
        connections[slot].entry?.isPassingOver = false
        connections[slot].partialSince = nil
        armConnection(slot)
        outputs.append(.pauseReading(key(slot)))  // C-9
        outputs.append(
            .authenticate(
                key(slot),
                AuthenticationRequest(
                    account: hello.account, device: hello.device, credential: hello.credential, agent: hello.agent,
                    presentedToken: hello.resume?.token)))
    }

    private mutating func admit(
        _ slot: Int, _ hello: Hello, as who: DeviceKey, _ grant: TokenGrant, _ presented: TokenDigest?, now: Instant
    ) {
        // Minors only add: a client that speaks later ones alone takes ours, one that speaks an earlier one gets that
        // (W-40, C-22).
        let spoken = hello.spokenVersions.filter { $0.major == WireVersion.current.major }.max() ?? .current
        let version = min(spoken, configuration.features.spokenVersion)
        let features = hello.features.intersection(configuration.features).available(in: version)  // W-41
        let limits = hello.limits.negotiated(with: configuration.limits)
        var resumed: [SessionPosition]?
        let link: Int
        if let point = hello.resume {
            guard let found = resumable(point, by: who, presented),
                links[found].link.canAdopt(limits, features: features)
            else { return refuseResume(slot, who, now: now) }
            link = found
            // Fenced first: whose the link is must be settled before anybody is welcomed (W-47, C-32, C-38,
            // Specs/hostile.md row 22).
            if let older = links[link].connection {
                links[link].connection = nil
                say(.goaway, Notice(code: .staleEpoch), on: older, now: now)
            }
            links[link].epoch = Epoch(rawValue: links[link].epoch.rawValue &+ 1)
            links[link].token = grant.digest
            links[link].link.adopt(limits, features: features)
            for handle in links[link].handles { call(.setFeatures(handle, features)) }
            attach(link, to: slot, now: now)
            links[link].link.confirm(point.positions, now: now)
            resumed = links[link].link.positions
            counted.resumes += 1
            outputs.append(.note(.resumed(who, links[link].id, epoch: links[link].epoch), on: key(slot)))
        } else {
            removeLink(of: who, now: now)
            let account = accounts.place(of: who.account, now: now)
            if let code = makePlace(forLinkOf: account, now: now) {
                return say(.reject, Notice(code: code), on: slot, now: now)
            }
            link = makeLink(for: who, of: account, limits, features, grant.digest, now: now)
            attach(link, to: slot, now: now)
            outputs.append(.note(.linked(who, links[link].id), on: key(slot)))
        }
        let welcome = Welcome(
            version: version, features: features, limits: limits, account: who.account, link: links[link].id,
            resumeToken: grant.token, epoch: links[link].epoch, resumeLifetime: configuration.resumeLifetime,
            heartbeatInterval: nil, resumed: resumed)
        enqueue(.welcome, welcome.encode(), on: slot, now: now)
        touch(link)
    }

    // Whatever is wrong, the answer is the same (C-31, C-35).
    private mutating func resumable(_ point: ResumePoint, by who: DeviceKey, _ presented: TokenDigest?) -> Int? {
        guard let presented,
            let slot = linkOfID.find(point.link, where: { links[$0].id == point.link }), links[slot].who == who,
            links[slot].token == presented, links[slot].link.canResume(from: point.positions)
        else { return nil }
        return slot
    }

    /// A resume is refused whole; the connection stays for a fresh hello where that cannot be overtaken by the old
    /// link's early frames (C-34, C-35, W-38), but not for ever (Specs/hostile.md row 23).
    private mutating func refuseResume(_ slot: Int, _ who: DeviceKey, now: Instant) {
        counted.resumesRefused += 1
        outputs.append(.note(.refused(who.account, .resumeRejected), on: key(slot)))
        connections[slot].entry?.resumeTries += 1
        connections[slot].phase = .awaitingHello
        connections[slot].entry?.isPassingOver = true
        let notice = Notice(code: .resumeRejected)
        guard connections[slot].carrier == .reliable, let tries = connections[slot].entry?.resumeTries,
            tries < configuration.maxResumeTries
        else {
            return say(.reject, notice, on: slot, now: now)
        }
        enqueue(.reject, Reject(notice).encode(), on: slot, now: now)
    }
}
