import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire
import Synchronization

/// Performs the engine's outputs and returns the results.
///
/// Immediate results are reported at once to the engine, whose outputs are being drained. Results of tasks are separate
/// events of the loop.
extension RelayDriver {
    func perform(_ output: RelayOutput, now: Instant) {
        switch output {
        case .link(let output): perform(output, now: now)
        case .call(let id, let call): perform(call, id, now: now)
        case .policyOverdue(let room): parts.onEvent(.policyFailed(room, RoomPolicyTimeout()))
        case .store(let questions): ask(questions)
        case .undelivered(let reports): report(reports)
        case .send(let loop, let messages): send(messages, to: loop)
        case .bus(let messages, let hasLost): port?.send(messages, hasLost: hasLost)
        case .commandEnded(let id, let result): commands.removeValue(forKey: id)?.resume(returning: result)
        case .note(let note, let key): report(note, on: key)
        }
    }

    private func perform(_ output: LinkServerOutput, now: Instant) {
        switch output {
        case .authenticate(let key, let request): authenticate(key, request, now: now)
        case .continueExchange(let key, let message): continueExchange(key, message, now: now)
        case .transmit:
            acceptor.perform(output)
            noteUnsent()
        case .close, .pauseReading, .resumeReading: acceptor.perform(output)
        case .transfer(let key, let loop): transfer(key, to: loop)
        case .note(let note, let key): report(note, on: key)
        }
    }

    private func report(_ note: LinkNote, on key: ConnectionKey?) {
        // The engine has refused a message of an exchange without the authenticator. The exchange counts as a failed
        // authentication (C-67, C-69).
        if case .refused(_, .unauthenticated, _) = note, let peer = key.flatMap({ peer($0) }),
            let exchange = peer.exchange.take()
        {
            peer.admitted.authenticationEnded(of: exchange.peer, .refused(.unauthenticated), now: now)
        }
        // The limits of C-67 apply to the next hello too.
        if case .refused(_, .resumeRejected, _) = note, let peer = key.flatMap({ peer($0) }) {
            peer.admitted.handshakeResumed()
        }
        report(.link(note), on: key)
    }

    private func report(_ note: RelayNote, on key: ConnectionKey?) {
        parts.onEvent(.note(note, peer: key.flatMap { acceptor[$0] }?.transport.remoteAddress))
    }

    // MARK: - The authenticator

    /// Delays the authentication of an account, or refuses it, after failures (C-67, Specs/hostile.md row 53).
    private func authenticate(_ key: ConnectionKey, _ claim: AuthenticationRequest, now: Instant) {
        guard let transport = acceptor[key]?.transport else { return }
        peer(key)?.agent = claim.agent
        var request = claim
        let security = transport.security
        request.hasTLS = security != nil
        request.certificate = security?.peerCertificate
        if request.mechanism != nil {
            request.channelBinding = transport.exportSecret(
                label: ChannelBinding.exporterLabel, byteCount: ChannelBinding.exporterByteCount)
        }
        start(on: key, AskedPeer(request), now: now) { [parts, request] in await parts.authenticate(request) }
    }

    private func continueExchange(_ key: ConnectionKey, _ message: Credential, now: Instant) {
        guard let pending = peer(key)?.exchange.take() else { return }
        start(on: key, pending.peer, now: now) {
            [parts, account = pending.peer.account, exchange = pending.exchange] in
            await parts.proceed(exchange, of: account, with: message)
        }
    }

    /// Calls the authenticator at once, checks the limits again after a delay, or refuses the peer. The limits apply to
    /// each message of an exchange, because authentications on other connections may have failed since it began, or be
    /// in progress (C-67, Specs/hostile.md row 64).
    private func start(
        on key: ConnectionKey, _ asked: AskedPeer, now: Instant,
        _ call: @escaping @Sendable () async -> AuthenticationVerdict
    ) {
        guard let peer = peer(key) else { return }
        switch peer.admitted.decisionBegan(of: asked, now: now) {
        case .refuse(let notice): engine.authenticated(key, .refused(notice, cause: notice.reason), now: now)
        case .decide: ask(key, asked, now: now, call)
        case .wait(let delay):
            var asked = asked
            asked.waited += delay
            let timer = LoopTimer(on: loop) { [weak self, asked] in
                guard let self, let peer = self.peer(key) else { return }
                peer.authenticationDelay = nil
                self.start(on: key, asked, now: self.enter(), call)
            }
            peer.authenticationDelay = timer
            timer.set(deadline: (now + delay).nanoseconds)
        }
    }

    private func ask(
        _ key: ConnectionKey, _ asked: AskedPeer, now: Instant,
        _ call: @escaping @Sendable () async -> AuthenticationVerdict
    ) {
        guard let peer = peer(key) else { return }
        guard authentications < parts.configuration.maxAuthentications else {
            peer.admitted.authenticationEnded(of: asked, .refused(AuthenticationFailure(parts.busy)), now: now)
            return engine.authenticated(key, .refused(parts.busy), now: now)
        }
        authentications += 1
        authenticationsStarted += 1
        let number = authenticationsStarted
        peer.authentication = loop.startTask { [loop, admitted = peer.admitted] in
            let verdict = await call()
            loop.execute {
                admitted.authenticationEnded(of: asked, verdict, now: self.now)
                self.authenticated(key, asked, number, verdict)
            }
        }
    }

    private func authenticated(
        _ key: ConnectionKey, _ asked: AskedPeer, _ number: UInt64, _ verdict: AuthenticationVerdict
    ) {
        authentications -= 1
        peer(key)?.authentication = nil
        let answer: AuthenticationAnswer
        switch verdict {
        case .accepted(let identity, _) where wasRevoked(identity.account, sinceAuthentication: number):
            answer = .refused(Notice(code: .revoked))
        case .accepted(let identity, let final):
            let presented = asked.presentedToken.map { TokenDigest(of: $0) }
            answer = .accepted(identity, .fresh(using: loop.random), presented: presented, final: final)
        case .challenge(let message, let exchange):
            peer(key)?.exchange = PendingExchange(exchange, of: asked)
            answer = .challenge(message)
        case .refused(let failure): answer = .refused(failure.notice, cause: failure.cause ?? failure.notice.reason)
        }
        if authentications == 0 { revokedAt.removeAll() }
        engine.authenticated(key, answer, now: enter())
    }

    // MARK: - Calls

    private func perform(_ call: RelayCall, _ id: RelayCallID, now: Instant) {
        if let result = parts.immediateResult(of: call) { return engine.completed(id, result, now: now) }
        let isDrain = if case .administer(let request) = call { request.isDrain } else { false }
        loop.startTask { [parts, loop] in
            let result = await parts.perform(call)
            loop.execute {
                if isDrain, case .answer(let answer) = result { self.drainsAfterTurn = answer.status == .none }
                self.engine.completed(id, result, now: self.enter())
            }
        }
    }

    /// Drains the relay, as an administrator has requested in this turn.
    func drainIfRequested() {
        guard drainsAfterTurn else { return }
        drainsAfterTurn = false
        loop.startTask { [parts] in
            _ = await parts.relay.withLock(\.relay)?.drain(within: parts.configuration.drainTimeout)
        }
    }

    // MARK: - The store

    /// Passes the questions of a turn to the store. Without free space of the disk, messages are refused.
    func ask(_ questions: [StoreQuestion]) {
        let isFull = parts.configuration.disk?.level == .exhausted
        let start = Instant(nanoseconds: loop.currentTime)
        var calls: [RoomStoreCall] = []
        calls.reserveCapacity(questions.count)
        for question in questions {
            if isFull, case .append(let append) = question {
                parts.appendEnded(isDone: false)
                let answer = Result<UInt64, RoomStoreError>.failure(.other(DiskFull()))
                engine.answered(.append(append.room, upTo: nil, messageCount: 0, answer), now: now)
            } else {
                calls.append(question.call { self.storeAnswered($0, askedAt: start) })
            }
        }
        storeCalls += calls.count
        isAskingStore = true
        parts.store.perform(calls)
        isAskingStore = false
    }

    /// Takes an answer of the store at once if the store gives it within `perform`, and otherwise in a turn of the
    /// loop, together with those that have arrived since the last turn.
    private func storeAnswered(_ answer: StoreAnswer, askedAt start: Instant) {
        let answer = (answer, Instant(nanoseconds: loop.currentTime) - start)
        if loop.isOnLoop, isAskingStore { return take(answer) }
        let isFirst = storeAnswers.withLock { answers in
            answers.append(answer)
            return answers.count == 1
        }
        if isFirst { loop.execute { self.takeStoreAnswers() } }
    }

    /// The store reports rooms that other relays have changed.
    func changed(_ revisions: [RoomRevision]) {
        enter()
        for revision in revisions { engine.changed(revision, now: now) }
    }

    private func takeStoreAnswers() {
        enter()
        let answers = storeAnswers.withLock { answers in
            defer { answers = [] }
            return answers
        }
        for answer in answers { take(answer) }
    }

    private func take(_ answer: (StoreAnswer, duration: Duration)) {
        storeCalls -= 1
        parts.note(answer.0)
        measured.answered(answer.0, after: answer.duration)
        engine.answered(answer.0, now: now)
    }

    // MARK: - Attachments

    /// Removes expired attachments in steps.
    func removeExpiredAttachments() {
        guard let store = parts.attachments else { return }
        storeCalls += 1
        loop.startTask { [loop, parts] in
            do {
                while !parts.isDraining.load(ordering: .relaxed), try await store.removeExpired() {}
            } catch {
                parts.onEvent(.attachmentsFailed(error))
            }
            loop.execute {
                self.storeCalls -= 1
                self.enter()
            }
        }
    }
}

/// The disk has no free space for messages.
private struct DiskFull: Error {}
