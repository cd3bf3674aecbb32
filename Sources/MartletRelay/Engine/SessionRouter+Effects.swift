import MartletLink
import MartletWire

/// Effects of rooms on sessions.
extension SessionRouter {
    /// Performs the effect of a room of this loop or of another loop. Questions for the store wait until all rooms
    /// have ended their turn; effects for the request handler become outputs.
    mutating func apply(_ effect: consuming RoomEffect, now: Instant) {
        if rooms.forward(effect) { return }
        switch consume effect {
        case .send(let key, let type, let body):
            guard let slot = dirtySlot(key) else { break }
            if type.isCredited {
                sendRequest(type, body, to: key, of: slot)
            } else {
                send(type, body, on: key.session, of: slot)
            }
        case .deliver(let key, let entries):
            if let slot = dirtySlot(key) { deliver(entries, to: key, of: slot) }
        case .erased(let key, let erasures):
            guard let slot = links.slot(key.link) else { break }
            recall(key.session, of: slot) { erasures.concern($0, $1) }
        case .sendTransient(let key, let body):
            if let slot = dirtySlot(key) { links[slot].link.sendTransient(body, on: key.session) }
        case .pending(let key):
            if let slot = dirtySlot(key) { relayLinks[slot].notePending(key.session) }
        case .waitsForCredit(let key, let waits):
            if let slot = dirtySlot(key) { relayLinks[slot].setWaiting(waits, of: key.session) }
        case .release(let key, let byteCount):
            if let slot = dirtySlot(key) { release(byteCount, to: key, of: slot, now: now) }
        case .refuse(let key, let counter, let code, let byteCount):
            if let slot = dirtySlot(key) {
                release(byteCount, to: key, of: slot, now: now)
                refuse(counter, code, on: key.session, of: slot)
            }
        case .opened(let key, let handle, let opened):
            admit(key, handle, opened, now: now)
        case .reset(let key, let code, let until):
            guard let slot = dirtySlot(key) else { break }
            if code == .roomForbidden { noteRefusedEntry(of: key.session, of: slot) }
            counts.resets.count(code)
            removeSession(key.session, of: slot)
            links[slot].link.reset(key.session, code: code, retryAfter: until?.retryAfter(now: now))
        case .closed(let key):
            guard let slot = dirtySlot(key) else { break }
            removeSession(key.session, of: slot)
            links[slot].link.close(key.session)
        case .store(let question): ask(question)
        case .request(let room, let handle, let request): ask(request, of: handle, in: room, now: now)
        case .attachment(let id, let call): self.call(.attachment(call), for: .attachment(id), now: now)
        case .charge(let key, let units):
            if let slot = dirtySlot(key) { relayLinks.spendOperation(units, of: slot, now: now) }
        case .answered(let key, let response): answered(key, response)
        case .changed(_, let room, let changes, let erasures):
            perform(accounts.changed(room, changes), now: now)
            for key in erasures.isEmpty ? [] : changes.flatMap({ accounts.sessions(of: $0.account) }) {
                accounts[key]?.noteErasure(in: room)
                guard let slot = links.slot(key.link) else { continue }
                recall(key.session, of: slot) { erasures.concern($0, $1, in: room) }
            }
        case .watched(_, let account, let roomLoop): perform(accounts.watched(account, by: roomLoop), now: now)
        case .undelivered(let reports): outputs.append(.undelivered(reports))
        case .bus(let message): busItems.append(message)
        case .commandEnded(let id, let result): outputs.append(.commandEnded(id, result))
        case .note(let note, _): outputs.append(.note(note, on: nil))
        }
    }

    /// Notes a session that the roles of its room have not admitted.
    private mutating func noteRefusedEntry(of session: SessionID, of slot: Int) {
        guard let index = relayLinks[slot].sessions.index(of: session),
            relayLinks[slot].sessions[at: index].handle == nil,
            let room = relayLinks[slot].sessions[at: index].room
        else { return }
        refusedEntries.append((.roomRefused(links[slot].who, room), links[slot].connection))
    }

    /// The slot of a member's link, which becomes dirty; nil when the link has ended.
    @inline(__always)
    private mutating func dirtySlot(_ key: MemberKey) -> Int? {
        guard let slot = links.slot(key.link) else { return nil }
        markDirty(slot)
        return slot
    }

    // MARK: Credit

    /// Returns the credit of messages, or withholds it while their account exceeds its rate. Frames without credit are
    /// not affected, so the account's links stay alive (R-54, Specs/hostile.md row 54).
    private mutating func release(_ byteCount: Int, to key: MemberKey, of slot: Int, now: Instant) {
        guard let end = relayLinks.waitsUntil(slot, now: now) else {
            return links[slot].link.release(byteCount, on: key.session)
        }
        withheld.add(byteCount, of: key, until: end)
    }

    /// Returns credit that was withheld for long enough.
    mutating func releaseWithheld(now: Instant) {
        while let due = withheld.popDue(now: now) {
            if let slot = dirtySlot(due.member) { release(due.byteCount, to: due.member, of: slot, now: now) }
        }
    }

    // MARK: Queues

    /// Queues a frame of a session. A session whose queue is full is reset and continues from its cursor.
    mutating func send(_ type: FrameType, _ body: EncodedBody, on session: SessionID, of slot: Int) {
        if !relayLinks[slot].send(type, body, on: session, &links[slot].link) {
            reset(session, .slowConsumer, of: slot)
        }
    }

    /// Resets a session with queued frames that have the body of an erased message.
    private mutating func recall(
        _ session: SessionID, of slot: Int, where isErased: (FrameType, SendBatches.Bodies) -> Bool
    ) {
        guard links[slot].link.hasUnsent(on: session, where: isErased) else { return }
        markDirty(slot)
        reset(session, .slowConsumer, of: slot)
    }

    mutating func answer(_ response: Response, on session: SessionID, of slot: Int) {
        send(.response, EncodedBody(response.encode()), on: session, of: slot)
    }

    /// Queues a request or a response, unless it is longer than the receiver's limit or too much is queued. The session
    /// is not reset for a frame of another member; the requester receives the error (S-44, R-41, Specs/hostile.md row
    /// 39).
    private mutating func sendRequest(_ type: FrameType, _ body: EncodedBody, to key: MemberKey, of slot: Int) {
        if let index = relayLinks[slot].sessions.index(of: key.session),
            relayLinks[slot].sessions[at: index].owner == .attachment
        {
            guard relayLinks[slot].sendAttachment(body, on: key.session, &links[slot].link) else {
                return reset(key.session, .slowConsumer, of: slot)
            }
            return
        }
        guard body.byteCount <= links[slot].link.limits.maxMessageByteCount else {
            return decline(type, body, .messageTooLarge, to: key, of: slot)
        }
        if !relayLinks[slot].sendRequest(type, body, on: key.session, &links[slot].link) {
            decline(type, body, .serverBusy, to: key, of: slot)
        }
    }

    /// Answers a request in place of the member, or replaces a response by an error.
    private mutating func decline(
        _ type: FrameType, _ body: EncodedBody, _ code: ErrorCode, to key: MemberKey, of slot: Int
    ) {
        guard let handle = relayLinks[slot].sessions[key.session]?.handle else { return }
        let bytes = body.bytes
        if type == .response {
            guard let response = try? Response(parsing: bytes.rawBytes) else { return }
            answer(Response(correlation: response.correlation, status: code), on: key.session, of: slot)
        } else if let request = try? Request(parsing: bytes.rawBytes) {
            rooms.call(.respond(handle, Response(correlation: request.correlation, status: code)))
        }
    }

    /// Queues messages of a room for a session. A message that exceeds the session's limit is replaced by a gap.
    private mutating func deliver(_ entries: ArraySlice<LogEntry>, to key: MemberKey, of slot: Int) {
        let limit = links[slot].link.limits.maxMessageByteCount
        var rest = entries
        while let index = rest.indices.first(where: { rest[$0].body.byteCount > limit }) {
            deliver(rest[..<index], on: key.session, of: slot)
            let gap = Gap(offsets: rest[index].offset...rest[index].offset)
            send(.gap, EncodedBody(gap.encode()), on: key.session, of: slot)
            if let handle = relayLinks[slot].sessions[key.session]?.handle {
                rooms.credit(handle, byteCount: rest[index].body.plainByteCount)
            }
            rest = rest[(index + 1)...]
        }
        if !rest.isEmpty { deliver(rest, on: key.session, of: slot) }
    }

    /// Queues messages. When many of a priority are queued, the rooms hold further ones back.
    private mutating func deliver(_ entries: ArraySlice<LogEntry>, on session: SessionID, of slot: Int) {
        counts.deliveries += UInt64(entries.count)
        let isBulk = relayLinks[slot].sessions.index(of: session).map { relayLinks[slot].sessions[at: $0].isBulk }
        guard relayLinks[slot].send(entries, on: session, isBulk: isBulk ?? false, &links[slot].link) else {
            return reset(session, .slowConsumer, of: slot)
        }
        guard let isBulk, relayLinks[slot].isHolding(bulk: isBulk, links[slot].link) else { return }
        for session in relayLinks[slot].sessions.keys {
            guard let membership = relayLinks[slot].sessions[session], let handle = membership.handle,
                !membership.isBacklogged, membership.isBulk == isBulk
            else { continue }
            relayLinks[slot].noteBacklogged(session)
            rooms.call(.setBacklogged(handle, true))
        }
    }

    // MARK: Admission

    /// A room has admitted a session: the frames that it sent before follow.
    private mutating func admit(_ key: MemberKey, _ handle: MemberHandle, _ opened: Opened, now: Instant) {
        guard let slot = links.slot(key.link), let index = relayLinks[slot].sessions.index(of: key.session) else {
            return rooms.call(.leave(handle))
        }
        markDirty(slot)
        links[slot].link.accept(key.session, opened)
        relayLinks[slot].sessions[at: index].handle = handle
        if handle.loop == key.link.loop { relayLinks[slot].sessions[at: index].room = nil }
        // The link may have been resumed with other features since the session joined, or have lost its connection.
        if links[slot].epoch != Epoch(rawValue: 1) { rooms.call(.setFeatures(handle, links[slot].link.features)) }
        if links[slot].connection == nil { rooms.call(.disconnected(handle)) }
        // The policy may have decided anew since the session joined.
        if configuration.asksRoomPolicy {
            rooms.call(.setPermissions(handle, relayLinks[slot].sessions[at: index].permissions))
        }
        let isSuspended = relayLinks[slot].sessions[at: index].isSuspended
        let cursor = relayLinks[slot].sessions[at: index].wantedCursor.take()
        if isSuspended || cursor != nil { rooms.call(.setSuspended(handle, isSuspended, cursor: cursor)) }
        relayLinks[slot].noteBacklogged(key.session)
        if !relayLinks[slot].sessions[at: index].waitsForDecision { deliverHeld(of: key.session, of: slot, now: now) }
    }

    /// Passes the held frames of a session to its owner, and its close if one followed.
    mutating func deliverHeld(of session: SessionID, of slot: Int, now: Instant) {
        var held = relayLinks[slot].takeHeld(of: session)
        while let (type, body, credit) = held.popFirst() {
            do throws(LinkError) {
                try deliver(type, .body(body.rawBytes), on: session, credit, of: slot, now: now)
            } catch {
                // The later frames are acknowledged and would be lost silently, so the session starts again.
                links[slot].link.release(held.creditByteCount, on: session)
                reset(session, .invalidValue, of: slot)
                return heldFaults.append((slot, error))
            }
        }
        if relayLinks[slot].sessions[session]?.isClosing == true { close(session, of: slot, now: now) }
    }
}
