package import MartletLink
package import MartletWire

/// All decisions of a relay on one loop: connections, links and rooms, without sockets, clocks or stores.
///
/// The `LinkServer` has the connections, and the `SessionRouter`, its user, the links, whose sessions become members of
/// rooms. A fault of a connection ends that connection and suspends its link; a fault of a session resets that session.
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
/// | `link` | as `LinkServerOutput` requires | `closed`, `authenticated`, `noteUnsent`, `adopt` of another engine |
/// | `call` | calls the room policy, the request handler or the attachment store | `completed` |
/// | `policyOverdue` | writes a log | |
/// | `store` | calls the store | `answered`, for each question |
/// | `send` | passes the messages to the engine of another loop, in order | `receive` there |
/// | `undelivered` | passes the reports to the handler | |
/// | `commandEnded` | ends the call of `perform` with this number | |
/// | `bus` | passes the items to the bus | `busReceived` of other engines |
/// | `note` | writes a log | |
///
/// The methods `transmit` and `noteUnsent` cause no output: they may be called at any time, and step 3 follows. Debug
/// builds trap when a driver reads `deadline` before step 2 is complete.
package struct RelayEngine: ~Copyable {
    /// The minimum age of a link that ends because its device has begun one at a different relay.
    static let minMovedLinkAge: Duration = .seconds(5)

    /// The bounds that this relay keeps.
    package let configuration: RelayConfiguration
    /// The relay's wall clock in milliseconds since 1970.
    package var wallClock: UInt64 {
        get { sessions.wallClock }
        set {
            sessions.wallClock = newValue
            server.wallClock = newValue
        }
    }

    var server: LinkServer
    var sessions: SessionRouter
    private var messagesStored: UInt64 = 0
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
        if !configuration.keepsMemberships { configuration.link.features.remove(.accountSession) }
        configuration.link.reservedAccount = configuration.reservedAccount
        self.configuration = configuration
        server = LinkServer(configuration.link, place: place)
        sessions = SessionRouter(configuration, firstID: seed, place: place)
    }

    /// An event is reported: the driver has to drain the engine.
    @inline(__always)
    mutating func noteEvent() { isDrained = false }

    // MARK: Connections

    /// A connection was accepted. Returns nil when there are too many; the driver then closes it at once (C-11).
    package mutating func accepted(_ carrier: Carrier, now: Instant) -> ConnectionKey? {
        noteEvent()
        return server.accepted(carrier, sessions, now: now)
    }

    /// A connection has closed. Its link is suspended.
    package mutating func closed(_ key: ConnectionKey, now: Instant) {
        noteEvent()
        server.closed(key, &sessions, now: now)
    }

    /// The peer sends no more. An incomplete frame is not delivered (Specs/hostile.md row 8).
    package mutating func endOfStream(_ key: ConnectionKey, now: Instant) {
        noteEvent()
        server.endOfStream(key, &sessions, now: now)
    }

    /// Bytes arrived on a connection, in any pieces; they are borrowed. Input beyond the connection's budget of a turn
    /// is kept, and `deadlinePassed` continues (R-50, Specs/hostile.md row 42).
    package mutating func receive(_ bytes: RawSpan, on key: ConnectionKey, now: Instant) {
        noteEvent()
        server.receive(bytes, on: key, &sessions, now: now)
    }

    /// The result of `.authenticate` or `.continueExchange`.
    package mutating func authenticated(_ key: ConnectionKey, _ answer: AuthenticationAnswer, now: Instant) {
        noteEvent()
        server.authenticated(key, answer, &sessions, now: now)
    }

    /// Writes whole frames of a connection, as far as `out` has room.
    ///
    /// - Returns: whether there may be more output.
    @discardableResult
    package mutating func transmit(on key: ConnectionKey, into out: inout OutputRawSpan, now: Instant) -> Bool {
        server.transmit(on: key, into: &out, &sessions, now: now)
    }

    /// A connection's carrier holds this many bytes from `transmit` unsent; they count in the memory budget (R-48,
    /// Specs/hostile.md row 49).
    package mutating func noteUnsent(_ byteCount: Int, on key: ConnectionKey) {
        server.noteUnsent(byteCount, on: key)
    }

    // MARK: Time

    /// The instant at which `deadlinePassed` is due; in the past while unread input, joins or an eviction remain.
    ///
    /// - Precondition: `nextOutput` has returned nil since the last event.
    package var deadline: Instant? {
        assert(isDrained, "the driver reads the deadline before it has performed all outputs")
        guard !sessions.memory.continues else { return .zero }
        return server.deadline(sessions)
            .orEarlier(sessions.rooms.local.deadline)
            .orEarlier(sessions.calls.deadline)
            .orEarlier(sessions.authorizations.deadline)
            .orEarlier(sessions.withheld.deadline)
            .orEarlier(sessions.accounts.deadline)
    }

    /// Bytes of unread input.
    package var unreadByteCount: Int { server.unreadByteCount }

    /// Acts on the deadlines that have passed, and reads the input of the next connection with unread input.
    package mutating func deadlinePassed(now: Instant) {
        noteEvent()
        server.continueReading(&sessions, now: now)
        sessions.rooms.local.deadlinePassed(now: now)
        sessions.expireDecisions(now: now)
        sessions.releaseWithheld(now: now)
        sessions.accountDeadlines(now: now)
        server.deadlinePassed(&sessions, now: now)
    }

    // MARK: Results

    /// The result of `.call`.
    package mutating func completed(_ id: RelayCallID, _ result: RelayResult, now: Instant) {
        noteEvent()
        sessions.completed(id, result, now: now)
        reportFindings(now: now)
    }

    /// The number of calls of the attachment store in flight.
    package var attachmentCallCount: Int { sessions.calls.count(.attachment) }

    /// The answer to a question of `.store`.
    package mutating func answered(_ answer: StoreAnswer, now: Instant) {
        noteEvent()
        switch answer {
        case .readMemberships(let id, let result):
            sessions.membershipsRead(id, try? result.get(), now: now)
            return reportFindings(now: now)
        case .append(_, _, let count, .success): messagesStored += UInt64(count)
        default: break
        }
        sessions.rooms.local.answered(answer, at: wallClock)
    }

    /// The store reports that another relay has changed a room of this loop. A report may be lost, repeated or late.
    package mutating func changed(_ revision: RoomRevision, now: Instant) {
        noteEvent()
        sessions.rooms.local.changed(revision)
    }

    // MARK: Operator

    /// Ends every connection and link of an account whose credential was revoked (C-28, Specs/hostile.md row 24).
    /// Authentications in progress, here or during a transfer between loops, are refused.
    package mutating func revoke(_ account: AccountName, now: Instant) {
        noteEvent()
        server.revoke(account, &sessions, now: now)
    }

    /// Ends every link of an account, which may sign in again at once.
    package mutating func kick(_ account: AccountName, now: Instant) {
        noteEvent()
        server.endLinks(of: account, Notice(code: .serverBusy), &sessions, now: now)
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
        server.drain(retryAfter: retryAfter, redirect: redirect, &sessions, now: now)
    }

    /// Counts of current objects and of past events.
    package var statistics: RelayStatistics {
        var result = RelayStatistics()
        result.server = server.statistics
        result.messagesStored = messagesStored
        result.connections = server.connectionCount
        result.links = sessions.links.count
        result.suspendedLinks = sessions.links.suspendedCount
        result.rooms = sessions.rooms.local.count
        return result
    }

    /// The measurements of the loop. They visit all links.
    package var metrics: EngineMetrics {
        var metrics = EngineMetrics()
        metrics.statistics = statistics
        metrics.counts = sessions.counts
        metrics.replicated = sessions.rooms.local.replicated
        metrics.traffic = sessions.links.counters
        metrics.roundTrips = sessions.links.roundTrips
        metrics.answerCount = sessions.calls.count(.answer)
        metrics.attachmentCount = sessions.calls.count(.attachment)
        metrics.decisionCount = sessions.calls.count(.decision)
        metrics.sessions = sessions.links.slots.reduce(0) { count, slot in
            sessions.links.isLive(slot) ? count + sessions.relayLinks[slot].sessions.count : count
        }
        metrics.linkByteCount = sessions.relayLinks.byteCount
        metrics.roomByteCount = sessions.rooms.local.memoryByteCount
        metrics.accountByteCount = sessions.accounts.byteCount
        metrics.connectionByteCount =
            server.byteCount + server.connectionCount * MemoryLedger.connectionByteCount
        return metrics
    }

    // MARK: Other relays

    /// An event of the bus between the relays of the store.
    package mutating func busReceived(_ event: BusPeers.Event, now: Instant) {
        noteEvent()
        switch event {
        case .incomplete: sessions.accounts.noteMissed(now: now)
        case .item(.linked(let account, let device), _, _):
            // Without a notice: the report may be late, and the device have come back.
            guard let slot = sessions.links.slot(of: DeviceKey(account: account, device: device)),
                sessions.links[slot].link.age(at: now) >= Self.minMovedLinkAge
            else { return }
            return server.endLink(slot, nil, &sessions, now: now)
        default: break
        }
        sessions.rooms.local.busReceived(event, now: now)
    }

    /// The rooms of this loop that have members. The caller passes them to the store at least once an hour.
    package var residentRooms: [RoomName] { sessions.rooms.local.residents }

    /// The copies of the rooms of this loop that have members.
    package var revisions: [RoomRevision] { sessions.rooms.local.revisions }

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
        return server.transfer(key)
    }

    /// Continues the handshake of a connection from another loop. Returns nil when there are too many; the driver then
    /// closes it at once (C-11).
    package mutating func adopt(_ transferred: TransferredConnection, now: Instant) -> ConnectionKey? {
        noteEvent()
        return server.adopt(transferred, &sessions, now: now)
    }

    /// A turn of the driver's loop ends, which began at an instant. Further calls may follow in the same turn.
    package mutating func turnEnded(begunAt start: Instant, now: Instant) {
        server.turnEnded(begunAt: start, now: now)
    }

    // MARK: Outputs

    /// The next action of the driver; nil when there is none until the next event.
    package mutating func nextOutput(now: Instant) -> RelayOutput? {
        while true {
            // Effects precede outputs: the events of immediate results would otherwise accumulate those of many rooms.
            if !isFlushingGroup, let effect = sessions.rooms.local.nextEffect(now: now) {
                perform(consume effect, now: now)
                if sessions.links.isGroupFull {
                    server.flush(isGroup: true, &sessions, now: now)
                    isFlushingGroup = true
                }
                continue
            }
            // The store works while the connections are written to.
            if !sessions.storeQuestions.isEmpty { return .store(sessions.takeStoreQuestions()) }
            if let keys = server.nextTransmits() { return .link(.transmit(keys)) }
            // A room answers with its state after the messages before the request.
            if sessions.answerAboutRoom() { continue }
            if let (record, connection) = sessions.administrations.popFirst() {
                note(.administered(record), on: connection)
            }
            if let output = sessions.outputs.popFirst() { return output }
            if let output = sessions.nextQuestion() { return output }
            if let (id, read) = sessions.reads.popFirst() { return .store([.readMemberships(id, read)]) }
            if isFlushingGroup {
                isFlushingGroup = false
            } else if sessions.links.hasDirty {
                server.flush(isGroup: false, &sessions, now: now)
            } else if let output = sessions.rooms.nextOutgoing() ?? sessions.busItems.take() {
                return output
            } else if !evictIfNeeded(now: now) {
                server.endTurn(now: now)
                sessions.endTurn()
                sessions.memory.endTurn()
                isDrained = true
                return nil
            }
        }
    }

    private mutating func perform(_ effect: consuming RoomEffect, now: Instant) {
        if case .note(let note, let key?) = effect, key.link.loop == sessions.rooms.place.number {
            let connection = sessions.links.slot(key.link).flatMap { sessions.links[$0].connection }
            return self.note(note, on: connection)
        }
        sessions.apply(effect, now: now)
        reportFindings(now: now)
    }

    /// Reports a note about the peer of a connection.
    private mutating func note(_ note: RelayNote, on slot: Int?) {
        sessions.outputs.append(.note(note, on: slot.map { server.key($0) }))
    }

    /// Notes refused entries, and ends the connections of peers whose held frames were at fault.
    @inline(__always)
    private mutating func reportFindings(now: Instant) {
        while let refusal = sessions.refusedEntries.popLast() { note(refusal.note, on: refusal.connection) }
        while let fault = sessions.heldFaults.popLast() {
            if let connection = sessions.links[fault.slot].connection {
                server.fail(connection, fault.error, &sessions, now: now)
            }
        }
    }

    // MARK: Quiescence

    /// Checks that no state is left over, although every device is connected and has received everything.
    package func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("relay")
        check.empty("messages to other loops", count: sessions.rooms.outgoingCount)
        server.check(&check)
        check.equal("suspended links", sessions.links.suspendedCount, 0)
        for slot in sessions.links.slots where sessions.links.isLive(slot) {
            check.add(sessions.relayLinks[slot].quiescence(sessions.links[slot]))
        }
        sessions.calls.check(&check)
        sessions.accounts.check(&check)
        sessions.rooms.local.check(&check)
        return check
    }

    /// The credit of a device's link; nil when there is none.
    package func creditTable(of who: DeviceKey) -> CreditTable? {
        sessions.links.slot(of: who).map { CreditTable(sessions.links[$0].link) }
    }
}
