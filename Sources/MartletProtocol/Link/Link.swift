public import MartletWire

/// Which side of a link this is; it decides who opens odd and who even sessions.
public enum LinkRole: Sendable {
    /// Opens sessions with odd IDs.
    case client
    /// Opens sessions with even IDs.
    case relay
}

/// What the layer below promises.
public enum Carrier: Sendable {
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
/// The contract: after `receive` or `deadlinePassed`, call `nextArrival` until it answers nil; after anything,
/// `hasOutput` says whether `transmit` has something to write, and `deadline` when to come back.
public struct Link: Sendable {
    /// The longest that an acknowledgement is held back (RFC 9000 §13.2.1).
    public static let maxAckDelay: Duration = .milliseconds(25)
    /// How long the peer may leave frames unacknowledged while it shows signs of life (Specs/hostile.md row 20).
    public static let ackTimeout: Duration = .seconds(60)
    /// Pongs that wait to be sent at the most (Specs/hostile.md row 17).
    public static let maxQueuedPongs = 4
    /// Body bytes sent on a new connection before the peer has answered the hello.
    public static let earlyByteCount = 8 * 1024
    /// The body of an acknowledgement at the most, in bytes; sessions that do not fit follow in the next.
    static let maxAckByteCount = 8 * 1024
    /// Closed sessions remembered, so that late frames of theirs are told from errors.
    static let maxRetired = 64

    let role: LinkRole
    let began: Instant
    var limits: Limits
    var features: Features
    var carrier: Carrier?
    var sessions: [Session]
    var slots: [SessionID: Int] = [.control: 0]
    var freeSlots: [Int] = []
    var retired = Deque<Retired>()
    /// Acknowledgements still owed for sessions that are gone; bounded by what one ack frame names.
    var finalAcks: [Retired] = []
    var nextID: UInt16
    var scheduler = FairScheduler()
    var arrivals = Deque<LinkEvent>()
    var readySlots = Deque<Int>()

    var control = Deque<ControlOutput>()
    var earlyBudget: Int?
    var linkCreditLimit: UInt64
    var linkCreditUsed: UInt64 = 0
    var linkCreditReleased: UInt64 = 0
    var linkCreditReceived: UInt64 = 0
    var announcedLinkCredit: UInt64

    var ackDeadline: Instant?
    var echo: PendingEcho?
    var ackTimer = AckTimer()
    var lastAckProgress = Instant.zero
    var probe: Probe?
    var probes: UInt64 = 0
    var flight = FlightWindow()
    var wroteSinceExpiry = false
    var pingBudget = TokenBucket(burst: 100, perMinute: 600)
    var openBudget = TokenBucket(burst: 100, perMinute: 33 * 60)
    var unknownBudget = TokenBucket(burst: 32, perMinute: 32)

    /// Round-trip times measured on this link (RFC 6298).
    public internal(set) var rtt = RTTEstimator()
    /// What has been counted since the link began.
    public internal(set) var counters = LinkCounters()

    /// A session that is gone, and how far the peer had come in it.
    struct Retired: Equatable, Sendable {
        var session: SessionID
        var cumulative: UInt64
    }

    /// A control frame that waits to be written.
    struct ControlOutput: Sendable {
        var type: FrameType
        var flags: FrameFlags
        var body: EncodedBody
    }

    /// The timestamp to echo, and when it came.
    struct PendingEcho: Sendable {
        var timestamp: UInt32
        var arrived: Instant
    }

    /// A ping that asks after frames which are overdue.
    struct Probe: Sendable {
        var nonce: UInt64
        var sentAt: Instant
    }

    /// A new link without a connection.
    ///
    /// - Parameters:
    ///   - limits: what both sides agreed on, or `Limits.minimum` until they have.
    ///   - began: the instant that the frames' timestamps count from.
    public init(role: LinkRole, limits: Limits, features: Features, began: Instant) {
        self.role = role
        self.limits = limits
        self.features = features
        self.began = began
        nextID = role == .client ? 1 : 2
        linkCreditLimit = UInt64(limits.linkWindow)
        announcedLinkCredit = UInt64(limits.linkWindow)
        sessions = [
            Session(
                id: .control, kind: .signaling, state: .open, sendLimit: .max >> 1, receiveWindow: 64 * 1024,
                maxMessageByteCount: limits.maxMessageByteCount)
        ]
    }

    /// Sessions that are open, opening or closing, without the control session.
    public var sessionCount: Int { slots.count - 1 }

    /// Whether a connection is attached.
    public var isAttached: Bool { carrier != nil }

    /// Whether frames wait for the peer's acknowledgement.
    public var hasUnacknowledged: Bool {
        sessions.contains { $0.isLive && $0.send.hasUnacknowledged }
    }

    // MARK: Sessions

    /// Opens a session; messages may be sent on it at once.
    ///
    /// - Throws: `tooManySessions` when the peer's bound is reached.
    public mutating func open(_ open: Open) throws(LinkError) -> SessionID {
        guard sessionCount < limits.maxSessions else { throw .local(.tooManySessions) }
        var id = SessionID(rawValue: nextID)
        while slots[id] != nil { id = SessionID(rawValue: following(id.rawValue)) }
        nextID = following(id.rawValue)
        let slot = insert(id, kind: open.kind, state: .opening)
        append(slot, .open, EncodedBody(open.encode()))
        return id
    }

    /// Accepts a session that the peer opened.
    public mutating func accept(_ id: SessionID, _ opened: Opened) {
        guard let slot = slots[id], sessions[slot].state == .accepting else { return }
        sessions[slot].state = .open
        append(slot, .opened, EncodedBody(opened.encode()))
    }

    /// Says our last on a session; it is gone when both sides have and ours was acknowledged.
    public mutating func close(_ id: SessionID, code: ErrorCode? = nil) {
        guard let slot = slots[id] else { return }
        switch sessions[slot].state {
        case .opening, .open: sessions[slot].state = .closing
        case .accepting: return reset(id, code: code ?? .cancelled)
        case .closing, .closingByPeer: return
        }
        append(slot, .close, EncodedBody(Close(code: code, reason: nil).encode()))
    }

    /// Ends a session at once on both sides; what was queued on it is dropped.
    public mutating func reset(_ id: SessionID, code: ErrorCode) {
        guard id != .control else { return }
        if let slot = slots[id] { remove(slot) }
        append(0, .reset, EncodedBody(Reset(session: id, code: code, reason: nil).encode()))
    }

    /// Asks the peer to hold messages of this session back until `resume`.
    public mutating func suspend(_ id: SessionID) {
        guard let slot = slots[id] else { return }
        append(slot, .suspend, EncodedBody(Suspend().encode()))
    }

    /// Takes messages of this session again, from `cursor` if given.
    public mutating func resume(_ id: SessionID, cursor: UInt64?) {
        guard let slot = slots[id] else { return }
        append(slot, .resume, EncodedBody(Resume(cursor: cursor).encode()))
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

    /// Queues a reliable frame on a session.
    public mutating func send(_ type: FrameType, _ body: EncodedBody, on id: SessionID) -> OnSend {
        guard let slot = slots[id], sessions[slot].takesMessages else { return .noSession }
        guard sessions[slot].send.hasRoom(for: body) else { return .full }
        append(slot, type, body)
        return .queued
    }

    /// Queues a transient frame; when too many wait the oldest is dropped.
    public mutating func sendTransient(_ body: EncodedBody, on id: SessionID) {
        guard isAttached, let slot = slots[id], sessions[slot].takesMessages else { return }
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

    /// Gives back the credit of a message that the application has taken.
    public mutating func release(_ byteCount: Int, on id: SessionID) {
        guard byteCount > 0 else { return }
        linkCreditReleased += UInt64(byteCount)
        if let slot = slots[id], sessions[slot].receive.release(byteCount) {
            sessions[slot].needsAck = true
            wantAck(at: nil)
        }
        if linkCreditReleased + UInt64(limits.linkWindow) >= announcedLinkCredit + UInt64(limits.linkWindow) / 2 {
            wantAck(at: nil)
        }
    }

    /// Bytes of bodies that wait on a session to be sent or acknowledged.
    public func queuedByteCount(on id: SessionID) -> Int {
        slots[id].map { sessions[$0].send.byteCount } ?? 0
    }

    /// What happened since the last call, in order; nil when all has been said.
    public mutating func nextArrival(now: Instant) throws(LinkError) -> LinkArrival? {
        while true {
            if let event = arrivals.popFirst() { return .event(event) }
            guard let slot = readySlots.first else { return nil }
            guard let frame = sessions[slot].receive.popReady() else {
                _ = readySlots.popFirst()
                continue
            }
            let id = sessions[slot].id
            if frame.type.isLifecycle {
                try handleLifecycle(frame.type, frame.body.rawBytes, slot: slot, now: now)
                continue
            }
            try charge(frame.creditByteCount)
            return .frame(id, frame)
        }
    }

    // MARK: Inside

    static let probeBit: UInt64 = 1 << 63

    mutating func insert(_ id: SessionID, kind: SessionKind, state: Session.State) -> Int {
        let window = min(limits.sessionWindow, SessionPreset(kind).windowByteCount)
        let session = Session(
            id: id, kind: kind, state: state, sendLimit: window, receiveWindow: window,
            maxMessageByteCount: limits.maxMessageByteCount)
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
            sessions[slot] = session
        } else {
            slot = sessions.count
            sessions.append(session)
        }
        slots[id] = slot
        return slot
    }

    mutating func remove(_ slot: Int) {
        let id = sessions[slot].id
        guard slots.removeValue(forKey: id) != nil else { return }
        flight.abandoned(isBulk(sessions[slot].priority) ? sessions[slot].send.byteCount : 0)
        sessions[slot].send.dropAll()
        sessions[slot].transients.removeAll()
        sessions[slot].isScheduled = false
        sessions[slot].isLive = false
        freeSlots.append(slot)
        retired.append(Retired(session: id, cumulative: sessions[slot].receive.cumulative))
        if sessions[slot].needsAck { finalAcks.append(retired[retired.count - 1]) }
        if retired.count > Link.maxRetired { _ = retired.popFirst() }
    }

    mutating func append(_ slot: Int, _ type: FrameType, _ body: EncodedBody) {
        sessions[slot].send.append(type, body)
        schedule(slot)
    }

    mutating func schedule(_ slot: Int) {
        guard carrier != nil, !sessions[slot].isScheduled else { return }
        sessions[slot].isScheduled = true
        scheduler.enqueue(slot, priority: sessions[slot].priority)
    }

    mutating func queueControl(_ type: FrameType, flags: FrameFlags, _ body: EncodedBody) {
        guard carrier != nil else { return }
        control.append(ControlOutput(type: type, flags: flags, body: body))
    }

    mutating func wantAck(at deadline: Instant?) {
        // nil: as soon as there is a chance to send.
        ackDeadline = min(ackDeadline ?? .distantFuture, deadline ?? .zero)
    }

    func isBulk(_ priority: Priority) -> Bool { priority >= .normal }

    private func following(_ id: UInt16) -> UInt16 {
        let next = id &+ 2
        return next == 0 ? 2 : next
    }

    mutating func charge(_ byteCount: Int) throws(LinkError) {
        linkCreditReceived += UInt64(byteCount)
        guard linkCreditReceived <= announcedLinkCredit else { throw .peer(.creditExceeded) }
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
