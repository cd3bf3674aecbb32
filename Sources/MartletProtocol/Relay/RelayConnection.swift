import MartletWire

/// One connection at the relay, from accept to close (C-8).
///
/// Phases and exits:
///
///     awaitingHello ──hello──► authenticating ──accepted──► attached ──end, fault, fenced──► closing
///          ▲                        │ refused: closing
///          └──── resume refused ────┘ (early frames of the refused link are passed over)
///
/// While authenticating nothing is parsed: what came behind the hello waits, at most one read's worth, and reading is
/// paused.
struct RelayConnection {
    enum Phase: Equatable {
        case awaitingHello
        case authenticating
        case attached(link: Int)
        case closing
    }

    /// Bytes kept behind a hello at the most, while nobody knows who it is; a client may send half of them early
    /// (`Specs/wire.md` W-35).
    static let maxHeldByteCount = 2 * Link.earlyByteCount

    private(set) var generation: UInt32
    let carrier: Carrier
    private var stage = Stage.awaitingHello
    /// Whether the engine has it among those that it asked for bytes.
    var isAmongAsked = false
    /// Whether input of it waits to be read on.
    var hasUnread = false
    /// The link's slot while the stage is `attached`.
    private var attachedSlot: Int32 = 0
    /// How long a body may be, in bytes.
    var maxBodyByteCount = UInt32(Limits.maxHandshakeBodyByteCount)
    /// What counts before a link is attached; nil from then on.
    var entry: ConnectionEntry?
    /// What there is of an incomplete frame; between frames the engine's framer serves. Where packets may come, the
    /// link has the framer.
    var framer: FramerBox?
    /// Handshake frames and a goaway that wait to be written.
    var outbox = HandshakeQueue()
    /// What it has given that its carrier has not taken yet, in bytes.
    private(set) var unsentByteCount: UInt32 = 0
    /// What the engine's ledger was told that it holds, in bytes.
    private(set) var chargedByteCount: UInt32 = 0
    var lastReceived: Instant
    private var asked = Instant.distantFuture
    private var partial = Instant.distantFuture
    private var armed = Instant.distantFuture

    private enum Stage: UInt8 {
        case awaitingHello
        case authenticating
        case attached
        case closing
    }

    init(generation: UInt32, carrier: Carrier, now: Instant) {
        self.generation = generation
        self.carrier = carrier
        lastReceived = now
        entry = ConnectionEntry(acceptedAt: now)
    }

    var phase: Phase {
        get {
            switch stage {
            case .awaitingHello: .awaitingHello
            case .authenticating: .authenticating
            case .attached: .attached(link: Int(attachedSlot))
            case .closing: .closing
            }
        }
        set {
            switch newValue {
            case .awaitingHello: stage = .awaitingHello
            case .authenticating: stage = .authenticating
            case .attached(let link): (stage, attachedSlot, entry) = (.attached, Int32(link), nil)
            case .closing: stage = .closing
            }
        }
    }

    @inline(__always)
    var linkSlot: Int? { stage == .attached ? Int(attachedSlot) : nil }

    /// Since when `transmit` has been asked for and not called.
    @inline(__always)
    var transmitAskedAt: Instant? {
        get { asked == .distantFuture ? nil : asked }
        set { asked = newValue ?? .distantFuture }
    }

    /// Since when a frame has been incomplete.
    var partialSince: Instant? {
        get { partial == .distantFuture ? nil : partial }
        set { partial = newValue ?? .distantFuture }
    }

    /// When the engine looks at the deadline: not later than it is due.
    var armedAt: Instant? {
        get { armed == .distantFuture ? nil : armed }
        set { armed = newValue ?? .distantFuture }
    }

    /// What a connection was when it was asked for bytes.
    enum OnAsk {
        /// It was asked before and has not given any.
        case isWaiting
        /// It has, and is among those that were asked in this turn.
        case isAmongAsked
        case isNew
    }

    mutating func ask(_ now: Instant) -> OnAsk {
        guard asked == .distantFuture else { return .isWaiting }
        asked = now
        defer { isAmongAsked = true }
        return isAmongAsked ? .isAmongAsked : .isNew
    }

    /// From now on bodies may have so many bytes.
    mutating func limitBodies(to byteCount: Int) {
        maxBodyByteCount = UInt32(byteCount)
        framer?.framer.maxBodyByteCount = byteCount
    }

    /// Its carrier has so much left of what it was given; how much more the connection holds with that, in bytes.
    mutating func noteUnsent(_ byteCount: Int) -> Int {
        unsentByteCount = UInt32(clamping: byteCount)
        return takeChargeChange()
    }

    /// How much more its framer and its carrier hold than when it was asked last, in bytes.
    mutating func takeChargeChange() -> Int {
        let byteCount = (framer?.framer.storageByteCount ?? 0) + Int(unsentByteCount)
        defer { chargedByteCount = UInt32(clamping: byteCount) }
        return byteCount - Int(chargedByteCount)
    }

    /// Begins anew on another loop.
    mutating func move(generation: UInt32) {
        chargedByteCount = 0
        self.generation = generation
        isAmongAsked = false
        transmitAskedAt = nil
        armedAt = nil
    }

    /// When something is due, and what it is called when it is (C-10, C-60).
    ///
    /// Mutating although it changes nothing: a connection that is only read is copied out of the table first.
    mutating func deadline(_ configuration: RelayConfiguration) -> (at: Instant, code: ErrorCode)? {
        var due: (at: Instant, code: ErrorCode)
        switch stage {
        case .closing: return nil
        case .awaitingHello, .authenticating:
            guard let entry else { return nil }
            if stage == .awaitingHello, entry.resumeTries == 0 {
                due = (entry.acceptedAt + configuration.handshakeTimeout, .handshakeTimeout)
            } else {
                due = (entry.acceptedAt + configuration.authTimeout, .authTimeout)
            }
        case .attached:
            due = (lastReceived + configuration.idleTimeout, .idleTimeout)
            if let partialSince { due = earlier(due, (partialSince + configuration.frameTimeout, .frameTimeout)) }
        }
        return due
    }

    private func earlier(
        _ left: (at: Instant, code: ErrorCode), _ right: (at: Instant, code: ErrorCode)
    ) -> (at: Instant, code: ErrorCode) {
        right.at < left.at ? right : left
    }
}

/// What a connection keeps until its link is attached.
final class ConnectionEntry {
    let acceptedAt: Instant
    var hello: Hello?
    /// When it was asked whether the hello's credential holds.
    var askedAt = Instant.zero
    /// Who it is, on the way to the loop of the account.
    var admission: Admission?
    /// What was read behind the hello.
    var held: [UInt8] = []
    /// Whether frames are passed over until the next hello.
    var isPassingOver = false
    var resumeTries = 0
    /// Bytes either way: before authentication little is said to who said little.
    var receivedByteCount = 0
    var sentByteCount = 0

    init(acceptedAt: Instant) {
        self.acceptedAt = acceptedAt
    }
}

/// Gives a framer, which cannot be copied, a place in tables of connections and links.
final class FramerBox {
    var framer: Framer

    init(_ framer: consuming Framer) {
        self.framer = framer
    }
}

// One connection has it at a time, and one engine all of them.
extension FramerBox: @unchecked Sendable {}
