import MartletAuthentication
import MartletLink
import MartletTransport
import MartletWire

/// Performs the engine's outputs and returns the results.
///
/// Immediate results are reported at once to the engine, whose outputs are being drained. Results of tasks are separate
/// events of the loop.
extension RelayDriver {
    func perform(_ output: RelayOutput, now: Instant) {
        switch output {
        case .link(let output): perform(output, now: now)
        case .authorize(let question, let request): authorize(question, request, now: now)
        case .policyOverdue(let room): parts.onEvent(.policyFailed(room, RoomPolicyTimeout()))
        case .load(let room): load(room)
        case .append(let room, let entries, let erasures): append(entries, erasing: erasures, to: room)
        case .saveProgress(let room, let progress): save(progress, of: room)
        case .saveRoles(let room, let roles, let creation): save(roles, of: room, creation)
        case .saveMemberships(let room, let changes): save(changes, of: room)
        case .readMemberships(let id, let read): readMemberships(id, read)
        case .accountRequest(let id, let request): answer(request, for: id)
        case .read(let room, let id, let range): read(range, of: room, id)
        case .attachment(let id, let call): perform(call, id)
        case .request(let room, let member, let request): answer(request, of: member, in: room)
        case .undelivered(let reports): report(reports)
        case .send(let loop, let messages): send(messages, to: loop)
        case .commandEnded(let id, let result): commands.removeValue(forKey: id)?.resume(returning: result)
        case .note(let note, let key): report(note, on: key)
        }
    }

    private func perform(_ output: LinkServerOutput, now: Instant) {
        switch output {
        case .authenticate(let key, let request): authenticate(key, request, now: now)
        case .continueExchange(let key, let message): continueExchange(key, message, now: now)
        case .transmit:
            // The store works while the connections are written to.
            submitAppends()
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
        var request = claim
        request.certificate = transport.security?.peerCertificate
        if request.mechanism != nil {
            request.channelBinding = transport.exportSecret(
                label: ChannelBinding.exporterLabel, byteCount: ChannelBinding.exporterByteCount)
            // TLS without a channel binding permits no exchange (C-68).
            if request.channelBinding == nil, transport.security != nil {
                let cause = "the TLS connection has no channel binding"
                return engine.authenticated(key, .refused(Notice(code: .unauthenticated), cause: cause), now: now)
            }
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

    // MARK: - The room policy

    private func authorize(_ question: QuestionID, _ request: RoomAuthorizationRequest, now: Instant) {
        if let policy = parts.policy as? any ImmediateRoomPolicy {
            return engine.authorized(question, policy.immediateDecision(on: request), now: now)
        }
        loop.startTask { [parts, loop] in
            let decision = await parts.decide(request)
            loop.execute { self.engine.authorized(question, decision, now: self.enter()) }
        }
    }

    // MARK: - The store

    private func load(_ room: RoomName) {
        if let store = parts.immediateStore {
            return engine.loaded(room, parts.storing(room) { try store.load(room) }.value)
        }
        callStore(room) { store in
            try await store.load(room)
        } then: { driver, snapshot in
            driver.engine.loaded(room, snapshot.value)
        }
    }

    private func append(_ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName) {
        let offset = entries.last?.offset
        if parts.configuration.disk?.level == .exhausted {
            return appended(entries.count, to: room, upTo: offset, .failed)
        }
        if let store = parts.immediateStore {
            let eraser = erasures.isEmpty ? nil : parts.immediateErasureStore
            let done = parts.storing(room) {
                try eraser?.append(entries, erasing: erasures, to: room) ?? store.append(entries, to: room)
            }
            return appended(entries.count, to: room, upTo: offset, done)
        }
        guard parts.groupingStore == nil else {
            appends.append(RoomAppend(room: room, entries: entries, erasures: erasures))
            return
        }
        let eraser = erasures.isEmpty ? nil : parts.erasureStore
        callStore(room) { store in
            guard let eraser else { return try await store.append(entries, to: room) }
            return try await eraser.append(entries, erasing: erasures, to: room)
        } then: { driver, done in
            driver.appended(entries.count, to: room, upTo: offset, done)
        }
    }

    /// Passes the appends of this turn to the store.
    func submitAppends() {
        guard let store = parts.groupingStore, !appends.isEmpty else { return }
        let submitted = appends
        appends = []
        storeCalls += 1
        store.append(submitted) { [loop] results in
            loop.execute {
                self.storeCalls -= 1
                self.enter()
                for (append, result) in zip(submitted, results) {
                    let done = self.parts.storing(append.room) { try result.get() }
                    self.appended(append.entries.count, to: append.room, upTo: append.entries.last?.offset, done)
                }
            }
        }
    }

    private func appended(_ count: Int, to room: RoomName, upTo offset: UInt64?, _ done: StoreAnswer<UInt64>) {
        parts.appendEnded(done)
        switch done {
        case .done(let first): engine.stored(room, upTo: offset, first: first, messageCount: count)
        case .failed, .tooManyRooms, .rolesFull: engine.stored(room, upTo: nil, messageCount: count)
        case .logLost: engine.logLost(room)
        }
    }

    private func save(_ progress: [AccountName: AccountProgress], of room: RoomName) {
        if let store = parts.immediateStore {
            _ = parts.storing(room) { try store.saveProgress(progress, of: room) }
            return
        }
        callStore(room) { store in
            try await store.saveProgress(progress, of: room)
        } then: { _, _ in
        }
    }

    /// Notifies the store of rooms that have members. An error is reported for the first of these rooms.
    func touch(_ rooms: [RoomName]) {
        guard let first = rooms.first else { return }
        callStore(first) { store in
            try await store.touch(rooms)
        } then: { _, _ in
        }
    }

    private func save(_ roles: [UInt8], of room: RoomName, _ creation: RoomCreation?) {
        if let store = parts.immediateRoleStore {
            return saved(room, parts.storing(room) { try store.saveRoles(roles, of: room, creation: creation) })
        }
        // `Relay.start` refuses a store that keeps no roles.
        guard let store = parts.roleStore else { return engine.rolesSaved(room, .failed) }
        callStore(room) { _ in
            try await store.saveRoles(roles, of: room, creation: creation)
        } then: { driver, done in
            driver.saved(room, done)
        }
    }

    private func saved(_ room: RoomName, _ done: StoreAnswer<Void>) {
        switch done {
        case .done: engine.rolesSaved(room, .saved)
        case .tooManyRooms: engine.rolesSaved(room, .tooManyRooms)
        case .rolesFull: engine.rolesSaved(room, .full)
        case .failed, .logLost: engine.rolesSaved(room, .failed)
        }
    }

    private func read(_ range: ReadRange, of room: RoomName, _ id: ReadID) {
        if let store = parts.immediateStore {
            let history = parts.storing(room) { try store.read(range, of: room) }.value
            return engine.read(id, history?.entries, first: history?.firstOffset ?? 1)
        }
        callStore(room) { store in
            try await store.read(range, of: room)
        } then: { driver, history in
            driver.engine.read(id, history.value?.entries, first: history.value?.firstOffset ?? 1)
        }
    }

    func callStore<Answer: Sendable>(
        _ room: RoomName, _ call: @escaping @Sendable (any RoomStore) async throws -> Answer,
        then: @escaping @Sendable (RelayDriver, StoreAnswer<Answer>) -> Void
    ) {
        storeCalls += 1
        loop.startTask { [parts, loop] in
            let answer = await parts.storing(room) { try await call(parts.store) }
            loop.execute {
                self.storeCalls -= 1
                self.enter()
                then(self, answer)
            }
        }
    }

    // MARK: - Attachments

    private func perform(_ call: AttachmentCall, _ id: AttachmentCallID) {
        storeCalls += 1
        loop.startTask { [parts, loop] in
            let result = await parts.perform(call)
            loop.execute {
                self.storeCalls -= 1
                self.enter()
                self.engine.attachmentAnswered(id, result)
            }
        }
    }

    /// Removes expired attachments in steps.
    func removeExpiredAttachments() {
        guard let store = parts.attachments else { return }
        storeCalls += 1
        loop.startTask { [loop, onEvent = parts.onEvent] in
            do {
                while try await store.removeExpired() {}
            } catch {
                onEvent(.attachmentsFailed(error))
            }
            loop.execute {
                self.storeCalls -= 1
                self.enter()
            }
        }
    }

    // MARK: - Requests

    private func answer(_ request: Request, of member: MemberHandle, in room: RoomName) {
        if let method = RelayMethod(request.method) {
            return engine.respond(
                to: member,
                method.answer(
                    request.correlation, about: engine.state(of: member), parts.store.retention))
        }
        guard let handler = parts.requestHandler, let sender = request.sender else {
            return engine.respond(to: member, Response(correlation: request.correlation, status: .unknownMethod))
        }
        guard requests < parts.configuration.maxRequests else {
            return engine.respond(to: member, Response(correlation: request.correlation, status: .serverBusy))
        }
        requests += 1
        let relayRequest = RelayRequest(
            room: room, sender: sender, method: request.method, content: request.content, timeout: request.deadline)
        loop.startTask { [loop] in
            let answer = await handler.respond(to: relayRequest)
            loop.execute { self.answered(request.correlation, of: member, answer) }
        }
    }

    private func answered(_ correlation: UInt64, of member: MemberHandle, _ answer: RequestAnswer) {
        requests -= 1
        enter()
        engine.respond(
            to: member,
            Response(
                correlation: correlation, status: answer.status, reason: answer.reason, content: answer.content))
    }
}
