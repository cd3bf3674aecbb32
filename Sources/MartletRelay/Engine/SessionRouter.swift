import MartletLink
import MartletWire

/// Passes frames of sessions to rooms, and effects of rooms to sessions.
///
/// The router owns the links of the loop and its rooms, and is the user of the `LinkServer`, which owns the
/// connections.
///
/// | state of a session | owns | ends |
/// |---|---|---|
/// | asked | a question to the room policy, the frames that precede the admission | the decision; the end of the session |
/// | joining | the frames that precede the admission | `opened`, `reset` of the room; the end of the session |
/// | member | a handle of its room | `reset` of the room; the end of the session |
/// | member, asked about other claims | a handle, a question, frames that precede the decision | as asked |
/// | closing | a slot in its room | `closed` of the room, behind the acceptances and answers (R-49, R-147) |
struct SessionRouter: LinkServerUser, ~Copyable {
    let configuration: RelayConfiguration
    /// The relay's wall clock in milliseconds since 1970.
    var wallClock: UInt64 {
        get { rooms.local.wallClock }
        set { rooms.local.wallClock = newValue }
    }
    var links: LinkTable
    var relayLinks: RelayLinks
    var rooms: RoomRouter
    var memory: MemoryLedger
    /// Actions for the driver, in their order.
    var outputs = Deque<RelayOutput>()
    var calls: RelayCalls
    var authorizations = RoomAuthorizations()
    /// Requests of members for the state of their rooms.
    var stateRequests = Deque<(member: MemberHandle, method: RelayMethod, number: UInt64)>()
    /// Entries that roles of rooms have refused, with the connections of their links, for the log.
    var refusedEntries: [(note: RelayNote, connection: Int?)] = []
    /// Concluded requests for administration, with the connections of their links, for the log.
    var administrations = Deque<(record: AdministrationRecord, connection: Int?)>()
    /// The questions of the rooms of this turn for the store.
    private(set) var storeQuestions: [StoreQuestion] = []
    /// The items of the rooms of this turn for the bus.
    var busItems = BusQueue()
    /// Credit of messages of accounts that have exceeded their rate.
    var withheld = WithheldCredit()
    /// The sessions of accounts.
    var accounts: AccountSessions
    /// Reads of accounts' rooms, for the driver.
    var reads = Deque<(MembershipReadID, MembershipRead)>()
    /// The faults of peers in frames that were held.
    var heldFaults: [(slot: Int, error: LinkError)] = []
    var counts = SessionCounts()
    private var inflater = Inflater()
    /// The remaining budget of the connection that is read.
    var budget = TurnBudget()

    init(_ configuration: RelayConfiguration, firstID: UInt64, place: LoopPlace) {
        self.configuration = configuration
        links = LinkTable(loop: place.number, firstID: firstID)
        memory = MemoryLedger(budget: configuration.memoryBudget / place.count)
        relayLinks = RelayLinks(rate: configuration.accountRate)
        calls = RelayCalls(loop: place.number, maxRequestCount: configuration.maxRequests)
        rooms = RoomRouter(place: place, configuration)
        accounts = AccountSessions(place: place)
    }

    // MARK: Links

    var isMemoryFull: Bool { memory.isFull }

    var isMemoryShort: Bool { memory.isShort }

    mutating func queue(_ output: LinkServerOutput) { outputs.append(.link(output)) }

    mutating func admission(ofLinkOf account: AccountName, now: Instant) -> LinkAdmission {
        relayLinks.admission(ofLinkOf: account, maxCount: configuration.maxLinksPerAccount, in: links, now: now)
    }

    mutating func linkBegan(_ slot: Int, _ claims: Claims, now: Instant) {
        relayLinks.insert(slot, &links[slot], claims: claims, now: now)
        guard configuration.busDatagramByteCount != nil else { return }
        busItems.append(BusMessage(.linked(links[slot].who.account, links[slot].who.device)))
    }

    mutating func linkResumed(_ slot: Int, _ claims: Claims, now: Instant) {
        setClaims(claims, of: slot, now: now)
        let features = links[slot].link.features
        for handle in relayLinks[slot].handles { rooms.call(.setFeatures(handle, features)) }
    }

    mutating func linkAttached(_ slot: Int, now: Instant) {
        relayLinks.attached(slot)
        let lastReceived = links[slot].lastReceived
        for handle in relayLinks[slot].handles { rooms.call(.reconnected(handle, lastReceived: lastReceived)) }
    }

    mutating func linkSuspended(_ slot: Int, now: Instant) {
        relayLinks.suspended(slot)
        for handle in relayLinks[slot].handles { rooms.call(.disconnected(handle)) }
    }

    /// The sessions of the link leave their rooms.
    mutating func linkEnds(_ slot: Int, now: Instant) {
        let link = relayLinks.remove(slot, links[slot], now: now)
        for (session, membership) in zip(link.sessions.keys, link.sessions.values) {
            leave(membership, session, of: slot)
        }
    }

    mutating func renewed(_ claims: Claims, of slot: Int, now: Instant) { setClaims(claims, of: slot, now: now) }

    func suspendedLinkToEnd() -> Int? { relayLinks.oldestSuspendedOfLargest.flatMap { links.slot($0) } }

    /// A session has ended. Its room or the account's sessions are notified.
    private mutating func leave(_ membership: RelayLink.Membership, _ session: SessionID, of slot: Int) {
        let key = MemberKey(link: links[slot].key, session: session)
        forgetDecision(membership, key)
        switch (membership.owner, membership.handle) {
        case (.account, _): accountEnded(key, of: links[slot].who.account)
        case (.member, let handle?), (.attachment, let handle?): rooms.call(.leave(handle))
        case (.member, nil), (.attachment, nil):
            guard !membership.isAsked, let room = membership.room else { break }
            rooms.call(.withdraw(key, from: room))
        }
    }

    /// Ends a session of the link, unless it has ended.
    mutating func end(_ session: SessionID, of slot: Int) {
        guard let membership = relayLinks.removeSession(session, of: slot, &links[slot].link) else { return }
        leave(membership, session, of: slot)
    }

    /// Resets a session, which leaves its room.
    mutating func reset(_ session: SessionID, _ code: ErrorCode, of slot: Int) {
        counts.resets.count(code)
        links[slot].link.reset(session, code: code)
        end(session, of: slot)
    }

    /// The client has closed a session. That of a member ends at once, and that of another owner when its requests are
    /// answered, so that the answers have its bounds.
    mutating func close(_ session: SessionID, of slot: Int, now: Instant) {
        let membership = relayLinks[slot].sessions[session]
        switch (membership?.owner, membership?.handle) {
        case (.account, _): closeAccount(session, of: slot, now: now)
        case (.attachment, let handle?): rooms.call(.close(handle))
        case (.member, let handle?):
            removeSession(session, of: slot)
            rooms.call(.close(handle))
        default:
            end(session, of: slot)
            links[slot].link.close(session)
        }
    }

    /// Removes a session that its room has removed, or removes now.
    mutating func removeSession(_ session: SessionID, of slot: Int) {
        guard let membership = relayLinks.removeSession(session, of: slot, &links[slot].link) else { return }
        forgetDecision(membership, MemberKey(link: links[slot].key, session: session))
    }

    /// The policy is not asked about a session any more.
    private mutating func forgetDecision(_ membership: RelayLink.Membership, _ key: MemberKey) {
        if let question = membership.question { calls.withdraw(question) }
        authorizations.cancelExpiry(of: key)
    }

    // MARK: Changed links

    @inline(__always)
    mutating func markDirty(_ slot: Int) { links.markDirty(slot) }

    /// A room asks the store.
    mutating func ask(_ question: StoreQuestion) { storeQuestions.append(question) }

    /// Takes the questions for the store.
    mutating func takeStoreQuestions() -> [StoreQuestion] {
        defer { storeQuestions = [] }
        return storeQuestions
    }

    /// Updates a changed link. A link for which messages are held back remains changed until no effects of rooms
    /// remain.
    mutating func update(_ slot: Int, isGroup: Bool, now: Instant) -> (connection: Int, hasOutput: Bool)? {
        guard links.isLive(slot) else { return nil }
        if isGroup, relayLinks[slot].hasBacklogged {
            links.keepDirty(slot)
            return nil
        }
        links.clearDirty(slot)
        // The next session follows in another pass, when the size of this one's messages is known.
        if relayLinks[slot].needsRelease, let handle = relayLinks[slot].popBacklogged(links[slot].link) {
            rooms.call(.setBacklogged(handle, false))
            markDirty(slot)
        }
        if relayLinks[slot].hasPending, let handle = relayLinks[slot].popPending(links[slot].link) {
            rooms.call(.sendPending(handle))
            // Effects from another loop mark the link dirty when they arrive.
            if handle.loop == rooms.place.number { markDirty(slot) }
        }
        if relayLinks[slot].accountSession != .control { continueAccount(of: slot, now: now) }
        relayLinks.settle(slot, links[slot])
        relayLinks[slot].updateWaiting(&links[slot].link, now: now)
        return links[slot].connection.map { ($0, links[slot].link.hasOutput(now: now)) }
    }

    /// Sets the timer of a link to its deadline.
    mutating func arm(_ slot: Int, now: Instant) {
        let hasIdleMemory = !links[slot].link.hasUnacknowledged && relayLinks[slot].hasIdleMemory
        links.arm(slot, hasIdleMemory: hasIdleMemory, now: now)
    }

    mutating func transmit(_ slot: Int, into out: inout OutputRawSpan, now: Instant) -> Bool {
        links[slot].link.transmit(into: &out, now: now)
        arm(slot, now: now)
        // No acknowledgement reports that transient frames have left room for pending presence.
        if relayLinks[slot].hasPending, relayLinks[slot].hasRoomForPending(links[slot].link) {
            links.arm(slot, at: now)
        }
        return links[slot].link.hasOutput(now: now)
    }

    mutating func timerFired(_ slot: Int, now: Instant) {
        if !links[slot].link.hasUnacknowledged {
            relayLinks[slot].releaseIdleMemory()
            relayLinks.settle(slot, links[slot])
        }
        if relayLinks[slot].hasPending { markDirty(slot) }
    }

    /// Ends the turn: every connection has a whole budget, and further sessions may join rooms.
    mutating func endTurn() {
        budget.end()
        rooms.local.endTurn()
    }

    // MARK: Frames

    mutating func receive(
        _ header: FrameHeader, _ content: FrameContent, on slot: Int, now: Instant
    ) throws(LinkError) -> FrameConsequence {
        budget.charge(frameOf: content.byteCount)
        let inflated = inflater.producedByteCount
        let reception = try links[slot].link.receive(header, content, inflater: &inflater, now: now)
        budget.charge((inflater.producedByteCount - inflated) / TurnBudget.bytesPerUnit)
        markDirty(slot)
        switch reception {
        case .deliver(let session, let credit):
            try deliver(header.type, content, on: session, credit, of: slot, now: now)
            return budget.isSpent ? .pause : .proceed
        case .handled, .skipped:
            return try takeArrivals(of: slot, now: now)
        }
    }

    mutating func handle(_ event: LinkEvent, of slot: Int, now: Instant) {
        switch event {
        case .open(let session, let open):
            budget.charge(TurnBudget.openUnits)
            join(open, session, of: slot, now: now)
        case .suspended(let session):
            setSuspended(true, session, cursor: nil, of: slot)
        case .resumed(let session, let cursor):
            setSuspended(false, session, cursor: cursor, of: slot)
        case .closed(let session, _):
            // Earlier messages are accepted, and reported before the relay's own close (S-7, R-49).
            if !relayLinks[slot].defersClose(of: session) { close(session, of: slot, now: now) }
        case .reset(let session, _, _): end(session, of: slot)
        case .acknowledged(let session, let byteCount):
            if let (handle, gain) = relayLinks[slot].takeCredit(of: session, acknowledged: byteCount, links[slot].link)
            {
                rooms.credit(handle, byteCount: gain)
            }
        case .opened, .pong, .reconnectSpread, .goAway, .auth:
            break
        }
    }

    /// Passes the suspension to the room, or keeps it until the room has admitted the session (S-9).
    private mutating func setSuspended(_ isSuspended: Bool, _ session: SessionID, cursor: UInt64?, of slot: Int) {
        guard let index = relayLinks[slot].sessions.index(of: session) else { return }
        relayLinks[slot].sessions[at: index].isSuspended = isSuspended
        if let handle = relayLinks[slot].sessions[at: index].handle {
            rooms.call(.setSuspended(handle, isSuspended, cursor: cursor))
        } else if let cursor {
            relayLinks[slot].sessions[at: index].wantedCursor = cursor
        }
    }

    /// Passes a frame of a session, in its order, to the session's room.
    mutating func deliver(
        _ type: FrameType, _ content: FrameContent, on session: SessionID, _ credit: Int, of slot: Int,
        now: Instant
    ) throws(LinkError) {
        guard session != .control else {
            return try content.withBody { body throws(LinkError) in
                try receiveControl(type, body, credit, of: slot, now: now)
            }
        }
        guard let index = relayLinks[slot].sessions.index(of: session) else {
            links[slot].link.release(credit, on: session)
            if credit == 0 { try links[slot].link.chargeUnproductive(now: now) }
            return
        }
        let owner = relayLinks[slot].sessions[at: index].owner
        if owner == .account, accounts[MemberKey(link: links[slot].key, session: session)] != nil {
            return try deliverToAccount(type, content, on: session, credit, of: slot, now: now)
        }
        guard let handle = relayLinks[slot].sessions[at: index].handle,
            !relayLinks[slot].sessions[at: index].waitsForDecision
        else {
            if type == .transient {
                // A transient frame that precedes the admission has no receiver; one that precedes a decision may be
                // dropped.
                if !relayLinks[slot].takeTransient(now: now) { try links[slot].link.chargeUnproductive(now: now) }
                return
            }
            return content.withBody { hold(type, $0, credit, session, slot) }
        }
        if owner == .attachment {
            return try content.withBody { body throws(LinkError) in
                try receiveAttachment(type, body, handle, session, credit, at: index, of: slot, now: now)
            }
        }
        if type == .data { return try publish(content, handle, session, credit, of: slot, now: now) }
        links[slot].link.release(credit, on: session)
        try content.withBody { body throws(LinkError) in
            try deliver(type, body, handle, on: session, at: index, of: slot, now: now)
        }
    }

    /// Passes a frame that is no message to the session's room.
    private mutating func deliver(
        _ type: FrameType, _ body: RawSpan, _ handle: MemberHandle, on session: SessionID, at index: Int, of slot: Int,
        now: Instant
    ) throws(LinkError) {
        switch type {
        case .receipt:
            let end = links[slot].link.nextSequence(on: session)
            if !relayLinks[slot].sessions[at: index].receipts.take(end: end) {
                try links[slot].link.chargeUnproductive(now: now)
            }
            guard case .progress(let progress) = try Link.parse(Receipt.self, body) else { break }
            rooms.call(.progressed(handle, progress))
        case .transient:
            let transient = try Link.parse(Transient.self, body)
            guard relayLinks[slot].takeTransient(now: now) else {
                return try links[slot].link.chargeUnproductive(now: now)
            }
            guard relayLinks[slot].sessions[at: index].permissions.contains(.publish) else { break }
            budget.charge(TurnBudget.transientUnits)
            rooms.call(.broadcast(handle, transient))
        case .request:
            relayLinks[slot].noteRequest()
            try request(body, handle, session, at: index, of: slot, now: now)
        case .response:
            rooms.call(.respond(handle, try Link.parse(Response.self, body)))
        case .cancel:
            if !relayLinks[slot].takeCancel() { try links[slot].link.chargeUnproductive(now: now) }
            rooms.call(.cancel(handle, correlation: try Link.parse(CancelRequest.self, body).correlation))
        default:
            throw .peer(.protocolViolation)
        }
    }

    /// Holds a frame until the session is admitted or decided about. Credit bounds messages and requests; receipts have
    /// none (S-5, R-15).
    private mutating func hold(
        _ type: FrameType, _ body: RawSpan, _ credit: Int, _ session: SessionID, _ slot: Int
    ) {
        guard relayLinks[slot].hold(type, body, credit: credit, on: session) else {
            links[slot].link.release(credit, on: session)
            return reset(session, .serverBusy, of: slot)
        }
    }

    // MARK: Messages

    /// Passes a message to its room. A message with an invalid value is refused and the session continues; an invalid
    /// structure ends the connection (R-24, Specs/hostile.md row 14).
    private mutating func publish(
        _ content: FrameContent, _ handle: MemberHandle, _ session: SessionID, _ credit: Int, of slot: Int,
        now: Instant
    ) throws(LinkError) {
        guard case .message(let values) = content else {
            return try content.withBody { body throws(LinkError) in
                try publish(body, handle, session, credit, of: slot, now: now)
            }
        }
        guard let message = ClientMessage(values) else {
            return refuse(values.counter, .invalidValue, session, credit, of: slot)
        }
        publish(message, handle, session, credit, of: slot, now: now)
    }

    private mutating func publish(
        _ body: RawSpan, _ handle: MemberHandle, _ session: SessionID, _ credit: Int, of slot: Int, now: Instant
    ) throws(LinkError) {
        do throws(WireError) {
            let view = try MessageView(parsing: body)
            guard let message = ClientMessage(view) else {
                return refuse(view.counter, .invalidValue, session, credit, of: slot)
            }
            publish(message, handle, session, credit, of: slot, now: now)
        } catch {
            guard error.scope == .frame else {
                links[slot].link.release(credit, on: session)
                throw LinkError(error)
            }
            refuse(MessageView.counter(in: body), error.code, session, credit, of: slot)
        }
    }

    private mutating func publish(
        _ message: ClientMessage, _ handle: MemberHandle, _ session: SessionID, _ credit: Int, of slot: Int,
        now: Instant
    ) {
        // With its stamp it would exceed every receiver's limit.
        guard message.byteCount + RelayStamp.maxByteCount <= configuration.link.limits.maxMessageByteCount else {
            return refuse(message.counter, .messageTooLarge, session, credit, of: slot)
        }
        budget.charge(TurnBudget.messageUnits)
        relayLinks.spend(byteCount: message.byteCount, of: slot, now: now)
        rooms.publish(handle, message, acceptedAt: wallClock)
    }

    /// Refuses a message by its counter; a message without a counter ends its session.
    private mutating func refuse(
        _ counter: UInt64?, _ code: ErrorCode, _ session: SessionID, _ credit: Int, of slot: Int
    ) {
        links[slot].link.release(credit, on: session)
        guard let counter else { return reset(session, code, of: slot) }
        refuse(counter, code, on: session, of: slot)
    }

    mutating func refuse(_ counter: UInt64, _ code: ErrorCode, on session: SessionID, of slot: Int) {
        counts.refusals.count(code)
        let receipt = Receipt.refused(Receipt.Refusal(counter: counter, code: code))
        send(.receipt, EncodedBody(receipt.encode()), on: session, of: slot)
    }

    // MARK: Requests

    /// Passes a request to its room. A request with an invalid value is answered; an invalid structure ends the
    /// connection (Specs/hostile.md row 14).
    private mutating func request(
        _ body: RawSpan, _ handle: MemberHandle, _ session: SessionID, at index: Int, of slot: Int, now: Instant
    ) throws(LinkError) {
        switch try ReceivedRequest(parsing: body) {
        case .valid(let request) where !links[slot].link.features.contains(.requests):
            answer(Response(correlation: request.correlation, status: .unknownMethod), on: session, of: slot)
        case .valid(let request) where !relayLinks[slot].sessions[at: index].permissions.contains(.request):
            answer(Response(correlation: request.correlation, status: .forbidden), on: session, of: slot)
        case .valid(let request):
            guard request.recipient == nil else { return rooms.call(.request(handle, request), now: now) }
            let readsHistory = request.method == HistoryQuery.method
            let method = configuration.roomRoles == nil ? nil : RoomMethod(request.method)
            if method != nil || readsHistory { budget.charge(TurnBudget.operationUnits) }
            if let method, method != .roles, !relayLinks.mayOperate(slot, now: now) {
                let refusal = Response(
                    correlation: request.correlation, status: .tooManyRequests,
                    retryAfter: relayLinks.operatesAt(slot).retryAfter(now: now))
                return answer(refusal, on: session, of: slot)
            }
            let permissions = relayLinks[slot].sessions[at: index].permissions
            guard !readsHistory || permissions.contains(.readHistory) else {
                return answer(Response(correlation: request.correlation, status: .forbidden), on: session, of: slot)
            }
            rooms.call(.request(handle, request), now: now)
        case .invalid(let response):
            answer(response, on: session, of: slot)
        }
    }

    /// Answers a request on the link's own session, where only the relay's clock is served. A frame about a
    /// request that the relay never sent has no effect (S-58).
    private mutating func receiveControl(
        _ type: FrameType, _ body: RawSpan, _ credit: Int, of slot: Int, now: Instant
    ) throws(LinkError) {
        links[slot].link.release(credit, on: .control)
        guard type == .request else {
            if credit == 0 { try links[slot].link.chargeUnproductive(now: now) }
            return
        }
        // A peer that does not read its answers gets no further ones.
        guard relayLinks[slot].checkRoom(links[slot].link) else { throw .peer(.slowConsumer) }
        let received = try ReceivedRequest(parsing: body)
        guard case .valid(let request) = received, request.method == RelayTime.method, request.recipient == nil,
            links[slot].link.features.contains(.requests)
        else { return answer(received.declined, on: .control, of: slot) }
        let content = RelayTime(wallClock: wallClock).content
        answer(Response(correlation: request.correlation, content: content), on: .control, of: slot)
    }
}
