import MartletWire

extension ClientEngine {
    /// Takes bytes that arrived on a connection, in whatever pieces; they are borrowed.
    public mutating func receive(_ bytes: RawSpan, on id: ConnectionID, now: Instant) {
        // After the goodbye nothing is heard any more; half a frame would be taken for a fault.
        if case .disconnecting = machine.state { return }
        guard id == machine.current, var framer = framer.take() else { return }
        // On a slow path a frame may be long under way (C-46).
        heartbeat.received(now: now)
        let frames = counters.framesReceived
        var consumed = 0
        while consumed < bytes.byteCount || framer.hasWaitingFrames, isCarrierUp, id == machine.current {
            var failure: LinkError?
            let before = consumed
            let wasEstablished = isEstablished
            do throws(WireError) {
                consumed += try framer.consumeContents(bytes.extracting(droppingFirst: consumed)) {
                    do throws(LinkError) { return try take($0, $1, on: id, now: now) } catch { failure = error }
                    return .stop
                }
            } catch {
                failure = LinkError(error)
            }
            if let failure { return fail(failure, now: now) }
            if wasEstablished { link.noteReceived(byteCount: consumed - before) }
            if isEstablished { prepare(&framer) }
        }
        guard isCarrierUp, id == machine.current else { return }
        watchPartial(framer.bufferedByteCount, since: frames != counters.framesReceived, now: now)
        self.framer = consume framer
    }

    /// What has been agreed on holds for the frames that come (W-7, W-76).
    private func prepare(_ framer: inout Framer) {
        framer.maxBodyByteCount = link.limits.maxBodyByteCount
        guard link.readsPackets else { return }
        framer.allowPackets(deflated: link.features.contains(.sharedDeflate))
    }

    /// A frame that has begun has to be whole within `frameTimeout`: bytes alone would keep a dead link alive for ever.
    private mutating func watchPartial(_ byteCount: Int, since isAnother: Bool, now: Instant) {
        guard byteCount > 0 else { return timers.cancel(.frame) }
        if isAnother || timers.deadline(of: .frame) == nil { timers.set(.frame, at: now + ClientEngine.frameTimeout) }
    }

    private mutating func take(
        _ header: FrameHeader, _ content: FrameContent, on id: ConnectionID, now: Instant
    ) throws(LinkError) -> FramerStep {
        guard isEstablished else {
            try content.withBody { body throws(LinkError) in try takeHandshake(header, body, now: now) }
            return .stop
        }
        let samples = link.counters.roundTripSamples
        let reception = try link.receive(header, content, inflater: &inflater, now: now)
        if link.counters.roundTripSamples != samples, let latest = link.rtt.latest { roundTrips.record(latest) }
        if case .deliver(let session, let credit) = reception {
            try deliver(header.type, content, on: session, credit, now: now)
        }
        while let arrival = try link.nextArrival(now: now) {
            switch arrival {
            case .event(let event):
                handle(event, now: now)
            case .frame(let session, let frame):
                let body = FrameContent.body(frame.body.rawBytes)
                try deliver(frame.type, body, on: session, frame.creditByteCount, now: now)
            }
            guard isCarrierUp, id == machine.current else { return .stop }
        }
        return .proceed
    }

    private mutating func takeHandshake(_ header: FrameHeader, _ body: RawSpan, now: Instant) throws(LinkError) {
        guard header.compression == .none else { throw .peer(.compressionNotAllowed) }
        guard header.type.rule?.allows(header) != false else { throw .peer(.protocolViolation) }
        switch header.type {
        case .welcome: try take(try Link.parse(Welcome.self, body), now: now)
        case .reject: take(try Link.parse(Reject.self, body), now: now)
        case .goaway: take(try Link.parse(GoAway.self, body), now: now)
        default:
            // Datagrams may have overtaken the welcome; what was not acknowledged comes again (C-19).
            guard configuration.carrier == .unreliable else { throw .peer(.protocolViolation) }
        }
    }

    private mutating func handle(_ event: LinkEvent, now: Instant) {
        switch event {
        case .opened(let session, let opened):
            guard let id = roomOfSession[session] else { return }
            if let previous = rooms[id]!.enter(opened) {
                rooms[id]!.ledger.withLedger { $0.discardOffsets() }
                tell(id, .logReplaced(previous: previous, current: rooms[id]!.cursor))
            }
            tell(id, .opened(head: opened.head, first: opened.first, members: opened.members, log: opened.log))
            scheduleReceipts(id, now: now)
        case .acknowledged(let session, _):
            if let id = roomOfSession[session] { handOver(id, now: now) }
        case .reset(let session, let code):
            if let id = roomOfSession[session] { sessionLost(id, code, now: now) }
        case .closed(let session, let code):
            link.close(session)
            if let id = roomOfSession[session] { sessionLost(id, code ?? .closedByPeer, now: now) }
        case .pong(let nonce):
            if case .answered(_, let silence) = heartbeat.pongReceived(nonce: nonce, now: now) {
                natProbe.survived(silence, now: now)
            }
        case .goAway(let goAway):
            take(goAway, now: now)
        case .open(let session, _):
            // Version 1.0 gives a relay nothing to open (S-2, S-51).
            link.reset(session, code: .unsupportedKind)
        case .suspended(let session):
            if let id = roomOfSession[session] { rooms[id]!.isHeldBack = true }
        case .resumed(let session, _):
            guard let id = roomOfSession[session] else { return }
            rooms[id]!.isHeldBack = false
            handOver(id, now: now)
            handRequests(id, now: now)
        }
    }

    /// A frame of a room's session, in its order.
    private mutating func deliver(
        _ type: FrameType, _ content: FrameContent, on session: SessionID, _ credit: Int, now: Instant
    ) throws(LinkError) {
        guard session != .control else {
            return try content.withBody { body throws(LinkError) in try takeControl(type, body, credit) }
        }
        guard let id = roomOfSession[session] else { return link.release(credit, on: session) }
        if type == .data { return try takeMessage(content, id, session, credit) }
        link.release(credit, on: session)
        if case .accepted(let run) = content { return take(run, id, now: now) }
        try content.withBody { body throws(LinkError) in try deliver(type, body, to: id, session, now: now) }
    }

    /// A frame that is no message, for a session's room.
    private mutating func deliver(
        _ type: FrameType, _ body: RawSpan, to id: RoomID, _ session: SessionID, now: Instant
    ) throws(LinkError) {
        switch type {
        case .accepted:
            for run in try Link.parse(Accepted.self, body).runs { take(run, id, now: now) }
        case .receipt:
            take(try Link.parse(Receipt.self, body), id)
        case .gap:
            let gap = try Link.parse(Gap.self, body)
            skip(gap.offsets, in: id)
        case .transient:
            take(try Link.parse(Transient.self, body), id, now: now)
        case .request:
            switch try ReceivedRequest(parsing: body) {
            case .valid(let request): take(request, id, session)
            case .invalid(let response): answer(response, on: session)
            }
        case .response:
            let response = try Link.parse(Response.self, body)
            let outcome = RequestOutcome.answered(
                status: response.status, reason: response.reason, content: response.content)
            finishRequest(response.correlation, outcome, now: now)
        case .cancel:
            tell(id, .requestCancelled(correlation: try Link.parse(CancelRequest.self, body).correlation))
        default:
            throw .peer(.protocolViolation)
        }
    }

    /// Nothing is served on the link's own session, and nothing was asked on it (S-58).
    private mutating func takeControl(_ type: FrameType, _ body: RawSpan, _ credit: Int) throws(LinkError) {
        link.release(credit, on: .control)
        if type == .request { answer(try ReceivedRequest(parsing: body).declined, on: .control) }
    }

    private mutating func take(_ request: Request, _ id: RoomID, _ session: SessionID) {
        let correlation = request.correlation
        guard link.features.contains(.requests) else {
            return answer(Response(correlation: correlation, status: .unknownMethod), on: session)
        }
        guard let sender = request.sender else {
            return answer(Response(correlation: correlation, status: .missingField), on: session)
        }
        let incoming = IncomingRequest(
            correlation: correlation, method: request.method, sender: sender, content: request.content,
            deadline: request.deadline)
        tell(id, .request(incoming))
    }

    /// A server that lets thousands of answers wait gets no more of them.
    mutating func answer(_ response: Response, on session: SessionID) {
        _ = link.send(.response, EncodedBody(response.encode()), on: session)
    }

    private mutating func takeMessage(
        _ content: FrameContent, _ id: RoomID, _ session: SessionID, _ credit: Int
    ) throws(LinkError) {
        guard case .message(let values) = content else {
            return try content.withBody { body throws(LinkError) in try takeMessage(body, id, session, credit) }
        }
        guard values.isDelivery else { return link.release(credit, on: session) }
        guard let stamp = RelayStamp(values, &senders) else { return skip(values.offset, id, session, credit) }
        guard admits(stamp.offset, id, session, credit) else { return }
        tell(id, .message(Message(values, relay: stamp), creditByteCount: credit))
    }

    private mutating func takeMessage(
        _ body: RawSpan, _ id: RoomID, _ session: SessionID, _ credit: Int
    ) throws(LinkError) {
        let message: Message
        do throws(WireError) {
            let view = try MessageView(parsing: body)
            guard let offset = view.offset else { throw .missingField(.offset) }
            guard admits(offset, id, session, credit) else { return }
            message = Message(view, &senders)
        } catch {
            guard error.scope == .frame else { throw .peer(error.code) }
            return skip(MessageView.offset(in: body), id, session, credit)
        }
        tell(id, .message(message, creditByteCount: credit))
    }

    /// Whether a room takes a message with this offset now, and with it its credit.
    private mutating func admits(_ offset: UInt64, _ id: RoomID, _ session: SessionID, _ credit: Int) -> Bool {
        switch rooms[id]!.receive(offset, byteCount: credit, isFull: held.isFull) {
        case .repeated:
            link.release(credit, on: session)
            return false
        case .dropped:
            // Its credit is kept, so that the server stops.
            hasLaggingRooms = true
            return false
        case .new:
            held.give(credit)
            return true
        }
    }

    /// A message that cannot be shown would come again on every link: it is told as missing.
    private mutating func skip(_ offset: UInt64?, _ id: RoomID, _ session: SessionID, _ credit: Int) {
        link.release(credit, on: session)
        if let offset { skip(offset...offset, in: id) }
    }

    /// Tells the application of offsets that it will not get, as far as it does not know.
    private mutating func skip(_ offsets: ClosedRange<UInt64>, in id: RoomID) {
        if let gap = rooms[id]!.skip(offsets) { tell(id, .gap(gap)) }
    }

    private mutating func take(_ run: AcceptedRun, _ id: RoomID, now: Instant) {
        reportSent(id)
        let parts = rooms[id]!.ledger.withLedger { $0.accepted(run) }
        guard !parts.isEmpty else { return }
        for part in parts { tell(id, .accepted(part)) }
        handOver(id, now: now)
    }

    private mutating func take(_ receipt: Receipt, _ id: RoomID) {
        let ledger = rooms[id]!.ledger
        switch receipt {
        case .progress(let progress):
            guard link.features.contains(.receipts) else { return }  // C-23
            // Another device of this account says nothing of those that the messages were sent to.
            if let sender = progress.sender, sender != configuration.account {
                _ = ledger.withLedger { $0.progressed(sender, progress.mark, upTo: progress.upTo) }
            }
            tell(id, .progress(progress))
        case .refused(let refusal):
            let failure = SendFailure.refused(refusal.code, reason: refusal.reason)
            guard ledger.withLedger({ $0.refuse(refusal.counter, failure) }) else { return }
            tell(id, .failed(counter: refusal.counter, failure))
        }
    }

    private mutating func take(_ transient: Transient, _ id: RoomID, now: Instant) {
        guard let sender = transient.sender else { return }
        let isPresenceAgreed = link.features.contains(.presence)  // C-23
        switch transient.content {
        case .typing(let isTyping):
            guard isPresenceAgreed, rooms[id]!.typing.note(sender, isTyping: isTyping, now: now) else { return }
            tell(id, .typing(sender, isTyping))
            timers.set(.typing(id), at: rooms[id]!.typing.deadline)
        case .presence(let presence):
            guard isPresenceAgreed else { return }
            if presence != .online, rooms[id]!.typing.remove(sender) { tell(id, .typing(sender, false)) }
            tell(id, .presence(sender, presence))
        case .message(let kind, let content): tell(id, .transient(sender, kind, content))
        }
    }

    /// Members that have not said again that they type do so no longer.
    mutating func endTyping(_ id: RoomID, now: Instant) {
        guard rooms[id] != nil else { return }
        for account in rooms[id]!.typing.expired(now: now) { tell(id, .typing(account, false)) }
        timers.set(.typing(id), at: rooms[id]!.typing.deadline)
    }

    mutating func tell(_ id: RoomID, _ event: RoomEvent) {
        outputs.append(.room(id, event))
    }
}
