package import MartletWire

/// The application's sessions of one end of a link: their messages, and the calls that wait.
///
/// Both ends use the same type. The caller passes the frames and events of the link, and the calls of the application.
/// Each call with a result has exactly one in `nextResult`.
///
/// | state of the link | owns | ends |
/// |---|---|---|
/// | waiting: there is no link, or the server has not confirmed it | the calls that open sessions | `established` |
/// | live | the sessions | `linkBegan`: waiting; `end` |
/// | over | nothing: all calls fail | – |
///
/// | state of a session | owns | ends |
/// |---|---|---|
/// | waiting | the call that opens it | a live link and the rate of opens (S-4); cancellation |
/// | open | messages that were not taken, and the calls that wait for credit or a message | `close` of both sides; a reset; the end of the link |
/// | closing: this side sends no more | the same | the same |
/// | ended | messages that were not taken | `release` |
///
/// A message waits until the session has credit for it, so the link holds at most a window of a session and one
/// message. Its receiver returns the credit when the application takes it, so it holds at most as much (S-35, S-36,
/// S-38). While the credit of the link is short, a session uses as much as it leaves to others.
package struct LinkSessions: ~Copyable {
    /// The number of bytes of an encoded message beside its content: counter, kind, and the headers of two fields.
    package static let messageOverheadByteCount = 64  // bound
    /// The maximum number of sessions that the peer has opened and the application has not taken, those that have ended
    /// included. A further one is reset with `tooManySessions`.
    package static let maxOfferedCount = Link.maxSessions
    /// The kind of the content of each message, an application's value of bytes.
    package static let contentKind = ContentKind.command

    private enum Phase {
        case waiting
        case live
        case over(LinkFailure)
    }

    private struct Received {
        var bytes: [UInt8]
        var creditByteCount: Int
    }

    private final class Session {
        let name: RoomName
        let kind: SessionKind
        /// The number on the link; nil in the state waiting, on a later link, and when a later session has the number.
        var id: SessionID?
        var opener: CallID?
        /// The messages that wait for credit.
        var sends: [(call: CallID, bytes: [UInt8])] = []
        /// The messages that the link has taken, and the bytes of their bodies.
        var sentCount: UInt64 = 0
        var sentByteCount: UInt64 = 0
        var inbox = Deque<Received>()
        /// The calls that wait for a message.
        var readers: [CallID] = []
        var isClosing = false
        /// Whether the peer has closed its side.
        var isClosedByPeer = false
        var failure: LinkFailure?
        /// Whether the application has dropped the session.
        var isReleased = false

        init(name: RoomName, kind: SessionKind, opener: CallID? = nil) {
            (self.name, self.kind, self.opener) = (name, kind, opener)
        }
    }

    private var phase = Phase.waiting
    private var sessions: [SessionKey: Session] = [:]
    private var keys: [SessionID: SessionKey] = [:]
    private var lastNumber: UInt64 = 0
    /// The sessions in the state waiting, in their order.
    private var waiting: [SessionKey] = []
    private var opens = TokenBucket(burst: Link.ownOpenBurst, perMinute: Link.ownOpensPerMinute)
    /// The sessions that the peer has opened and the application has not taken.
    private var accepted = Deque<SessionKey>()
    private var acceptors: [CallID] = []
    /// The sessions with messages that wait for credit, in the order in which they are served.
    private var blocked: [SessionKey] = []
    private var results = Deque<(CallID, SessionResult)>()

    package init() {}

    // MARK: Results and state

    /// Removes and returns the next result of a call.
    package mutating func nextResult() -> (CallID, SessionResult)? { results.popFirst() }

    /// The instant at which `fill` is due: a session waits for the rate of opens.
    package var deadline: Instant? {
        guard case .live = phase, !waiting.isEmpty else { return nil }
        return opens.availableAt()
    }

    /// Whether calls wait for a connection.
    package var hasPending: Bool { !waiting.isEmpty || !blocked.isEmpty }

    /// Whether a session was opened that the application has not dropped.
    package var hasSessions: Bool { !sessions.isEmpty }

    /// Whether the peer has acknowledged all messages.
    package func isFlushed(_ link: borrowing Link) -> Bool {
        guard case .live = phase else { return true }
        return waiting.isEmpty && blocked.isEmpty && !link.hasUnacknowledged
            && sessions.values.allSatisfy { $0.id.map { link.queuedByteCount(on: $0) == 0 } ?? true }
    }

    private mutating func finish(_ call: CallID, _ result: SessionResult) { results.append((call, result)) }

    // MARK: The link

    /// A different link begins, which the server has not confirmed. The sessions of the last one have ended.
    package mutating func linkBegan() {
        if case .live = phase { phase = .waiting }
        opens = TokenBucket(burst: Link.ownOpenBurst, perMinute: Link.ownOpensPerMinute)
        for key in openKeys { fail(key, .linkEnded) }
        // The numbers are those of other sessions now: messages that are taken later return no credit.
        for key in keys.values { sessions[key]?.id = nil }
        keys = [:]
    }

    /// The link is confirmed: sessions may be opened.
    package mutating func established(_ link: inout Link, now: Instant) {
        if case .waiting = phase { phase = .live }
        fill(&link, now: now)
    }

    /// The link has ended, and no other one follows.
    package mutating func end(_ failure: LinkFailure) {
        if case .over = phase { return }
        phase = .over(failure)
        for key in waiting {
            if let opener = sessions.removeValue(forKey: key)?.opener { finish(opener, .failed(failure)) }
        }
        waiting = []
        for key in openKeys { fail(key, failure) }
        // Sessions that the peer has opened can still be taken, with their messages.
        for call in acceptors { finish(call, .failed(failure)) }
        acceptors = []
    }

    /// The keys of the sessions on the link, in the order of their opening.
    private var openKeys: [SessionKey] {
        sessions.filter { $0.value.id != nil }.keys.sorted { $0.number < $1.number }
    }

    /// Opens sessions and passes messages to the link, as far as rate and credit permit.
    package mutating func fill(_ link: inout Link, now: Instant) {
        guard case .live = phase else { return }
        while let key = waiting.first, opens.take(now: now) {
            waiting.removeFirst()
            open(key, &link)
        }
        let keys = blocked
        blocked = []
        for key in keys { pass(key, &link) }
        link.asksForAck = !blocked.isEmpty
        if link.waitsForCredit || !blocked.isEmpty { link.setWaitsForCredit(!blocked.isEmpty, now: now) }
    }

    private mutating func open(_ key: SessionKey, _ link: inout Link) {
        guard let session = sessions[key], let opener = session.opener.take() else { return }
        do throws(LinkError) {
            let id = try link.open(Open(room: session.name, kind: session.kind, cursor: 0))
            assign(id, to: key)
            finish(opener, .session(key, session.name, session.kind))
        } catch {
            sessions[key] = nil
            finish(opener, .failed(.tooManySessions))
        }
    }

    /// Gives a session its number, which an ended session may have had.
    private mutating func assign(_ id: SessionID, to key: SessionKey) {
        if let earlier = keys.updateValue(key, forKey: id) { sessions[earlier]?.id = nil }
        sessions[key]?.id = id
    }

    // MARK: Calls

    /// Begins a call of the application.
    package mutating func begin(_ call: SessionCall, _ id: CallID, _ link: inout Link, now: Instant) {
        switch call {
        case .open(let name, let kind):
            if case .over(let failure) = phase { return finish(id, .failed(failure)) }
            let key = insert(Session(name: name, kind: kind, opener: id))
            waiting.append(key)
            fill(&link, now: now)
        case .accept:
            if let key = accepted.popFirst(), let session = sessions[key] {
                finish(id, .session(key, session.name, session.kind))
            } else if case .over(let failure) = phase {
                finish(id, .failed(failure))
            } else {
                acceptors.append(id)
            }
        case .send(let bytes, let key): send(bytes, on: key, id, &link, now: now)
        case .receive(let key): receive(key, id, &link)
        case .close(let key): close(key, &link)
        case .reset(let key, let code): reset(key, code, &link)
        case .release(let key): release(key, &link)
        }
    }

    /// Cancels a call that waits. A call that has a result is not affected.
    package mutating func cancel(_ call: CallID, _ link: inout Link) {
        if let index = acceptors.firstIndex(of: call) {
            acceptors.remove(at: index)
            return finish(call, .cancelled)
        }
        for (key, session) in sessions {
            if session.opener == call {
                sessions[key] = nil
                waiting.removeAll { $0 == key }
            } else if session.readers.contains(call) {
                session.readers.removeAll { $0 == call }
            } else if session.sends.contains(where: { $0.call == call }) {
                session.sends.removeAll { $0.call == call }
                blocked.removeAll { $0 == key }
                pass(key, &link)
            } else {
                continue
            }
            return finish(call, .cancelled)
        }
    }

    private mutating func insert(_ session: Session) -> SessionKey {
        lastNumber += 1
        let key = SessionKey(number: lastNumber)
        sessions[key] = session
        return key
    }

    private mutating func send(
        _ bytes: [UInt8], on key: SessionKey, _ call: CallID, _ link: inout Link, now: Instant
    ) {
        guard let session = sessions[key], !session.isClosing else { return finish(call, .failed(.closed)) }
        if let failure = session.failure { return finish(call, .failed(failure)) }
        guard bytes.count + Self.messageOverheadByteCount <= link.limits.maxMessageByteCount else {
            return finish(call, .failed(.messageTooLarge))
        }
        session.sends.append((call, bytes))
        if session.sends.count == 1 { pass(key, &link) }
        if !blocked.isEmpty { link.setWaitsForCredit(true, now: now) }
    }

    private mutating func receive(_ key: SessionKey, _ call: CallID, _ link: inout Link) {
        guard let session = sessions[key] else { return finish(call, .failed(.closed)) }
        if let received = session.inbox.popFirst() {
            if let id = session.id { link.release(received.creditByteCount, on: id) }
            finish(call, .message(received.bytes))
        } else if session.isClosedByPeer {
            finish(call, .end)
        } else if let failure = session.failure {
            finish(call, .failed(failure))
        } else {
            session.readers.append(call)
        }
    }

    private mutating func close(_ key: SessionKey, _ link: inout Link) {
        guard let session = sessions[key], !session.isClosing else { return }
        session.isClosing = true
        if session.sends.isEmpty { pass(key, &link) }
    }

    private mutating func reset(_ key: SessionKey, _ code: ErrorCode, _ link: inout Link) {
        guard let session = sessions[key], let id = session.id, session.failure == nil else { return }
        Self.discardInbox(of: session, &link)
        link.reset(id, code: code)
        fail(key, .reset(code))
    }

    /// Closes a session that the application has dropped. Further messages are discarded.
    private mutating func release(_ key: SessionKey, _ link: inout Link) {
        guard let session = sessions[key] else { return }
        session.isReleased = true
        Self.discardInbox(of: session, &link)
        close(key, &link)
        removeIfOver(key)
    }

    private static func discardInbox(of session: Session, _ link: inout Link) {
        while let received = session.inbox.popFirst() {
            if let id = session.id { link.release(received.creditByteCount, on: id) }
        }
    }

    /// Closes all sessions behind their messages.
    package mutating func closeAll(_ link: inout Link) {
        for key in openKeys { close(key, &link) }
    }

    // MARK: Messages

    /// Passes the messages of a session to the link that have credit, and closes it behind the last one.
    private mutating func pass(_ key: SessionKey, _ link: inout Link) {
        guard let session = sessions[key], let id = session.id, session.failure == nil else { return }
        var passedCount = 0
        loop: for send in session.sends {
            guard Self.hasCredit(session, id, for: send.bytes.count, link) else { break }
            let body = Self.encode(send.bytes, number: session.sentCount + 1, session.kind)
            switch link.send(.data, body, on: id) {
            case .queued: break
            case .full, .noSession: break loop
            }
            session.sentCount += 1
            session.sentByteCount += UInt64(body.plainByteCount)
            passedCount += 1
            finish(send.call, .done)
        }
        session.sends.removeFirst(passedCount)
        if !session.sends.isEmpty {
            if !blocked.contains(key) { blocked.append(key) }
        } else if session.isClosing {
            link.close(id)
            removeIfOver(key)
        }
    }

    /// Whether a session has credit for a message, or for half a window of a longer one: the rest follows while the
    /// message is received (S-36).
    private static func hasCredit(
        _ session: Session, _ id: SessionID, for contentByteCount: Int, _ link: borrowing Link
    ) -> Bool {
        let window = SessionPreset(session.kind).windowByteCount(link.limits)
        let needed = min(contentByteCount + messageOverheadByteCount, window / 2)
        let limit = link.messageCreditLimit(of: id)
        guard session.sentByteCount + UInt64(needed) <= limit else { return false }
        // A session whose messages were all taken may always send one.
        guard link.sharesCredit, session.sentByteCount + UInt64(window) > limit else { return true }
        let queued = link.queued(perFrame: 0)
        return link.mayUseCredit(id, queued: queued.bulk + queued.nonBulk)
    }

    private static func encode(_ bytes: [UInt8], number: UInt64, _ kind: SessionKind) -> EncodedBody {
        var content = TLVWriter()
        content.append(.data, bytes: bytes)
        let body = Message.encodeClient(counter: number, kind: contentKind, content: content.bytes)
        return EncodedBody(body, fragmentByteCount: SessionPreset(kind).fragmentByteCount)
    }

    /// The bytes of a message; nil if it has another content.
    private static func parse(_ body: RawSpan) throws(WireError) -> [UInt8]? {
        let message = try MessageView(parsing: body)
        guard message.kind == contentKind, case .data(let bytes) = try ContentValue(content: message.content) else {
            return nil
        }
        return bytes
    }

    /// A frame of a session, in its order.
    package mutating func receive(
        _ type: FrameType, _ content: FrameContent, on id: SessionID, _ creditByteCount: Int, _ link: inout Link,
        now: Instant
    ) throws(LinkError) {
        guard type == .data, let key = keys[id], let session = sessions[key], session.failure == nil,
            !session.isReleased
        else {
            link.release(creditByteCount, on: id)
            if creditByteCount == 0 { try link.chargeUnproductive(now: now) }
            return
        }
        var bytes: [UInt8]?
        var code = ErrorCode.unsupportedKind
        do throws(WireError) {
            bytes = try content.withBody { body throws(WireError) in try Self.parse(body) }
        } catch {
            code = error.code
        }
        guard let bytes else {
            link.release(creditByteCount, on: id)
            return reset(key, code, &link)
        }
        if let reader = session.readers.first {
            session.readers.removeFirst()
            link.release(creditByteCount, on: id)
            finish(reader, .message(bytes))
        } else {
            session.inbox.append(Received(bytes: bytes, creditByteCount: creditByteCount))
        }
    }

    /// An event of the link.
    package mutating func handle(_ event: LinkEvent, _ link: inout Link) {
        switch event {
        case .open(let id, let open):
            guard accepted.count < Self.maxOfferedCount else { return link.reset(id, code: .tooManySessions) }
            guard open.kind != .account, open.kind != .attachment else {  // S-51
                return link.reset(id, code: .unsupportedKind)
            }
            let key = insert(Session(name: open.room, kind: open.kind))
            assign(id, to: key)
            link.accept(id, Opened(head: 0, first: 1))
            if acceptors.isEmpty {
                accepted.append(key)
            } else {
                finish(acceptors.removeFirst(), .session(key, open.room, open.kind))
            }
        case .closed(let id, _):
            guard let key = keys[id], let session = sessions[key], session.failure == nil else { return }
            session.isClosedByPeer = true
            for reader in session.readers { finish(reader, .end) }
            session.readers = []
            removeIfOver(key)
        case .reset(let id, let code, _):
            if let key = keys[id] { fail(key, .reset(code)) }
        case .acknowledged(let id, _):
            guard let key = keys[id], let session = sessions[key], !session.sends.isEmpty else { return }
            blocked.removeAll { $0 == key }
            pass(key, &link)
        case .opened, .suspended, .resumed, .pong, .reconnectSpread, .goAway, .auth: break
        }
    }

    // MARK: End

    /// Ends a session on the link. Messages that have arrived can still be taken.
    private mutating func fail(_ key: SessionKey, _ failure: LinkFailure) {
        guard let session = sessions[key] else { return }
        session.failure = session.failure ?? failure
        blocked.removeAll { $0 == key }
        for send in session.sends { finish(send.call, .failed(failure)) }
        for reader in session.readers { finish(reader, .failed(failure)) }
        (session.sends, session.readers) = ([], [])
        removeIfOver(key)
    }

    /// Removes a session that the application has dropped, and that has ended or was closed by both sides.
    private mutating func removeIfOver(_ key: SessionKey) {
        guard let session = sessions[key], session.isReleased else { return }
        let isClosed = session.isClosing && session.sends.isEmpty && session.isClosedByPeer
        guard session.failure != nil || isClosed else { return }
        sessions[key] = nil
        if let id = session.id { keys[id] = nil }
    }
}
