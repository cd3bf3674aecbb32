package import MartletWire

/// One session of a link: the states of its two sides, and its two streams.
///
/// | local side | ends with |
/// |---|---|
/// | opening: `open` is queued or sent, and messages may follow it | `opened` arrives: open; `close`: closing |
/// | accepting: the peer sent `open`, and the engine decides | `accept`: open; `close` of both sides: closing |
/// | open | `close`: closing |
/// | closing: `close` is queued or sent | the peer's side is closed and every frame acknowledged: the session ends |
///
/// | peer's side | ends with |
/// |---|---|
/// | unopened: neither `open` nor `opened` has arrived | one of them: opened; `close`: closed |
/// | opened | `close`: closed |
/// | closed | the session ends |
///
/// A reset, sent or received, ends the session in any state. Suspension is no state of a session: the engine holds
/// messages back.
struct Session: ~Copyable, Sendable {
    enum LocalState: UInt8, Sendable {
        case opening
        case accepting
        case open
        case closing

        /// Whether the application may send on the session.
        @inline(__always)
        var takesMessages: Bool { self == .opening || self == .open }
    }

    enum PeerState: UInt8, Sendable {
        case unopened
        case opened
        case closed
    }

    /// Queues of the connection that contain the session's slot.
    struct Marks: Sendable {
        /// Whether the scheduler serves the session.
        var isScheduled = false
        /// Whether the session waits for credit, of its own or of the link.
        var isBlocked = false
        /// Whether the next acknowledgement names the session.
        var needsAck = false
    }

    /// The maximum number of queued transient frames, beyond which the oldest is dropped (S-52).
    static let maxTransients = 16
    /// Bytes that leave the queue between two reports to the engine, while frames remain.
    static let reportByteCount = 16 * 1024

    let id: SessionID
    let kind: SessionKind
    let priority: Priority
    private(set) var local: LocalState
    private(set) var peer = PeerState.unopened
    var marks = Marks()
    /// Whether the table counts it as unacknowledged.
    var isOutstanding = false
    private let inPlace = InPlace()
    /// Acknowledged bytes that were not reported to the engine.
    private var unreportedByteCount: Int32 = 0
    /// The number of the last acknowledgement that named it.
    var lastAck: UInt64 = 0
    var send: SendStream
    var receive: ReceiveStream
    var transients = Deque<EncodedBody>()

    init(
        id: SessionID, kind: SessionKind, local: LocalState, windowByteCount: Int, maxMessageByteCount: Int,
        first: UInt64
    ) {
        self.id = id
        self.kind = kind
        self.local = local
        priority = id == .control ? .urgent : SessionPreset(kind).priority  // S-45
        send = SendStream(creditLimit: UInt64(windowByteCount), first: first)
        receive = ReceiveStream(
            windowByteCount: windowByteCount, maxMessageByteCount: maxMessageByteCount, first: first)
    }

    // MARK: States

    /// Accepts the session; false when the peer has not requested to open it (S-5).
    mutating func accept() -> Bool {
        guard local == .accepting else { return false }
        local = .open
        return true
    }

    enum OnClose {
        case none
        case sendClose
        case reset
    }

    /// Closes the local side. A session that was not accepted is reset (S-6), unless the peer has closed its side
    /// (S-8).
    mutating func close() -> OnClose {
        switch local {
        case .closing: return .none
        case .accepting where peer != .closed: return .reset
        case .opening, .accepting, .open:
            local = .closing
            return .sendClose
        }
    }

    /// `open` or `opened` arrived: a session is opened once, by one side, and confirmed once, by the other (S-3, S-5).
    mutating func noteOpenedByPeer() throws(LinkError) {
        guard peer == .unopened else { throw .peer(.protocolViolation) }
        peer = .opened
        if local == .opening { local = .open }
    }

    mutating func noteClosedByPeer() {
        peer = .closed
    }

    // MARK: Frames

    /// Receives a message in one frame if it is the next one; otherwise false, without a change.
    @inline(__always)
    mutating func takeNext(low: UInt32, byteCount: Int) -> Bool {
        peer != .closed && receive.takeNext(low: low, byteCount: byteCount)
    }

    /// Queues a transient frame; drops the oldest of `maxTransients` (S-52).
    mutating func appendTransient(_ body: EncodedBody) {
        if transients.count >= Session.maxTransients { _ = transients.popFirst() }
        transients.append(body)
    }

    /// Counts bytes that left the queue; returns those to report to the engine, in steps of `reportByteCount`, and
    /// with each gain of credit.
    mutating func noteReleased(_ byteCount: Int, gainsCredit: Bool) -> Int? {
        guard byteCount > 0 || gainsCredit else { return nil }
        let unreported = Int(unreportedByteCount) + byteCount
        unreportedByteCount = Int32(clamping: unreported)
        guard unreported >= Session.reportByteCount || send.isEmpty || gainsCredit else { return nil }
        unreportedByteCount = 0
        return id == .control ? nil : unreported
    }

    // MARK: Connections

    /// The connection has ended.
    mutating func detach() {
        marks = Marks()
        transients.removeAll()
    }

    // MARK: Idle

    /// Whether it holds memory that an idle session does not need.
    @inline(__always)
    var hasIdleMemory: Bool { send.hasQueue || receive.hasPending || transients.slotCount > 0 }

    /// Releases the idle memory that is empty.
    mutating func releaseIdleMemory() {
        send.releaseIdleMemory()
        receive.releaseIdleMemory()
        transients.releaseIfEmpty()
    }
}

/// An event of a session or of the link.
package enum LinkEvent: Equatable, Sendable {
    /// The peer opens a session. The answer is `accept` or `reset`.
    case open(SessionID, Open)
    /// The peer accepted a session of this side.
    case opened(SessionID, Opened)
    /// The peer requests that messages be held back.
    case suspended(SessionID)
    /// The peer requests messages again, from a cursor if it names one.
    case resumed(SessionID, cursor: UInt64?)
    /// The peer has closed its side of the session. The answer is `close`, after the last frame.
    case closed(SessionID, code: ErrorCode?)
    /// The session has ended by a reset, of the peer or because of the peer's fault. The peer may have named the
    /// duration after which it accepts another session (S-64).
    case reset(SessionID, code: ErrorCode, retryAfter: Duration? = nil)
    /// Body bytes were acknowledged and left the session's queue, or the peer has raised the credit limit.
    case acknowledged(SessionID, byteCount: Int)
    /// The answer to one of the engine's pings.
    case pong(nonce: UInt64)
    /// The server has named the duration over which its clients spread their attempts to reconnect (C-92).
    case reconnectSpread(Duration)
    /// The peer announces the end of the connection.
    case goAway(GoAway)
    /// The peer renews its credential, or has taken the new one (C-71).
    case auth(Auth)
}

/// A result of `Link.nextArrival`, in the order of arrival.
package enum LinkArrival: Equatable, Sendable {
    /// An event of a session or of the link.
    case event(LinkEvent)
    /// A frame for the application that was held behind a gap or missing fragments.
    case frame(SessionID, OrderedFrame)
}
