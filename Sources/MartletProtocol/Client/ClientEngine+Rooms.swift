public import MartletWire

/// The application's events: rooms, messages and requests.
extension ClientEngine {
    // MARK: Rooms

    /// Opens a room. It stays open over all connections until `close`, and takes messages at once.
    ///
    /// - Throws: `alreadyOpen`, `tooManyRooms`.
    public mutating func open(
        _ name: RoomName, _ options: RoomOptions = RoomOptions(), now: Instant
    ) throws(ClientError) -> RoomID {
        try open(name, options, EngineLedger(configuration), now: now)
    }

    /// The ID of the next room that is opened.
    package var nextRoomID: RoomID { rooms.nextID }

    /// Opens a room with the ledger of its messages.
    package mutating func open(
        _ name: RoomName, _ options: RoomOptions, _ ledger: any LedgerOwner, now: Instant
    ) throws(ClientError) -> RoomID {
        let id = try rooms.add(name, options, ledger)
        if hasLink { rooms.openSession(id, &port, now: now) }
        return id
    }

    /// Leaves a room. Messages that were not accepted fail with `closed`.
    public mutating func close(_ id: RoomID, now: Instant) { rooms.close(id, &port) }

    /// Opens a room again with other options, from their cursor. Messages that were not accepted are sent again (W-62).
    ///
    /// Requests that were sent on the room's session fail. Messages that the application has not taken are discarded.
    public mutating func reopen(_ id: RoomID, _ options: RoomOptions, now: Instant) {
        rooms.reset(id, options, &port)
        if hasLink { rooms.openSession(id, &port, now: now) }
    }

    /// Whether sessions are opened on the present link: the first hello, or one after a refused resume, begins another.
    private var hasLink: Bool { link.isAttached || connection.handshake.resumesLink }

    /// Asks the server to hold this room's messages back until `resume`.
    public mutating func suspend(_ id: RoomID, now: Instant) { rooms.setSuspended(true, id, &port) }

    /// Requests this room's messages again.
    public mutating func resume(_ id: RoomID, now: Instant) { rooms.setSuspended(false, id, &port) }

    // MARK: Messages

    /// Takes a message. It is kept until the server has accepted it.
    ///
    /// - Parameters:
    ///   - counter: above all counters sent to this room before; with the device's ID it is the message's ID.
    ///   - timeToLive: the maximum duration until it is handed to a connection.
    /// - Throws: `noRoom`, `queueFull`, `messageTooLarge`, `counterNotRising`; then nothing was taken.
    public mutating func send(
        counter: UInt64, content: MessageContent, timeToLive: Duration? = nil, isCompressible: Bool = true,
        in id: RoomID, now: Instant
    ) throws(ClientError) {
        guard let room = rooms[id] else { throw .noRoom }
        guard ClientRooms.fits(content.byteCount, link.limits) else { throw .messageTooLarge }
        try room.ledger.withLedger { ledger throws(ClientError) in
            try ledger.append(counter: counter, content, timeToLive: timeToLive, isCompressible: isCompressible)
        }
        messagesStored(upTo: counter, in: id, now: now)
    }

    /// The outbox has the messages up to `counter` in the room's ledger: they may be sent.
    package mutating func messagesStored(upTo counter: UInt64, in id: RoomID, now: Instant) {
        rooms.stored(upTo: counter, in: id, &port, now: now)
    }

    /// Cancels a message; false when it was handed to a connection and only the server decides about it.
    public mutating func cancel(counter: UInt64, in id: RoomID, now: Instant) -> Bool {
        guard rooms[id]?.ledger.withLedger({ $0.cancel(counter) }) == true else { return false }
        port.report(id, .failed(counter: counter, .cancelled))
        return true
    }

    /// The application has taken messages up to `offset`: their credit is released, and their publishers get receipts
    ///
    public mutating func consumed(_ id: RoomID, byteCount: Int, upTo offset: UInt64, now: Instant) {
        consumed(id, byteCount: byteCount, upTo: cursor(at: offset, in: id), now: now)
    }

    /// The same for messages that may belong to an earlier log of the room, for which no receipts are sent.
    public mutating func consumed(_ id: RoomID, byteCount: Int, upTo cursor: RoomCursor, now: Instant) {
        rooms.advance(.delivered, id, byteCount: byteCount, upTo: cursor, &port, now: now)
    }

    /// The user has read all messages up to `offset`.
    public mutating func markRead(_ id: RoomID, upTo offset: UInt64, now: Instant) {
        markRead(id, upTo: cursor(at: offset, in: id), now: now)
    }

    /// The same for messages that may belong to an earlier log of the room, for which no receipts are sent.
    public mutating func markRead(_ id: RoomID, upTo cursor: RoomCursor, now: Instant) {
        rooms.advance(.read, id, byteCount: 0, upTo: cursor, &port, now: now)
    }

    private func cursor(at offset: UInt64, in id: RoomID) -> RoomCursor {
        RoomCursor(log: rooms[id]?.reader.cursor.log, offset: offset)
    }

    /// Reports to the members online that the user types, or has stopped; the report may be lost. While the user types,
    /// the caller repeats it at least every 5 s: members discard it 10 s after the last one.
    public mutating func setTyping(_ isTyping: Bool, in id: RoomID, now: Instant) {
        if link.features.contains(.presence) { sendTransient(.typing(isTyping), in: id) }  // C-23
    }

    /// Sends a frame of an application's kind to the members online; it may be lost.
    public mutating func sendTransient(_ kind: ContentKind, _ content: [UInt8], in id: RoomID, now: Instant) {
        sendTransient(.message(kind, content), in: id)
    }

    private mutating func sendTransient(_ content: Transient.Content, in id: RoomID) {
        guard let session = rooms[id]?.sendingSession else { return }
        link.sendTransient(EncodedBody(Transient(content).encode()), on: session)
    }

    /// Whether the server has acknowledged all frames and accepted all messages, and all receipts were sent.
    public var isSettled: Bool { !link.hasUnacknowledged && rooms.isSettled(link.features) }

    // MARK: Requests

    /// Sends a request to a member of a room or, with no recipient, to the server. The outcome is the output
    /// `response`.
    ///
    /// The request waits for a connection and for a room that is not open yet, as long as `deadline` permits.
    ///
    /// - Parameter deadline: the maximum duration until the outcome, which is then `deadlineExceeded`; a later response
    ///   is dropped. A server without the feature is sent no request: the outcome is that of `unknownMethod`.
    /// - Throws: `noRoom`, `tooManyRequests`, `messageTooLarge`, `queueFull`.
    public mutating func request(
        _ method: MethodName, content: [UInt8]? = nil, to recipient: AccountName? = nil, in id: RoomID,
        deadline: Duration, now: Instant
    ) throws(ClientError) -> UInt64 {
        try rooms.request(method, content, to: recipient, in: id, timeout: deadline, &port, now: now)
    }

    /// Cancels a request; the outcome is `cancelled` (S-56).
    public mutating func cancelRequest(_ number: UInt64, now: Instant) {
        rooms.requests.finish(number, .failed(.cancelled), &port)
    }

    /// Answers a member's request. A status other than `none` reports a failure. A response that exceeds the server's
    /// limit becomes `messageTooLarge`.
    public mutating func respond(
        in id: RoomID, correlation: UInt64, status: ErrorCode = .none, reason: String? = nil, content: [UInt8]? = nil,
        now: Instant
    ) {
        guard let session = rooms[id]?.session else { return }
        let response =
            ClientRooms.fits(content?.count ?? 0, link.limits)
            ? Response(correlation: correlation, status: status, reason: reason, content: content)
            : Response(correlation: correlation, status: .messageTooLarge)
        ClientRooms.answer(response, on: session, &port)
    }
}
