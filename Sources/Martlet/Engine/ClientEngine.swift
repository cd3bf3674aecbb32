package import MartletLink
package import MartletMetrics
package import MartletWire

/// The engine of a client, which decides about connections, handshakes, sessions, messages, receipts and requests.
///
/// # The drain contract
///
/// The engine performs no input or output and reads no clock. Its caller, the *driver*, does this in each turn:
///
/// 1. It reports one or more events: `handle`, `receive`, `send`, `deadlinePassed` and the other mutating
///    methods, each with the current instant, which never decreases. An event queues outputs and performs none.
/// 2. It calls `nextOutput` until the result is nil, and performs each output when it is returned. The results of an
///    output are events too, for example `.connectFailed` or `consumed`. The driver may report them at once, and their
///    outputs follow the queued ones.
/// 3. It reads `deadline`, and calls `deadlinePassed` at that instant. The deadline is undefined while outputs are
///    queued; debug builds trap.
///
/// Bytes are not outputs. The driver reports received bytes by `receive`, in pieces of any length. The output
/// `transmit` reports that there are bytes to send. The driver then calls `transmit` whenever the connection has room,
/// until it returns false. The engine writes the most urgent frames at that moment. `transmit` is an event: step 2
/// follows.
///
/// Outputs name a connection by its `ConnectionID`. Events of earlier connections are ignored, so a driver does not
/// need to know the current connection (C-4).
///
/// # The parts
///
/// | part | owns | outlives |
/// |---|---|---|
/// | `client` | attempts, handshake, liveness, status; the link: unacknowledged frames, credit | the connection |
/// | `rooms` | cursors, unaccepted messages, requests | the link |
///
/// After the server has refused to resume the link, rooms are opened again from their cursors, and unaccepted messages
/// are sent again. The relay recognizes their counters and accepts each message once.
package struct ClientEngine: ~Copyable {
    /// The identity of the client, and its bounds.
    package private(set) var configuration: ClientConfiguration
    var client: ClientLink
    private(set) var rooms: ClientRooms
    /// Whether the driver has drained the outputs since the last event; checked in debug builds.
    private var isDrained = true

    /// Creates a client that has not been started.
    ///
    /// - Parameter seed: The seed of jitter and nonces, different for each client.
    package init(configuration: ClientConfiguration, seed: UInt64, now: Instant) {
        self.configuration = configuration
        client = ClientLink(configuration.link, seed: seed, now: now)
        rooms = ClientRooms(configuration, seed: ~seed)
    }

    // MARK: The link

    /// Handles an event of the application or of the carrier.
    package mutating func handle(_ input: LinkInput, now: Instant) {
        isDrained = false
        client.handle(input, &rooms, now: now)
    }

    /// Reports that the driver has stored another device ID, as `replaceDevice` requested. The link ends, and the
    /// pending messages are published under the new ID on another link.
    package mutating func replaceDevice(by device: DeviceID, now: Instant) {
        isDrained = false
        configuration.link.device = device
        rooms.replaceDevice()
        client.replaceDevice(by: device, &rooms, now: now)
    }

    /// Reports bytes received on a connection, in pieces of any length. The bytes are borrowed.
    package mutating func receive(_ bytes: RawSpan, on id: ConnectionID, now: Instant) {
        isDrained = false
        client.receive(bytes, on: id, &rooms, now: now)
    }

    /// Writes complete frames for a connection, as far as `out` has room.
    ///
    /// - Returns: Whether there may be more frames.
    @discardableResult
    package mutating func transmit(on id: ConnectionID, into out: inout OutputRawSpan, now: Instant) -> Bool {
        isDrained = false
        return client.transmit(on: id, into: &out, now: now)
    }

    // MARK: Time and outputs

    /// The instant at which the driver calls `deadlinePassed`. The driver reads it after it has drained the outputs.
    package var deadline: Instant? {
        assert(isDrained && rooms.outputs.isEmpty, "the driver drains the outputs before it reads the deadline")
        return client.deadline.orEarlier(rooms.deadline)
    }

    /// Processes the deadlines that have passed.
    package mutating func deadlinePassed(now: Instant) {
        isDrained = false
        client.deadlinePassed(&rooms, now: now)
        rooms.deadlinePassed(&client.link, now: now)
    }

    /// Removes and returns the next output; nil if there is none until the next event.
    package mutating func nextOutput(now: Instant) -> ClientOutput? {
        if let output = rooms.outputs.popFirst() { return output }
        rooms.fillAttachments(&client.link, now: now)
        client.finishTurn(&rooms, now: now)
        isDrained = rooms.outputs.isEmpty
        return rooms.outputs.popFirst()
    }

    // MARK: State

    /// Whether a connection is established and the server has not sent welcome.
    package func isAwaitingWelcome(on id: ConnectionID) -> Bool { client.isAwaitingWelcome(on: id) }

    /// Whether a server has answered on the latest connection.
    package func hasAnswer(on id: ConnectionID) -> Bool { client.hasAnswer(on: id) }

    /// The state of the client and its cause.
    package var status: LinkStatus { client.status }

    /// The counters of all links so far.
    package var counters: LinkCounters { client.link.counters }

    /// The round-trip times of all links so far.
    package var roundTrips: Histogram { client.roundTrips }

    /// The durations from the storage of a message until its acceptance.
    package var acceptances: Histogram { rooms.acceptances }
    package var deliveries: Histogram { rooms.deliveries }

    /// What the connections have counted.
    package var connectionMetrics: ConnectionMetrics { client.metrics }

    /// The smoothed round-trip time of the current link.
    package var smoothedRTT: Duration? { client.link.rtt.smoothed }

    /// Returns the flight recording of the connections; empty if there is none. The outputs have been drained.
    package func recording(now: Instant) -> [UInt8] { client.recording(now: now) }

    /// Returns the code of the last fault that ended a connection, once.
    package mutating func takeFault() -> ErrorCode? { client.takeFault() }

    // MARK: Rooms

    /// Opens a room. It stays open over all connections until `close`, and accepts messages at once.
    ///
    /// - Throws: `alreadyOpen`, `tooManyRooms`.
    package mutating func open(
        _ name: RoomName, _ options: RoomOptions = RoomOptions(), now: Instant
    ) throws(ClientError) -> RoomID {
        let id = try rooms.add(name, options)
        if client.hasLink { rooms.openSession(id, &client.link, now: now) }
        return id
    }

    /// The ID of the next room that is opened.
    package var nextRoomID: RoomID { rooms.nextID }

    /// Leaves a room. Unaccepted messages fail: those that were published with `outcomeUnknown`, others with `closed`.
    package mutating func close(_ id: RoomID, now: Instant) { rooms.close(id, &client.link, now: now) }

    /// Opens a room again with other options, from their cursor. Unaccepted messages are sent again (W-62).
    ///
    /// Requests that were sent on the room's session fail. Messages that the application has not taken are discarded.
    package mutating func reopen(_ id: RoomID, _ options: RoomOptions, now: Instant) {
        rooms.reset(id, options, &client.link, now: now)
        if client.hasLink { rooms.openSession(id, &client.link, now: now) }
    }

    /// Requests that the server holds this room's messages back until `resume`.
    package mutating func suspend(_ id: RoomID, now: Instant) { rooms.setSuspended(true, id, &client.link) }

    /// Requests this room's messages again.
    package mutating func resume(_ id: RoomID, now: Instant) { rooms.setSuspended(false, id, &client.link) }

    // MARK: The account

    /// Opens the account's own session, and keeps it open over all connections.
    ///
    /// - Parameters:
    ///   - list: Whether the list of the account's rooms is reported, now and after each change.
    ///   - isCurrent: Whether the list is requested again if it may lack changes by this client (C-110).
    ///   - now: The current instant.
    package mutating func useAccount(list: Bool, isCurrent: Bool = false, now: Instant) {
        rooms.useAccount(list: list, isCurrent: isCurrent, &client.link, now: now)
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
        try rooms.accountRequest(method, content, timeout: deadline, &client.link, now: now)
    }

    // MARK: Messages

    /// Queues a message that is stored. It is kept until the server has accepted it.
    ///
    /// - Parameters:
    ///   - counter: A number above all counters sent to this room before. Account, device ID and counter are the
    ///     message ID.
    ///   - timeToLive: The maximum duration until the message is written to a connection.
    /// - Throws: `noRoom`, `messageTooLarge`, `counterNotRising`. The message is then not queued.
    package mutating func send(
        counter: UInt64, content: MessageContent, timeToLive: Duration? = nil, isCompressible: Bool = true,
        in id: RoomID, now: Instant
    ) throws(ClientError) {
        guard let room = rooms[id] else { throw .noRoom }
        guard ClientRooms.fits(content.byteCount, client.link.limits) else { throw .messageTooLarge }
        guard counter > room.ledger.lastCounter else { throw .counterNotRising }
        let message = MessageLedger.Pending(
            counter: counter, content, timeToLive: timeToLive, isCompressible: isCompressible)
        messagesStored([message], releasedUpTo: counter, in: id, now: now)
    }

    /// Reports that the outbox has stored messages, in ascending order of their counters, and that all messages up to
    /// the counter `released` may be sent. The time to live of the messages begins. The caller bounds the number and
    /// the bytes of the messages without an outcome.
    package mutating func messagesStored(
        _ messages: [MessageLedger.Pending] = [], releasedUpTo released: UInt64, in id: RoomID, now: Instant
    ) {
        rooms.stored(messages, releasedUpTo: released, in: id, &client.link, now: now)
    }

    /// Restores the messages of an earlier client, in ascending order of their counters. The acceptance of one at an
    /// earlier offset is no sign of a reused counter.
    package mutating func restore(
        _ messages: [MessageLedger.Restored], releasedUpTo released: UInt64, in id: RoomID, now: Instant
    ) {
        rooms.restored(messages, releasedUpTo: released, in: id, &client.link, now: now)
    }

    /// Replaces the content of a stored message. Returns false if it was written to a connection or has an outcome
    ///
    package mutating func edit(counter: UInt64, _ content: MessageContent, in id: RoomID, now: Instant) -> Bool {
        rooms.edit(counter, content, in: id)
    }

    /// Cancels a message. Returns false if it was written to a connection: the server then decides about it.
    package mutating func cancel(counter: UInt64, in id: RoomID, now: Instant) -> Bool {
        rooms.cancel(counter, in: id)
    }

    /// Fails a message that cannot be released. A message with an outcome is ignored.
    package mutating func fail(counter: UInt64, _ failure: SendFailure, in id: RoomID, now: Instant) {
        rooms.fail(counter, failure, in: id)
    }

    /// Reports that the application has taken messages up to `offset`. Their credit is released, and their publishers
    /// receive receipts.
    package mutating func consumed(_ id: RoomID, byteCount: Int, upTo offset: UInt64, now: Instant) {
        consumed(id, byteCount: byteCount, upTo: cursor(at: offset, in: id), now: now)
    }

    /// Reports the same for messages that may belong to an earlier log of the room, for which no receipts are sent.
    package mutating func consumed(_ id: RoomID, byteCount: Int, upTo cursor: RoomCursor, now: Instant) {
        rooms.advance(.delivered, id, byteCount: byteCount, upTo: cursor, &client.link, now: now)
    }

    /// Reports that the user has read all messages up to `offset`.
    package mutating func markRead(_ id: RoomID, upTo offset: UInt64, now: Instant) {
        markRead(id, upTo: cursor(at: offset, in: id), now: now)
    }

    /// Reports the same for messages that may belong to an earlier log of the room, for which no receipts are sent.
    package mutating func markRead(_ id: RoomID, upTo cursor: RoomCursor, now: Instant) {
        rooms.advance(.read, id, byteCount: 0, upTo: cursor, &client.link, now: now)
    }

    private func cursor(at offset: UInt64, in id: RoomID) -> RoomCursor {
        RoomCursor(log: rooms[id]?.reader.cursor.log, offset: offset)
    }

    /// Reports to the members that are online whether the user is typing. The report can be lost. While the user types,
    /// the caller repeats it at least every 5 s, because members discard it after 10 s.
    package mutating func setTyping(_ isTyping: Bool, in id: RoomID, now: Instant) {
        if client.link.features.contains(.presence) { sendTransient(.typing(isTyping), in: id) }  // C-23
    }

    /// Sends a transient frame to the members that are online. It can be lost.
    package mutating func sendTransient(_ kind: ContentKind, _ content: [UInt8], in id: RoomID, now: Instant) {
        sendTransient(.message(kind, content), in: id)
    }

    private mutating func sendTransient(_ content: Transient.Content, in id: RoomID) {
        guard let session = rooms[id]?.sendingSession else { return }
        client.link.sendTransient(EncodedBody(Transient(content).encode()), on: session)
    }

    /// Whether the server has acknowledged all frames and accepted all messages, and all receipts have been sent.
    package var isSettled: Bool { !client.link.hasUnacknowledged && rooms.isSettled(client.link.features) }

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
        try rooms.request(method, content, to: recipient, in: id, timeout: deadline, &client.link, now: now)
    }

    /// Cancels a request. The outcome is `cancelled` (S-56).
    package mutating func cancelRequest(_ number: UInt64, now: Instant) {
        rooms.cancelRequest(number, &client.link)
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
            ClientRooms.fits(content?.count ?? 0, client.link.limits)
            ? Response(correlation: request.correlation, status: status, reason: reason, content: content)
            : Response(correlation: request.correlation, status: .messageTooLarge)
        ClientRooms.answer(response, on: session, &client.link)
    }

    // MARK: Attachments

    /// Begins a transfer in a room. It goes on over connections and links until `TransferEvent.finished` or `failed`.
    ///
    /// - Throws: `noRoom`, `tooManyTransfers`.
    package mutating func transfer(
        _ kind: TransferKind, in room: RoomID, now: Instant
    ) throws(ClientError) -> TransferID {
        guard rooms[room] != nil else { throw .noRoom }
        guard let id = rooms.attachments.add(kind, in: room) else { throw .tooManyTransfers }
        return id
    }

    /// Reports the bytes for `TransferEvent.needs`.
    package mutating func provide(_ bytes: [UInt8], at position: UInt64, for id: TransferID, now: Instant) {
        rooms.provide(bytes, at: position, for: id, &client.link)
    }

    /// Reports that the bytes of a `TransferEvent.received` are written.
    package mutating func consumed(_ id: TransferID, now: Instant) { rooms.consumed(id) }

    /// Ends a transfer. It fails with `cancelled`, and the relay keeps the bytes of an upload that it has stored.
    package mutating func cancel(_ id: TransferID, now: Instant) {
        rooms.cancel(id)
    }

    // MARK: Quiescence

    /// Checks the state that remains while the client is online and all messages and requests have ended.
    package func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("client \(configuration.link.device)")
        check.add(client.link.quiescence())
        check.unset("a timer of the rooms", rooms.deadline)
        check.empty("requests without an outcome", count: rooms.requests.count)
        check.equal("transfers of attachments and their sessions", rooms.attachments.isIdle, true)
        check.empty("backup connections", count: client.hasBackup ? 1 : 0)
        check.equal("sessions of rooms", rooms.idOfSession.count, rooms.rooms.count)
        check.equal("sessions", client.link.sessionCount, rooms.rooms.count)
        check.equal("bytes of rooms' messages held", rooms.heldByteCount, 0)
        check.equal("settled", isSettled, true)
        for room in rooms.rooms.values { check.add(room.quiescence()) }
        return check
    }

    /// The link that the next hello resumes; nil if it begins a link.
    package var linkID: LinkID? { client.linkID }

    /// The credit of the client's link.
    package var creditTable: CreditTable { CreditTable(client.link) }
}

extension ClientRoom {
    fileprivate func quiescence() -> QuiescenceCheck {
        var check = QuiescenceCheck("room \(name)")
        check.equal("open", openSession != nil, true)
        check.equal("messages counted as pending", ledger.pendingCount, 0)
        check.equal("bytes of messages held", reader.heldByteCount, 0)
        check.equal("suspended by the peer", isSuspendedByPeer, false)
        return check
    }
}
