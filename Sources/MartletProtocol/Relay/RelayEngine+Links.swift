import MartletWire

extension RelayEngine {
    // MARK: Frames

    mutating func receive(
        _ header: FrameHeader, _ content: FrameContent, onLink slot: Int, now: Instant
    ) throws(LinkError) {
        turn.charge(frameOf: content.byteCount)
        let inflated = inflater.producedByteCount
        let reception = try links[slot].link.receive(header, content, inflater: &inflater, now: now)
        turn.charge((inflater.producedByteCount - inflated) / TurnBudget.bytesPerUnit)
        if !links[slot].isTouched { touch(slot) }
        switch reception {
        case .deliver(let session, let credit):
            try deliver(header.type, content, on: session, credit, of: slot, now: now)
        case .handled, .skipped:
            try drainArrivals(slot, now: now)
        }
    }

    private mutating func drainArrivals(_ slot: Int, now: Instant) throws(LinkError) {
        while links.isLive(slot), let arrival = try links[slot].link.nextArrival(now: now) {
            switch consume arrival {
            case .event(let event):
                handle(event, of: slot, now: now)
            case .frame(let session, let frame):
                let body = FrameContent.body(frame.body.rawBytes)
                try deliver(frame.type, body, on: session, frame.creditByteCount, of: slot, now: now)
            }
        }
    }

    private mutating func handle(_ event: LinkEvent, of slot: Int, now: Instant) {
        switch event {
        case .open(let session, let open):
            turn.charge(TurnBudget.openUnits)
            if isOpen(open.room, onLink: slot) {
                return links[slot].link.reset(session, code: .alreadyOpen)
            }
            let (key, account) = (links[slot].key, links[slot].account)
            guard accounts.takeOpen(account, now: now) else {
                return links[slot].link.reset(session, code: .serverBusy)  // S-4, Specs/hostile.md row 44
            }
            links[slot].sessions[session] = RelayLink.Membership(
                room: open.room, isBulk: SessionPreset(open.kind).priority.isBulk)
            accounts.changeSessions(of: key, of: account, by: 1)
            call(
                .join(
                    JoinRequest(
                        member: MemberKey(link: key, session: session), who: links[slot].who, open: open,
                        features: links[slot].link.features, isHeldBack: true)))
        case .suspended(let session):
            setSuspended(true, session, cursor: nil, of: slot)
        case .resumed(let session, let cursor):
            setSuspended(false, session, cursor: cursor, of: slot)
        case .closed(let session, _):
            // What was posted before is still accepted, and told before the relay's own close (S-7, R-49).
            guard !links[slot].defersClose(of: session) else { return }
            if let membership = takeMembership(session, of: slot) {
                if let handle = membership.handle { return call(.close(handle)) }
                leave(membership, MemberKey(link: links[slot].key, session: session))
            }
            links[slot].link.close(session)
        case .reset(let session, _):
            guard let membership = takeMembership(session, of: slot) else { return }
            leave(membership, MemberKey(link: links[slot].key, session: session))
        case .acknowledged(let session, let byteCount):
            guard let place = links[slot].sessions.index(of: session) else { return }
            if let handle = links[slot].sessions[at: place].handle { credit(handle, byteCount: byteCount) }
        case .goAway(let goAway):
            if let connection = links[slot].connection { end(connection, afterFlush: true, now: now) }
            // Without a fault the device takes its leave; with one it will resume (C-42).
            if goAway.notice.code == .none { remove(slot, now: now) }
        case .opened, .pong:
            break
        }
    }

    /// A session may ask to hold back before its room has let it in (S-9).
    private mutating func setSuspended(_ isSuspended: Bool, _ session: SessionID, cursor: UInt64?, of slot: Int) {
        guard let membership = links[slot].sessions[session] else { return }
        links[slot].sessions[session]?.isSuspended = isSuspended
        guard let handle = membership.handle else {
            links[slot].sessions[session]?.wantedCursor = cursor ?? membership.wantedCursor
            return
        }
        call(.setSuspended(handle, isSuspended, cursor: cursor))
    }

    private mutating func isOpen(_ room: RoomName, onLink slot: Int) -> Bool {
        for place in links[slot].sessions.indices {
            if let name = links[slot].sessions[at: place].room {
                if name == room { return true }
            } else if let handle = links[slot].sessions[at: place].handle, rooms.name(of: handle) == room {
                return true
            }
        }
        return false
    }

    mutating func leave(_ membership: RelayLink.Membership, _ key: MemberKey) {
        if let handle = membership.handle {
            call(.leave(handle))
        } else if let room = membership.room {
            call(.withdraw(key, from: room))
        }
    }

    /// A session's place in its room, given up: what it had sent ahead is dropped and its credit goes back.
    private mutating func takeMembership(_ session: SessionID, of slot: Int) -> RelayLink.Membership? {
        guard let membership = links[slot].sessions.removeValue(forKey: session) else { return nil }
        accounts.changeSessions(of: links[slot].key, of: links[slot].account, by: -1)
        links[slot].link.release(membership.held.creditByteCount, on: session)
        links[slot].heldByteCount -= membership.held.uncreditedCost
        return membership
    }

    /// A frame of a session, in its order, for its room.
    mutating func deliver(
        _ type: FrameType, _ content: FrameContent, on session: SessionID, _ credit: Int, of slot: Int, now: Instant
    ) throws(LinkError) {
        guard session != .control else {
            return try content.withBody { body throws(LinkError) in
                try takeControl(type, body, credit, of: slot, now: now)
            }
        }
        guard let place = links[slot].sessions.index(of: session) else {
            links[slot].link.release(credit, on: session)
            if credit == 0 { try links[slot].link.chargeUnproductive(now: now) }
            return
        }
        guard let handle = links[slot].sessions[at: place].handle else {
            guard type != .transient else { return try drop(transientOf: slot, now: now) }
            return content.withBody { hold(type, $0, credit, session, slot) }
        }
        if type == .data { return try post(content, handle, session, credit, of: slot) }
        links[slot].link.release(credit, on: session)
        try content.withBody { body throws(LinkError) in
            try deliver(type, body, handle, on: session, at: place, of: slot, now: now)
        }
    }

    /// A frame that is no message, for a session's room.
    private mutating func deliver(
        _ type: FrameType, _ body: RawSpan, _ handle: MemberHandle, on session: SessionID, at place: Int, of slot: Int,
        now: Instant
    ) throws(LinkError) {
        switch type {
        case .receipt:
            let end = links[slot].link.nextSequence(on: session)
            if !links[slot].sessions[at: place].receipts.take(end: end) {
                try links[slot].link.chargeUnproductive(now: now)
            }
            guard case .progress(let progress) = try Link.parse(Receipt.self, body) else { break }
            call(.progressed(handle, progress))
        case .transient:
            let transient = try Link.parse(Transient.self, body)
            guard links[slot].transients.take(now: now) else {
                return try links[slot].link.chargeUnproductive(now: now)
            }
            turn.charge(TurnBudget.transientUnits)
            call(.whisper(handle, transient))
        case .request:
            links[slot].cancelsDue = min(links[slot].cancelsDue + 1, RelayLink.maxCancelsDue)
            try ask(body, handle, session, of: slot, now: now)
        case .response:
            call(.respond(handle, try Link.parse(Response.self, body)))
        case .cancel:
            if links[slot].cancelsDue > 0 {
                links[slot].cancelsDue -= 1
            } else {
                try links[slot].link.chargeUnproductive(now: now)
            }
            call(.cancel(handle, correlation: try Link.parse(CancelRequest.self, body).correlation))
        default:
            throw .peer(.protocolViolation)
        }
    }

    /// A transient frame that comes before its session is in its room has nobody to go to.
    private mutating func drop(transientOf slot: Int, now: Instant) throws(LinkError) {
        guard !links[slot].transients.take(now: now) else { return }
        try links[slot].link.chargeUnproductive(now: now)
    }

    /// A message: a value that is wrong is refused and the session goes on, a structure that is wrong ends the
    /// connection (R-24, Specs/hostile.md row 14).
    private mutating func post(
        _ content: FrameContent, _ handle: MemberHandle, _ session: SessionID, _ credit: Int, of slot: Int
    ) throws(LinkError) {
        guard case .message(let values) = content else {
            return try content.withBody { body throws(LinkError) in
                try post(body, handle, session, credit, of: slot)
            }
        }
        if let message = ClientMessage(values) { return post(message, handle, session, credit, of: slot) }
        refuse(values.counter, .invalidValue, session, credit, of: slot)
    }

    private mutating func post(
        _ body: RawSpan, _ handle: MemberHandle, _ session: SessionID, _ credit: Int, of slot: Int
    ) throws(LinkError) {
        do throws(WireError) {
            let view = try MessageView(parsing: body)
            guard let message = ClientMessage(view) else {
                return refuse(view.counter, .invalidValue, session, credit, of: slot)
            }
            post(message, handle, session, credit, of: slot)
        } catch {
            guard error.scope == .frame else {
                links[slot].link.release(credit, on: session)
                throw LinkError(error)
            }
            refuse(MessageView.counter(in: body), error.code, session, credit, of: slot)
        }
    }

    private mutating func post(
        _ message: ClientMessage, _ handle: MemberHandle, _ session: SessionID, _ credit: Int, of slot: Int
    ) {
        // With the stamp it would be longer than anybody takes.
        guard message.byteCount + RelayStamp.maxByteCount <= configuration.limits.maxMessageByteCount else {
            return refuse(message.counter, .messageTooLarge, session, credit, of: slot)
        }
        turn.charge(TurnBudget.messageUnits)
        post(handle, message)
    }

    /// Refuses a message by its counter; one without ends its session.
    private mutating func refuse(
        _ counter: UInt64?, _ code: ErrorCode, _ session: SessionID, _ credit: Int, of slot: Int
    ) {
        links[slot].link.release(credit, on: session)
        guard let counter else { return drop(session, code, of: slot) }
        let receipt = Receipt.refused(Receipt.Refusal(counter: counter, code: code))
        send(.receipt, EncodedBody(receipt.encode()), on: session, of: slot)
    }

    /// A request in a room: a value that is wrong is answered, a structure that is wrong ends the connection
    /// (Specs/hostile.md row 14).
    private mutating func ask(
        _ body: RawSpan, _ handle: MemberHandle, _ session: SessionID, of slot: Int, now: Instant
    ) throws(LinkError) {
        switch try ReceivedRequest(parsing: body) {
        case .valid(let request) where links[slot].link.features.contains(.requests):
            call(.request(handle, request), now: now)
        case .valid(let request):
            answer(Response(correlation: request.correlation, status: .unknownMethod), on: session, of: slot)
        case .invalid(let response):
            answer(response, on: session, of: slot)
        }
    }

    /// What is said on the link's own session: a request for the relay as such, which serves none, or something about a
    /// request that it never made (S-58).
    private mutating func takeControl(
        _ type: FrameType, _ body: RawSpan, _ credit: Int, of slot: Int, now: Instant
    ) throws(LinkError) {
        links[slot].link.release(credit, on: .control)
        guard type == .request else {
            if credit == 0 { try links[slot].link.chargeUnproductive(now: now) }
            return
        }
        // Who takes no answers is not answered for ever.
        guard hasRoom(slot) else { throw .peer(.slowConsumer) }
        answer(try ReceivedRequest(parsing: body).declined, on: .control, of: slot)
    }

    private mutating func answer(_ response: Response, on session: SessionID, of slot: Int) {
        send(.response, EncodedBody(response.encode()), on: session, of: slot)
    }

    /// Keeps what a session says before its room is loaded. Credit bounds messages and requests; receipts have none
    /// (S-5, R-15).
    private mutating func hold(
        _ type: FrameType, _ body: RawSpan, _ credit: Int, _ session: SessionID, _ slot: Int
    ) {
        guard links[slot].hold(type, body, credit: credit, on: session) else {
            links[slot].link.release(credit, on: session)
            return drop(session, .serverBusy, of: slot)
        }
    }

    mutating func drop(_ session: SessionID, _ code: ErrorCode, of slot: Int) {
        links[slot].link.reset(session, code: code)
        guard let membership = takeMembership(session, of: slot) else { return }
        leave(membership, MemberKey(link: links[slot].key, session: session))
    }

    // MARK: What waits for a device

    /// Queues a room's frame; a session that lets too much pile up begins again from its cursor.
    private mutating func send(_ type: FrameType, _ body: EncodedBody, on session: SessionID, of slot: Int) {
        guard hasRoom(slot), links[slot].link.send(type, body, on: session) != .full else {
            return drop(session, .slowConsumer, of: slot)
        }
        links[slot].queued.others += body.byteCount + body.fragmentCount * RelayLink.entryByteCount
    }

    /// Queues a room's messages; when enough of them wait, the rooms hold theirs back.
    private mutating func deliver(_ entries: ArraySlice<LogEntry>, on session: SessionID, of slot: Int) {
        guard links[slot].link.send(entries, on: session) != .full else {
            return drop(session, .slowConsumer, of: slot)
        }
        guard let place = links[slot].sessions.index(of: session) else { return }
        let isBulk = links[slot].sessions[at: place].isBulk
        links[slot].noteQueued(entries, isBulk: isBulk)
        guard links[slot].isHolding(bulk: isBulk) else { return }
        for session in links[slot].sessions.keys {
            guard let membership = links[slot].sessions[session], let handle = membership.handle,
                !membership.isHeldBack, membership.isBulk == isBulk
            else { continue }
            links[slot].noteHeldBack(session)
            call(.setHeldBack(handle, true))
        }
    }

    private mutating func hasRoom(_ slot: Int) -> Bool {
        if !links[slot].hasRoom { links[slot].countQueued() }
        return links[slot].hasRoom
    }

    /// Lets one session's messages flow again when there is room; the next follows when it is known what that took.
    mutating func releaseHeldBack(_ slot: Int) {
        if links[slot].isMuchQueued { links[slot].countQueued() }
        while let session = links[slot].popHeldBack() {
            guard let membership = links[slot].sessions[session], let handle = membership.handle else { continue }
            links[slot].sessions[session]?.isHeldBack = false
            call(.setHeldBack(handle, false))
            // Its effects come first, and then this link's turn again.
            return touch(slot)
        }
    }

    /// Requests the receipts and cancels of one session from its room, if the link has room for them. The next
    /// session follows when the size of these is known.
    mutating func askForNews(_ slot: Int) {
        if !links[slot].takesNews { links[slot].countQueued() }
        while links[slot].takesNews, let session = links[slot].news.popFirst() {
            guard let handle = links[slot].sessions[session]?.handle else { continue }
            call(.tell(handle))
            // What comes from another loop touches the link when it is here.
            if handle.loop == place.number { touch(slot) }
            return
        }
    }

    // MARK: Effects of rooms

    mutating func apply(_ effect: consuming RoomEffect, now: Instant) {
        if departs(effect) { return }
        switch consume effect {
        case .send(let key, let type, let body):
            guard let slot = slot(key.link) else { return }
            touch(slot)
            guard !type.isCredited else { return pass(type, body, to: key, of: slot) }
            send(type, body, on: key.session, of: slot)
        case .deliver(let key, let entries):
            deliver(entries, to: key)
        case .sendTransient(let key, let body):
            guard let slot = slot(key.link) else { return }
            touch(slot)
            links[slot].link.sendTransient(body, on: key.session)
        case .news(let key):
            guard let slot = slot(key.link) else { return }
            touch(slot)
            links[slot].news.append(key.session)
        case .release(let key, let byteCount):
            guard let slot = slot(key.link) else { return }
            touch(slot)
            links[slot].link.release(byteCount, on: key.session)
        case .opened(let key, let handle, let opened):
            admit(key, handle, opened, now: now)
        case .reset(let key, let code):
            guard let slot = slot(key.link) else { return }
            touch(slot)
            _ = takeMembership(key.session, of: slot)
            links[slot].link.reset(key.session, code: code)
        case .closed(let key):
            guard let slot = slot(key.link) else { return }
            touch(slot)
            links[slot].link.close(key.session)
        case .load(let room): outputs.append(.load(room))
        case .append(let room, let entries): outputs.append(.append(room, entries))
        case .read(let room, let handle, let range): outputs.append(.read(room, handle, range))
        case .request(let room, let handle, let request): outputs.append(.request(room, handle, request))
        }
    }

    /// Passes a request or a response on, unless it is longer than its receiver takes or too much waits for it already,
    /// which would reset its session for what another has done: the requester is told instead (S-44, R-41,
    /// Specs/hostile.md row 39).
    private mutating func pass(_ type: FrameType, _ body: EncodedBody, to key: MemberKey, of slot: Int) {
        guard body.byteCount <= links[slot].link.limits.maxMessageByteCount else {
            return decline(type, body, .messageTooLarge, to: key, of: slot)
        }
        // Other members' requests count with objects; responses have been asked for.
        let objects = body.fragmentCount * RelayLink.entryByteCount
        let cost = type == .request ? body.byteCount + objects : body.byteCount
        if !links[slot].takesRequest(cost) { links[slot].countQueued() }
        guard links[slot].takesRequest(cost), links[slot].link.send(type, body, on: key.session) != .full else {
            return decline(type, body, .serverBusy, to: key, of: slot)
        }
        links[slot].queued.requests += cost
        if type != .request { links[slot].queued.others += objects }
    }

    /// Answers a request in place of the member that it is not passed on to, or says so in place of a response.
    private mutating func decline(
        _ type: FrameType, _ body: EncodedBody, _ code: ErrorCode, to key: MemberKey, of slot: Int
    ) {
        guard let handle = links[slot].sessions[key.session]?.handle else { return }
        credit(handle, byteCount: body.byteCount)
        let bytes = body.bytes
        if type == .response {
            guard let response = try? Response(parsing: bytes.rawBytes) else { return }
            answer(Response(correlation: response.correlation, status: code), on: key.session, of: slot)
        } else if let request = try? Request(parsing: bytes.rawBytes) {
            call(.respond(handle, Response(correlation: request.correlation, status: code)))
        }
    }

    /// Messages of a room for a session; in place of one that is longer than it takes, and that it would refuse
    /// whenever it came, it gets a gap.
    private mutating func deliver(_ entries: ArraySlice<LogEntry>, to key: MemberKey) {
        guard let slot = slot(key.link) else { return }
        touch(slot)
        let limit = links[slot].link.limits.maxMessageByteCount
        var rest = entries
        while let index = rest.indices.first(where: { rest[$0].body.byteCount > limit }) {
            deliver(rest[..<index], on: key.session, of: slot)
            let gap = Gap(offsets: rest[index].offset...rest[index].offset)
            send(.gap, EncodedBody(gap.encode()), on: key.session, of: slot)
            if let handle = links[slot].sessions[key.session]?.handle {
                credit(handle, byteCount: rest[index].body.byteCount)
            }
            rest = rest[(index + 1)...]
        }
        if !rest.isEmpty { deliver(rest, on: key.session, of: slot) }
    }

    private mutating func admit(_ key: MemberKey, _ handle: MemberHandle, _ opened: Opened, now: Instant) {
        guard let slot = slot(key.link), let place = links[slot].sessions.index(of: key.session) else {
            return call(.leave(handle))
        }
        touch(slot)
        links[slot].link.accept(key.session, opened)
        links[slot].sessions[at: place].handle = handle
        if handle.loop == key.link.loop { links[slot].sessions[at: place].room = nil }
        let isSuspended = links[slot].sessions[at: place].isSuspended
        let cursor = links[slot].sessions[at: place].wantedCursor.take()
        if isSuspended || cursor != nil { call(.setSuspended(handle, isSuspended, cursor: cursor)) }
        links[slot].noteHeldBack(key.session)
        var held = links[slot].takeHeld(of: key.session)
        while let (type, body, credit) = held.popFirst() {
            do throws(LinkError) {
                try deliver(type, .body(body.rawBytes), on: key.session, credit, of: slot, now: now)
            } catch {
                // What came behind has been acknowledged and would be lost without a word; the session begins again.
                links[slot].link.release(held.creditByteCount, on: key.session)
                drop(key.session, .invalidValue, of: slot)
                if let connection = links[slot].connection { fail(connection, error, now: now) }
                return
            }
        }
        if links[slot].sessions[key.session]?.isClosing == true, takeMembership(key.session, of: slot) != nil {
            call(.close(handle))
        }
    }

    // MARK: Time

    /// Sets the timer of a link that has a connection, unless it rings early enough: setting it for every
    /// acknowledgement costs more than to look once for nothing.
    mutating func armLink(_ slot: Int, _ deadline: Instant?) {
        guard let deadline else { return }
        if let armed = links[slot].armedAt, armed <= deadline { return }
        links[slot].armedAt = deadline
        timers.set(TimerKey.link(slot), at: deadline)
    }

    mutating func linkDeadline(_ slot: Int, now: Instant) {
        guard links.isLive(slot) else { return }
        links[slot].armedAt = nil
        guard let connection = links[slot].connection else { return }
        if !links[slot].link.hasUnacknowledged {
            links[slot].releaseIdleMemory()
            settle(slot)
        }
        guard let deadline = links[slot].link.deadline else { return }
        guard deadline <= now else { return armLink(slot, deadline) }
        switch links[slot].link.deadlinePassed(now: now) {
        case .proceed, .overdue: touch(slot)
        case .replaceConnection: end(connection, afterFlush: false, now: now)
        case .ackTimeout: fail(connection, .peer(.ackTimeout), now: now)
        }
    }
}
