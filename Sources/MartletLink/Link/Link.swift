package import MartletWire

/// The resumable relation of a client and a relay: its sessions, acknowledgements, credit and the order of sending.
///
/// A link outlives connections. Both endpoints use the same type. It keeps unacknowledged frames between connections
/// and sends them again on the next one. Every part of the state has one owner:
///
/// | owner | state |
/// |---|---|
/// | `SessionTable` | sessions, their slots and states, recently ended sessions |
/// | `LinkSendCredit`, `LinkReceiveCredit` | credit in each direction |
/// | `PeerRates` | rates of what the peer may do without credit |
/// | `LinkConnection` | the state that ends with the connection: queue of control frames, owed acknowledgement, packets, timers, flight window, scheduler |
///
/// ## Drain contract
///
/// | the caller reports | and then requests |
/// |---|---|
/// | a frame: `receive` | `nextArrival` until it is nil, if the answer is `.handled`, before the next frame |
/// | an instant: `deadlinePassed`, when `deadline` has passed | the answer's action |
/// | a connection: `attach`, `confirm`; its end: `detach` | |
/// | requests of the application: `open`, `send`, `release`, ... | |
///
/// After one or several of these, the caller reads `hasOutput`. If there is output, it calls `transmit` when the
/// carrier has room, and then reads `deadline`. An error that `receive` or `nextArrival` throws ends the connection:
/// the caller reports no further frame and detaches it. All calls name the current instant, which never decreases.
/// Debug builds check the order of `receive`, `nextArrival` and `transmit`.
package struct Link: ~Copyable, Sendable {
    /// The maximum number of frames of a session that an expiry of the timer sends again, on a carrier without order.
    static let maxOverdueFrames = 16
    /// The number of frames without progress that a peer may send at once (S-59, Specs/hostile.md row 43).
    package static let unproductiveBurst = 1000
    /// The number of frames without progress that a peer may send in a minute, beyond the burst.
    package static let unproductivePerMinute = 200 * 60
    package static let unproductiveBucket = TokenBucket(burst: unproductiveBurst, perMinute: unproductivePerMinute)
    /// The number of sessions named without a change by an acknowledgement that count as a frame without progress.
    static let staleSessionsPerFrame = 32
    /// The minimum number of bytes of a fragment that is not the last; a smaller one is a frame without progress.
    static let minFragmentByteCount = 256
    /// The maximum delay of an acknowledgement (RFC 9000 §13.2.1; W-49).
    package static let maxAckDelay: Duration = .milliseconds(25)
    /// The duration without an acknowledgement after which a connection ends, although the peer shows signs of life
    /// (C-60, Specs/hostile.md row 20).
    package static let ackTimeout: Duration = .seconds(60)
    /// The minimum duration for which a client waits for an acknowledgement on a stream before it requests another
    /// connection (C-63).
    static let minOverdueInterval: Duration = .milliseconds(500)
    /// The duration for which an idle deflate stream is kept (W-94).
    static let streamLifetime: Duration = .seconds(60)
    /// The maximum number of queued pongs (Specs/hostile.md row 17).
    package static let maxQueuedPongs = 4
    /// The maximum number of bytes, with headers, sent on a new connection before the peer has answered the hello
    /// (C-16).
    package static let earlyByteCount = 8 * 1024  // bound
    /// The maximum number of open sessions under any limits: one resume names them and the control session (C-25).
    package static let maxSessions = ResumePoint.maxPositionCount - 1
    /// The number of sessions that a peer may open at once, those of a new link included (S-4).
    static let openBurst = 256
    /// The number of sessions that a peer may open in a minute, beyond the burst.
    static let opensPerMinute = 33 * 60
    /// The number of sessions that this endpoint opens at once. It is below ``openBurst``, so that opens that a path
    /// delivers together are no fault (S-4).
    package static let ownOpenBurst = maxSessions
    /// The number of sessions that this endpoint opens in a minute, beyond the burst.
    package static let ownOpensPerMinute = 30 * 60
    /// The window of the control session in both directions, for requests and responses (S-37).
    static let controlWindowByteCount = 64 * 1024
    /// The maximum number of bytes of an acknowledgement's body; the rest is sent in a further acknowledgement.
    static let maxAckByteCount = 8 * 1024
    /// The maximum number of bytes of one session in an acknowledgement.
    static let maxSessionAckByteCount = 1024
    /// The bit that distinguishes the nonces of the link's own pings from the engine's.
    package static let probeBit: UInt64 = 1 << 63

    /// Bytes of a session in the tables of a link.
    package static var sessionByteCount: Int { MemoryLayout<Session>.stride + Slots.entryByteCount }

    private let began: Instant
    /// The number of pings that requested an acknowledgement, which their nonces contain.
    private var probeCount: UInt64 = 0
    package private(set) var limits: Limits
    package private(set) var features: Features
    var sessions: SessionTable
    var sendCredit: LinkSendCredit
    var receiveCredit: LinkReceiveCredit
    var rates = PeerRates()
    var connection = LinkConnection()
    var arrivals = Deque<LinkArrival>()
    /// Whether the last frame of a queue requests an acknowledgement, for which the engine waits. Its receiver would
    /// otherwise delay the acknowledgement (S-20).
    package var asksForAck = false
    /// Whether the engine keeps frames until credit arrives.
    package private(set) var waitsForCredit = false
    /// The duration that pongs of a server contain (C-92); nil at a client.
    package var reconnectSpread: Duration?
    /// Round-trip times measured on this link (RFC 6298).
    package internal(set) var rtt = RTTEstimator()
    /// Counts since the link began.
    package var counters = LinkCounters()
    #if DEBUG
        /// Whether `nextArrival` has to answer nil before the next frame or output.
        var mustDrain = false
    #endif

    /// A new link without a connection.
    ///
    /// - Parameters:
    ///   - limits: the negotiated limits; `Limits.minimum` before the negotiation.
    ///   - began: the origin of the frames' timestamps.
    ///   - firstSequence: the sequence of the first frame of each session, on which both endpoints agree (W-11).
    package init(role: LinkRole, limits: Limits, features: Features, began: Instant, firstSequence: UInt64 = 1) {
        self.began = began
        self.limits = limits
        self.features = features
        sessions = SessionTable(
            role: role, firstSequence: firstSequence, maxMessageByteCount: limits.maxMessageByteCount)
        sendCredit = LinkSendCredit(windowByteCount: limits.linkWindow)
        receiveCredit = LinkReceiveCredit(windowByteCount: limits.linkWindow)
    }

    /// Sessions that are open, opening or closing, without the control session.
    package var sessionCount: Int { sessions.sessionCount }

    /// Whether a connection is attached.
    package var isAttached: Bool { connection.carrier != nil }

    /// Whether the server has answered the hello on the attached connection.
    package var isConfirmed: Bool { isAttached && !connection.isEarly }

    /// Whether frames are unacknowledged.
    package var hasUnacknowledged: Bool { sessions.hasUnacknowledged }

    // MARK: Sessions

    /// Opens a session; messages may be sent on it at once.
    ///
    /// - Throws: `tooManySessions` when the peer's bound is reached.
    package mutating func open(_ open: Open) throws(LinkError) -> SessionID {
        guard sessionCount < min(limits.maxSessions, Link.maxSessions) else { throw .local(.tooManySessions) }
        let id = sessions.takeID()
        append(insert(id, kind: open.kind, .opening), .open, EncodedBody(open.encode()))
        return id
    }

    /// Accepts a session that the peer opened (S-5).
    package mutating func accept(_ id: SessionID, _ opened: Opened) {
        guard let slot = sessions.slot(of: id), sessions[slot].accept() else { return }
        append(slot, .opened, EncodedBody(opened.encode()))
    }

    /// Closes the local side of a session. The session ends when both sides are closed and the local `close` is
    /// acknowledged (S-7).
    ///
    /// A session that the peer has closed waits for this call: until then this side may send on it.
    package mutating func close(_ id: SessionID, code: ErrorCode? = nil) {
        guard let slot = sessions.slot(of: id), slot != 0 else { return }  // S-1
        switch sessions[slot].close() {
        case .none: break
        case .sendClose: append(slot, .close, EncodedBody(Close(code: code, reason: nil).encode()))
        case .reset: reset(id, code: code ?? .cancelled)
        }
    }

    /// Ends a session at once on both sides; its queued frames are dropped (S-10).
    ///
    /// - Parameter retryAfter: The duration after which another session is accepted in its place (S-64).
    package mutating func reset(_ id: SessionID, code: ErrorCode, retryAfter: Duration? = nil) {
        guard id != .control else { return }
        guard let slot = sessions.slot(of: id) else {
            guard sessions.recentlyEnded[id] == nil else { return }
            return appendReset(id, code, retryAfter: retryAfter, creditUsed: 0)
        }
        // A peer to which nothing was sent does not know the session.
        let isKnown = !sessions.isOurs(id) || sessions[slot].send.highestSent >= sessions.firstSequence
        let creditUsed = sessions[slot].send.creditUsed
        remove(slot, isReset: true, isKnown: isKnown)
        if isKnown { appendReset(id, code, retryAfter: retryAfter, creditUsed: creditUsed) }
    }

    /// Asks the peer to hold messages of this session back until `resume`.
    package mutating func suspend(_ id: SessionID) {
        appendOrder(.suspend, EncodedBody(Suspend().encode()), on: id)
    }

    /// Asks for messages of this session again, from `cursor` if given.
    package mutating func resume(_ id: SessionID, cursor: UInt64?) {
        appendOrder(.resume, EncodedBody(Resume(cursor: cursor).encode()), on: id)
    }

    private mutating func appendOrder(_ type: FrameType, _ body: EncodedBody, on id: SessionID) {
        guard id != .control else { return }
        _ = send(type, body, on: id)
    }

    // MARK: Begin and end of sessions

    mutating func insert(_ id: SessionID, kind: SessionKind, _ local: Session.LocalState) -> Int {
        var session = Session(
            id: id, kind: kind, local: local, windowByteCount: SessionPreset(kind).windowByteCount(limits),
            maxMessageByteCount: limits.maxMessageByteCount, first: sessions.firstSequence)
        session.send.rewind(losesOvertaken: connection.carrier == .unreliable)
        return sessions.insert(session)
    }

    /// Ends a session. Both sides count its use of the link's credit, also when it ends in the middle of a message:
    /// each reset contains the credit that its sender used (RFC 9000 §4.5, final size).
    mutating func remove(_ slot: Int, isReset: Bool, isKnown: Bool = true) {
        let isOutstanding = sessions[slot].isOutstanding
        connection.remove(
            slot, priority: sessions[slot].priority, sessions[slot].marks,
            inFlight: sessions[slot].send.inFlightByteCount)
        sendCredit.endSession(slot, reserved: sessions[slot].send.reservedCredit)
        receiveCredit.endSession(sessions[slot].receive.usage)
        receiveCredit.release(sessions.remove(slot, isReset: isReset, isKnown: isKnown))
        if isOutstanding, !hasUnacknowledged { connection.recovery.stop() }
    }

    mutating func appendReset(
        _ id: SessionID, _ code: ErrorCode, retryAfter: Duration? = nil, creditUsed: UInt64
    ) {
        let reset = Reset(session: id, code: code, retryAfter: retryAfter, creditUsed: creditUsed)
        append(0, .reset, EncodedBody(reset.encode()))
    }

    // MARK: Sending

    /// The answer to `send`.
    package enum OnSend: Equatable, Sendable {
        /// The frame is kept until it is acknowledged.
        case queued
        /// The session's queue is full. The caller tries again after `.acknowledged`.
        case full
        /// There is no such session, or it is closing.
        case noSession
    }

    /// Queues messages of a room on a session, all or none.
    package mutating func send(_ entries: ArraySlice<LogEntry>, on id: SessionID) -> OnSend {
        guard let slot = sessions.slot(of: id), sessions[slot].local.takesMessages else { return .noSession }
        sessions.noteQueue(slot)
        guard sessions[slot].send.append(entries) else { return .full }
        schedule(slot)
        return .queued
    }

    /// The credit of a session for messages since its opening, in bytes before compression (S-35).
    package func messageCreditLimit(of id: SessionID) -> UInt64 {
        guard let slot = sessions.slot(of: id) else { return 0 }
        return sessions[slot].send.messageCreditLimit(windowByteCount: sessions.windowByteCount(of: slot, limits))
    }

    /// The link's credit that messages may use. The last eighth of the window is for other frames.
    private var messageCredit: UInt64 { sendCredit.available - min(sendCredit.available, reservedCredit) }
    private var reservedCredit: UInt64 { UInt64(limits.linkWindow / 8) }
    /// Whether so little credit is left that the sessions share it.
    @inline(__always)
    package var sharesCredit: Bool { messageCredit < 4 * reservedCredit }
    /// Whether a session may use more of a shared credit, beside queued bytes: as much as it leaves to others. A
    /// session that returns its credit has some, however many do not (dynamic thresholds, Choudhury and Hahne 1998).
    package func mayUseCredit(_ id: SessionID, queued: Int) -> Bool {
        guard sharesCredit, let slot = sessions.slot(of: id) else { return true }
        let window = sessions.windowByteCount(of: slot, limits)
        let unreturned = sessions[slot].send.unreturnedCredit(windowByteCount: window)
        return unreturned + reservedCredit / 2 + UInt64(queued) <= messageCredit
    }

    /// Whether the engine keeps frames until credit arrives, which probes request like those that are queued (S-41).
    package mutating func setWaitsForCredit(_ waits: Bool, now: Instant) {
        waitsForCredit = waits
        if isAttached { updateCreditProbe(now: now) }
    }

    /// Queues a reliable frame on a session.
    package mutating func send(_ type: FrameType, _ body: EncodedBody, on id: SessionID) -> OnSend {
        guard let slot = sessions.slot(of: id), sessions[slot].local.takesMessages else { return .noSession }
        guard sessions[slot].send.hasRoom(for: body) else { return .full }
        append(slot, type, body)
        return .queued
    }

    /// Queues a transient frame; when too many are queued the oldest is dropped. One that does not fit in a frame is
    /// dropped (S-52).
    package mutating func sendTransient(_ body: EncodedBody, on id: SessionID) {
        guard isAttached, body.fragmentCount == 1, let slot = sessions.slot(of: id), sessions[slot].local.takesMessages
        else { return }
        sessions[slot].appendTransient(body)
        schedule(slot)
    }

    /// The number of transient frames that wait on a session.
    package func transientCount(on id: SessionID) -> Int {
        sessions.slot(of: id).map { sessions[$0].transients.count } ?? 0
    }

    /// Queues a ping whose pong is reported as an event.
    package mutating func ping(nonce: UInt64) {
        queueControl(.ping, EncodedBody(Ping(nonce: nonce & ~Link.probeBit).encode()))
    }

    /// Announces the end of this connection to the peer.
    package mutating func goAway(_ notice: Notice) {
        queueControl(.goaway, EncodedBody(GoAway(notice).encode()))
    }

    /// Queues a ping that requests an acknowledgement (S-28).
    mutating func sendProbe(now: Instant) {
        probeCount += 1
        let nonce = Link.probeBit | probeCount
        connection.recovery.noteProbe(nonce, now: now)
        queueControl(.ping, flags: .ackNow, EncodedBody(Ping(nonce: nonce).encode()))
    }

    /// The time since the link began.
    package func age(at now: Instant) -> Duration { now - began }

    /// The milliseconds since the link began, as frames carry them. They wrap after 49 days, and only differences count
    /// (W-15).
    func timestamp(_ now: Instant) -> UInt32 {
        UInt32(truncatingIfNeeded: (Int64(clamping: now.nanoseconds) - Int64(clamping: began.nanoseconds)) / 1_000_000)
    }

    mutating func queueControl(_ type: FrameType, flags: FrameFlags = [], _ body: EncodedBody) {
        if isAttached { connection.control.append(type, flags: flags, body) }
    }

    mutating func append(_ slot: Int, _ type: FrameType, _ body: EncodedBody) {
        sessions.noteQueue(slot)
        sessions[slot].send.append(type, body)
        schedule(slot)
    }

    mutating func schedule(_ slot: Int) {
        guard isAttached, !sessions[slot].marks.isScheduled, sessions.hasUnsent(slot) else { return }
        sessions[slot].marks.isScheduled = true
        connection.scheduler.enqueue(slot, priority: sessions[slot].priority)
    }

    // MARK: Credit

    /// Returns the credit of a message that the application has taken; an excess is ignored (S-38).
    package mutating func release(_ byteCount: Int, on id: SessionID) {
        guard byteCount > 0 else { return }
        if let slot = sessions.slot(of: id) {
            receiveCredit.release(UInt64(sessions[slot].receive.release(byteCount)))
            if sessions[slot].receive.wantsAnnouncement { requestAck(of: slot) }
        } else {
            receiveCredit.release(sessions.recentlyEnded.release(UInt64(byteCount), of: id))
        }
        announceCredit()
    }

    /// Returns the credit of all messages of a session, taken or not. The application takes no further ones.
    package mutating func releaseAll(on id: SessionID) {
        release(.max, on: id)
    }

    /// Counts frames without progress and frames that the engine drops. They cost no credit, so their rate is bounded.
    ///
    /// A carrier without order repeats and reorders frames, so none are counted on it.
    ///
    /// - Throws: `controlFlood` beyond the rate (S-59, Specs/hostile.md row 43).
    package mutating func chargeUnproductive(_ count: Int = 1, now: Instant) throws(LinkError) {
        guard count > 0, connection.carrier != .unreliable else { return }
        try rates.countUnproductive(count, now: now)
    }

    // MARK: Limits

    /// Whether the link can continue under the limits and features of a resume. Queued frames may need the earlier
    /// ones, so no limit may be lower and compression may not cease (C-23, C-24).
    package func canAdopt(_ limits: Limits, features: Features) -> Bool {
        self.limits.negotiated(with: limits) == self.limits
            && (features.contains(.zlib) || !self.features.contains(.zlib))
    }

    /// Adopts the negotiated limits and features. Sessions opened earlier get the larger windows.
    package mutating func adopt(_ limits: Limits, features: Features) {
        self.limits = limits
        self.features = features
        sendCredit.raiseWindow(to: limits.linkWindow)
        receiveCredit.raiseWindow(to: limits.linkWindow)
        for slot in sessions.slots.dropFirst() where sessions.isLive(slot) {
            let window = sessions.windowByteCount(of: slot, limits)
            sessions[slot].send.raiseCreditLimit(to: UInt64(window))
            sessions[slot].receive.raiseWindow(to: window, maxMessageByteCount: limits.maxMessageByteCount)
        }
    }

    // MARK: Queued bytes and memory

    /// Bytes of queued bodies on all sessions, and `overhead` for each frame.
    @inline(__always)
    package func queued(perFrame overhead: Int) -> LinkBacklog {
        var backlog = LinkBacklog()
        for slot in sessions.slots where sessions.isLive(slot) {
            if sessions[slot].kind == .attachment {
                backlog.attachments += sessions[slot].send.byteCount + sessions[slot].send.count * overhead
                continue
            }
            let send = sessions[slot].send.backlog
            let messages = send.messageByteCount + send.messageFrameCount * overhead
            if sessions[slot].priority.isBulk { backlog.bulk += messages } else { backlog.nonBulk += messages }
            let requests = send.requestByteCount + send.requestFrameCount * overhead
            backlog.requests += requests
            backlog.others += send.byteCount + sessions[slot].send.count * overhead - messages - requests
        }
        return backlog
    }

    /// Bytes that a session holds, and `overhead` for each queued frame: queued, and received but not yet deliverable.
    package func memoryByteCount(of id: SessionID, perFrame overhead: Int) -> (queued: Int, received: Int) {
        guard let slot = sessions.slot(of: id) else { return (0, 0) }
        return (
            sessions[slot].send.byteCount + sessions[slot].send.count * overhead,
            sessions[slot].receive.heldByteCount + sessions[slot].receive.assemblingByteCount
        )
    }

    /// The sequence of the next frame that is queued on a session; 0 when there is no such session.
    package func nextSequence(on id: SessionID) -> UInt64 {
        sessions.slot(of: id).map { sessions[$0].send.end } ?? 0
    }

    /// Bytes of queued bodies of a session.
    package func queuedByteCount(on id: SessionID) -> Int {
        sessions.slot(of: id).map { sessions[$0].send.byteCount } ?? 0
    }

    /// Whether a condition applies to bodies of a session that were not completely sent on this connection, or to any
    /// without one.
    package func hasUnsent(on id: SessionID, where condition: (FrameType, SendBatches.Bodies) -> Bool) -> Bool {
        guard let slot = sessions.slot(of: id) else { return false }
        return sessions[slot].send.hasUnsent(isAttached: isAttached, where: condition)
    }

    /// Whether the link holds memory that an idle link does not need.
    ///
    /// An idle link takes a few numbers for each session. Queues and `OnDemand` state get memory at their first use.
    package var hasIdleMemory: Bool { arrivals.slotCount > 0 || connection.hasIdleMemory || sessions.hasIdleMemory }

    /// Releases the idle memory that is empty.
    package mutating func releaseIdleMemory() {
        arrivals.releaseIfEmpty()
        connection.releaseIdleMemory()
        sessions.releaseIdleMemory()
    }

    /// Bytes of the link's sessions, their queues without bodies, and the state of its packets.
    @inline(__always)
    package var storageByteCount: Int { sessions.storageByteCount + (connection.packets.writer?.storageByteCount ?? 0) }

    // MARK: Views for the engines

    typealias Slots = SessionTable.Slots

    /// Sessions that have ended recently.
    package var recentlyEndedCount: Int { sessions.recentlyEnded.count }
    @inline(__always)
    package var heldByteCount: Int { receiveCredit.heldByteCount }
    @inline(__always)
    package var linkCreditReceived: UInt64 { receiveCredit.received }
    @inline(__always)
    package var linkCreditReleased: UInt64 { receiveCredit.released }
    package var lastAckProgress: Instant { connection.recovery.lastProgress }

    package var unproductive: TokenBucket {
        get { rates.unproductive }
        set { rates.unproductive = newValue }
    }

    package var deflatesPackets: Bool {
        get { connection.packets.deflates }
        set { connection.packets.deflates = newValue }
    }
}
