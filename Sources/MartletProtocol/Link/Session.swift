public import MartletWire

/// One logical channel of a link: its life and its two streams.
///
/// States and exits:
///
///     opening ──opened──► open ──close sent──► closing ──peer's close, ours acknowledged──► gone
///     accepting, open ──peer's close, then ours sent──► closingByPeer ──ours acknowledged──► gone
///     any ──reset, sent or received──► gone
///
/// `opening`: we sent open; messages may follow at once and are refused together with it. `accepting`: the peer sent
/// open and the engine decides. Suspension is no state of a session: what is held back is the engine's affair.
struct Session: Sendable {
    enum State: UInt8, Sendable {
        case opening
        case accepting
        case open
        case closing
        case closingByPeer
    }

    /// Transient frames that wait at the most; the oldest goes first, for a newer one says more (S-52).
    static let maxTransients = 16

    private(set) var id: SessionID
    var kind: SessionKind
    var state: State
    var priority: Priority
    /// False for a slot that waits to be used again.
    var isLive = true
    var isScheduled = false
    /// Whether it waits for credit of its own or of the link's.
    var isBlocked = false
    /// Whether frames of it wait for acknowledgement, as counted by the link.
    var isOutstanding = false
    var needsAck = false
    /// Whether `open` or `opened` has come from the peer.
    var wasOpenedByPeer = false
    var peerClosed = false
    /// Acknowledged bytes the engine has not heard of yet.
    var unreportedByteCount: Int32 = 0
    /// The last acknowledgement that named it, by the link's count: one names a session once.
    var lastAck: UInt64 = 0
    var send: SendStream
    var receive: ReceiveStream
    var transients = Deque<EncodedBody>()

    init(
        id: SessionID, kind: SessionKind, state: State, sendLimit: Int, receiveWindow: Int, maxMessageByteCount: Int,
        first: UInt64 = 1
    ) {
        self.id = id
        self.kind = kind
        self.state = state
        self.priority = id == .control ? .urgent : SessionPreset(kind).priority  // S-45
        self.send = SendStream(creditLimit: UInt64(sendLimit), first: first)
        self.receive = ReceiveStream(
            windowByteCount: receiveWindow, maxMessageByteCount: maxMessageByteCount, first: first)
    }

    /// Whether both directions have said their last and ours was heard.
    var isFinished: Bool {
        switch state {
        case .closing, .closingByPeer: peerClosed && send.isEmpty
        case .opening, .accepting, .open: false
        }
    }

    /// Whether the application may still send on it.
    var takesMessages: Bool {
        switch state {
        case .opening, .open: true
        case .accepting, .closing, .closingByPeer: false
        }
    }

    /// Whether anything of it waits to be sent, be there credit for it or not.
    @inline(__always)
    var hasUnsent: Bool { !transients.isEmpty || send.hasUnsent }

    /// Takes a message in one frame that is the next one; false, and nothing has changed, when it is not.
    @inline(__always)
    mutating func takeNext(low: UInt32, byteCount: Int) -> Bool {
        !peerClosed && receive.takeNext(low: low, byteCount: byteCount)
    }

    // MARK: Idle

    /// Whether it holds memory that only a session with something under way needs.
    @inline(__always)
    var hasIdleMemory: Bool { send.hasQueue || receive.hasPending || transients.slotCount > 0 }

    /// Gives that memory back as far as nothing is in it.
    mutating func releaseIdleMemory() {
        send.releaseIdleMemory()
        receive.releaseIdleMemory()
        transients.releaseIfEmpty()
    }
}

/// What happened to a session or to the link, for the engine that owns them.
public enum LinkEvent: Equatable, Sendable {
    /// The peer opens a session; answer with `accept` or `reset`.
    case open(SessionID, Open)
    /// The peer accepted a session of ours.
    case opened(SessionID, Opened)
    /// The peer asks to hold messages back.
    case suspended(SessionID)
    /// The peer takes messages again, from a cursor if it names one.
    case resumed(SessionID, cursor: UInt64?)
    /// The peer has said its last on this session; answer with `close` when there is nothing more to say on it.
    case closed(SessionID, code: ErrorCode?)
    /// The session is gone at once: by the peer's word, or for a fault of the peer's.
    case reset(SessionID, code: ErrorCode)
    /// This many body bytes left the session's queue for good; there is room again.
    case acknowledged(SessionID, byteCount: Int)
    /// An answer to one of the engine's pings.
    case pong(nonce: UInt64)
    /// The peer says that the connection ends, and why.
    case goAway(GoAway)
}

/// What `Link.nextArrival` hands out, in the order in which it happened.
public enum LinkArrival: Equatable, Sendable {
    /// Something about a session or the link.
    case event(LinkEvent)
    /// A frame for the application that had waited for a gap to close or its fragments to come.
    case frame(SessionID, OrderedFrame)
}
