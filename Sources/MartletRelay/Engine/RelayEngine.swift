package import MartletLink
package import MartletWire

/// All decisions of a relay on one loop: connections, links and rooms, without sockets, clocks or stores.
///
/// A hello admits a connection, which gets a link (new or resumed), and the link's sessions become members of rooms. A
/// fault of a connection ends that connection and suspends its link; a fault of a session resets that session.
///
/// The drain contract between the engine and its driver:
///
/// 1. The driver sets `wallClock` at the start of a turn and reports the turn's events, each with its instant: the
///    methods for connections, time, results, the operator and other loops. The engine performs no action yet.
/// 2. The driver calls `nextOutput` and performs the output, one at a time, until the result is nil. It may report an
///    immediate result of an output at once; the outputs of this event follow the queued ones.
/// 3. The driver reads `deadline`, sleeps until then at the latest, and calls `deadlinePassed`. A deadline in the past
///    means that unread input, joins or an eviction continue in the next turn.
///
/// | output | the driver | answers with |
/// |---|---|---|
/// | `transmit` | calls `transmit` for each connection when its carrier has room, at best at once | `noteUnsent` |
/// | `close` | ends the connection, after the outbox is written if requested | `closed`, exactly once |
/// | `pauseReading`, `resumeReading` | stops or continues to read the socket | |
/// | `authenticate`, `continueExchange` | asks the authenticator | `authenticated` |
/// | `authorize` | asks the room policy | `authorized` |
/// | `policyOverdue` | writes a log | |
/// | `store` | calls the store | `answered`, for each question |
/// | `request`, `accountRequest` | asks the request handler | `respond` |
/// | `attachment` | calls the attachment store | `attachmentAnswered` |
/// | `send` | passes the messages to the engine of another loop, in order | `receive` there |
/// | `transfer` | calls `transfer`, and passes the connection to another loop | `adopt` there |
/// | `undelivered` | passes the reports to the handler | |
/// | `commandEnded` | ends the call of `perform` with this number | |
/// | `note` | writes a log | |
///
/// `transmit` and `noteUnsent` cause no output: they may be called at any time, and step 3 follows. Debug builds trap
/// when a driver reads `deadline` before step 2 is complete.
package struct RelayEngine: ~Copyable {
    /// The bounds that this relay keeps.
    package let configuration: RelayConfiguration
    /// The relay's wall clock in milliseconds since 1970.
    package var wallClock: UInt64 {
        get { sessions.wallClock }
        set { sessions.wallClock = newValue }
    }

    /// The number of entries of a queue with at most `current` valid ones beyond which the outdated ones are removed.
    static func maxQueued(current: Int) -> Int { 2 * current + 16 }

    var connections = ConnectionTable()
    var sessions: SessionRouter
    var transmits = TransmitQueue()
    /// Input of connections that have spent their budget of a turn.
    var unread = UnreadInput()
    var outputs = Deque<RelayOutput>()
    /// The framer for all connections without an incomplete frame.
    var spareFramer: FramerBox?
    /// Connections about whose next credential the authenticator decides (C-71).
    var renewals: Set<ConnectionKey> = []
    private(set) var drainNotice: Notice?
    private(set) var revocations = Revocations()
    var memory: MemoryLedger
    private var load: LoadShedding
    private var counted = RelayStatistics()
    /// Whether the connections of a group of links are reported before further effects of rooms.
    private var isFlushingGroup = false
    /// Whether `nextOutput` has returned nil since the last event.
    private var isDrained = true

    /// A relay without connections.
    ///
    /// - Parameters:
    ///   - seed: the number before the first link ID, so that IDs of one run differ from those of another run. A link
    ///     ID is no secret.
    ///   - place: the engine's place among the relay's loops.
    package init(
        configuration: RelayConfiguration = RelayConfiguration(), seed: UInt64, place: LoopPlace = .only
    ) {
        var configuration = configuration
        if !configuration.keepsMemberships { configuration.features.remove(.accountSession) }
        self.configuration = configuration
        memory = MemoryLedger(budget: configuration.memoryBudget / place.count)
        load = LoadShedding(maxConnections: configuration.maxConnections)
        sessions = SessionRouter(configuration, firstID: seed, place: place)
    }

    /// An event is reported: the driver has to drain the engine.
    @inline(__always)
    mutating func noteEvent() { isDrained = false }

    // MARK: Connections

    /// A connection was accepted. Returns nil when there are too many; the driver then closes it at once (C-11).
    package mutating func accepted(_ carrier: Carrier, now: Instant) -> ConnectionKey? {
        noteEvent()
        guard connections.count < configuration.maxConnections, !memory.isFull else {
            counted.connectionsRefused += 1
            return nil
        }
        let slot = connections.insert(RelayConnection(carrier: carrier, now: now))
        counted.connectionsAccepted += 1
        connections.arm(slot, configuration)
        return connections.key(slot)
    }

    /// A connection has closed. Its link is suspended.
    package mutating func closed(_ key: ConnectionKey, now: Instant) {
        noteEvent()
        guard let slot = connections.slot(key) else { return }
        detach(slot, now: now)
        renewals.remove(key)
        connections.remove(slot)
    }

    /// The peer sends no more. An incomplete frame is not delivered (Specs/hostile.md row 8).
    package mutating func endOfStream(_ key: ConnectionKey, now: Instant) {
        noteEvent()
        guard let slot = connections.slot(key), connections[slot].phase != .closing else { return }
        guard !connections[slot].hasUnread else { return unread.noteEnd(of: key) }
        do { try connections[slot].framer?.framer.finish() } catch { return fail(slot, LinkError(error), now: now) }
        end(slot, afterFlush: true, now: now)
    }

    /// Writes whole frames of a connection, as far as `out` has room.
    ///
    /// - Returns: whether there may be more output.
    @discardableResult
    package mutating func transmit(on key: ConnectionKey, into out: inout OutputRawSpan, now: Instant) -> Bool {
        guard let slot = connections.slot(key) else { return false }
        let hasMore = write(from: slot, into: &out, now: now)
        transmits.transmitted(slot, hasMore: hasMore, in: &connections, now: now)
        return hasMore
    }

    private mutating func write(from slot: Int, into out: inout OutputRawSpan, now: Instant) -> Bool {
        guard connections[slot].outbox.write(into: &out) else { return true }
        guard let link = connections[slot].linkSlot else { return false }
        sessions.links[link].link.transmit(into: &out, now: now)
        sessions.links.arm(link, now: now)
        // No acknowledgement reports that transient frames have left room for pending presence.
        if sessions.links[link].hasRoomForPending() { sessions.links.arm(link, at: now) }
        return sessions.links[link].hasOutput(now: now)
    }

    /// A connection's carrier holds this many bytes from `transmit` unsent; they count in the memory budget (R-48,
    /// Specs/hostile.md row 49).
    package mutating func noteUnsent(_ byteCount: Int, on key: ConnectionKey) {
        guard let slot = connections.slot(key), byteCount != Int(connections[slot].unsentByteCount) else { return }
        connections[slot].unsentByteCount = UInt32(clamping: byteCount)
        connections.settle(slot)
    }

    // MARK: Time

    /// The instant at which `deadlinePassed` is due; in the past while unread input, joins or an eviction remain.
    ///
    /// - Precondition: `nextOutput` has returned nil since the last event.
    package var deadline: Instant? {
        assert(isDrained, "the driver reads the deadline before it has performed all outputs")
        guard unread.isEmpty, !memory.continues else { return .zero }
        return connections.deadline.orEarlier(sessions.links.deadline)
            .orEarlier(transmits.deadline(in: connections, timeout: configuration.slowConsumerTimeout))
            .orEarlier(sessions.links.suspensionDeadline(lifetime: configuration.resumeLifetime))
            .orEarlier(sessions.rooms.local.deadline)
            .orEarlier(sessions.authorizations.deadline)
            .orEarlier(sessions.withheld.deadline)
            .orEarlier(sessions.accounts.deadline)
    }

    /// Bytes of unread input.
    package var unreadByteCount: Int { unread.byteCount }

    /// Acts on the deadlines that have passed, and reads the input of the next connection with unread input.
    package mutating func deadlinePassed(now: Instant) {
        noteEvent()
        continueReading(now: now)
        sessions.rooms.local.deadlinePassed(now: now)
        sessions.expireDecisions(now: now)
        sessions.releaseWithheld(now: now)
        sessions.accountDeadlines(now: now)
        expireCredentials(now: now)
        endSlowConsumers(now: now)
        while let slot = sessions.links.popExpiredSuspension(lifetime: configuration.resumeLifetime, now: now) {
            removeLink(slot, now: now)
        }
        while let due = connections.popOverdue(configuration, now: now) {
            if due.code == .idleTimeout {
                end(due.slot, afterFlush: false, now: now)
            } else {
                fail(due.slot, .peer(due.code), now: now)
            }
        }
        while let slot = sessions.links.popExpired(now: now) { linkDeadline(slot, now: now) }
    }

    /// Ends connections whose carriers have not had room for the timeout.
    private mutating func endSlowConsumers(now: Instant) {
        transmits.endTurn(in: &connections, now: now)
        let timeout = configuration.slowConsumerTimeout
        while let slot = transmits.popOverdue(in: connections, timeout: timeout, now: now) {
            switch connections[slot].phase {
            case .attached: fail(slot, .peer(.slowConsumer), now: now)
            // The handshake has its own timeouts.
            case .awaitingHello, .authenticating, .challenged:
                transmits.transmitted(slot, hasMore: true, in: &connections, now: now)
            case .closing: break
            }
        }
    }

    private mutating func linkDeadline(_ slot: Int, now: Instant) {
        guard let connection = sessions.links[slot].connection else { return }
        if !sessions.links[slot].link.hasUnacknowledged {
            sessions.links[slot].releaseIdleMemory()
            sessions.links.settle(slot)
        }
        if sessions.links[slot].hasPending { sessions.markDirty(slot) }
        guard let deadline = sessions.links[slot].link.deadline else { return }
        guard deadline <= now else { return sessions.links.arm(slot, at: deadline) }
        switch sessions.links[slot].link.deadlinePassed(now: now) {
        case .proceed, .overdue: sessions.markDirty(slot)
        case .replaceConnection: end(connection, afterFlush: false, now: now)
        case .ackTimeout: fail(connection, .peer(.ackTimeout), now: now)
        }
    }

    // MARK: Results

    /// The result of `.authorize`; nil when the room policy failed.
    package mutating func authorized(_ question: QuestionID, _ decision: RoomDecision?, now: Instant) {
        noteEvent()
        let fault = sessions.authorized(question, decision, now: now)
        finishCall(fault, now: now)
    }

    /// The answer to a question of `.store`.
    package mutating func answered(_ answer: StoreAnswer, now: Instant) {
        noteEvent()
        switch answer {
        case .readMemberships(let id, let result):
            sessions.membershipsRead(id, try? result.get(), now: now)
            return endHeldFaults(now: now)
        case .append(_, _, let count, .success): counted.messagesStored += UInt64(count)
        default: break
        }
        sessions.rooms.local.answered(answer, at: wallClock)
    }

    /// The result of `.accountRequest`. The correlation of the response is not used.
    package mutating func respond(to id: AccountRequestID, _ answer: Response) {
        noteEvent()
        let response = Response(
            correlation: id.number, status: answer.status, reason: answer.reason, retryAfter: answer.retryAfter,
            content: answer.content)
        sessions.answered(id.session, response)
    }

    /// The result of `.attachment`.
    package mutating func attachmentAnswered(_ id: AttachmentCallID, _ result: AttachmentResult) {
        noteEvent()
        sessions.rooms.local.attachmentAnswered(id, result)
    }

    /// The result of `.request`.
    package mutating func respond(to handle: MemberHandle, _ response: Response) {
        noteEvent()
        sessions.rooms.local.respond(handle, response)
    }

    /// The current state of a member's room, as `opened` reports it; nil when the member has left.
    package func state(of handle: MemberHandle) -> Opened? {
        sessions.rooms.local.state(of: handle)
    }

    // MARK: Operator

    /// Ends every connection and link of an account whose credential was revoked (C-28, Specs/hostile.md row 24).
    /// Authentications in progress, here or during a transfer between loops, are refused.
    package mutating func revoke(_ account: AccountName, now: Instant) {
        noteEvent()
        revocations.insert(account, now: now)
        for slot in sessions.links.slots
        where sessions.links.isLive(slot) && sessions.links[slot].who.account == account {
            endLink(slot, Notice(code: .revoked), now: now)
        }
    }

    /// Asks the room policy again about the sessions of an account, or of all accounts, in a room, or in all rooms
    /// . The earlier decisions stay in effect until the answers.
    package mutating func revokeRoomDecisions(of account: AccountName? = nil, in room: RoomName? = nil, now: Instant) {
        noteEvent()
        sessions.revokeDecisions(of: account, in: room, now: now)
    }

    /// Refuses new peers and ends all connections, with the time or the address of the next attempt (C-45).
    package mutating func drain(retryAfter: Duration?, redirect: String? = nil, now: Instant) {
        noteEvent()
        let notice = Notice(code: .draining, retryAfter: retryAfter, redirect: redirect)
        drainNotice = notice
        for slot in connections.slots where connections.isLive(slot) && connections[slot].phase != .closing {
            end(slot, with: .goaway, notice, now: now)
        }
    }

    /// Counts of current objects and of past events.
    package var statistics: RelayStatistics {
        var result = counted
        result.connections = connections.count
        result.links = sessions.links.count
        result.suspendedLinks = sessions.links.suspendedCount
        result.rooms = sessions.rooms.local.count
        return result
    }

    /// The rooms of this loop that have members. The caller passes them to the store at least once an hour.
    package var residentRooms: [RoomName] { sessions.rooms.local.residents }

    // MARK: Other loops

    /// Messages of another loop.
    package mutating func receive(_ messages: [LoopMessage], now: Instant) {
        noteEvent()
        for message in messages {
            switch message {
            case .call(let call): sessions.rooms.local.receive(call, now: now)
            case .effect(let effect): perform(effect, now: now)
            }
        }
    }

    /// Takes a connection out of the engine, for the engine of its account's loop; nil when it has closed.
    package mutating func transfer(_ key: ConnectionKey) -> TransferredConnection? {
        noteEvent()
        guard let slot = connections.slot(key), connections[slot].entry?.admission != nil else { return nil }
        let connection = connections[slot]
        connections.remove(slot)
        return TransferredConnection(connection: connection)
    }

    /// Continues the handshake of a connection from another loop. Returns nil when there are too many; the driver then
    /// closes it at once (C-11).
    package mutating func adopt(_ transferred: TransferredConnection, now: Instant) -> ConnectionKey? {
        noteEvent()
        guard connections.count < configuration.maxConnections, let entry = transferred.connection.entry,
            let admission = entry.admission.take()
        else { return nil }
        let slot = connections.insert(transferred.connection)
        let key = connections.key(slot)
        if let notice = refusal(of: admission.hello, now: now) {
            end(slot, with: .reject, notice, now: now)
        } else {
            finishHandshake(slot, entry, admission, now: now)
        }
        return key
    }

    /// A turn of the driver's loop ends, which began at an instant. Further calls may follow in the same turn.
    package mutating func turnEnded(begunAt start: Instant, now: Instant) {
        load.turnEnded(begunAt: start, now: now)
    }

    /// The reason why a hello is not currently served: the relay drains, or is near its limits and the hello resumes no
    /// link. Nil if it is served.
    mutating func refusal(of hello: Hello, now: Instant) -> Notice? {
        if let drainNotice { return drainNotice }
        guard hello.resume == nil,
            load.refusesLink(connectionCount: connections.count, isMemoryShort: memory.isShort, now: now)
        else { return nil }
        counted.linksRefused += 1
        return Notice(code: .serverBusy, retryAfter: configuration.busyRetryAfter)
    }

    // MARK: Outputs

    /// The next action of the driver; nil when there is none until the next event.
    package mutating func nextOutput(now: Instant) -> RelayOutput? {
        while true {
            // Effects precede outputs: the events of immediate results would otherwise accumulate those of many rooms.
            if !isFlushingGroup, let effect = sessions.rooms.local.nextEffect(now: now) {
                perform(consume effect, now: now)
                if sessions.dirty.isGroupFull {
                    flushDirty(isGroup: true, now: now)
                    isFlushingGroup = true
                }
                continue
            }
            // The store works while the connections are written to.
            if !sessions.storeQuestions.isEmpty { return .store(sessions.takeStoreQuestions()) }
            if let keys = transmits.takeUnreported() { return .transmit(keys) }
            if let output = outputs.popFirst() { return output }
            if let output = sessions.nextPolicyOutput() { return output }
            if let output = sessions.nextAccountOutput() { return output }
            if isFlushingGroup {
                isFlushingGroup = false
            } else if !sessions.dirty.isEmpty {
                flushDirty(isGroup: false, now: now)
            } else if let output = sessions.rooms.nextOutgoing() {
                return output
            } else if !evictIfNeeded(now: now) {
                transmits.endTurn(in: &connections, now: now)
                sessions.endTurn()
                memory.endTurn()
                isDrained = true
                return nil
            }
        }
    }

    private mutating func perform(_ effect: consuming RoomEffect, now: Instant) {
        if case .note(let note, let key?) = effect, key.link.loop == sessions.rooms.place.number {
            guard let link = sessions.links.slot(key.link) else { return self.note(note) }
            return self.note(note, on: sessions.links[link].connection)
        }
        let fault = sessions.apply(effect, into: &outputs, now: now)
        finishCall(fault, now: now)
    }

    /// Requests the transmission of dirty links, and sets the timers of the others.
    private mutating func flushDirty(isGroup: Bool, now: Instant) {
        let slots = sessions.takeDirty()
        // Receivers of messages precede publishers, which wait for an acknowledgement only.
        for slot in slots.reversed() {
            guard let connection = sessions.update(slot, isGroup: isGroup, now: now) else { continue }
            // The timer is set after the transmission, unless the carrier has no room.
            if sessions.links[slot].hasOutput(now: now),
                transmits.request(connection, in: &connections, now: now)
            {
                continue
            }
            sessions.links.arm(slot, now: now)
        }
        sessions.recycle(slots)
    }

    /// Reports a note, and counts its event.
    mutating func note(_ note: RelayNote, on slot: Int? = nil) {
        switch note {
        case .faulted: counted.faults += 1
        case .resumed: counted.resumes += 1
        case .refused(_, .resumeRejected, _): counted.resumesRefused += 1
        case .linked, .suspended, .ended, .refused, .roomRefused, .roomCreated, .roomOperation, .rolesInvalid: break
        }
        outputs.append(.note(note, on: slot.map { connections.key($0) }))
    }

    // MARK: Quiescence

    /// Checks that no state is left over, although every device is connected and has received everything.
    package func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("relay")
        check.empty("messages to other loops", count: sessions.rooms.outgoingCount)
        connections.check(&check)
        sessions.links.check(&check)
        sessions.authorizations.check(&check)
        sessions.accounts.check(&check)
        sessions.rooms.local.check(&check)
        return check
    }

    /// The credit of a device's link; nil when there is none.
    package func creditTable(of who: DeviceKey) -> CreditTable? {
        sessions.links.slot(of: who).map { CreditTable(sessions.links[$0].link) }
    }
}
