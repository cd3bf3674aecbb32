import MartletLink
import MartletWire

/// Passes frames of sessions to rooms, and effects of rooms to sessions.
///
/// The router owns the links of the loop, its rooms, and the links that have changed in this turn. It accesses no
/// connections: an answer names the action that the engine has to take on one.
///
/// | state of a session | owns | ends |
/// |---|---|---|
/// | asked | a question to the room policy, the frames that precede the admission | the decision; the end of the session |
/// | joining | the frames that precede the admission | `opened`, `reset` of the room; the end of the session |
/// | member | a handle of its room | `reset` of the room; the end of the session |
/// | member, asked about other claims | a handle, a question, frames that precede the decision | as asked |
/// | closing | a slot in its room | `closed` of the room, behind the acceptances and answers (R-49, R-147) |
struct SessionRouter: ~Copyable {
    let configuration: RelayConfiguration
    /// The relay's wall clock in milliseconds since 1970.
    var wallClock: UInt64 {
        get { rooms.local.wallClock }
        set { rooms.local.wallClock = newValue }
    }
    var links: LinkTable
    var rooms: RoomRouter
    private(set) var dirty = DirtyLinks()
    var authorizations = RoomAuthorizations()
    /// The rooms of questions that the policy has not answered in time, for the log.
    var overdueRooms: [RoomName] = []
    /// Entries that roles of rooms have refused, with the connections of their links, for the log.
    var refusedEntries: [(note: RelayNote, connection: Int?)] = []
    /// The questions of the rooms of this turn for the store.
    private(set) var storeQuestions: [StoreQuestion] = []
    /// Credit of messages of accounts that have exceeded their rate.
    var withheld = WithheldCredit()
    /// The sessions of accounts.
    var accounts: AccountSessions
    /// Reads of accounts' rooms, and requests of applications, for the driver.
    var reads = Deque<(MembershipReadID, MembershipRead)>()
    var accountRequests = Deque<(AccountRequestID, Request)>()
    /// Faults in frames that preceded the acceptance of an account's session.
    var accountFaults: [HeldFault] = []
    private var spread = ReconnectSpread()
    private var inflater = Inflater()
    /// The remaining budget of the connection that is read.
    var budget = TurnBudget()

    init(_ configuration: RelayConfiguration, firstID: UInt64, place: LoopPlace) {
        self.configuration = configuration
        links = LinkTable(loop: place.number, firstID: firstID, rate: configuration.accountRate)
        rooms = RoomRouter(place: place, configuration)
        accounts = AccountSessions(place: place)
    }

    // MARK: Links

    /// A client is welcomed.
    mutating func noteArrival(now: Instant) { spread.arrived(now: now) }

    /// The duration over which clients spread their attempts after the relay's end (C-92).
    mutating func reconnectSpread(now: Instant) -> Duration {
        let loopCount = rooms.place.count
        return spread.duration(
            clientCount: (links.count - links.suspendedCount) * loopCount, loopCount: loopCount, now: now)
    }

    /// Adds a link of a device that has none.
    mutating func insert(
        _ who: DeviceKey, _ claims: Claims, _ limits: Limits, _ features: Features, _ token: TokenDigest, now: Instant
    ) -> Int {
        links.insert(
            Link(
                role: .relay, limits: limits, features: features, began: now,
                firstSequence: configuration.firstSequence),
            for: who, claims: claims, token: token, now: now)
    }

    /// Begins another epoch of a link, with the limits, features and claims of a resume.
    mutating func resume(
        _ slot: Int, _ limits: Limits, _ features: Features, _ claims: Claims, _ token: TokenDigest, now: Instant
    ) {
        links[slot].beginEpoch(token)
        setClaims(claims, of: slot, now: now)
        links[slot].link.adopt(limits, features: features)
        for handle in links[slot].handles { rooms.call(.setFeatures(handle, features)) }
    }

    mutating func attach(_ slot: Int, to connection: Int, _ carrier: Carrier, now: Instant) {
        links.resume(slot)
        links[slot].attach(connection, carrier, deflatesPackets: configuration.deflatesPackets, now: now)
        let lastReceived = links[slot].lastReceived
        for handle in links[slot].handles { rooms.call(.reconnected(handle, lastReceived: lastReceived)) }
    }

    /// Suspends a link that has lost its connection; false when the connection is not the link's.
    ///
    /// - Parameter lastReceived: The instant of the last bytes from the connection.
    mutating func detach(_ slot: Int, from connection: Int, lastReceived: Instant, now: Instant) -> Bool {
        guard links.isLive(slot), links[slot].detach(connection, lastReceived: lastReceived) else { return false }
        links.suspend(slot, now: now)
        for handle in links[slot].handles { rooms.call(.disconnected(handle)) }
        return true
    }

    /// Removes a link, whose sessions leave their rooms.
    mutating func remove(_ slot: Int, now: Instant) -> RelayLink {
        let link = links.remove(slot, now: now)
        for (session, membership) in zip(link.sessions.keys, link.sessions.values) {
            if session == link.accountSession {
                accountEnded(MemberKey(link: link.key, session: session), of: link.who.account)
            }
            leave(membership, MemberKey(link: link.key, session: session))
        }
        return link
    }

    /// A session has ended.
    private mutating func leave(_ membership: RelayLink.Membership, _ key: MemberKey) {
        authorizations.sessionEnded(key, question: membership.question)
        if membership.isAsked { return }
        if let handle = membership.handle {
            rooms.call(.leave(handle))
        } else if let room = membership.room {
            rooms.call(.withdraw(key, from: room))
        }
    }

    /// Resets a session, which leaves its room.
    mutating func reset(_ session: SessionID, _ code: ErrorCode, of slot: Int) {
        links[slot].link.reset(session, code: code)
        if session == links[slot].accountSession { return endAccount(session, of: slot) }
        guard let membership = links.removeSession(session, of: slot) else { return }
        leave(membership, MemberKey(link: links[slot].key, session: session))
    }

    // MARK: Dirty links

    @inline(__always)
    mutating func markDirty(_ slot: Int) {
        guard links.isLive(slot), !links[slot].isDirty else { return }
        links[slot].isDirty = true
        dirty.append(slot)
    }

    /// A room asks the store.
    mutating func ask(_ question: StoreQuestion) { storeQuestions.append(question) }

    /// Takes the questions for the store.
    mutating func takeStoreQuestions() -> [StoreQuestion] {
        defer { storeQuestions = [] }
        return storeQuestions
    }

    /// Takes the dirty links, in the reverse order: receivers of messages precede publishers, which wait for an
    /// acknowledgement only.
    mutating func takeDirty() -> [Int] { dirty.takeAll() }

    /// Returns the memory of the taken links.
    mutating func recycle(_ taken: consuming [Int]) { dirty.recycle(taken) }

    /// Updates a dirty link. Returns its connection, which may have something to send.
    ///
    /// - Parameter isGroup: effects of rooms remain. A link for which messages are held back then stays dirty until
    ///   there are none.
    @inline(__always)
    mutating func update(_ slot: Int, isGroup: Bool, now: Instant) -> Int? {
        guard links.isLive(slot) else { return nil }
        if isGroup, links[slot].hasBacklogged {
            dirty.keep(slot)
            return nil
        }
        links[slot].isDirty = false
        // The next session follows in another pass, when the size of this one's messages is known.
        if links[slot].needsRelease, let handle = links[slot].popBacklogged() {
            rooms.call(.setBacklogged(handle, false))
            markDirty(slot)
        }
        if links[slot].hasPending, let handle = links[slot].popPending() {
            rooms.call(.sendPending(handle))
            // Effects from another loop mark the link dirty when they arrive.
            if handle.loop == rooms.place.number { markDirty(slot) }
        }
        if links[slot].accountSession != .control { continueAccount(of: slot, now: now) }
        links.settle(slot)
        links[slot].updateWaiting(now: now)
        return links[slot].connection
    }

    /// Ends the turn: every connection has a whole budget, and further sessions may join rooms.
    mutating func endTurn() {
        budget.end()
        rooms.local.endTurn()
    }

    // MARK: Frames

    /// The consequence of a frame for the link's connection.
    enum OnFrame {
        case proceed
        /// The peer ends the connection, because of a fault, and resumes.
        case disconnect
        /// The device ends the link (C-42).
        case endLink
        /// The device renews its credential (C-71).
        case renew(Credential)
    }

    mutating func receive(
        _ header: FrameHeader, _ content: FrameContent, on slot: Int, now: Instant
    ) throws(LinkError) -> OnFrame {
        budget.charge(frameOf: content.byteCount)
        let inflated = inflater.producedByteCount
        // The pong repeats the spread, which has changed since the welcome (C-92).
        if header.type == .ping { links[slot].link.reconnectSpread = reconnectSpread(now: now) }
        let reception = try links[slot].link.receive(header, content, inflater: &inflater, now: now)
        budget.charge((inflater.producedByteCount - inflated) / TurnBudget.bytesPerUnit)
        if !links[slot].isDirty { markDirty(slot) }
        switch reception {
        case .deliver(let session, let credit):
            try deliver(header.type, content, on: session, credit, of: slot, now: now)
            return .proceed
        case .handled, .skipped:
            return try drainArrivals(slot, now: now)
        }
    }

    private mutating func drainArrivals(
        _ slot: Int, now: Instant
    ) throws(LinkError) -> OnFrame {
        var result = OnFrame.proceed
        while let arrival = try links[slot].link.nextArrival(now: now) {
            switch consume arrival {
            case .event(.goAway(let goAway)): return goAway.notice.code == .none ? .endLink : .disconnect
            case .event(.auth(let auth)):
                guard let credential = auth.credential else { throw .peer(.protocolViolation) }
                result = .renew(credential)
            case .event(let event): handle(event, of: slot, now: now)
            case .frame(let session, let frame):
                let body = FrameContent.body(frame.body.rawBytes)
                try deliver(frame.type, body, on: session, frame.creditByteCount, of: slot, now: now)
            }
        }
        return result
    }

    private mutating func handle(_ event: LinkEvent, of slot: Int, now: Instant) {
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
            guard !links[slot].defersClose(of: session) else { return }
            if session == links[slot].accountSession { return closeAccount(session, of: slot, now: now) }
            if let handle = links[slot].sessions[session]?.handle { return close(session, handle, of: slot) }
            if let membership = links.removeSession(session, of: slot) {
                leave(membership, MemberKey(link: links[slot].key, session: session))
            }
            links[slot].link.close(session)
        case .reset(let session, _, _):
            if session == links[slot].accountSession { return endAccount(session, of: slot) }
            guard let membership = links.removeSession(session, of: slot) else { return }
            leave(membership, MemberKey(link: links[slot].key, session: session))
        case .acknowledged(let session, let byteCount):
            if let (handle, gain) = links[slot].takeCredit(of: session, acknowledged: byteCount) {
                rooms.credit(handle, byteCount: gain)
            }
        case .opened, .pong, .reconnectSpread, .goAway, .auth:
            break
        }
    }

    /// Passes the suspension to the room, or keeps it until the room has admitted the session (S-9).
    private mutating func setSuspended(_ isSuspended: Bool, _ session: SessionID, cursor: UInt64?, of slot: Int) {
        guard let index = links[slot].sessions.index(of: session) else { return }
        links[slot].sessions[at: index].isSuspended = isSuspended
        if let handle = links[slot].sessions[at: index].handle {
            rooms.call(.setSuspended(handle, isSuspended, cursor: cursor))
        } else if let cursor {
            links[slot].sessions[at: index].wantedCursor = cursor
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
        guard let index = links[slot].sessions.index(of: session) else {
            links[slot].link.release(credit, on: session)
            if credit == 0 { try links[slot].link.chargeUnproductive(now: now) }
            return
        }
        guard let handle = links[slot].sessions[at: index].handle,
            !links[slot].sessions[at: index].waitsForDecision
        else {
            if session == links[slot].accountSession,
                accounts[MemberKey(link: links[slot].key, session: session)] != nil
            {
                return try deliverToAccount(type, content, on: session, credit, of: slot, now: now)
            }
            if type == .transient {
                // A transient frame that precedes the admission has no receiver; one that precedes a decision may be
                // dropped.
                if !links[slot].takeTransient(now: now) { try links[slot].link.chargeUnproductive(now: now) }
                return
            }
            return content.withBody { hold(type, $0, credit, session, slot) }
        }
        if links[slot].sessions[at: index].isAttachment {
            return try content.withBody { body throws(LinkError) in
                try receiveAttachment(type, body, handle, session, credit, at: index, of: slot, now: now)
            }
        }
        if type == .data {
            guard links[slot].sessions[at: index].permissions.contains(.publish) else {
                return refuseUnpermitted(content, session, credit, of: slot)
            }
            return try publish(content, handle, session, credit, of: slot, now: now)
        }
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
            if !links[slot].sessions[at: index].receipts.take(end: end) {
                try links[slot].link.chargeUnproductive(now: now)
            }
            guard case .progress(let progress) = try Link.parse(Receipt.self, body) else { break }
            rooms.call(.progressed(handle, progress))
        case .transient:
            let transient = try Link.parse(Transient.self, body)
            guard links[slot].takeTransient(now: now) else {
                return try links[slot].link.chargeUnproductive(now: now)
            }
            guard links[slot].sessions[at: index].permissions.contains(.publish) else { break }
            budget.charge(TurnBudget.transientUnits)
            rooms.call(.broadcast(handle, transient))
        case .request:
            links[slot].noteRequest()
            try request(body, handle, session, at: index, of: slot, now: now)
        case .response:
            rooms.call(.respond(handle, try Link.parse(Response.self, body)))
        case .cancel:
            if !links[slot].takeCancel() { try links[slot].link.chargeUnproductive(now: now) }
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
        guard links[slot].hold(type, body, credit: credit, on: session) else {
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
        guard message.byteCount + RelayStamp.maxByteCount <= configuration.limits.maxMessageByteCount else {
            return refuse(message.counter, .messageTooLarge, session, credit, of: slot)
        }
        budget.charge(TurnBudget.messageUnits)
        links.spend(byteCount: message.byteCount, of: slot, now: now)
        rooms.publish(handle, message, acceptedAt: wallClock)
    }

    /// Refuses a message of a session that may not publish.
    private mutating func refuseUnpermitted(
        _ content: FrameContent, _ session: SessionID, _ credit: Int, of slot: Int
    ) {
        budget.charge(TurnBudget.messageUnits)
        let counter: UInt64? =
            switch content {
            case .message(let message): message.counter
            default: content.withBody { MessageView.counter(in: $0) }
            }
        refuse(counter, .forbidden, session, credit, of: slot)
    }

    /// Refuses a message by its counter; a message without a counter ends its session.
    private mutating func refuse(
        _ counter: UInt64?, _ code: ErrorCode, _ session: SessionID, _ credit: Int, of slot: Int
    ) {
        links[slot].link.release(credit, on: session)
        guard let counter else { return reset(session, code, of: slot) }
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
        case .valid(let request) where !links[slot].sessions[at: index].permissions.contains(.request):
            answer(Response(correlation: request.correlation, status: .forbidden), on: session, of: slot)
        case .valid(let request):
            guard request.recipient == nil else { return rooms.call(.request(handle, request), now: now) }
            let readsHistory = request.method == HistoryQuery.method
            let method = configuration.roomRoles == nil ? nil : RoomMethod(request.method)
            if method != nil || readsHistory { budget.charge(TurnBudget.operationUnits) }
            if let method, method != .roles, !links.mayOperate(slot, now: now) {
                let refusal = Response(
                    correlation: request.correlation, status: .tooManyRequests,
                    retryAfter: links.operatesAt(slot).retryAfter(now: now))
                return answer(refusal, on: session, of: slot)
            }
            let permissions = links[slot].sessions[at: index].permissions
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
        guard links[slot].checkRoom() else { throw .peer(.slowConsumer) }
        let received = try ReceivedRequest(parsing: body)
        guard case .valid(let request) = received, request.method == RelayTime.method, request.recipient == nil,
            links[slot].link.features.contains(.requests)
        else { return answer(received.declined, on: .control, of: slot) }
        let content = RelayTime(wallClock: wallClock).content
        answer(Response(correlation: request.correlation, content: content), on: .control, of: slot)
    }
}
