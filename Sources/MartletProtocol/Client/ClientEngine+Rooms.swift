public import MartletWire

extension ClientEngine {
    /// Codes with which a room is closed for good; after any other the room is opened again.
    static let finalCodes: Set<ErrorCode> = [
        .roomForbidden, .forbidden, .unsupportedKind, .tooManySessions, .roomFull,
    ]

    // MARK: Opening

    /// Opens a room; it stays open over all connections until `close`, and messages may be sent to it at once.
    ///
    /// - Throws: `alreadyOpen`, `tooManyRooms`.
    public mutating func open(
        _ name: RoomName, _ options: RoomOptions = RoomOptions(), now: Instant
    ) throws(ClientError) -> RoomID {
        try open(name, options, EngineLedger(configuration), now: now)
    }

    /// The ID of the next room that is opened.
    package var nextRoomID: RoomID { RoomID(rawValue: nextRoom) }

    /// The same with the ledger of the room's messages.
    package mutating func open(
        _ name: RoomName, _ options: RoomOptions, _ ledger: any LedgerOwner, now: Instant
    ) throws(ClientError) -> RoomID {
        guard roomOfName[name] == nil else { throw .alreadyOpen }
        guard rooms.count < configuration.maxRooms else { throw .tooManyRooms }
        let id = nextRoomID
        nextRoom += 1
        rooms[id] = ClientRoom(id: id, name: name, options: options, limits: configuration.limits, ledger: ledger)
        roomOfName[name] = id
        if ticket != nil || link.isAttached { openSession(id, now: now) }
        return id
    }

    /// Leaves a room; what was not accepted fails with `closed`.
    public mutating func close(_ id: RoomID, now: Instant) {
        guard let session = rooms[id]?.session else { return forget(id, code: nil, now: now) }
        link.close(session)
        forget(id, code: nil, now: now)
    }

    /// Opens a room anew with other options, from their cursor; what was not accepted is sent again (W-62).
    ///
    /// Requests that were handed to the room's session fail. What the application has not taken, it forgets.
    public mutating func reopen(_ id: RoomID, _ options: RoomOptions, now: Instant) {
        guard var room = rooms[id] else { return }
        failRequests(of: id, .cancelled, onlyHanded: true, now: now)
        if let session = room.session {
            link.close(session)
            leave(session)
        }
        timers.cancel(.reopen(id))
        _ = held.take(room.held.byteCount)
        room.beginAgain(options, limits: configuration.limits)
        rooms[id] = room
        if ticket != nil || link.isAttached { openSession(id, now: now) }
    }

    /// Asks the server to hold this room's messages back until `resume`.
    public mutating func suspend(_ id: RoomID, now: Instant) {
        guard rooms[id] != nil, !rooms[id]!.isSuspended else { return }
        rooms[id]!.isSuspended = true
        if let session = rooms[id]!.session { link.suspend(session) }
    }

    /// Takes this room's messages again.
    public mutating func resume(_ id: RoomID, now: Instant) {
        guard rooms[id] != nil, rooms[id]!.isSuspended else { return }
        rooms[id]!.isSuspended = false
        if let session = rooms[id]!.session { link.resume(session, cursor: nil) }
    }

    // MARK: Sending

    /// Takes a message that is to be delivered; it is kept until the server has accepted it.
    ///
    /// - Parameters:
    ///   - counter: above all counters sent to this room before; with the device's ID it is the message's ID.
    ///   - timeToLive: how long it may wait to be handed to a connection.
    /// - Throws: `noRoom`, `queueFull`, `messageTooLarge`, `counterNotRising`; then nothing was taken.
    public mutating func send(
        counter: UInt64, content: MessageContent, timeToLive: Duration? = nil, isCompressible: Bool = true,
        in id: RoomID, now: Instant
    ) throws(ClientError) {
        guard let room = rooms[id] else { throw .noRoom }
        guard content.byteCount + ClientEngine.maxMessageOverhead <= link.limits.maxMessageByteCount else {
            throw .messageTooLarge
        }
        try room.ledger.withLedger { ledger throws(ClientError) in
            try ledger.append(counter: counter, content, timeToLive: timeToLive, isCompressible: isCompressible)
        }
        messagesStored(upTo: counter, in: id, now: now)
    }

    /// The room's ledger has messages up to `counter` that may go out: the outbox has them.
    package mutating func messagesStored(upTo counter: UInt64, in id: RoomID, now: Instant) {
        guard let room = rooms[id] else { return }
        let expires = room.ledger.withLedger { $0.stored(upTo: counter, now: now) }
        handOver(id, now: now)
        if expires { armExpiry(id) }
    }

    /// Takes a message back; false when it has been handed to a connection and only the server decides about it.
    public mutating func cancel(counter: UInt64, in id: RoomID, now: Instant) -> Bool {
        guard let room = rooms[id], room.ledger.withLedger({ $0.cancel(counter) }) else { return false }
        tell(id, .failed(counter: counter, .cancelled))
        return true
    }

    /// The application has taken messages up to `offset`: their credit goes back, and their senders hear of it.
    public mutating func consumed(_ id: RoomID, byteCount: Int, upTo offset: UInt64, now: Instant) {
        guard let room = rooms[id] else { return }
        consumed(id, byteCount: byteCount, upTo: RoomCursor(log: room.cursor.log, offset: offset), now: now)
    }

    /// The same for messages that may be of an earlier log of the room: nobody hears of those.
    public mutating func consumed(_ id: RoomID, byteCount: Int, upTo cursor: RoomCursor, now: Instant) {
        guard let room = rooms[id] else { return }
        if let session = room.session { link.release(byteCount, on: session) }
        rooms[id]!.progress(.delivered, upTo: cursor)
        _ = held.take(rooms[id]!.held.take(byteCount))
        beginAgain(now: now)
        scheduleReceipts(id, now: now)
    }

    /// Rooms that dropped messages are opened again from their cursors when the application has taken enough.
    private mutating func beginAgain(now: Instant) {
        guard hasLaggingRooms, !held.isFull else { return }
        for id in roomIDs where rooms[id]!.isLagging && rooms[id]!.held.isHalfEmpty {
            guard let session = rooms[id]!.session else { continue }
            link.reset(session, code: .cancelled)
            // Requests that were sent on it have failed (S-57), but not because anybody cancelled them.
            sessionLost(id, .slowConsumer, now: now)
        }
        hasLaggingRooms = rooms.values.contains(where: \.isLagging)
    }

    /// The user has read everything up to `offset`.
    public mutating func markRead(_ id: RoomID, upTo offset: UInt64, now: Instant) {
        guard let room = rooms[id] else { return }
        markRead(id, upTo: RoomCursor(log: room.cursor.log, offset: offset), now: now)
    }

    /// The same for messages that may be of an earlier log of the room: nobody hears of those.
    public mutating func markRead(_ id: RoomID, upTo cursor: RoomCursor, now: Instant) {
        rooms[id]?.progress(.read, upTo: cursor)
        scheduleReceipts(id, now: now)
    }

    /// Tells who is there that the user types, or no longer; it may be lost. While it goes on it is to be said again at
    /// least every 5 s: others take it for ended 10 s after they heard of it last.
    public mutating func setTyping(_ isTyping: Bool, in id: RoomID, now: Instant) {
        guard link.features.contains(.presence) else { return }  // C-23
        sendTransient(.typing(isTyping), in: id)
    }

    /// Tells who is there something that is worth nothing later; it may be lost.
    public mutating func sendTransient(_ kind: ContentKind, _ content: [UInt8], in id: RoomID, now: Instant) {
        sendTransient(.message(kind, content), in: id)
    }

    private mutating func sendTransient(_ content: Transient.Content, in id: RoomID) {
        guard let room = rooms[id], !room.isHeldBack, let session = room.session else { return }
        link.sendTransient(EncodedBody(Transient(content).encode()), on: session)
    }

    /// Whether the server has all that was given to the client: messages, receipts, answers, and what opened the rooms.
    public var isSettled: Bool {
        guard !link.hasUnacknowledged, rooms.values.allSatisfy({ $0.pendingCount == 0 }) else { return false }
        guard link.features.contains(.receipts) else { return true }
        return rooms.values.allSatisfy { $0.delivered <= $0.reportedDelivered && $0.read <= $0.reportedRead }
    }

    // MARK: Inside

    /// What a message's fields other than its content take on the wire, relay's fields included, in bytes.
    static let maxMessageOverhead = 512
    /// Bytes that a session's queue is filled up to; the rest waits where it can still be cancelled.
    static let handOverByteCount = 256 * 1024
    /// When to try again to open a session that finds no place because others are closing.
    static let closingRetry: Duration = .seconds(1)
    /// How long delivered receipts are held back to go out together.
    static let receiptDelay: Duration = .milliseconds(25)

    /// Rooms in the order in which they were opened: outputs must not depend on how a table hashes.
    var roomIDs: [RoomID] { rooms.keys.sorted { $0.rawValue < $1.rawValue } }

    mutating func openSession(_ id: RoomID, now: Instant) {
        guard let room = rooms[id] else { return }
        // What is beyond the burst goes out at the rate that the server takes (S-4).
        guard opens.take(now: now) else { return timers.set(.reopen(id), at: max(now, opens.availableAt())) }
        let open = Open(
            room: room.name, kind: room.options.kind, cursor: room.cursor.offset, log: room.cursor.log, tail: room.tail,
            noLocal: !room.options.echo)
        do throws(LinkError) {
            let session = try link.open(open)
            rooms[id]!.begin(session)
            roomOfSession[session] = id
            if room.isSuspended { link.suspend(session) }
            handOver(id, now: now)
            handRequests(id, now: now)
        } catch  where roomOfSession.count < link.sessionCount {
            // Sessions of rooms that were left are closing; there is room for this one when they have.
            timers.set(.reopen(id), at: now + ClientEngine.closingRetry)
        } catch {
            forget(id, code: error.code, now: now)
        }
    }

    mutating func handOverAll(now: Instant) {
        for id in roomIDs {
            if rooms[id]!.session == nil { openSession(id, now: now) } else { handOver(id, now: now) }
        }
    }

    /// Gives the room's session as much as it should hold; only with a connection, so that the rest can be cancelled.
    mutating func handOver(_ id: RoomID, now: Instant) {
        guard link.isAttached, let room = rooms[id], !room.isHeldBack, let session = room.session else { return }
        if let expiry = timers.deadline(of: .expiry(id)), expiry <= now { expire(id, now: now) }
        var isFull = false
        while !isFull {
            let byteCount = ClientEngine.handOverByteCount - link.queuedByteCount(on: session)
            let messages = room.ledger.withLedger { $0.unsent(byteCount: byteCount) }
            guard !messages.isEmpty else { break }
            var last: UInt64?
            for message in messages {
                guard !isTooLarge(message.content) else {
                    // This server takes less than an earlier one. The message would be refused on every link.
                    fail(message.counter, .refused(.messageTooLarge, reason: nil), in: id)
                    continue
                }
                isFull = link.send(.data, body(of: message, room.options.kind, now: now), on: session) != .queued
                guard !isFull else { break }
                last = message.counter
            }
            if let last { room.ledger.withLedger { $0.handedOver(upTo: last) } }
        }
        if isEstablished { reportSent(id) }
    }

    private func isTooLarge(_ content: MessageContent) -> Bool {
        isEstablished && content.byteCount + ClientEngine.maxMessageOverhead > link.limits.maxMessageByteCount
    }

    private mutating func fail(_ counter: UInt64, _ failure: SendFailure, in id: RoomID) {
        guard rooms[id]?.ledger.withLedger({ $0.fail(counter, failure) }) == true else { return }
        tell(id, .failed(counter: counter, failure))
    }

    private mutating func body(
        of message: MessageLedger.Pending, _ kind: SessionKind, now: Instant
    ) -> EncodedBody {
        let timeToLive = message.expires.map { $0 - now }
        writer.removeAll()
        let frame = Message(counter: message.counter, content: message.content, timeToLive: timeToLive)
        frame.encode(into: &writer)
        let bytes = writer.bytes
        let fragment = SessionPreset(kind).fragmentByteCount
        // What goes into a packet is deflated there, with all that went before as its context.
        let isDeflatedLater = link.features.contains([.compact, .sharedDeflate]) && bytes.count < 2048
        guard configuration.compressesMessages, message.isCompressible, link.features.contains(.zlib), !isDeflatedLater
        else {
            var body = EncodedBody(bytes, fragmentByteCount: fragment, layout: frame.layout)
            body.isSecret = !message.isCompressible
            return body
        }
        return EncodedBody(compressing: bytes, fragmentByteCount: fragment, with: deflater)
    }

    mutating func reportSent(_ id: RoomID) {
        guard let counters = rooms[id]?.ledger.withLedger({ $0.reportSent() }) else { return }
        tell(id, .sent(counters: counters))
    }

    mutating func expire(_ id: RoomID, now: Instant) {
        guard let room = rooms[id] else { return }
        for counter in room.ledger.withLedger({ $0.expire(now: now) }) {
            tell(id, .failed(counter: counter, .expired))
        }
        armExpiry(id)
    }

    private mutating func armExpiry(_ id: RoomID) {
        timers.set(.expiry(id), at: rooms[id]?.ledger.withLedger { $0.earliestExpiry })
    }

    mutating func scheduleReceipts(_ id: RoomID, now: Instant) {
        guard link.features.contains(.receipts), let room = rooms[id],
            room.delivered > room.reportedDelivered || room.read > room.reportedRead
        else { return }
        if timers.deadline(of: .receipts(id)) == nil {
            timers.set(.receipts(id), at: now + ClientEngine.receiptDelay)
        }
    }

    /// Marks are cumulative: what is told is how far we are now.
    mutating func sendReceipts(_ id: RoomID, now: Instant) {
        guard let room = rooms[id], room.isOpen, let session = room.session, link.features.contains(.receipts) else {
            return
        }
        if room.delivered > room.reportedDelivered, room.delivered > room.read {
            let receipt = Receipt.progress(Receipt.Progress(.delivered, upTo: room.delivered))
            guard sendReceipt(receipt, id, on: session, now: now) else { return }
            rooms[id]!.reportedDelivered = room.delivered
        }
        if room.read > room.reportedRead {
            let receipt = Receipt.progress(Receipt.Progress(.read, upTo: room.read))
            guard sendReceipt(receipt, id, on: session, now: now) else { return }
            rooms[id]!.reportedRead = room.read
            rooms[id]!.reportedDelivered = max(rooms[id]!.reportedDelivered, room.read)
        }
    }

    /// A session that is full has room again some time; the mark is then what it is by then.
    private mutating func sendReceipt(_ receipt: Receipt, _ id: RoomID, on session: SessionID, now: Instant) -> Bool {
        if link.send(.receipt, EncodedBody(receipt.encode()), on: session) == .queued { return true }
        timers.set(.receipts(id), at: now + .seconds(1))
        return false
    }

    /// The server ended the room's session: for good, or the room is opened again after a while and all is sent again
    ///
    mutating func sessionLost(_ id: RoomID, _ code: ErrorCode, now: Instant) {
        guard let room = rooms[id] else { return }
        if let session = room.session { leave(session) }
        rooms[id]!.endSession()
        guard !ClientEngine.finalCodes.contains(code) else { return forget(id, code: code, now: now) }
        failRequests(of: id, code, onlyHanded: true, now: now)
        rooms[id]!.reopenAttempts += 1
        let ceiling = Duration.seconds(1 << min(room.reopenAttempts, 5))
        timers.set(.reopen(id), at: now + .uniform(below: ceiling, random: random.next()))
    }

    mutating func reopen(_ id: RoomID, now: Instant) {
        guard rooms[id]?.session == nil, link.isAttached else { return }
        openSession(id, now: now)
    }

    /// Nobody takes the session's messages any more: their credit goes back.
    private mutating func leave(_ session: SessionID) {
        roomOfSession[session] = nil
        link.releaseAll(on: session)
    }

    private mutating func forget(_ id: RoomID, code: ErrorCode?, now: Instant) {
        failRequests(of: id, code ?? .cancelled, onlyHanded: false, now: now)
        guard let room = rooms.removeValue(forKey: id) else { return }
        roomOfName[room.name] = nil
        _ = held.take(room.held.byteCount)
        if let session = room.session { leave(session) }
        for key in [TimerKey.receipts(id), .expiry(id), .reopen(id), .typing(id)] { timers.cancel(key) }
        let failure: SendFailure = code.map { .refused($0, reason: nil) } ?? .closed
        for counter in room.ledger.withLedger({ $0.failAll(failure) }) {
            tell(id, .failed(counter: counter, failure))
        }
        tell(id, .closed(code))
    }
}
