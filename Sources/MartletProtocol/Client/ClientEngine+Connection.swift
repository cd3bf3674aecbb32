public import MartletWire

extension ClientEngine {
    // MARK: Events of the carrier

    /// The dial succeeded; `localAddress` tells later whether a path change took the address away.
    public mutating func connected(_ id: ConnectionID, localAddress: String?, now: Instant) {
        self.localAddress = localAddress
        perform(machine.handle(id == machine.backup ? .backupConnected(id) : .connectSuccess(id), now: now), now: now)
    }

    /// The dial failed.
    public mutating func connectFailed(
        _ id: ConnectionID, _ reason: ConnectionFailure = .unreachable, now: Instant
    ) {
        if id == machine.backup { return perform(machine.handle(.backupFailed(id), now: now), now: now) }
        guard id == machine.current else { return }
        failure = reason
        perform(machine.handle(.connectFailure(id), now: now), now: now)
    }

    /// The connection is over: the peer ended it, the network did, or it has been closed as asked.
    public mutating func closed(_ id: ConnectionID, byPeer: Bool, now: Instant) {
        guard id == machine.current else { return }
        if case .disconnecting = machine.state {
            return perform(machine.handle(.disconnectComplete(id), now: now), now: now)
        }
        lose(isEstablished ? (byPeer ? .closedByPeer : .lost) : .unreachable, now: now)
    }

    /// The credential for an attempt is there; nil when none is needed.
    public mutating func credential(_ credential: Credential?, for id: ConnectionID, now: Instant) {
        if id == machine.backup { return backup.credential = .ready(credential) }
        guard id == machine.current, case .fetching = self.credential, !isStopping else { return }
        self.credential = .ready(credential)
        if isCarrierUp { sayHello(now: now) }
    }

    /// No credential could be had for an attempt; the next one asks again.
    public mutating func credentialFailed(_ id: ConnectionID, now: Instant) {
        if id == machine.backup { return perform(machine.handle(.endBackup, now: now), now: now) }
        guard id == machine.current, case .fetching = credential, !isStopping else { return }
        lose(.unreachable, now: now)
    }

    // MARK: Answers of the machines

    mutating func perform(_ answer: ConnectionMachine.Answer, now: Instant) {
        guard case .act(let actions) = answer else { return }
        for action in actions {
            switch action {
            case .open(let id): dial(id)
            case .sendHello:
                isCarrierUp = true
                current.state = .handshaking
                if case .ready = credential { sayHello(now: now) }
            case .established: becomeOnline(now: now)
            case .close(let id, let graceful):
                outputs.append(.close(id, graceful: graceful || flushesOnClose))
                if graceful { current.state = .stopping }
            case .closed(_, let cause): connectionEnded(cause, now: now)
            case .startBackup(let id): dialBackup(id, now: now)
            case .promoted(let id):
                begin(id)
                credential = backup.credential
            }
        }
    }

    mutating func follow(_ answer: ReconnectPolicy.Answer, now: Instant) {
        switch answer {
        case .none: break
        case .now(let reason):
            if reason != .redirected { redirect = nil }
            perform(machine.handle(.reconnect, now: now), now: now)
        case .wait(let until, let reason): current.state = .waiting(until: until, reason)
        case .paused(let reason): current.state = .paused(reason)
        case .stopped(let reason): current.state = .stopped(reason)
        }
    }

    /// The current connection is of no use any more.
    mutating func lose(_ failure: ConnectionFailure, now: Instant) {
        self.failure = failure
        perform(machine.handle(.networkError(machine.current), now: now), now: now)
    }

    /// The peer broke a rule: it is told, and the link goes on with another connection (C-41).
    mutating func fail(_ error: LinkError, now: Instant) {
        handshake.append(.goaway, GoAway(Notice(code: error.code)).encode())
        outputs.append(.transmit(machine.current))
        flushesOnClose = true
        current.lastCode = error.code
        current.lastReason = nil
        lose(.lost, now: now)
    }

    private mutating func dial(_ id: ConnectionID) {
        begin(id)
        credential = .fetching
        current.state = .connecting(attempt: policy.attempt + 1)
        // Asked for anew for each attempt: a token that was good an hour ago need not be now (C-12).
        outputs.append(.fetchCredential(id))
        outputs.append(.connect(id, redirect: redirect))
    }

    /// Nothing of another connection is left.
    private mutating func begin(_ id: ConnectionID) {
        isCarrierUp = false
        isTransmitAsked = false
        owesGoodbye = false
        flushesOnClose = false
        failure = nil
        handshake.removeAll()
        handshakeConnection = id
        framer = Framer(maxBodyByteCount: maxEarlyBodyByteCount)
    }

    /// The longest body that may come before the welcome: datagrams that overtake it are passed over, and may be as
    /// long as any (C-19).
    private var maxEarlyBodyByteCount: Int {
        switch configuration.carrier {
        case .reliable: Limits.maxHandshakeBodyByteCount
        case .unreliable: max(Limits.maxHandshakeBodyByteCount, configuration.limits.maxBodyByteCount)
        }
    }

    private mutating func connectionEnded(_ cause: ConnectionMachine.CloseCause, now: Instant) {
        link.detach()
        framer = nil
        isCarrierUp = false
        owesGoodbye = false
        timers.cancel(.frame)
        timers.cancel(.welcome)
        credential = .none
        if !flushesOnClose { handshake.removeAll() }
        if awaitsNewLink { strayHelloUntil = now + ClientEngine.strayHelloLifetime }
        awaitsNewLink = false
        guard !isStopping else { return finishStop() }
        switch cause {
        case .requested, .replaced: return
        case .connectFailed, .connectTimedOut, .handshakeTimedOut, .rejected, .lost: break
        }
        let failure = self.failure ?? .unreachable
        current.lastFailure = failure
        follow(policy.failed(failure, now: now, random: random.next()), now: now)
    }

    // MARK: Handshake

    private mutating func sayHello(now: Instant) {
        guard case .ready(let credential) = credential else { return }
        if ticket == nil { beginLink(now: now) }
        let resume = ticket.map { ResumePoint(link: $0.link, token: $0.token, positions: link.positions) }
        let hello = Hello(
            spokenVersions: [configuration.features.spokenVersion], features: configuration.features,
            limits: configuration.limits, device: configuration.device,
            account: configuration.account, credential: credential, agent: configuration.agent, resume: resume)
        handshake.append(.hello, hello.encode())
        awaitsNewLink = ticket == nil
        link.attach(configuration.carrier, isEarly: true, now: now)
        handOverAll(now: now)
        expectWelcome(now: now)
    }

    /// A fresh link: rooms are opened on it again and what was not accepted is sent again (W-46, C-36).
    private mutating func beginLink(now: Instant) {
        pastCounters = pastCounters.adding(link.counters)
        link = Link(
            role: .client, limits: ClientEngine.earlyLimits(configuration), features: [], began: now,
            firstSequence: configuration.firstSequence)
        opens = TokenBucket(burst: Link.ownOpenBurst, perMinute: Link.ownOpensPerMinute)
        roomOfSession.removeAll()
        for number in requests.keys.sorted() where requests[number]?.isHanded == true {
            finishRequest(number, .failed(.resumeRejected), now: now)  // S-57
        }
        for id in roomIDs {
            rooms[id]!.endSession()
            openSession(id, now: now)
        }
    }

    private mutating func becomeOnline(now: Instant) {
        timers.cancel(.welcome)
        establishedCount += 1
        current.state = .online
        current.reconnects = establishedCount - 1
        current.lastFailure = nil
        current.lastCode = nil
        current.lastReason = nil
        redirect = nil
        policy.established(resumed: link.counters.resumes > 0, now: now)
        heartbeat.restart(now: now)
        handOverAll(now: now)
        declineRequests(now: now)
        for id in roomIDs {
            handRequests(id, now: now)
            reportSent(id)
        }
    }

    mutating func take(_ welcome: Welcome, now: Instant) throws(LinkError) {
        // What does not answer the hello is not begun (C-20).
        guard welcome.version.major == WireVersion.current.major, (welcome.resumed == nil) == (ticket == nil) else {
            throw .peer(.protocolViolation)
        }
        // Whatever the server says: nothing beyond what was offered (C-20).
        let limits = welcome.limits.negotiated(with: configuration.limits)
        let features = welcome.features.intersection(configuration.features).available(in: welcome.version)
        if let resumed = welcome.resumed {
            guard link.canResume(from: resumed), link.canAdopt(limits, features: features) else {
                // Nothing can go on from there: the next connection begins a new link (C-32).
                ticket = nil
                throw .peer(.protocolViolation)
            }
            current.resumes += 1
        }
        link.adopt(limits, features: features)
        link.deflatesPackets = configuration.compressesMessages
        link.confirm(welcome.resumed, now: now)
        awaitsNewLink = false
        ticket = Ticket(link: welcome.link, token: welcome.resumeToken)
        serverInterval = welcome.heartbeatInterval
        current.epoch = welcome.epoch.rawValue
        perform(machine.handle(.welcome(machine.current), now: now), now: now)
    }

    mutating func take(_ reject: Reject, now: Instant) {
        if reject.notice.code == .resumeRejected, ticket != nil {  // C-34
            ticket = nil
            // Without order the old link's early frames may come behind the next hello, as the new link's (C-34).
            guard configuration.carrier == .reliable else {
                return perform(machine.handle(.reconnect, now: now), now: now)
            }
            return sayHello(now: now)
        }
        note(reject.notice, now: now)
        perform(machine.handle(.reject(machine.current), now: now), now: now)
    }

    /// The server ends this connection; what it says decides about the next.
    mutating func take(_ goAway: GoAway, now: Instant) {
        note(goAway.notice, now: now)
        perform(machine.handle(.networkError(machine.current), now: now), now: now)
    }

    // What the server says decides when, where and whether to try again (C-43).
    private mutating func note(_ notice: Notice, now: Instant) {
        awaitsNewLink = false
        current.lastCode = notice.code
        current.lastReason = notice.reason
        if let target = notice.redirect { redirect = target }
        switch notice.code {
        case .unauthenticated: failure = .unauthenticated
        case .forbidden: failure = .forbidden
        case .revoked: failure = .revoked
        case .replaced where now < strayHelloUntil:
            // Perhaps by a hello of our own that came late: the next link ends that one's (C-39).
            strayHelloUntil = .zero
            failure = .lost
        case .replaced: failure = .replaced
        case .unsupportedVersion: failure = .unsupportedVersion
        case _ where notice.redirect != nil: failure = .redirected(retryAfter: notice.retryAfter)
        case .draining, .serverBusy, .tooManyLinks: failure = .refused(retryAfter: notice.retryAfter)
        default: failure = notice.retryAfter == nil ? .lost : .refused(retryAfter: notice.retryAfter)
        }
    }
}

extension LinkCounters {
    /// Both links' counts together.
    func adding(_ other: LinkCounters) -> LinkCounters {
        var sum = self
        sum.retransmissions += other.retransmissions
        sum.duplicates += other.duplicates
        sum.framesSent += other.framesSent
        sum.framesReceived += other.framesReceived
        sum.bytesSent += other.bytesSent
        sum.bytesReceived += other.bytesReceived
        sum.resumes += other.resumes
        sum.skipped += other.skipped
        sum.roundTripSamples += other.roundTripSamples
        return sum
    }
}
