import MartletLink
import MartletWire

/// The processing of frames on the sessions of rooms.
extension ClientRooms {
    /// Processes a frame of a session, in the order of its sequences.
    mutating func receive(
        _ type: FrameType, _ content: FrameContent, on session: SessionID, _ credit: Int, _ link: inout Link,
        now: Instant
    ) throws(LinkError) {
        guard let index = index(ofSession: session) else {
            if session == account.session {
                return try receiveFromAccount(type, content, on: session, credit, &link, now: now)
            }
            link.release(credit, on: session)
            if type == .response, attachments.owns(session) {
                return try content.withBody { body throws(LinkError) in
                    attachments.answered(try Link.parse(Response.self, body), on: session, &link, &outputs, now: now)
                }
            }
            guard session == .control, type == .request else { return }
            // Requests on the control session are declined, because it belongs to no room (S-58).
            return try content.withBody { body throws(LinkError) in
                Self.answer(try ReceivedRequest(parsing: body).declined, on: .control, &link)
            }
        }
        if type == .data { return try receiveMessage(content, at: index, on: session, credit, &link) }
        link.release(credit, on: session)
        if case .accepted(let run) = content { return accepted(run, at: index, &link, now: now) }
        try content.withBody { body throws(LinkError) in
            try receive(type, body, at: index, on: session, &link, now: now)
        }
    }

    private mutating func receive(
        _ type: FrameType, _ body: RawSpan, at index: Int, on session: SessionID, _ link: inout Link, now: Instant
    ) throws(LinkError) {
        let id = rooms[at: index].id
        switch type {
        case .accepted:
            for run in try Link.parse(Accepted.self, body).runs { accepted(run, at: index, &link, now: now) }
        case .receipt: receive(try Link.parse(Receipt.self, body), at: index, &link, now: now)
        case .gap: skip(try Link.parse(Gap.self, body).offsets, at: index)
        case .transient: receive(try Link.parse(Transient.self, body), at: index, &link, now: now)
        case .request:
            switch try ReceivedRequest(parsing: body) {
            case .valid(let request): receive(request, at: index, on: session, &link)
            case .invalid(let response): Self.answer(response, on: session, &link)
            }
        case .response:
            requests.finish(try Link.parse(Response.self, body), &link, &outputs)
        case .cancel:
            let correlation = try Link.parse(CancelRequest.self, body).correlation
            report(id, .requestCancelled(requestID(correlation, at: index)))
        default: throw .peer(.protocolViolation)
        }
    }

    // MARK: Messages

    private mutating func receiveMessage(
        _ content: FrameContent, at index: Int, on session: SessionID, _ credit: Int, _ link: inout Link
    ) throws(LinkError) {
        guard case .message(let values) = content else {
            return try content.withBody { body throws(LinkError) in
                try receiveMessage(body, at: index, on: session, credit, &link)
            }
        }
        guard values.isDelivery else { return link.release(credit, on: session) }
        guard let stamp = RelayStamp(values, &senders) else {
            link.release(credit, on: session)
            return skip(values.offset...values.offset, at: index)
        }
        guard admits(stamp.offset, at: index, on: session, credit, &link) else { return }
        report(rooms[at: index].id, .message(Message(values, relay: stamp), creditByteCount: credit))
    }

    private mutating func receiveMessage(
        _ body: RawSpan, at index: Int, on session: SessionID, _ credit: Int, _ link: inout Link
    ) throws(LinkError) {
        let message: Message
        do throws(WireError) {
            let view = try MessageView(parsing: body)
            guard let offset = view.offset else { throw .missingField(.offset) }
            guard admits(offset, at: index, on: session, credit, &link) else { return }
            message = Message(view, &senders)
        } catch {
            guard error.scope == .frame else { throw .peer(error.code) }
            link.release(credit, on: session)
            // An invalid message would be sent again on every link, so it is reported as a gap.
            guard let offset = MessageView.offset(in: body) else { return }
            return skip(offset...offset, at: index)
        }
        report(rooms[at: index].id, .message(message, creditByteCount: credit))
    }

    /// Returns whether the application receives a message, with its credit. Otherwise the credit is released, or kept
    /// by the session of a lagging room.
    private mutating func admits(
        _ offset: UInt64, at index: Int, on session: SessionID, _ credit: Int, _ link: inout Link
    ) -> Bool {
        switch rooms[at: index].reader.receive(offset, byteCount: credit, isFull: isFull) {
        case .repeated: link.release(credit, on: session)
        case .dropped: hasLaggingRooms = true
        case .new:
            heldByteCount += credit
            return true
        }
        return false
    }

    /// Opens rooms that dropped messages again from their cursors, after the application has taken enough, or has
    /// closed rooms whose messages it held.
    mutating func continueLaggingRooms(_ link: inout Link, now: Instant) {
        guard hasLaggingRooms, !isFull else { return }
        for index in rooms.indices where rooms[at: index].reader.mayContinue {
            guard let session = rooms[at: index].session else { continue }
            link.reset(session, code: .cancelled)
            // Requests on the session fail with its code, because the application did not cancel them (S-57).
            sessionEnded(session, .slowConsumer, &link, now: now)
        }
        hasLaggingRooms = rooms.indices.contains { rooms[at: $0].reader.isLagging }
    }

    /// Reports offsets that will not be delivered, except those that have been reported.
    private mutating func skip(_ offsets: ClosedRange<UInt64>, at index: Int) {
        guard let gap = rooms[at: index].reader.skip(offsets) else { return }
        report(rooms[at: index].id, .gap(gap))
    }

    // MARK: Own messages

    private mutating func accepted(_ run: AcceptedRun, at index: Int, _ link: inout Link, now: Instant) {
        reportSent(at: index)
        let head = rooms[at: index].head
        let parts = rooms[at: index].ledger.accepted(run, head: head, now: now, &acceptances)
        if rooms[at: index].ledger.hasReused { beginReplacingDevice(now: now) }
        defer { continueReplacingDevice() }
        guard !parts.isEmpty else { return }
        for part in parts {
            rooms[at: index].reader.accepted(upTo: part.offsets.upperBound)
            report(rooms[at: index].id, .accepted(part))
        }
        fillSession(at: index, &link, now: now)
    }

    private mutating func receive(_ receipt: Receipt, at index: Int, _ link: inout Link, now: Instant) {
        switch receipt {
        case .progress(let progress):
            guard link.features.contains(.receipts) else { return }  // C-23
            rooms[at: index].ledger.delivered(upTo: progress.upTo, now: now, &deliveries)
            report(rooms[at: index].id, .progress(progress))
        case .refused(let refusal) where refusal.code == .counterReused:
            guard rooms[at: index].ledger.noteReused(refusal.counter) else { return }
            beginReplacingDevice(now: now)
            continueReplacingDevice()
        case .refused(let refusal):
            guard rooms[at: index].ledger.refuse(refusal.counter) else { return }
            let failure = SendFailure.refused(refusal.code, reason: refusal.reason)
            report(rooms[at: index].id, .failed(counter: refusal.counter, failure))
            continueReplacingDevice()
        }
    }

    // MARK: Members

    private func requestID(_ correlation: UInt64, at index: Int) -> IncomingRequest.ID {
        IncomingRequest.ID(session: rooms[at: index].sessionCount, correlation: correlation)
    }

    private mutating func receive(_ request: Request, at index: Int, on session: SessionID, _ link: inout Link) {
        let refusal: ErrorCode = link.features.contains(.requests) ? .missingField : .unknownMethod
        guard refusal == .missingField, let sender = request.sender else {
            return Self.answer(Response(correlation: request.correlation, status: refusal), on: session, &link)
        }
        let incoming = IncomingRequest(
            id: requestID(request.correlation, at: index), method: request.method, sender: sender,
            content: request.content, deadline: request.deadline)
        report(rooms[at: index].id, .request(incoming))
    }

    private mutating func receive(_ transient: Transient, at index: Int, _ link: inout Link, now: Instant) {
        guard let sender = transient.sender else { return }
        let id = rooms[at: index].id
        let isPresenceAgreed = link.features.contains(.presence)  // C-23
        switch transient.content {
        case .typing(let isTyping):
            guard isPresenceAgreed, rooms[at: index].typing.note(sender, isTyping: isTyping, now: now) else { return }
            report(id, .typing(sender, isTyping))
            timers.set(.typing(id), at: rooms[at: index].typing.deadline)
        case .presence(let presence):
            guard isPresenceAgreed else { return }
            if presence != .online, rooms[at: index].typing.remove(sender) { report(id, .typing(sender, false)) }
            report(id, .presence(sender, presence))
        case .message(let kind, let content): report(id, .transient(sender, kind, content))
        }
    }

    /// Reports that members have stopped typing if they have not repeated their report.
    mutating func endTyping(at index: Int, now: Instant) {
        let id = rooms[at: index].id
        for account in rooms[at: index].typing.expired(now: now) { report(id, .typing(account, false)) }
        timers.set(.typing(id), at: rooms[at: index].typing.deadline)
    }
}
