import MartletLink
import MartletMetrics
import MartletWire

/// The rooms of a client, and their sessions on the link.
///
/// A room outlives sessions, links and connections. An event queues frames on the link, and outputs for the
/// application.
///
/// | event | effect on a room |
/// |---|---|
/// | `linkAttached`, timer | a session is opened, or a timer is set to open it |
/// | `opened` | the reader enters the log |
/// | `receive` | a message is held for the application, with its credit, until `advance` |
/// | `sessionEnded` | a timer is set to open another session, or the room is closed (R-13) |
/// | `linkBegan` | its session ends |
/// | `close` | pending messages and requests fail |
struct ClientRooms: ClientLinkUser, ~Copyable {
    enum Timer: Hashable, Sendable {
        case receipts(RoomID)
        case expiry(RoomID)
        case reopen(RoomID)
        case typing(RoomID)
        case account
        case accountPage
        case device
    }

    /// The codes that close a room permanently. After any other code the room is opened again.
    private static let finalCodes: Set<ErrorCode> = [
        .roomForbidden, .forbidden, .unsupportedKind, .tooManySessions, .roomFull, .kicked, .tooManyRooms,
    ]
    /// The maximum size of a message's fields other than its content, the relay's fields included, in bytes.
    static let maxMessageOverhead = 512
    /// The maximum number of bytes of messages that are queued on a session. Further messages can be cancelled.
    private static let queuedByteCount = 256 * 1024
    /// The duration until a session is opened again that exceeded the limit because other sessions are closing.
    private static let closingRetry: Duration = .seconds(1)
    /// The duration for which receipts are delayed, so that one frame reports several messages.
    private static let receiptDelay: Duration = .milliseconds(25)
    /// The duration until a receipt is sent again after the session was full.
    private static let receiptRetry: Duration = .seconds(1)
    /// The duration for which the replacement of the device ID waits for answers.
    static let replacementTimeout: Duration = .seconds(10)

    let configuration: ClientConfiguration
    var replacement = Replacement.none
    /// The rooms in the order of opening, because outputs must not depend on the order of a hash table.
    var rooms = SortedMap<UInt32, ClientRoom>()
    private(set) var idOfSession = SortedMap<SessionID, RoomID>()
    /// The rooms of sessions that this client has closed and the relay has not. Such a room is opened again only after
    /// the end of its session, because `open` could overtake `close`.
    private var closing = SortedMap<SessionID, RoomName>()
    private(set) var nextID = RoomID(rawValue: 1)
    var requests: ClientRequests
    /// The account's own session.
    var account = ClientAccount()
    var attachments = ClientAttachments()
    var timers = TimerQueue<Timer>()
    /// Outputs that the driver has not taken.
    var outputs = Deque<ClientOutput>()
    /// The durations from the storage of a message until its acceptance.
    var acceptances = Histogram()
    /// The durations from the time at which a message is stored until the first receipt of a member.
    var deliveries = Histogram()
    /// The number of bytes of all rooms' messages that the application holds.
    var heldByteCount = 0
    /// Whether a room may have dropped messages.
    var hasLaggingRooms = false
    /// The limit of opened sessions: a burst for all rooms of a link, then a rate that the server accepts (S-4).
    private var opens = TokenBucket(burst: Link.ownOpenBurst, perMinute: Link.ownOpensPerMinute)
    private var random: SeededRandom
    private let deflater = Deflater()
    /// The writer that encodes messages; its memory is reused.
    private var writer = TLVWriter()
    var senders = AccountNames()

    init(_ configuration: ClientConfiguration, seed: UInt64) {
        self.configuration = configuration
        requests = ClientRequests(maxCount: configuration.maxRequests)
        random = SeededRandom(seed: seed)
    }

    /// Whether the application holds the maximum number of bytes. A link has a window in flight and the received part
    /// of one message (S-37).
    var isFull: Bool {
        heldByteCount >= configuration.link.limits.linkWindow + configuration.link.limits.maxMessageByteCount
    }

    subscript(id: RoomID) -> ClientRoom? { rooms[id.rawValue] }

    mutating func report(_ id: RoomID, _ event: RoomEvent) { outputs.report(id, event) }

    private func index(of id: RoomID) -> Int? { rooms.index(of: id.rawValue) }

    func index(ofSession session: SessionID) -> Int? {
        idOfSession.index(of: session).flatMap { index(of: idOfSession[at: $0]) }
    }

    // MARK: Rooms

    /// Adds a room.
    ///
    /// - Throws: `alreadyOpen`, `tooManyRooms`.
    mutating func add(_ name: RoomName, _ options: RoomOptions) throws(ClientError) -> RoomID {
        guard !rooms.indices.contains(where: { rooms[at: $0].name == name }) else { throw .alreadyOpen }
        guard rooms.count < configuration.maxRooms else { throw .tooManyRooms }
        let id = nextID
        nextID.rawValue += 1
        rooms[id.rawValue] = ClientRoom(id: id, name: name, options: options, limits: configuration.link.limits)
        return id
    }

    mutating func close(_ id: RoomID, _ link: inout Link, now: Instant) {
        guard let index = index(of: id) else { return }
        if let session = rooms[at: index].session {
            link.close(session)
            closing[session] = rooms[at: index].name
        }
        remove(id, code: nil, &link, now: now)
    }

    /// Ends the session of a room, and sets other options.
    mutating func reset(_ id: RoomID, _ options: RoomOptions, _ link: inout Link, now: Instant) {
        guard let index = index(of: id) else { return }
        requests.fail(of: id, .cancelled, onlySent: true, &link, &outputs)
        if let session = rooms[at: index].session {
            link.close(session)
            closing[session] = rooms[at: index].name
            leave(session, &link)
        }
        timers.cancel(.reopen(id))
        heldByteCount -= rooms[at: index].reader.heldByteCount
        rooms[at: index].reset(options, limits: configuration.link.limits)
        continueLaggingRooms(&link, now: now)
    }

    /// Suspends or resumes the delivery of a room's messages.
    mutating func setSuspended(_ isSuspended: Bool, _ id: RoomID, _ link: inout Link) {
        guard let index = index(of: id), rooms[at: index].isSuspended != isSuspended else { return }
        rooms[at: index].isSuspended = isSuspended
        guard let session = rooms[at: index].session else { return }
        if isSuspended { link.suspend(session) } else { link.resume(session, cursor: nil) }
    }

    /// Removes a room. Its pending messages and requests fail.
    private mutating func remove(_ id: RoomID, code: ErrorCode?, _ link: inout Link, now: Instant) {
        requests.fail(of: id, code ?? .cancelled, onlySent: false, &link, &outputs)
        attachments.fail(of: id, .closed(code), &link, &outputs)
        guard var room = rooms.removeValue(forKey: id.rawValue) else { return }
        heldByteCount -= room.reader.heldByteCount
        if let session = room.session { leave(session, &link) }
        for timer in [Timer.receipts(id), .expiry(id), .reopen(id), .typing(id)] { timers.cancel(timer) }
        let failure: SendFailure = code.map { .refused($0, reason: nil) } ?? .closed
        let failures = room.ledger.failAll(failure, isOpen: code == nil || room.openSession != nil)
        for (counter, failure) in failures { report(id, .failed(counter: counter, failure)) }
        report(id, .closed(code))
        continueLaggingRooms(&link, now: now)
        continueReplacingDevice()
    }

    // MARK: Sessions

    /// Reports the start of another link. When it is attached, rooms are opened again and unaccepted messages are sent
    /// again (W-46, C-36).
    mutating func linkBegan(_ link: inout Link) {
        opens = TokenBucket(burst: Link.ownOpenBurst, perMinute: Link.ownOpensPerMinute)
        idOfSession = SortedMap()
        closing = SortedMap()
        requests.fail(of: nil, .resumeRejected, onlySent: true, &link, &outputs)  // S-57
        if account.session != nil { outputs.append(.account(.interrupted)) }
        account.linkBegan()
        timers.cancel(.accountPage)
        attachments.linkBegan()
        for index in rooms.indices { rooms[at: index].endSession() }
    }

    /// Reports that the link has a connection.
    mutating func linkAttached(_ link: inout Link, now: Instant) {
        for id in rooms.keys { openSession(RoomID(rawValue: id), &link, now: now) }
    }

    /// Reports that the connection is established. The outputs `sent` for early messages follow.
    mutating func established(_ link: inout Link, now: Instant) {
        linkAttached(&link, now: now)
        requests.decline(&link, &outputs)
        openAccount(&link, now: now)
        for index in rooms.indices {
            sendRequests(at: index, &link, now: now)
            reportSent(at: index)
        }
    }

    /// Whether a session that counts against the link's limit will end by itself: a closing one, or one of transfers.
    func awaitsEndOfSession(_ link: borrowing Link) -> Bool {
        lastingSessionCount < link.sessionCount
    }

    /// The number of sessions of rooms and of the account.
    private var lastingSessionCount: Int { idOfSession.count + (account.session == nil ? 0 : 1) }

    /// Opens a session for a room, or fills its current session.
    mutating func openSession(_ id: RoomID, _ link: inout Link, now: Instant) {
        guard let index = index(of: id) else { return }
        guard rooms[at: index].session == nil else { return fillSession(at: index, &link, now: now) }
        guard !closing.values.contains(rooms[at: index].name) else { return }
        let earliest = rooms[at: index].opensFrom
        guard earliest <= now else { return timers.set(.reopen(id), at: earliest) }  // S-64
        // Sessions beyond the burst are opened at the rate that the server accepts (S-4).
        guard opens.take(now: now) else { return timers.set(.reopen(id), at: max(now, opens.availableAt())) }
        do throws(LinkError) {
            let session = try link.open(rooms[at: index].openFrame)
            rooms[at: index].begin(session)
            idOfSession[session] = id
            if rooms[at: index].isSuspended { link.suspend(session) }
            fillSession(at: index, &link, now: now)
            sendRequests(at: index, &link, now: now)
        } catch  where awaitsEndOfSession(link) {
            timers.set(.reopen(id), at: now + Self.closingRetry)
        } catch {
            remove(id, code: error.code, &link, now: now)
        }
    }

    /// Reports that the relay has admitted a session.
    mutating func opened(_ session: SessionID, _ opened: Opened, _ link: inout Link, now: Instant) {
        if accountOpened(session, &link, now: now) { return }
        guard let index = index(ofSession: session) else { return attachments.opened(session) }
        let id = rooms[at: index].id
        if let previous = rooms[at: index].enter(opened, on: session) {
            let reader = rooms[at: index].reader
            report(id, .logReplaced(previous: previous, current: reader.cursor, branch: reader.branch ?? 0))
        }
        report(id, RoomEvent(opened, branch: rooms[at: index].reader.branch))
        scheduleReceipts(at: index, link.features, now: now)
        if let counter = opened.counter, rooms[at: index].ledger.isSetBack(below: counter) {
            beginReplacingDevice(now: now)
            continueReplacingDevice()
        }
    }

    /// Reports that the server has ended a session. The room is closed permanently, or is opened again after a delay
    /// and sends all its pending messages again. The delay begins after the duration that the server named
    /// (S-64).
    mutating func sessionEnded(
        _ session: SessionID, _ code: ErrorCode, retryAfter: Duration? = nil, _ link: inout Link, now: Instant
    ) {
        let wait = Self.bounded(retryAfter)
        if let name = closing.removeValue(forKey: session) {
            guard let index = rooms.indices.first(where: { rooms[at: $0].name == name }) else { return }
            if let wait { rooms[at: index].opensFrom = now + wait }
            return openSession(rooms[at: index].id, &link, now: now)
        }
        if accountEnded(session, code, retryAfter: wait, &link, now: now) { return }
        guard let index = index(ofSession: session) else {
            return attachments.sessionEnded(
                session, code, isFinal: Self.finalCodes.contains(code), retryAfter: wait ?? .zero,
                random: random.next(), &link, &outputs, now: now)
        }
        let id = rooms[at: index].id
        guard !Self.finalCodes.contains(code) else { return remove(id, code: code, &link, now: now) }
        leave(session, &link)
        // A message whose server had not named its limit yet. An earlier server may have taken it.
        let limits = link.isConfirmed && code == .messageTooLarge ? link.limits : nil
        let tooLarge = limits.map { rooms[at: index].ledger.failFirstHandedOver(beyond: $0) } ?? []
        rooms[at: index].endSession()
        requests.fail(of: id, code, onlySent: true, &link, &outputs)
        let next = now + (wait ?? .zero) + delay(ofAttempt: rooms[at: index].countAttempt())
        if wait != nil { rooms[at: index].opensFrom = next }
        timers.set(.reopen(id), at: next)
        report(id, .delayed(code))
        for counter in tooLarge { report(id, .failed(counter: counter, .refused(code, reason: nil))) }
    }

    /// A duration that a peer named, of at most an hour (S-64, S-65).
    static func bounded(_ retryAfter: Duration?) -> Duration? {
        retryAfter?.clamped(to: .zero...ReconnectPolicy.maxRetryAfter)
    }

    /// The random duration before an attempt to open a session again.
    mutating func delay(ofAttempt attempt: Int) -> Duration {
        .uniform(below: .seconds(1 << min(attempt, 5)), random: random.next())
    }

    /// Takes an opening from the rate that the server accepts; false if it is exceeded (S-4).
    mutating func takeOpen(now: Instant) -> Bool { opens.take(now: now) }

    /// The instant from which on a session may be opened.
    var opensAvailableAt: Instant { opens.availableAt() }

    /// Ends the delivery of a session's messages. Their credit is released.
    private mutating func leave(_ session: SessionID, _ link: inout Link) {
        idOfSession[session] = nil
        link.releaseAll(on: session)
    }

    /// Reports that the server has suspended or resumed a session (S-9).
    mutating func setSuspendedByPeer(_ isSuspendedByPeer: Bool, on session: SessionID, _ link: inout Link, now: Instant)
    {
        guard let index = index(ofSession: session) else { return }
        rooms[at: index].isSuspendedByPeer = isSuspendedByPeer
        guard !isSuspendedByPeer else { return }
        fillSession(at: index, &link, now: now)
        sendRequests(at: index, &link, now: now)
    }

    /// Sends the waiting requests of a room.
    private mutating func sendRequests(at index: Int, _ link: inout Link, now: Instant) {
        requests.send(of: rooms[at: index].id, on: rooms[at: index].sendingSession, &link, &outputs, now: now)
    }

    // MARK: Sending

    /// Reports that the outbox has stored messages, and that those up to a counter may be sent.
    mutating func stored(
        _ messages: [MessageLedger.Pending], releasedUpTo released: UInt64, in id: RoomID, _ link: inout Link,
        now: Instant
    ) {
        guard let index = index(of: id) else { return }
        for message in messages { _ = rooms[at: index].ledger.add(message, now: now) }
        self.released(upTo: released, at: index, expires: messages.contains { $0.timeToLive != nil }, &link, now: now)
    }

    /// Restores messages of an earlier client, of which those up to a counter may be sent.
    mutating func restored(
        _ messages: [MessageLedger.Restored], releasedUpTo released: UInt64, in id: RoomID, _ link: inout Link,
        now: Instant
    ) {
        guard let index = index(of: id) else { return }
        for message in messages { rooms[at: index].ledger.restore(message, now: now) }
        self.released(upTo: released, at: index, expires: true, &link, now: now)
    }

    private mutating func released(
        upTo counter: UInt64, at index: Int, expires: Bool, _ link: inout Link, now: Instant
    ) {
        rooms[at: index].ledger.release(upTo: counter)
        // A message whose time has ended is not sent.
        if expires { armExpiry(at: index) }
        fillSession(at: index, &link, now: now)
    }

    /// Replaces the content of a message. Returns false if it was handed over or has an outcome.
    mutating func edit(_ counter: UInt64, _ content: MessageContent, in id: RoomID) -> Bool {
        index(of: id).map { rooms[at: $0].ledger.edit(counter, content) } ?? false
    }

    /// Cancels a message. Returns false if it was handed over or has an outcome.
    mutating func cancel(_ counter: UInt64, in id: RoomID) -> Bool {
        guard let index = index(of: id), rooms[at: index].ledger.cancel(counter) else { return false }
        report(id, .failed(counter: counter, .cancelled))
        return true
    }

    /// Fails a message, unless it has an outcome.
    mutating func fail(_ counter: UInt64, _ failure: SendFailure, in id: RoomID) {
        guard let index = index(of: id), rooms[at: index].ledger.fail(counter) else { return }
        report(id, .failed(counter: counter, failure))
    }

    /// Reports that frames of a session were acknowledged, so it has room for others.
    mutating func acknowledged(_ session: SessionID, _ link: inout Link, now: Instant) {
        if let index = index(ofSession: session) { fillSession(at: index, &link, now: now) }
    }

    /// Queues messages on a room's session, up to `queuedByteCount`, if there is a connection. A message that is not
    /// queued can be cancelled.
    mutating func fillSession(at index: Int, _ link: inout Link, now: Instant) {
        guard link.isAttached, let session = rooms[at: index].sendingSession else { return }
        let id = rooms[at: index].id
        if let expiry = timers.deadline(of: .expiry(id)), expiry <= now { expire(at: index, now: now) }
        for counter in rooms[at: index].ledger.failOutdated(now: now) {
            report(id, .failed(counter: counter, .outcomeUnknown))
        }
        var isFull = false
        while !isFull {
            let byteCount = Self.queuedByteCount - link.queuedByteCount(on: session)
            let isReplacing = replacement != .none
            let messages = rooms[at: index].ledger.unsent(byteCount: byteCount, onlyHandedOver: isReplacing)
            guard !messages.isEmpty else { break }
            var last: UInt64?
            let limits = link.isConfirmed ? link.limits : nil
            for message in messages {
                guard limits.map({ Self.fits(message.content.byteCount, $0) }) ?? true else {
                    // The limit of this server is lower than that of an earlier one, which may have taken the message.
                    let isUnknown = rooms[at: index].ledger.wasHandedOver(message.counter)
                    let failure = isUnknown ? SendFailure.outcomeUnknown : .refused(.messageTooLarge, reason: nil)
                    fail(message.counter, failure, in: id)
                    continue
                }
                let body = encode(message, rooms[at: index].options.kind, link.features, now: now)
                isFull = link.send(.data, body, on: session) != .queued
                guard !isFull else { break }
                last = message.counter
            }
            if let last { rooms[at: index].ledger.handedOver(upTo: last, now: now) }
        }
        if link.isConfirmed { reportSent(at: index) }
    }

    /// Returns whether a message with content of this size is within the server's limit.
    static func fits(_ byteCount: Int, _ limits: Limits) -> Bool {
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
        // A body in a packet is deflated with the packet, in the context of the earlier bodies.
        let isDeflatedLater = features.contains([.compact, .sharedDeflate]) && bytes.count < 2048
        guard configuration.link.compressesMessages, message.isCompressible, features.contains(.zlib), !isDeflatedLater
        else {
            var body = EncodedBody(bytes, fragmentByteCount: fragment, layout: frame.layout)
            body.isSecret = !message.isCompressible
            return body
        }
        return EncodedBody(compressing: bytes, fragmentByteCount: fragment, with: deflater)
    }

    mutating func reportSent(at index: Int) {
        guard let counters = rooms[at: index].ledger.reportSent() else { return }
        report(rooms[at: index].id, .sent(counters: counters))
    }

    private mutating func expire(at index: Int, now: Instant) {
        for counter in rooms[at: index].ledger.expire(now: now) {
            report(rooms[at: index].id, .failed(counter: counter, .expired))
        }
        armExpiry(at: index)
    }

    private mutating func armExpiry(at index: Int) {
        timers.set(.expiry(rooms[at: index].id), at: rooms[at: index].ledger.earliestExpiry)
    }

    // MARK: Requests

    /// Adds a request in a room, and returns its number.
    ///
    /// - Throws: `noRoom`, `messageTooLarge`, `tooManyRequests`, `queueFull`.
    mutating func request(
        _ method: MethodName, _ content: [UInt8]?, to recipient: AccountName?, in id: RoomID, timeout: Duration,
        _ link: inout Link, now: Instant
    ) throws(ClientError) -> UInt64 {
        guard let index = index(of: id) else { throw .noRoom }
        guard Self.fits(content?.count ?? 0, link.limits) else { throw .messageTooLarge }
        let number = try requests.add(
            method, content, to: recipient, of: id, on: rooms[at: index].sendingSession, expires: now + timeout, &link,
            &outputs,
            now: now)
        if link.isConfirmed { requests.decline(&link, &outputs) }
        return number
    }

    /// Ends a request of the application.
    mutating func cancelRequest(_ number: UInt64, _ link: inout Link) {
        requests.finish(number, .failed(.cancelled), &link, &outputs)
    }

    /// Queues a response. It is dropped if the session's queue is full.
    static func answer(_ response: Response, on session: SessionID, _ link: inout Link) {
        _ = link.send(.response, EncodedBody(response.encode()), on: session)
    }

    // MARK: Receipts

    /// Reports that the application has taken or read messages. The credit of the taken ones is released, and their
    /// publishers receive receipts.
    mutating func advance(
        _ mark: Receipt.Mark, _ id: RoomID, byteCount: Int, upTo cursor: RoomCursor, _ link: inout Link,
        now: Instant
    ) {
        guard let index = index(of: id) else { return }
        if let session = rooms[at: index].session { link.release(byteCount, on: session) }
        heldByteCount -= rooms[at: index].reader.take(byteCount)
        rooms[at: index].reader.advance(mark, to: cursor)
        continueLaggingRooms(&link, now: now)
        scheduleReceipts(at: index, link.features, now: now)
    }

    private mutating func scheduleReceipts(at index: Int, _ features: Features, now: Instant) {
        let timer = Timer.receipts(rooms[at: index].id)
        guard features.contains(.receipts), rooms[at: index].reader.pendingReceipt != nil,
            timers.deadline(of: timer) == nil
        else { return }
        timers.set(timer, at: now + Self.receiptDelay)
    }

    private mutating func sendReceipts(at index: Int, _ link: inout Link, now: Instant) {
        guard let session = rooms[at: index].openSession, link.features.contains(.receipts) else { return }
        while let receipt = rooms[at: index].reader.pendingReceipt {
            let body = EncodedBody(Receipt.progress(receipt).encode())
            guard link.send(.receipt, body, on: session) == .queued else {
                return timers.set(.receipts(rooms[at: index].id), at: now + Self.receiptRetry)
            }
            rooms[at: index].reader.reported(receipt)
        }
    }

    /// Returns whether the server has accepted all messages, and all receipts have been sent.
    func isSettled(_ features: Features) -> Bool {
        rooms.indices.allSatisfy { index in
            rooms[at: index].ledger.pendingCount == 0
                && (!features.contains(.receipts) || rooms[at: index].reader.pendingReceipt == nil)
        }
    }

    // MARK: Attachments

    /// Sends the bytes that a transfer has needed.
    mutating func provide(_ bytes: [UInt8], at position: UInt64, for id: TransferID, _ link: inout Link) {
        attachments.provide(id, bytes, at: position, &requests, &link, &outputs)
    }

    /// Reports that the received bytes of a transfer are written.
    mutating func consumed(_ id: TransferID) { attachments.consumed(id, &outputs) }

    /// Ends a transfer of the application.
    mutating func cancel(_ id: TransferID) { attachments.end(id, .failed(.cancelled), &outputs) }

    /// Requests what the transfers need.
    mutating func fillAttachments(_ link: inout Link, now: Instant) {
        attachments.fill(&opens, &requests, &link, &outputs, now: now, otherSessionCount: lastingSessionCount) {
            [rooms] in
            rooms[$0.rawValue]?.name
        }
    }

    // MARK: The link

    /// Handles an event of a session.
    mutating func handle(_ event: LinkEvent, _ link: inout Link, now: Instant) {
        switch event {
        case .opened(let session, let opened): self.opened(session, opened, &link, now: now)
        case .acknowledged(let session, _): acknowledged(session, &link, now: now)
        case .reset(let session, let code, let retryAfter):
            sessionEnded(session, code, retryAfter: retryAfter, &link, now: now)
        case .closed(let session, let code):
            link.close(session)
            sessionEnded(session, code ?? .closedByPeer, &link, now: now)
        case .suspended(let session): setSuspendedByPeer(true, on: session, &link, now: now)
        case .resumed(let session, _): setSuspendedByPeer(false, on: session, &link, now: now)
        // In version 1.0 a relay opens no sessions (S-2, S-51).
        case .open(let session, _): link.reset(session, code: .unsupportedKind)
        case .pong, .reconnectSpread, .goAway, .auth: break  // The client's end of the link handles them.
        }
    }

    mutating func queue(_ output: LinkOutput) { outputs.append(.link(output)) }

    /// Whether a request waits for its response.
    var awaitsResponse: Bool { requests.count > 0 }

    /// Whether a message or a request waits for the server.
    var hasPending: Bool {
        requests.count > 0 || rooms.indices.contains { rooms[at: $0].ledger.pendingCount > 0 }
    }

    // MARK: Time

    var deadline: Instant? { timers.earliest.orEarlier(requests.deadline).orEarlier(attachments.deadline) }

    mutating func deadlinePassed(_ link: inout Link, now: Instant) {
        while let timer = timers.popExpired(now: now) {
            switch timer {
            case .receipts(let id): if let index = index(of: id) { sendReceipts(at: index, &link, now: now) }
            case .expiry(let id): if let index = index(of: id) { expire(at: index, now: now) }
            case .reopen(let id): if link.isAttached { openSession(id, &link, now: now) }
            case .typing(let id): if let index = index(of: id) { endTyping(at: index, now: now) }
            case .account: openAccount(&link, now: now)
            case .accountPage: pageTimedOut(&link, now: now)
            case .device: continueReplacingDevice(isTimedOut: true)
            }
        }
        requests.deadlinePassed(&link, &outputs, now: now)
    }
}
