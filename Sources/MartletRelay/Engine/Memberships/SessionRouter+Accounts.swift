import MartletLink
import MartletWire

/// The sessions of accounts, which belong to no room.
extension SessionRouter {
    /// The units of the account's rate that a page and a request about a record cost, and an invitation without roles
    ///
    private static let requestUnits = 16
    private static let invitationUnits = 64

    // MARK: Opening

    mutating func openAccount(_ open: Open, _ session: SessionID, of slot: Int, now: Instant) {
        guard configuration.keepsMemberships, links[slot].link.features.contains(.accountSession) else {
            return links[slot].link.reset(session, code: .unsupportedKind)
        }
        let account = links[slot].who.account
        guard open.room.text.utf8.elementsEqual(account.text.utf8) else {
            return links[slot].link.reset(session, code: .forbidden)
        }
        guard relayLinks[slot].accountSession == .control else {
            return links[slot].link.reset(session, code: .alreadyOpen)
        }
        if let wait = relayLinks.takeOpen(slot, now: now) {
            return links[slot].link.reset(session, code: .serverBusy, retryAfter: wait.retryAfter(now: now))
        }
        relayLinks.addSession(session, RelayLink.Membership(owner: .account, room: nil, isBulk: false), of: slot)
        relayLinks[slot].accountSession = session
        perform(accounts.opened(MemberKey(link: links[slot].key, session: session), of: account), now: now)
    }

    /// Performs the consequences of an event.
    mutating func perform(_ outputs: [AccountSessions.Output], now: Instant) {
        for output in outputs {
            switch output {
            case .readNames(let account):
                reads.append((MembershipReadID(account: account, session: nil), .names))
            case .watch(let call): rooms.call(.watch(call), now: now)
            case .accept(let key): accept(key, now: now)
            case .reset(let key, let code):
                guard let slot = links.slot(key.link) else { continue }
                markDirty(slot)
                reset(key.session, code, of: slot)
            case .check(let key): if let slot = links.slot(key.link) { markDirty(slot) }
            }
        }
    }

    /// Accepts the session, and processes the frames that it has sent before.
    private mutating func accept(_ key: MemberKey, now: Instant) {
        guard let slot = links.slot(key.link), relayLinks[slot].accountSession == key.session else { return }
        markDirty(slot)
        links[slot].link.accept(key.session, Opened(head: 0, first: 1))
        deliverHeld(of: key.session, of: slot, now: now)
    }

    /// The client has closed the session, which ends when its requests are answered.
    mutating func closeAccount(_ session: SessionID, of slot: Int, now: Instant) {
        accounts[MemberKey(link: links[slot].key, session: session)]?.close()
        endIfAnswered(session, of: slot, now: now)
    }

    private mutating func endIfAnswered(_ session: SessionID, of slot: Int, now: Instant) {
        let key = MemberKey(link: links[slot].key, session: session)
        for correlation in accounts[key]?.takeOverdue(now: now) ?? [] {
            answer(Response(correlation: correlation, status: .deadlineExceeded), on: session, of: slot)
        }
        guard accounts[key]?.requestCount ?? 0 == 0 else { return accounts.arm(key) }
        end(session, of: slot)
        links[slot].link.close(session)
    }

    /// An account's session has ended.
    mutating func accountEnded(_ key: MemberKey, of account: AccountName) {
        for case .watch(let call) in accounts.ended(key, of: account) { rooms.call(.watch(call)) }
    }

    // MARK: Frames

    /// Processes a frame of an account's session (S-63, Specs/hostile.md row 77).
    mutating func deliverToAccount(
        _ type: FrameType, _ content: FrameContent, on session: SessionID, _ credit: Int, of slot: Int, now: Instant
    ) throws(LinkError) {
        let key = MemberKey(link: links[slot].key, session: session)
        links[slot].link.release(credit, on: session)
        switch type {
        case .request:
            relayLinks[slot].noteRequest()
            try content.withBody { body throws(LinkError) in
                switch try ReceivedRequest(parsing: body) {
                case .valid(let request): requested(request, key, of: slot, now: now)
                case .invalid(let response): answer(response, on: session, of: slot)
                }
            }
        case .cancel:
            let correlation = try content.withBody { body throws(LinkError) in
                try Link.parse(CancelRequest.self, body).correlation
            }
            if !relayLinks[slot].takeCancel() { try links[slot].link.chargeUnproductive(now: now) }
            accounts[key]?.cancel(correlation)
        default: throw .peer(.protocolViolation)
        }
    }

    private mutating func requested(_ request: Request, _ key: MemberKey, of slot: Int, now: Instant) {
        func respond(_ status: ErrorCode, retryAfter: Duration? = nil) {
            let response = Response(correlation: request.correlation, status: status, retryAfter: retryAfter)
            answer(response, on: key.session, of: slot)
        }
        guard links[slot].link.features.contains(.requests) else { return respond(.unknownMethod) }
        guard request.recipient == nil else { return respond(.noRecipient) }
        let method = MembershipMethod(request.method)
        let isOfMemberships = method != nil || request.method == MembershipMethod.list
        let isAdministration = AdministrationMethod.includes(request.method)
        if isOfMemberships || isAdministration {
            budget.charge(TurnBudget.operationUnits)
            // Specs/hostile.md row 76
            guard relayLinks.mayOperate(slot, now: now) else {
                return respond(.tooManyRequests, retryAfter: relayLinks.operatesAt(slot).retryAfter(now: now))
            }
            let isInvitation = method == .invite && configuration.roomRoles == nil
            let units = isInvitation ? Self.invitationUnits : Self.requestUnits
            // What a request for administration costs is known with its decision.
            if isOfMemberships { relayLinks.spendOperation(units, of: slot, now: now) }
        }
        guard let number = accounts[key]?.begin(request.correlation, deadline: request.deadline, now: now) else {
            return respond(.tooManyRequests)
        }
        do throws(WireError) {
            if let method {
                let (room, operation) = try MembershipOperation.parse(method, content: request.content)
                let call = MembershipCall(
                    caller: key, number: number, who: links[slot].who, permissions: .all, room: room,
                    operation: operation)
                decide(call, of: slot, now: now)
            } else if isOfMemberships {
                let query = try RoomListQuery(parsing: request.content)
                guard accounts[key]?.append(number, query) == true else {
                    _ = accounts[key]?.finish(number)
                    return respond(.tooManyRequests)
                }
                markDirty(slot)
            } else {
                let stamped = Request(
                    correlation: request.correlation, method: request.method,
                    deadline: min(request.deadline, RoomRequests.maxTimeout), recipient: nil,
                    sender: links[slot].who.account, content: request.content)
                guard !isAdministration else {
                    let call = AdministrationCall(
                        caller: key, number: number, who: links[slot].who, request: stamped)
                    return requested(call, of: slot, now: now)
                }
                call(.request(nil, stamped), for: .accountRequest(key, number: number), now: now)
            }
        } catch {
            _ = accounts[key]?.finish(number)
            if case .unknownCriticalTag = error { return respond(.invalidValue) }  // W-29
            respond(error.code)
        }
    }

    /// Asks the room policy about a request, or passes it to the room. Whoever may not enter may still leave.
    private mutating func decide(_ call: MembershipCall, of slot: Int, now: Instant) {
        switch call.operation {
        case .join, .invite, .read:
            guard configuration.asksRoomPolicy else { break }
            ask(.call(call), now: now)
            return
        case .leave, .decline: break
        }
        rooms.call(.membership(call), now: now)
    }

    /// The room policy's decision about a request; nil if the policy failed.
    mutating func authorized(_ call: MembershipCall, _ decision: RoomDecision?, now: Instant) {
        switch decision {
        case nil: answered(call.caller, Response(correlation: call.number, status: .serverBusy))
        case .refused: answered(call.caller, Response(correlation: call.number, status: .roomForbidden))
        case .granted(let permissions, _):
            var call = call
            call.permissions = permissions
            rooms.call(.membership(call), now: now)
        }
    }

    /// The answer to a request, unless it was cancelled. It names the request by its number, and is sent with the
    /// correlation of the request (S-54).
    mutating func answered(_ key: MemberKey, _ answer: Response) {
        guard let slot = links.slot(key.link), let correlation = accounts[key]?.finish(answer.correlation) else {
            return
        }
        markDirty(slot)
        let response = Response(
            correlation: correlation, status: answer.status, reason: answer.reason, retryAfter: answer.retryAfter,
            content: answer.content)
        send(response, on: key.session, of: slot)
    }

    /// Queues a response, or an error in its place if it is too long or too much is queued.
    private mutating func send(_ response: Response, on session: SessionID, of slot: Int) {
        let body = EncodedBody(response.encode())
        let isTooLong = body.byteCount > links[slot].link.limits.maxMessageByteCount
        guard isTooLong || !relayLinks[slot].sendRequest(.response, body, on: session, &links[slot].link) else {
            return
        }
        let status: ErrorCode = isTooLong ? .messageTooLarge : .serverBusy
        answer(Response(correlation: response.correlation, status: status), on: session, of: slot)
    }

    // MARK: Pages and updates

    /// Begins the next read of a link's account session, and sends what is due.
    mutating func continueAccount(of slot: Int, now: Instant) {
        let session = relayLinks[slot].accountSession
        let key = MemberKey(link: links[slot].key, session: session)
        if accounts[key]?.isClosing == true { endIfAnswered(session, of: slot, now: now) }
        guard accounts[key] != nil else { return }
        let isSuspended = relayLinks[slot].sessions[session]?.isSuspended == true
        let hasRoom = links[slot].connection != nil && !isSuspended && relayLinks[slot].takesUpdates(links[slot].link)
        if accounts[key]?.takeListAgain(hasRoom: hasRoom, now: now) == true {
            send(.update, EncodedBody(RoomUpdate(nil).encode()), on: session, of: slot)
        }
        switch accounts[key]?.nextRead(hasRoom: hasRoom, now: now) {
        case nil: break
        case .page(_, let query):
            let account = links[slot].who.account
            let read = MembershipRead.page(
                after: query.after, maxCount: query.limit + 1, progress: accounts.progress(of: account))
            reads.append((MembershipReadID(account: account, session: key), read))
        case .rooms(let rooms):
            reads.append((MembershipReadID(account: links[slot].who.account, session: key), .rooms(rooms)))
        }
        // A link without room becomes dirty by its acknowledgements.
        if hasRoom { accounts.arm(key) }
    }

    /// The result of a read; nil if the store has failed.
    mutating func membershipsRead(_ id: MembershipReadID, _ entries: [StoredRoomEntry]?, now: Instant) {
        guard let key = id.session else {
            return perform(accounts.namesRead(entries?.map(\.room), of: id.account), now: now)
        }
        guard links.slot(key.link) != nil, accounts[key]?.reading != nil else { return }
        accounts[key]?.readEnded(entries)
        if configuration.asksRoomPolicy {
            for room in accounts[key]?.takeUndecided(now: now) ?? [] { askPolicy(aboutEntryOf: room, key, now: now) }
        }
        sendDecided(key)
    }

    /// Asks the policy whether an account may see the messages of a room in its list.
    private mutating func askPolicy(aboutEntryOf room: RoomName, _ key: MemberKey, now: Instant) {
        guard let generation = accounts[key]?.decisionGeneration else { return }
        ask(.entry(key, room, generation: generation), now: now)
    }

    /// The policy's decision about the entry of a room; nil if the policy failed.
    mutating func authorized(
        _ room: RoomName, asked generation: UInt64, of key: MemberKey, _ decision: RoomDecision?, now: Instant
    ) {
        guard accounts[key]?.decided(room, decision, asked: generation, now: now) == true else {
            return askPolicy(aboutEntryOf: room, key, now: now)
        }
        sendDecided(key)
    }

    /// Sends the entries of a read if all of them are decided.
    private mutating func sendDecided(_ key: MemberKey) {
        guard let slot = links.slot(key.link), let (read, stored) = accounts[key]?.takeDecided() else { return }
        markDirty(slot)
        let account = links[slot].who.account
        let entries = stored?.map { maySeeMessages($0, account, key) ? $0.entry : $0.entry.withoutLog }
        switch read {
        case .page(let number, let query): respond(number, query, entries, key)
        case .rooms(let rooms): sendUpdates(of: rooms, entries, on: key.session, of: slot)
        }
    }

    /// Whether an account may enter a room and read its history, by the policy and by the roles of the room. Roles that
    /// were lost permit nothing.
    private mutating func maySeeMessages(_ stored: StoredRoomEntry, _ account: AccountName, _ key: MemberKey) -> Bool {
        guard stored.entry.lastOffset > 0 else { return true }
        let permissions = configuration.asksRoomPolicy ? accounts[key]?.permissions(in: stored.room) : .all
        guard let permissions, permissions.contains(.readHistory) else { return false }
        guard configuration.roomRoles != nil, let bytes = stored.roles else { return true }
        return (try? RoomRoles(decoding: bytes))?.role(of: account, permissions) != nil
    }

    private mutating func respond(
        _ number: UInt64, _ query: RoomListQuery, _ entries: [RoomEntry]?, _ key: MemberKey
    ) {
        guard let entries else {
            return answered(key, Response(correlation: number, status: .storeUnavailable))
        }
        let page = RoomListPage(
            entries: Array(entries.prefix(query.limit)), hasMore: entries.count > query.limit)
        answered(key, Response(correlation: number, content: page.content))
    }

    /// Sends the entries of changed rooms; of a room without a record, that there is none. When the store has failed,
    /// the client requests the list again.
    private mutating func sendUpdates(
        of rooms: [RoomName: AccountProgress], _ entries: [RoomEntry]?, on session: SessionID, of slot: Int
    ) {
        guard let entries else {
            return send(.update, EncodedBody(RoomUpdate(nil).encode()), on: session, of: slot)
        }
        let found = Dictionary(entries.map { ($0.room, $0) }) { first, _ in first }
        for room in rooms.keys.sorted() {
            let entry = found[room] ?? RoomEntry(room: room, membership: .none)
            send(.update, EncodedBody(RoomUpdate(entry).encode()), on: session, of: slot)
        }
    }

    /// Sends what has waited for its time.
    mutating func accountDeadlines(now: Instant) {
        while let key = accounts.popExpired(now: now) {
            if let slot = links.slot(key.link) { markDirty(slot) }
        }
        for key in accounts.takeRelisting(now: now) {
            if let slot = links.slot(key.link) { markDirty(slot) }
        }
    }
}
