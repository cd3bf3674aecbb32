import MartletWire

/// One connection at the server, from accept to close (C-8).
///
///     awaitingHello ──hello──► authenticating ──accepted──► attached ──end, fault, fenced──► closing
///          ▲                     ▲ │ │ refused: closing
///          │            auth frame │ │ challenge
///          │                  challenged
///          └──── resume refused ─────┘ (early frames of the refused link are skipped)
///
/// | phase | owns | ends |
/// |---|---|---|
/// | awaitingHello | a `ServerHandshake` | a hello; a fault; `handshakeTimeout`, after a refused resume `authTimeout` |
/// | authenticating | a `ServerHandshake` with the input behind the hello | the authenticator's answer; `authTimeout` |
/// | challenged | the same; the early frames read so far | an auth frame; a fault; `authTimeout` |
/// | attached | the slot of its link | a fault; `idleTimeout`; `frameTimeout` of an incomplete frame |
/// | closing | its outbox, until the carrier has taken it | `closed` |
///
/// While a connection is authenticating, its input is not parsed: one read is kept and reading is paused. While it is
/// challenged, its input is searched for the auth frame, and all other frames are kept (C-69).
struct ServerConnection {
    enum Phase: Equatable {
        case awaitingHello
        case authenticating
        case challenged
        case attached(link: Int32)
        case closing
    }

    /// The maximum number of bytes kept behind a hello before the peer is authenticated. A client may send half of them
    /// early (`Specs/wire.md` W-35).
    static let maxHeldByteCount = 2 * Link.earlyByteCount
    /// Challenges of one authentication exchange at the most (C-69, Specs/hostile.md row 55).
    static let maxChallengeCount = 4

    private(set) var generation: UInt32 = 0
    /// The maximum length of a body in bytes.
    private(set) var maxBodyByteCount = UInt32(Limits.maxHandshakeBodyByteCount)
    private(set) var phase = Phase.awaitingHello
    let carrier: Carrier
    /// Whether the transmit queue has the connection among those of this turn.
    var isInTurn = false
    /// Whether `UnreadInput` has input of the connection.
    var hasUnread = false
    /// The state of the handshake; nil after a link was attached.
    private(set) var handshake: ServerHandshake?
    /// The framer that holds an incomplete frame. Between frames the server's shared framer serves.
    var framer: FramerBox?
    /// Handshake frames and a goaway that are queued.
    var outbox = HandshakeQueue()
    /// Bytes that the carrier holds unsent.
    var unsentByteCount: UInt32 = 0
    /// The bytes that the table counts for the connection.
    private var chargedByteCount: UInt32 = 0
    /// The instant of the last bytes from the peer.
    private(set) var lastReceived: Instant
    /// The instant at which `transmit` was requested; nil after the call.
    @CompactOptional var requestedAt: Instant? = nil
    /// The instant from which on a frame has been incomplete.
    @CompactOptional var partialSince: Instant? = nil
    /// The instant at which the timer fires; not later than the deadline.
    @CompactOptional private var armedAt: Instant? = nil

    init(carrier: Carrier, now: Instant) {
        self.carrier = carrier
        lastReceived = now
        handshake = ServerHandshake(begunAt: now)
    }

    /// Starts the connection in a table, as accepted or as transferred from another loop.
    mutating func start(generation: UInt32) {
        self.generation = generation
        chargedByteCount = 0
        isInTurn = false
        requestedAt = nil
        armedAt = nil
    }

    @inline(__always)
    var linkSlot: Int? { if case .attached(let link) = phase { Int(link) } else { nil } }

    // MARK: Phases

    /// A hello was received; the authenticator decides.
    mutating func authenticate(_ hello: Hello, now: Instant) {
        phase = .authenticating
        handshake?.hello = hello
        handshake?.askedAt = now
        handshake?.challengeCount = 0
        handshake?.skipsFrames = false
        partialSince = nil
    }

    /// A message of the exchange is sent to the peer, which answers it. Returns the input behind the hello, to be
    /// searched for the answer.
    mutating func challenge() -> [UInt8] {
        phase = .challenged
        guard let handshake else { return [] }
        handshake.challengeCount += 1
        defer { handshake.held = [] }
        return handshake.held
    }

    /// The peer has answered the challenge; the authenticator decides.
    mutating func takeAnswer() {
        phase = .authenticating
        partialSince = nil
    }

    /// A resume was refused; false when the connection may not send another hello.
    mutating func awaitAnotherHello(maxResumeAttempts: Int) -> Bool {
        phase = .awaitingHello
        guard let handshake else { return false }
        handshake.resumeAttempts += 1
        handshake.skipsFrames = true
        return carrier == .reliable && handshake.resumeAttempts < maxResumeAttempts
    }

    /// The handshake is over: bodies may be as long as the link's limits permit (W-7).
    mutating func attach(_ link: Int, maxBodyByteCount: Int) {
        phase = .attached(link: Int32(link))
        handshake = nil
        self.maxBodyByteCount = UInt32(maxBodyByteCount)
        framer?.framer.maxBodyByteCount = maxBodyByteCount
    }

    mutating func close() {
        phase = .closing
        handshake?.held = []
    }

    // MARK: Input

    mutating func noteReceived(byteCount: Int, now: Instant) {
        lastReceived = now
        handshake?.receivedByteCount += byteCount
    }

    // MARK: Memory

    /// The bytes that the table counts for the connection.
    var charge: Int { Int(chargedByteCount) }

    /// Returns the change of the bytes that the framer and the carrier hold since the last call.
    mutating func takeChargeChange() -> Int {
        let byteCount = (framer?.framer.storageByteCount ?? 0) + Int(unsentByteCount)
        defer { chargedByteCount = UInt32(clamping: byteCount) }
        return byteCount - Int(chargedByteCount)
    }

    /// Bytes received that were not parsed.
    var heldByteCount: Int { (framer?.framer.storageByteCount ?? 0) + (handshake?.held.count ?? 0) }

    // MARK: Time

    /// The instant to which the timer has to be set; nil when it is early enough already.
    mutating func arm(_ configuration: LinkServerConfiguration) -> Instant? {
        guard let due = deadline(configuration)?.at else { return nil }
        if let armedAt, armedAt <= due { return nil }
        armedAt = due
        return due
    }

    /// The timer has fired or is discarded: the next `arm` sets it.
    mutating func disarm() { armedAt = nil }

    /// The next deadline and its error code (C-10, C-60).
    ///
    /// The method is mutating because the table copies an element for a call that does not mutate.
    mutating func deadline(_ configuration: LinkServerConfiguration) -> (at: Instant, code: ErrorCode)? {
        switch phase {
        case .closing: return nil
        case .awaitingHello, .authenticating, .challenged:
            guard let handshake else { return nil }
            if phase == .awaitingHello, handshake.resumeAttempts == 0 {
                return (handshake.begunAt + configuration.handshakeTimeout, .handshakeTimeout)
            }
            return (handshake.begunAt + configuration.authTimeout, .authTimeout)
        case .attached:
            let idle = lastReceived + configuration.idleTimeout
            guard let partialSince, partialSince + configuration.frameTimeout < idle else {
                return (idle, .idleTimeout)
            }
            return (partialSince + configuration.frameTimeout, .frameTimeout)
        }
    }
}

/// The state of a connection's handshake.
final class ServerHandshake {
    let begunAt: Instant
    var hello: Hello?
    /// The instant at which the authentication began.
    var askedAt = Instant.zero
    var challengeCount = 0
    /// The proven identity, during a transfer to the loop of the account.
    var admission: Admission?
    /// Bytes received behind the hello. While the connection is challenged, whole frames.
    var held: [UInt8] = []
    /// Whether frames are skipped until the next hello.
    var skipsFrames = false
    var resumeAttempts = 0
    /// Bytes in each direction, which bound the answers to an unauthenticated peer.
    var receivedByteCount = 0
    var sentByteCount = 0

    init(begunAt: Instant) {
        self.begunAt = begunAt
    }

    /// Whether a frame may be sent before welcome: no more than three times the received bytes (C-15).
    func maySend(bodyByteCount: Int) -> Bool {
        sentByteCount + FrameHeader.byteCount + bodyByteCount <= 3 * receivedByteCount
    }
}

/// The proven identity of a peer.
struct Admission {
    var hello: Hello
    var identity: Identity
    var grant: TokenGrant
    /// The digest of the token that was presented for a resume.
    var presented: TokenDigest?
    /// The last message of the authentication exchange.
    var final: Credential?

    var account: AccountName { identity.account }
    var device: DeviceKey { DeviceKey(account: account, device: hello.device) }
}

/// A connection during its transfer from the server of one loop to that of a different loop.
package struct TransferredConnection: @unchecked Sendable {  // the server that took it out no longer refers to it
    let connection: ServerConnection
}

/// A reference to a framer, which cannot be copied, for tables of connections and links.
///
/// The framer is accessed by address, because the runtime verifies the exclusivity of each access to a property of a
/// class.
@safe
final class FramerBox {
    private let memory = UnsafeMutablePointer<Framer>.allocate(capacity: 1)

    init(_ framer: consuming Framer) {
        unsafe memory.initialize(to: framer)
    }

    deinit {
        unsafe memory.deinitialize(count: 1)
        unsafe memory.deallocate()
    }

    var framer: Framer {
        @inline(__always) unsafeAddress { unsafe UnsafePointer(memory) }
        @inline(__always) unsafeMutableAddress { unsafe memory }
    }
}

// A framer belongs to one connection at a time, and all of them to one server.
extension FramerBox: @unchecked Sendable {}
