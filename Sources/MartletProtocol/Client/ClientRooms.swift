import MartletWire

/// The rooms of a client, and their sessions on the link.
///
/// A room outlives sessions, links and connections. Each event takes the link, on which it queues frames, and appends
/// to the engine's outputs.
///
/// | event | effect on a room | ends |
/// |---|---|---|
/// | `open`, `linkBegan`, `reopen` | a session is opened, or a timer is set for it | `sessionEnded`, `close`, `linkBegan` |
/// | `opened` | the reader enters the log | the same |
/// | `sessionEnded` | a timer is set to open another session, or the room is closed (R-13) | the timer |
/// | `close` | pending messages and requests fail | never again |
struct ClientRooms: ~Copyable {
    typealias Outputs = Deque<ClientOutput>

    enum Timer: Hashable, Sendable {
        case receipts(RoomID)
        case expiry(RoomID)
        case reopen(RoomID)
        case typing(RoomID)
    }

    /// Codes with which a room is closed for good; after any other the room is opened again.
    private static let finalCodes: Set<ErrorCode> = [
        .roomForbidden, .forbidden, .unsupportedKind, .tooManySessions, .roomFull,
    ]
    /// The maximum size of a message's fields other than its content, the relay's fields included, in bytes.
    static let maxMessageOverhead = 512
    /// Bytes up to which messages are queued on a session. Further messages stay where they can be cancelled.
    private static let queuedByteCount = 256 * 1024
    /// The duration until a session is opened again that found no place because others are closing.
    private static let closingRetry: Duration = .seconds(1)
    /// The duration for which receipts are held back, so that one frame reports several messages.
    private static let receiptDelay: Duration = .milliseconds(25)
    /// The duration until a receipt is sent again that its full session did not take.
    private static let receiptRetry: Duration = .seconds(1)

    let configuration: ClientConfiguration
    /// The rooms in the order in which they were opened. Outputs must not depend on the order of a hash table.
    var rooms = SortedMap<UInt32, ClientRoom>()
    private var idOfName: [RoomName: RoomID] = [:]
    private(set) var idOfSession = SortedMap<SessionID, RoomID>()
    private(set) var nextID = RoomID(rawValue: 1)
    var requests: ClientRequests
    var timers = TimerQueue<Timer>()
    /// Bytes of all rooms' messages that the application holds.
    var heldByteCount = 0
    /// Whether a room may have dropped messages.
    var hasLaggingRooms = false
    /// The rate of opened sessions: a burst for all rooms of a link, then a rate that the server accepts (S-4).
    private var opens = TokenBucket(burst: Link.ownOpenBurst, perMinute: Link.ownOpensPerMinute)
    private var random: SeededRandom
    private let deflater = Deflater()
    /// Encodes a message; its memory is used again.
    private var writer = TLVWriter()
    var senders = AccountNames()

    init(_ configuration: ClientConfiguration, seed: UInt64) {
        self.configuration = configuration
        requests = ClientRequests(maxCount: configuration.maxRequests)
        random = SeededRandom(seed: seed)
    }

    /// Whether the application holds as much as it may. A link has a window in flight and, beside it, the received
    /// part of one message (S-37).
    var isFull: Bool {
        heldByteCount >= configuration.limits.linkWindow + configuration.limits.maxMessageByteCount
    }

    private var ids: [RoomID] { rooms.keys.map { RoomID(rawValue: $0) } }

    func index(of id: RoomID) -> Int? { rooms.index(of: id.rawValue) }

    private func index(ofSession session: SessionID) -> Int? {
        idOfSession.index(of: session).flatMap { index(of: idOfSession[at: $0]) }
    }

    // MARK: Rooms

    /// Adds a room.
    ///
    /// - Throws: `alreadyOpen`, `tooManyRooms`.
    mutating func add(_ name: RoomName, _ options: RoomOptions, _ ledger: any LedgerOwner) throws(ClientError) -> RoomID
    {
        guard idOfName[name] == nil else { throw .alreadyOpen }
        guard rooms.count < configuration.maxRooms else { throw .tooManyRooms }
        let id = nextID
        nextID.rawValue += 1
        rooms[id.rawValue] = ClientRoom(
            id: id, name: name, options: options, limits: configuration.limits, ledger: ledger)
        idOfName[name] = id
        return id
    }

    mutating func close(_ id: RoomID, _ link: inout Link, _ outputs: inout Outputs) {
        guard let index = index(of: id) else { return }
        if let session = rooms[at: index].session { link.close(session) }
        remove(id, code: nil, &link, &outputs)
    }

    /// Ends the room's session, and begins again with other options.
    mutating func reset(_ id: RoomID, _ options: RoomOptions, _ link: inout Link, _ outputs: inout Outputs) {
        guard let index = index(of: id) else { return }
        requests.fail(of: id, .cancelled, onlySent: true, &link, &outputs)
        if let session = rooms[at: index].session {
            link.close(session)
            leave(session, &link)
        }
        timers.cancel(.reopen(id))
        heldByteCount -= rooms[at: index].reader.heldByteCount
        rooms[at: index].reset(options, limits: configuration.limits)
    }

    mutating func suspend(_ id: RoomID, _ link: inout Link) {
        guard let index = index(of: id), !rooms[at: index].isSuspended else { return }
        rooms[at: index].isSuspended = true
        if let session = rooms[at: index].session { link.suspend(session) }
    }

    mutating func resume(_ id: RoomID, _ link: inout Link) {
        guard let index = index(of: id), rooms[at: index].isSuspended else { return }
        rooms[at: index].isSuspended = false
        if let session = rooms[at: index].session { link.resume(session, cursor: nil) }
    }

    /// Removes a room. Its messages, requests and credit have no further use.
    private mutating func remove(
        _ id: RoomID, code: ErrorCode?, _ link: inout Link, _ outputs: inout Outputs
    ) {
        requests.fail(of: id, code ?? .cancelled, onlySent: false, &link, &outputs)
        guard let room = rooms.removeValue(forKey: id.rawValue) else { return }
        idOfName[room.name] = nil
        heldByteCount -= room.reader.heldByteCount
        if let session = room.session { leave(session, &link) }
        for timer in [Timer.receipts(id), .expiry(id), .reopen(id), .typing(id)] { timers.cancel(timer) }
        let failure: SendFailure = code.map { .refused($0, reason: nil) } ?? .closed
        for counter in room.ledger.withLedger({ $0.failAll(failure) }) {
            outputs.append(.room(id, .failed(counter: counter, failure)))
        }
        outputs.append(.room(id, .closed(code)))
    }

    // MARK: Sessions

    /// Another link begins: rooms are opened again on it, and unaccepted messages are sent again (W-46, C-36).
    mutating func linkBegan(_ link: inout Link, _ outputs: inout Outputs, now: Instant) {
        opens = TokenBucket(burst: Link.ownOpenBurst, perMinute: Link.ownOpensPerMinute)
        idOfSession = SortedMap()
        requests.fail(of: nil, .resumeRejected, onlySent: true, &link, &outputs)  // S-57
        for id in ids {
            guard let index = index(of: id) else { continue }
            rooms[at: index].endSession()
            openSession(id, &link, &outputs, now: now)
        }
    }

    /// The link has a connection: rooms without a session get one, and sessions are filled.
    mutating func linkAttached(_ link: inout Link, _ outputs: inout Outputs, now: Instant) {
        for id in ids {
            guard let index = index(of: id) else { continue }
            if rooms[at: index].session == nil {
                openSession(id, &link, &outputs, now: now)
            } else {
                fillSession(at: index, &link, &outputs, now: now)
            }
        }
    }

    /// The connection is established: messages that were sent early are reported.
    mutating func established(_ link: inout Link, _ outputs: inout Outputs, now: Instant) {
        linkAttached(&link, &outputs, now: now)
        requests.decline(&link, &outputs)
        for index in rooms.indices {
            requests.send(of: rooms[at: index], &link, now: now)
            reportSent(at: index, &outputs)
        }
    }

    mutating func openSession(_ id: RoomID, _ link: inout Link, _ outputs: inout Outputs, now: Instant) {
        guard let index = index(of: id) else { return }
        // Sessions beyond the burst are opened at the rate that the server accepts (S-4).
        guard opens.take(now: now) else { return timers.set(.reopen(id), at: max(now, opens.availableAt())) }
        do throws(LinkError) {
            let session = try link.open(rooms[at: index].openFrame)
            rooms[at: index].begin(session)
            idOfSession[session] = id
            if rooms[at: index].isSuspended { link.suspend(session) }
            fillSession(at: index, &link, &outputs, now: now)
            requests.send(of: rooms[at: index], &link, now: now)
        } catch  where idOfSession.count < link.sessionCount {
            // Sessions of rooms that were left are closing. This one has a place when they have closed.
            timers.set(.reopen(id), at: now + Self.closingRetry)
        } catch {
            remove(id, code: error.code, &link, &outputs)
        }
    }

    /// The relay has admitted a session.
    mutating func opened(
        _ session: SessionID, _ opened: Opened, _ link: inout Link, _ outputs: inout Outputs, now: Instant
    ) {
        guard let index = index(ofSession: session) else { return }
        let id = rooms[at: index].id
        if let previous = rooms[at: index].enter(opened, on: session) {
            rooms[at: index].ledger.withLedger { $0.discardOffsets() }
            outputs.append(.room(id, .logReplaced(previous: previous, current: rooms[at: index].reader.cursor)))
        }
        outputs.append(
            .room(id, .opened(head: opened.head, first: opened.first, members: opened.members, log: opened.log)))
        scheduleReceipts(at: index, link.features, now: now)
    }

    /// The server has ended a session: the room is closed for good, or it is opened again after a while and all its
    /// pending messages are sent again.
    mutating func sessionEnded(
        _ session: SessionID, _ code: ErrorCode, _ link: inout Link, _ outputs: inout Outputs, now: Instant
    ) {
        guard let index = index(ofSession: session) else { return }
        let id = rooms[at: index].id
        leave(session, &link)
        rooms[at: index].endSession()
        guard !Self.finalCodes.contains(code) else { return remove(id, code: code, &link, &outputs) }
        requests.fail(of: id, code, onlySent: true, &link, &outputs)
        let ceiling = Duration.seconds(1 << min(rooms[at: index].countAttempt(), 5))
        timers.set(.reopen(id), at: now + .uniform(below: ceiling, random: random.next()))
    }

    /// The application receives no more of the session's messages. Their credit is released.
    private mutating func leave(_ session: SessionID, _ link: inout Link) {
        idOfSession[session] = nil
        link.releaseAll(on: session)
    }

    /// The server asks to hold frames back, or to send them again (S-9).
    mutating func setHeldBack(
        _ isHeldBack: Bool, on session: SessionID, _ link: inout Link, _ outputs: inout Outputs, now: Instant
    ) {
        guard let index = index(ofSession: session) else { return }
        rooms[at: index].isHeldBack = isHeldBack
        guard !isHeldBack else { return }
        fillSession(at: index, &link, &outputs, now: now)
        requests.send(of: rooms[at: index], &link, now: now)
    }

    // MARK: Sending

    /// Takes a message for a room.
    ///
    /// - Throws: `noRoom`, `messageTooLarge`, `queueFull`, `counterNotRising`.
    func append(
        counter: UInt64, _ content: MessageContent, timeToLive: Duration?, isCompressible: Bool, in id: RoomID,
        _ limits: Limits
    ) throws(ClientError) {
        guard let index = index(of: id) else { throw .noRoom }
        guard Self.fits(content.byteCount, limits) else { throw .messageTooLarge }
        try rooms[at: index].ledger.withLedger { ledger throws(ClientError) in
            try ledger.append(counter: counter, content, timeToLive: timeToLive, isCompressible: isCompressible)
        }
    }

    /// The outbox has the messages up to a counter.
    mutating func stored(
        upTo counter: UInt64, in id: RoomID, _ link: inout Link, _ outputs: inout Outputs, now: Instant
    ) {
        guard let index = index(of: id) else { return }
        let expires = rooms[at: index].ledger.withLedger { $0.stored(upTo: counter, now: now) }
        fillSession(at: index, &link, &outputs, now: now)
        if expires { armExpiry(at: index) }
    }

    /// Cancels a message; false when it was handed to a connection and only the server decides about it.
    func cancel(counter: UInt64, in id: RoomID, _ outputs: inout Outputs) -> Bool {
        guard let index = index(of: id), rooms[at: index].ledger.withLedger({ $0.cancel(counter) }) else {
            return false
        }
        outputs.append(.room(id, .failed(counter: counter, .cancelled)))
        return true
    }

    /// Frames of a session were acknowledged: it has room for more.
    mutating func acknowledged(
        _ session: SessionID, _ link: inout Link, _ outputs: inout Outputs, now: Instant
    ) {
        if let index = index(ofSession: session) { fillSession(at: index, &link, &outputs, now: now) }
    }

    /// Queues messages on a room's session, up to `queuedByteCount`, if there is a connection: a message that is not
    /// queued can be cancelled.
    mutating func fillSession(at index: Int, _ link: inout Link, _ outputs: inout Outputs, now: Instant) {
        guard link.isAttached, let session = rooms[at: index].sendingSession else { return }
        let id = rooms[at: index].id
        let ledger = rooms[at: index].ledger
        if let expiry = timers.deadline(of: .expiry(id)), expiry <= now { expire(at: index, &outputs, now: now) }
        var isFull = false
        while !isFull {
            let byteCount = Self.queuedByteCount - link.queuedByteCount(on: session)
            let messages = ledger.withLedger { $0.unsent(byteCount: byteCount) }
            guard !messages.isEmpty else { break }
            var last: UInt64?
            for message in messages {
                guard !link.isConfirmed || Self.fits(message.content.byteCount, link.limits) else {
                    // This server accepts less than an earlier one. The message would be refused on every link.
                    let failure = SendFailure.refused(.messageTooLarge, reason: nil)
                    if ledger.withLedger({ $0.fail(message.counter, failure) }) {
                        outputs.append(.room(id, .failed(counter: message.counter, failure)))
                    }
                    continue
                }
                let body = encode(message, rooms[at: index].options.kind, link.features, now: now)
                isFull = link.send(.data, body, on: session) != .queued
                guard !isFull else { break }
                last = message.counter
            }
            if let last { ledger.withLedger { $0.handedOver(upTo: last) } }
        }
        if link.isConfirmed { reportSent(at: index, &outputs) }
    }

    /// Whether a content is within the server's limit, with the fields beside it.
    private static func fits(_ byteCount: Int, _ limits: Limits) -> Bool {
        byteCount + maxMessageOverhead <= limits.maxMessageByteCount
    }

    private mutating func encode(
        _ message: MessageLedger.Pending, _ kind: SessionKind, _ features: Features, now: Instant
    ) -> EncodedBody {
        let timeToLive = message.expires.map { $0 - now }
        writer.removeAll()
        let frame = Message(counter: message.counter, content: message.content, timeToLive: timeToLive)
        frame.encode(into: &writer)
        let bytes = writer.bytes
        let fragment = SessionPreset(kind).fragmentByteCount
        // A body in a packet is deflated there, with all earlier ones as its context.
        let isDeflatedLater = features.contains([.compact, .sharedDeflate]) && bytes.count < 2048
        guard configuration.compressesMessages, message.isCompressible, features.contains(.zlib), !isDeflatedLater
        else {
            var body = EncodedBody(bytes, fragmentByteCount: fragment, layout: frame.layout)
            body.isSecret = !message.isCompressible
            return body
        }
        return EncodedBody(compressing: bytes, fragmentByteCount: fragment, with: deflater)
    }

    func reportSent(at index: Int, _ outputs: inout Outputs) {
        guard let counters = rooms[at: index].ledger.withLedger({ $0.reportSent() }) else { return }
        outputs.append(.room(rooms[at: index].id, .sent(counters: counters)))
    }

    private mutating func expire(at index: Int, _ outputs: inout Outputs, now: Instant) {
        for counter in rooms[at: index].ledger.withLedger({ $0.expire(now: now) }) {
            outputs.append(.room(rooms[at: index].id, .failed(counter: counter, .expired)))
        }
        armExpiry(at: index)
    }

    private mutating func armExpiry(at index: Int) {
        timers.set(.expiry(rooms[at: index].id), at: rooms[at: index].ledger.withLedger { $0.earliestExpiry })
    }

    /// Sends a transient frame, if there is a connection.
    func sendTransient(_ content: Transient.Content, in id: RoomID, _ link: inout Link) {
        guard let index = index(of: id), let session = rooms[at: index].sendingSession else { return }
        link.sendTransient(EncodedBody(Transient(content).encode()), on: session)
    }

    // MARK: Requests

    /// Takes a request for a room.
    ///
    /// - Throws: `noRoom`, `messageTooLarge`, `tooManyRequests`, `queueFull`.
    mutating func request(
        _ method: MethodName, _ content: [UInt8]?, to recipient: AccountName?, in id: RoomID, timeout: Duration,
        _ link: inout Link, _ outputs: inout Outputs, now: Instant
    ) throws(ClientError) -> UInt64 {
        guard let index = index(of: id) else { throw .noRoom }
        guard Self.fits(content?.count ?? 0, link.limits) else { throw .messageTooLarge }
        let number = try requests.add(
            method, content, to: recipient, of: rooms[at: index], expires: now + timeout, &link, now: now)
        if link.isConfirmed { requests.decline(&link, &outputs) }
        return number
    }

    /// Sends a response to a member's request.
    func respond(_ response: Response, in id: RoomID, _ link: inout Link) {
        guard let session = index(of: id).flatMap({ rooms[at: $0].session }) else { return }
        let fits = Self.fits(response.content?.count ?? 0, link.limits)
        Self.answer(
            fits ? response : Response(correlation: response.correlation, status: .messageTooLarge), on: session,
            &link)
    }

    /// Queues a response. A server that leaves thousands of responses unread gets no more of them.
    static func answer(_ response: Response, on session: SessionID, _ link: inout Link) {
        _ = link.send(.response, EncodedBody(response.encode()), on: session)
    }

    // MARK: Receipts

    /// A position in the log that a room's session reads.
    func cursor(at offset: UInt64, in id: RoomID) -> RoomCursor? {
        index(of: id).map { RoomCursor(log: rooms[at: $0].reader.cursor.log, offset: offset) }
    }

    /// The application has taken messages: their credit is released, and their publishers get receipts.
    mutating func consumed(
        _ id: RoomID, byteCount: Int, upTo cursor: RoomCursor, _ link: inout Link, _ outputs: inout Outputs,
        now: Instant
    ) {
        guard let index = index(of: id) else { return }
        if let session = rooms[at: index].session { link.release(byteCount, on: session) }
        heldByteCount -= rooms[at: index].reader.take(byteCount, upTo: cursor)
        continueLaggingRooms(&link, &outputs, now: now)
        scheduleReceipts(at: index, link.features, now: now)
    }

    /// Rooms that dropped messages are opened again from their cursors when the application has taken enough.
    private mutating func continueLaggingRooms(_ link: inout Link, _ outputs: inout Outputs, now: Instant) {
        guard hasLaggingRooms, !isFull else { return }
        for index in rooms.indices where rooms[at: index].reader.mayContinue {
            guard let session = rooms[at: index].session else { continue }
            link.reset(session, code: .cancelled)
            // Requests that were sent on it have failed (S-57), and not because the application cancelled them.
            sessionEnded(session, .slowConsumer, &link, &outputs, now: now)
        }
        hasLaggingRooms = rooms.indices.contains { rooms[at: $0].reader.isLagging }
    }

    mutating func markRead(_ id: RoomID, upTo cursor: RoomCursor, _ features: Features, now: Instant) {
        guard let index = index(of: id) else { return }
        rooms[at: index].reader.advance(.read, to: cursor)
        scheduleReceipts(at: index, features, now: now)
    }

    private mutating func scheduleReceipts(at index: Int, _ features: Features, now: Instant) {
        let timer = Timer.receipts(rooms[at: index].id)
        guard features.contains(.receipts), rooms[at: index].reader.pendingReceipt != nil,
            timers.deadline(of: timer) == nil
        else { return }
        timers.set(timer, at: now + Self.receiptDelay)
    }

    private mutating func sendReceipts(at index: Int, _ link: inout Link, now: Instant) {
        guard rooms[at: index].isOpen, let session = rooms[at: index].session, link.features.contains(.receipts) else {
            return
        }
        while let receipt = rooms[at: index].reader.pendingReceipt {
            guard link.send(.receipt, EncodedBody(Receipt.progress(receipt).encode()), on: session) == .queued else {
                return timers.set(.receipts(rooms[at: index].id), at: now + Self.receiptRetry)
            }
            rooms[at: index].reader.reported(receipt)
        }
    }

    /// Whether the server has accepted all messages, and all receipts were sent.
    func isSettled(_ features: Features) -> Bool {
        rooms.indices.allSatisfy { index in
            rooms[at: index].ledger.withLedger({ $0.pendingCount }) == 0
                && (!features.contains(.receipts) || rooms[at: index].reader.pendingReceipt == nil)
        }
    }

    // MARK: Time

    var deadline: Instant? { timers.earliest.orEarlier(requests.deadline) }

    mutating func deadlinePassed(_ link: inout Link, _ outputs: inout Outputs, now: Instant) {
        while let timer = timers.popExpired(now: now) {
            switch timer {
            case .receipts(let id): if let index = index(of: id) { sendReceipts(at: index, &link, now: now) }
            case .expiry(let id): if let index = index(of: id) { expire(at: index, &outputs, now: now) }
            case .reopen(let id):
                guard link.isAttached, let index = index(of: id), rooms[at: index].session == nil else { continue }
                openSession(id, &link, &outputs, now: now)
            case .typing(let id): if let index = index(of: id) { endTyping(at: index, &outputs, now: now) }
            }
        }
        requests.deadlinePassed(&link, &outputs, now: now)
    }
}

extension Link {
    /// Whether the server has answered the hello on the attached connection.
    @inline(__always)
    fileprivate var isConfirmed: Bool { isAttached && earlyBudget == nil }
}
