public import MartletWire

/// Which side of a link this is; it decides who opens odd and who even sessions.
public enum LinkRole: UInt8, Sendable {
    /// Opens sessions with odd IDs.
    case client
    /// Opens sessions with even IDs.
    case relay
}

/// What the layer below promises.
public enum Carrier: UInt8, Sendable {
    /// A stream: what arrives is in order and without gaps (TCP, TLS).
    case reliable
    /// Datagrams: frames may be lost, repeated and reordered (UDP, DTLS).
    case unreliable
}

/// The resumable relation between one device and one server: its sessions, acknowledgements, credit and turns to send.
///
/// A link outlives connections. While a connection is attached, the engine feeds it frames (`receive`), asks it for
/// bytes (`transmit`) and wakes it at `deadline`; between connections it keeps what is unacknowledged. Both sides run
/// the same code.
///
/// Getters that are asked in every turn are inlined by attribute: a call would copy the whole link to pass it.
///
/// The contract: after `receive` or `deadlinePassed`, call `nextArrival` until it answers nil; after anything,
/// `hasOutput` says whether `transmit` has something to write, and `deadline` when to come back.
public struct Link: Sendable {
    /// Frames of a session that one expiry of the timer sends again, on a carrier without order.
    static let maxOverdueFrames = 16
    /// Frames without progress that a peer may send at once (S-59, Specs/hostile.md row 43).
    public static let unproductiveBurst = 1000
    /// Frames without progress that a peer may send in a minute, beyond the burst.
    public static let unproductivePerMinute = 200 * 60
    static let unproductiveBucket = TokenBucket(burst: unproductiveBurst, perMinute: unproductivePerMinute)
    /// Sessions of an acknowledgement of which it says nothing new, for each of which it costs as a frame without
    /// progress.
    static let staleSessionsPerFrame = 32
    /// Bytes of a fragment with more to come below which it is a frame without progress.
    static let leastFragmentByteCount = 256
    /// The longest that an acknowledgement is held back (RFC 9000 §13.2.1; W-49).
    public static let maxAckDelay: Duration = .milliseconds(25)
    /// How long the peer may leave frames unacknowledged while it shows signs of life (C-60, Specs/hostile.md row 20).
    public static let ackTimeout: Duration = .seconds(60)
    /// How long a client waits at least for an acknowledgement on a stream before it asks for another connection
    /// (C-63).
    static let leastOverdue: Duration = .milliseconds(500)
    /// Pongs that wait to be sent at the most (Specs/hostile.md row 17).
    public static let maxQueuedPongs = 4
    /// Bytes of frames, headers included, sent on a new connection before the peer has answered the hello (C-16).
    public static let earlyByteCount = 8 * 1024
    /// Sessions open at a time at the most, whatever the limits say: one resume names them and the control session
    /// (C-25).
    static let maxSessions = ResumePoint.maxPositionCount - 1
    /// Sessions that a peer may open at once, those of a fresh link among them, and in a minute from then on. An opener
    /// keeps below both, so that what a path gathers and delivers at once is no fault (S-4).
    static let openBurst = 256
    static let opensPerMinute = 33 * 60
    static let ownOpenBurst = maxSessions
    static let ownOpensPerMinute = 30 * 60
    /// The window of the control session, both ways: what requests and responses on it may use (S-37).
    static let controlWindowByteCount = 64 * 1024
    /// Bytes of an acknowledgement's body at the most; what is left goes into another.
    static let maxAckByteCount = 8 * 1024
    /// Bytes that one session takes of it at the most.
    static let maxSessionAckByteCount = 1024

    var role: LinkRole
    var began: Instant
    /// The sequence of each session's first frame.
    var firstSequence: UInt64
    var limits: Limits
    var features: Features
    var carrier: Carrier?
    var sessions: [Session]
    typealias Slots = SortedMap<SessionID, Int>
    var slots = Slots()
    var freeSlots: [Int] = []
    var retired = RetiredSessions()
    var nextID: UInt16
    var scheduler = FairScheduler()
    var arrivals = Deque<LinkArrival>()
    var readySlots = Deque<Int>()
    /// Sessions that had nothing to send but what credit forbade.
    var blockedSlots: [Int] = []
    /// Sessions with frames that wait for acknowledgement.
    var outstandingCount = 0
    /// Sessions that have memory for frames.
    var queueCount = 0

    var control = Deque<ControlOutput>()
    /// Bytes that may still go out before the peer has answered the hello; nil when it has.
    @Compact var earlyBudget: Int? = nil

    /// The link's credit for sending: used, kept for messages that are partly sent, and the peer's limit once it has
    /// named one.
    var linkCreditUsed: UInt64 = 0
    var linkCreditReserved: UInt64 = 0
    @Compact var linkCreditLimit: UInt64? = nil
    /// The session that is in the middle of a message for whose end no credit is kept.
    @Compact var unreservedSlot: Int? = nil
    /// The link's credit for receiving: arrived, given back, and the limit that the peer has been told.
    var linkCreditReceived: UInt64 = 0
    var linkCreditReleased: UInt64 = 0
    var announcedLinkCredit: UInt64
    /// What has arrived of messages whose ends have not, and what is held out of order, in bytes over all sessions.
    var assemblingByteCount = 0
    var heldByteCount = 0

    /// When the acknowledgement has to go out, or that it has to with the next chance to send.
    @Compact var ackDeadline: Instant? = nil
    var isAckDue = false
    var ackSlots = Deque<Int>()
    @Compact var echo: PendingEcho? = nil
    /// The newest timestamp received on this connection; one that has been seen is not echoed again.
    var newestTimestamp: UInt32?
    /// Writes compact frames, once there was one to write on this connection.
    var packets: PacketWriter?
    /// Whether packets pass through a deflate stream where the peer reads that.
    var deflatesPackets = false
    /// When that stream has been idle for long enough to end, and that it has.
    @Compact var streamDeadline: Instant? = nil
    var endsStream = false
    /// Whoever feeds the link waits for acknowledgements: the last frame of a queue asks for one, which its receiver
    /// would otherwise hold back (S-20).
    var asksForAck = false
    var ackTimer = AckTimer()
    var creditProbe = CreditProbe()
    /// When to ask whether another connection would be faster.
    @Compact var overdueDeadline: Instant? = nil
    var lastAckProgress = Instant.zero
    var ackCount: UInt64 = 0
    @Compact var probe: Probe? = nil
    var probes: UInt64 = 0
    var flight = FlightWindow()
    /// When it was last looked whether bulk may go on.
    var pacingNoted = Instant.zero
    /// The carrier had no room for all there was when the acknowledgement timer last ran out.
    var wasWaitingForRoom = false
    var pings = RecentCount(maxCount: 100, window: .seconds(10))  // W-71, Specs/hostile.md row 17
    var openBudget = TokenBucket(burst: Link.openBurst, perMinute: Link.opensPerMinute)  // S-4, Specs/hostile.md row 18
    var unknownFrames = RecentCount(maxCount: 32, window: .seconds(60))  // W-73
    var unproductive = Link.unproductiveBucket
    /// Pings of this connection whose pongs have not come.
    var pongsDue = 0

    /// Round-trip times measured on this link (RFC 6298).
    public internal(set) var rtt = RTTEstimator()
    /// What has been counted since the link began.
    public internal(set) var counters = LinkCounters()

    /// A control frame that waits to be written.
    struct ControlOutput: Sendable {
        var type: FrameType
        var flags: FrameFlags
        var body: EncodedBody
    }

    /// The timestamp to echo, and when it came (S-24).
    struct PendingEcho: Vacant, Sendable {
        static var vacant: PendingEcho { PendingEcho(timestamp: 0, arrived: .vacant) }

        var timestamp: UInt32
        var arrived: Instant
    }

    /// A ping that asks after frames which are overdue.
    struct Probe: Vacant, Sendable {
        static var vacant: Probe { Probe(nonce: 0, sentAt: .vacant) }

        var nonce: UInt64
        var sentAt: Instant
    }

    /// A new link without a connection.
    ///
    /// - Parameters:
    ///   - limits: what both sides agreed on, or `Limits.minimum` until they have.
    ///   - began: the instant that the frames' timestamps count from.
    public init(role: LinkRole, limits: Limits, features: Features, began: Instant) {
        self.init(role: role, limits: limits, features: features, began: began, firstSequence: 1)
    }

    /// A new link whose sessions begin elsewhere than at 1; both ends have to know (W-11).
    init(role: LinkRole, limits: Limits, features: Features, began: Instant, firstSequence: UInt64) {
        self.role = role
        self.limits = limits
        self.features = features
        self.began = began
        self.firstSequence = firstSequence
        nextID = role == .client ? 1 : 2
        announcedLinkCredit = UInt64(limits.linkWindow)
        sessions = [
            Session(
                id: .control, kind: .signaling, state: .open, sendLimit: Link.controlWindowByteCount,
                receiveWindow: Link.controlWindowByteCount,
                maxMessageByteCount: limits.maxMessageByteCount, first: firstSequence)
        ]
        slots[.control] = 0
    }

    /// Sessions that are open, opening or closing, without the control session.
    public var sessionCount: Int { slots.count - 1 }

    /// Whether a connection is attached.
    public var isAttached: Bool { carrier != nil }

    /// Whether frames wait for the peer's acknowledgement.
    public var hasUnacknowledged: Bool { outstandingCount > 0 }

    // MARK: Sessions

    /// Opens a session; messages may be sent on it at once.
    ///
    /// - Throws: `tooManySessions` when the peer's bound is reached.
    public mutating func open(_ open: Open) throws(LinkError) -> SessionID {
        guard sessionCount < min(limits.maxSessions, Link.maxSessions) else { throw .local(.tooManySessions) }
        var id = SessionID(rawValue: nextID)
        while slots[id] != nil || retired[id] != nil { id = SessionID(rawValue: following(id.rawValue)) }  // S-2
        nextID = following(id.rawValue)
        let slot = insert(id, kind: open.kind, state: .opening)
        append(slot, .open, EncodedBody(open.encode()))
        return id
    }

    /// Accepts a session that the peer opened (S-5).
    public mutating func accept(_ id: SessionID, _ opened: Opened) {
        guard let slot = slots[id], sessions[slot].state == .accepting else { return }
        sessions[slot].state = .open
        append(slot, .opened, EncodedBody(opened.encode()))
    }

    /// Says our last on a session; it is gone when both sides have and ours was acknowledged (S-7).
    ///
    /// A session that the peer has closed waits for this call: until then there may be more to say on it.
    public mutating func close(_ id: SessionID, code: ErrorCode? = nil) {
        guard let slot = slots[id], slot != 0 else { return }  // S-1
        switch sessions[slot].state {
        case .closing, .closingByPeer: return
        case _ where sessions[slot].peerClosed: sessions[slot].state = .closingByPeer  // S-8
        case .opening, .open: sessions[slot].state = .closing
        case .accepting: return reset(id, code: code ?? .cancelled)  // S-6
        }
        append(slot, .close, EncodedBody(Close(code: code, reason: nil).encode()))
    }

    /// Ends a session at once on both sides; what was queued on it is dropped (S-10).
    public mutating func reset(_ id: SessionID, code: ErrorCode) {
        guard id != .control else { return }
        guard let slot = slots[id] else {
            guard retired[id] == nil else { return }
            return appendReset(id, code, creditUsed: 0)
        }
        // The peer has never heard of it.
        let isKnown = !isOurs(id) || sessions[slot].send.highestSent >= firstSequence
        let creditUsed = sessions[slot].send.creditUsed
        remove(slot, isReset: true, isKnown: isKnown)
        if isKnown { appendReset(id, code, creditUsed: creditUsed) }
    }

    /// Asks the peer to hold messages of this session back until `resume`.
    public mutating func suspend(_ id: SessionID) {
        appendOrder(.suspend, EncodedBody(Suspend().encode()), on: id)
    }

    /// Takes messages of this session again, from `cursor` if given.
    public mutating func resume(_ id: SessionID, cursor: UInt64?) {
        appendOrder(.resume, EncodedBody(Resume(cursor: cursor).encode()), on: id)
    }

    // MARK: Sending

    /// What became of a frame handed to `send`.
    public enum OnSend: Equatable, Sendable {
        /// It is kept until it is acknowledged.
        case queued
        /// The session holds as many frames as it may; try again after `.acknowledged`.
        case full
        /// There is no such session, or it is closing.
        case noSession
    }

    /// Queues messages of a room on a session, all or none.
    mutating func send(_ entries: ArraySlice<LogEntry>, on id: SessionID) -> OnSend {
        guard let slot = slots[id], sessions[slot].takesMessages else { return .noSession }
        noteQueue(slot)
        guard sessions[slot].send.append(entries) else { return .full }
        schedule(slot)
        return .queued
    }

    /// Queues a reliable frame on a session.
    public mutating func send(_ type: FrameType, _ body: EncodedBody, on id: SessionID) -> OnSend {
        guard let slot = slots[id], sessions[slot].takesMessages else { return .noSession }
        guard sessions[slot].send.hasRoom(for: body) else { return .full }
        append(slot, type, body)
        return .queued
    }

    /// Queues a transient frame; when too many wait the oldest is dropped. One that does not fit in a frame is dropped
    /// (S-52).
    public mutating func sendTransient(_ body: EncodedBody, on id: SessionID) {
        guard isAttached, body.fragmentCount == 1, let slot = slots[id], sessions[slot].takesMessages else { return }
        if sessions[slot].transients.count >= Session.maxTransients { _ = sessions[slot].transients.popFirst() }
        sessions[slot].transients.append(body)
        schedule(slot)
    }

    /// Queues a ping whose pong comes back as an event.
    public mutating func ping(nonce: UInt64) {
        queueControl(.ping, flags: [], EncodedBody(Ping(nonce: nonce & ~Link.probeBit).encode()))
    }

    /// Tells the peer that this connection ends.
    public mutating func goAway(_ notice: Notice) {
        queueControl(.goaway, flags: [], EncodedBody(GoAway(notice).encode()))
    }

    /// The peer sent frames that bring nothing, or that the engine drops: what costs no credit has a rate instead.
    ///
    /// On a carrier without order the network repeats and overtakes, so nobody is charged there.
    ///
    /// - Throws: `controlFlood` beyond the rate (S-59, Specs/hostile.md row 43).
    mutating func chargeUnproductive(_ count: Int = 1, now: Instant) throws(LinkError) {
        guard count > 0, carrier != .unreliable else { return }
        guard unproductive.take(min(count, Link.unproductiveBurst), now: now) else { throw .peer(.controlFlood) }
    }

    /// Gives back the credit of a message that the application has taken; more than it was given is ignored (S-38).
    public mutating func release(_ byteCount: Int, on id: SessionID) {
        guard byteCount > 0 else { return }
        if let slot = slots[id] {
            linkCreditReleased += UInt64(sessions[slot].receive.release(byteCount))
            if sessions[slot].receive.wantsAnnouncement { wantAck(of: slot, at: nil) }
        } else {
            linkCreditReleased += retired.release(UInt64(byteCount), of: id)
        }
        announceLinkCredit()
    }

    /// Gives back the credit of every message of a session, taken or not, because nobody will take them any more.
    public mutating func releaseAll(on id: SessionID) {
        release(.max, on: id)
    }

    /// Bytes of bodies that wait on all sessions to be sent or acknowledged, and `overhead` for each frame.
    @inline(__always)
    func queued(perFrame overhead: Int) -> LinkBacklog {
        var backlog = LinkBacklog()
        for slot in sessions.indices where sessions[slot].isLive {
            let messages = sessions[slot].send.messageByteCount + sessions[slot].send.messageFrameCount * overhead
            if sessions[slot].priority.isBulk { backlog.bulk += messages } else { backlog.talk += messages }
            let requests = sessions[slot].send.requestByteCount + sessions[slot].send.requestFrameCount * overhead
            backlog.requests += requests
            backlog.others += sessions[slot].send.byteCount + sessions[slot].send.count * overhead - messages - requests
        }
        return backlog
    }

    /// What a session holds in bytes, and `overhead` for each frame: what waits to be sent or acknowledged, and what
    /// has come and cannot be taken yet.
    func memoryByteCount(of id: SessionID, perFrame overhead: Int) -> (queued: Int, received: Int) {
        guard let slot = slots[id] else { return (0, 0) }
        let (send, receive) = (sessions[slot].send, sessions[slot].receive)
        return (send.byteCount + send.count * overhead, receive.heldByteCount + receive.assemblingByteCount)
    }

    /// The sequence of the next frame that is queued on a session; 0 when there is no such session.
    func nextSequence(on id: SessionID) -> UInt64 {
        slots[id].map { sessions[$0].send.end } ?? 0
    }

    /// Bytes of bodies that wait on a session to be sent or acknowledged.
    public func queuedByteCount(on id: SessionID) -> Int {
        slots[id].map { sessions[$0].send.byteCount } ?? 0
    }

    /// What happened since the last call, in order; nil when all has been said.
    public mutating func nextArrival(now: Instant) throws(LinkError) -> LinkArrival? {
        while true {
            if let arrival = arrivals.popFirst() { return arrival }
            guard let slot = readySlots.first else { return nil }
            guard sessions[slot].isLive, let frame = sessions[slot].receive.popReady() else {
                _ = readySlots.popFirst()
                continue
            }
            guard frame.type.rule != nil else { continue }
            guard !sessions[slot].peerClosed else { throw .peer(.protocolViolation) }
            guard frame.type.isLifecycle else { return .frame(sessions[slot].id, frame) }
            try handleLifecycle(frame.type, frame.body.rawBytes, slot: slot, now: now)
        }
    }

    // MARK: Inside

    static let probeBit: UInt64 = 1 << 63

    func isOurs(_ id: SessionID) -> Bool {  // W-54
        (id.rawValue % 2 == 1) == (role == .client)
    }

    mutating func append(_ slot: Int, _ type: FrameType, _ body: EncodedBody) {
        noteQueue(slot)
        sessions[slot].send.append(type, body)
        schedule(slot)
    }

    /// A session is about to queue something.
    @inline(__always)
    private mutating func noteQueue(_ slot: Int) {
        if !sessions[slot].send.hasQueue { queueCount += 1 }
    }

    private mutating func appendOrder(_ type: FrameType, _ body: EncodedBody, on id: SessionID) {
        guard let slot = slots[id], slot != 0, sessions[slot].takesMessages, sessions[slot].send.hasRoom(for: body)
        else { return }
        append(slot, type, body)
    }

    mutating func schedule(_ slot: Int) {
        guard carrier != nil, !sessions[slot].isScheduled, sessions[slot].hasUnsent else { return }
        sessions[slot].isScheduled = true
        scheduler.enqueue(slot, priority: sessions[slot].priority)
    }

    mutating func queueControl(_ type: FrameType, flags: FrameFlags, _ body: EncodedBody) {
        guard carrier != nil else { return }
        if type == .ping { pongsDue += 1 }
        control.append(ControlOutput(type: type, flags: flags, body: body))
    }

    /// An acknowledgement is to go out by `deadline`, or with nil as soon as there is a chance to send.
    mutating func wantAck(at deadline: Instant?) {
        guard carrier != nil else { return }
        guard let deadline else { return isAckDue = true }
        ackDeadline = min(ackDeadline ?? .distantFuture, deadline)
    }

    mutating func wantAck(of slot: Int, at deadline: Instant?) {
        guard carrier != nil else { return }
        if !sessions[slot].needsAck {
            sessions[slot].needsAck = true
            ackSlots.append(slot)
        }
        wantAck(at: deadline)
    }

    private func following(_ id: UInt16) -> UInt16 {
        let next = id &+ 2
        return next == 0 ? 2 : next
    }
}

/// What a link has done since it began.
public struct LinkCounters: Equatable, Sendable {
    /// Frames sent again because they were taken for lost or because a connection broke.
    public var retransmissions: UInt64 = 0
    /// Frames received more than once and dropped.
    public var duplicates: UInt64 = 0
    /// Frames written and read, and their bytes with headers.
    public var framesSent: UInt64 = 0
    /// Frames received whole.
    public var framesReceived: UInt64 = 0
    /// Bytes of frames written.
    public var bytesSent: UInt64 = 0
    /// Bytes of frames received.
    public var bytesReceived: UInt64 = 0
    /// Resumes that the peer accepted.
    public var resumes: UInt64 = 0
    /// Frames of unknown type that were skipped.
    public var skipped: UInt64 = 0
    /// Round-trip times measured.
    public var roundTripSamples: UInt64 = 0
}
