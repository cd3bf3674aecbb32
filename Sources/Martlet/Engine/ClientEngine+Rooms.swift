package import MartletLink
package import MartletWire

/// The application's events: rooms, messages and requests.
extension ClientEngine {
    // MARK: Rooms

    /// Opens a room. It stays open over all connections until `close`, and accepts messages at once.
    ///
    /// - Throws: `alreadyOpen`, `tooManyRooms`.
    package mutating func open(
        _ name: RoomName, _ options: RoomOptions = RoomOptions(), now: Instant
    ) throws(ClientError) -> RoomID {
        try open(name, options, EngineLedger(configuration), now: now)
    }

    /// The ID of the next room that is opened.
    package var nextRoomID: RoomID { rooms.nextID }

    /// Opens a room with a ledger for its messages.
    package mutating func open(
        _ name: RoomName, _ options: RoomOptions, _ ledger: any LedgerOwner, now: Instant
    ) throws(ClientError) -> RoomID {
        let id = try rooms.add(name, options, ledger)
        if hasLink { rooms.openSession(id, &port, now: now) }
        return id
    }

    /// Leaves a room. Unaccepted messages fail: those that were published with `outcomeUnknown`, others with `closed`.
    package mutating func close(_ id: RoomID, now: Instant) { rooms.close(id, &port, now: now) }

    /// Opens a room again with other options, from their cursor. Unaccepted messages are sent again (W-62).
    ///
    /// Requests that were sent on the room's session fail. Messages that the application has not taken are discarded.
    package mutating func reopen(_ id: RoomID, _ options: RoomOptions, now: Instant) {
        rooms.reset(id, options, &port, now: now)
        if hasLink { rooms.openSession(id, &port, now: now) }
    }

    /// Whether sessions are opened on the current link. The first hello, and one after a refused resume, begins
    /// another.
    private var hasLink: Bool { port.link.isAttached || connection.handshake.resumesLink }

    /// Requests that the server holds this room's messages back until `resume`.
    package mutating func suspend(_ id: RoomID, now: Instant) { rooms.setSuspended(true, id, &port) }

    /// Requests this room's messages again.
    package mutating func resume(_ id: RoomID, now: Instant) { rooms.setSuspended(false, id, &port) }

    // MARK: The account

    /// Opens the account's own session, and keeps it open over all connections.
    ///
    /// - Parameters:
    ///   - list: Whether the list of the account's rooms is reported, now and after each change.
    ///   - isCurrent: Whether the list is requested again if it may lack changes by this client (C-110).
    ///   - now: The current instant.
    package mutating func useAccount(list: Bool, isCurrent: Bool = false, now: Instant) {
        rooms.useAccount(list: list, isCurrent: isCurrent, &port, now: now)
    }

    /// Whether the list of the account's rooms was reported, and later changes are.
    package var isListed: Bool { rooms.account.list.isListed && !rooms.account.isListOutdated }

    /// Reports that the client has changed a membership record, of which the list may lack the change (C-110).
    package mutating func noteOwnRoomChange() { rooms.account.isListOutdated = true }

    /// Sends a request that belongs to no room. It waits for the account's own session, which it opens.
    ///
    /// - Throws: `messageTooLarge`, `tooManyRequests`, `queueFull`.
    package mutating func accountRequest(
        _ method: MethodName, content: [UInt8]?, deadline: Duration, now: Instant
    ) throws(ClientError) -> UInt64 {
        try rooms.accountRequest(method, content, timeout: deadline, &port, now: now)
    }

    // MARK: Messages

    /// Queues a message. It is kept until the server has accepted it.
    ///
    /// - Parameters:
    ///   - counter: A number above all counters sent to this room before. Account, device ID and counter are the
    ///     message ID.
    ///   - timeToLive: The maximum duration until the message is written to a connection.
    /// - Throws: `noRoom`, `queueFull`, `messageTooLarge`, `counterNotRising`. The message is then not queued.
    package mutating func send(
        counter: UInt64, content: MessageContent, timeToLive: Duration? = nil, isCompressible: Bool = true,
        in id: RoomID, now: Instant
    ) throws(ClientError) {
        guard let room = rooms[id] else { throw .noRoom }
        guard ClientRooms.fits(content.byteCount, port.link.limits) else { throw .messageTooLarge }
        try room.ledger.withLedger { ledger throws(ClientError) in
            try ledger.append(counter: counter, content, timeToLive: timeToLive, isCompressible: isCompressible)
        }
        messagesStored(upTo: counter, in: id, now: now)
    }

    /// Queues a message that an earlier engine may have sent. The bounds do not apply to it, and its acceptance at an
    /// earlier offset is no sign of a reused counter.
    package mutating func restore(counter: UInt64, content: MessageContent, in id: RoomID, now: Instant) {
        guard let room = rooms[id] else { return }
        room.ledger.withLedger { ledger in
            ledger.restore(counter: counter, content, timeToLive: nil, isCompressible: true)
        }
        messagesStored(upTo: counter, in: id, now: now)
    }

    /// Reports that the outbox has stored the messages up to `counter` of the room's ledger. Their time to live begins.
    ///
    /// - Parameter released: The counter up to which they may be sent; nil for all of them. A later call releases the
    ///   others.
    package mutating func messagesStored(
        upTo counter: UInt64, releasedUpTo released: UInt64? = nil, in id: RoomID, now: Instant
    ) {
        rooms.stored(upTo: counter, releasedUpTo: released ?? counter, in: id, &port, now: now)
    }

    /// Cancels a message. Returns false if it was written to a connection: the server then decides about it.
    package mutating func cancel(counter: UInt64, in id: RoomID, now: Instant) -> Bool {
        guard rooms[id]?.ledger.withLedger({ $0.cancel(counter) }) == true else { return false }
        port.report(id, .failed(counter: counter, .cancelled))
        return true
    }

    /// Reports that the application has taken messages up to `offset`. Their credit is released, and their publishers
    /// receive receipts.
    package mutating func consumed(_ id: RoomID, byteCount: Int, upTo offset: UInt64, now: Instant) {
        consumed(id, byteCount: byteCount, upTo: cursor(at: offset, in: id), now: now)
    }

    /// Reports the same for messages that may belong to an earlier log of the room, for which no receipts are sent.
    package mutating func consumed(_ id: RoomID, byteCount: Int, upTo cursor: RoomCursor, now: Instant) {
        rooms.advance(.delivered, id, byteCount: byteCount, upTo: cursor, &port, now: now)
    }

    /// Reports that the user has read all messages up to `offset`.
    package mutating func markRead(_ id: RoomID, upTo offset: UInt64, now: Instant) {
        markRead(id, upTo: cursor(at: offset, in: id), now: now)
    }

    /// Reports the same for messages that may belong to an earlier log of the room, for which no receipts are sent.
    package mutating func markRead(_ id: RoomID, upTo cursor: RoomCursor, now: Instant) {
        rooms.advance(.read, id, byteCount: 0, upTo: cursor, &port, now: now)
    }

    private func cursor(at offset: UInt64, in id: RoomID) -> RoomCursor {
        RoomCursor(log: rooms[id]?.reader.cursor.log, offset: offset)
    }

    /// Reports to the members that are online whether the user is typing. The report can be lost. While the user types,
    /// the caller repeats it at least every 5 s, because members discard it after 10 s.
    package mutating func setTyping(_ isTyping: Bool, in id: RoomID, now: Instant) {
        if port.link.features.contains(.presence) { sendTransient(.typing(isTyping), in: id) }  // C-23
    }

    /// Sends a transient frame to the members that are online. It can be lost.
    package mutating func sendTransient(_ kind: ContentKind, _ content: [UInt8], in id: RoomID, now: Instant) {
        sendTransient(.message(kind, content), in: id)
    }

    private mutating func sendTransient(_ content: Transient.Content, in id: RoomID) {
        guard let session = rooms[id]?.sendingSession else { return }
        port.link.sendTransient(EncodedBody(Transient(content).encode()), on: session)
    }

    /// Whether the server has acknowledged all frames and accepted all messages, and all receipts have been sent.
    package var isSettled: Bool { !port.link.hasUnacknowledged && rooms.isSettled(port.link.features) }

    // MARK: Requests

    /// Sends a request to a member of a room or, without a recipient, to the server. The output `response` reports the
    /// outcome.
    ///
    /// The request waits for a connection and for the room to be open. A server without the feature is sent no request,
    /// and the outcome is `unknownMethod`.
    ///
    /// - Parameter deadline: The maximum duration until the outcome, which is then `deadlineExceeded`. A later response
    ///   is dropped.
    /// - Returns: The number of the request.
    /// - Throws: `noRoom`, `tooManyRequests`, `messageTooLarge`, `queueFull`.
    package mutating func request(
        _ method: MethodName, content: [UInt8]? = nil, to recipient: AccountName? = nil, in id: RoomID,
        deadline: Duration, now: Instant
    ) throws(ClientError) -> UInt64 {
        try rooms.request(method, content, to: recipient, in: id, timeout: deadline, &port, now: now)
    }

    /// Cancels a request. The outcome is `cancelled` (S-56).
    package mutating func cancelRequest(_ number: UInt64, now: Instant) {
        rooms.requests.finish(number, .failed(.cancelled), &port)
    }

    /// Responds to a member's request. A status other than `none` reports a failure. A response that exceeds the
    /// server's limit is replaced by `messageTooLarge`. A response to a request of an earlier session is dropped
    /// (S-57).
    package mutating func respond(
        to request: IncomingRequest.ID, in id: RoomID, status: ErrorCode = .none, reason: String? = nil,
        content: [UInt8]? = nil, now: Instant
    ) {
        guard let room = rooms[id], room.sessionCount == request.session, let session = room.session else { return }
        let response =
            ClientRooms.fits(content?.count ?? 0, port.link.limits)
            ? Response(correlation: request.correlation, status: status, reason: reason, content: content)
            : Response(correlation: request.correlation, status: .messageTooLarge)
        ClientRooms.answer(response, on: session, &port)
    }
}
