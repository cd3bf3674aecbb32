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

    let generation: UInt32
    let carrier: Carrier
    let acceptedAt: Instant
    let framer: FramerBox
    var phase = Phase.awaitingHello
    var hello: Hello?
    /// What was read behind the hello.
    var held: [UInt8] = []
    var isPassingOver = false
    var resumeTries = 0
    var receivedByteCount = 0
    var sentByteCount = 0
    /// Handshake frames and a goaway that wait to be written.
    var outbox = HandshakeQueue()
    /// Since when `transmit` has been asked for and not called.
    var transmitAskedAt: Instant?
    var lastReceived: Instant
    /// Since when a frame has been incomplete.
    var partialSince: Instant?
    /// When the engine looks at the deadline: not later than it is due.
    var armedAt: Instant?

    init(generation: UInt32, carrier: Carrier, now: Instant) {
        self.generation = generation
        self.carrier = carrier
        acceptedAt = now
        lastReceived = now
        framer = FramerBox(Framer(maxBodyByteCount: Limits.maxHandshakeBodyByteCount))
    }

    var linkSlot: Int? {
        if case .attached(let link) = phase { return link }
        return nil
    }

    /// When something is due, and what it is called when it is (C-10, C-60).
    func deadline(_ configuration: RelayConfiguration) -> (at: Instant, code: ErrorCode)? {
        var due: (at: Instant, code: ErrorCode)
        switch phase {
        case .closing: return nil
        case .awaitingHello where resumeTries == 0:
            due = (acceptedAt + configuration.handshakeTimeout, .handshakeTimeout)
        case .awaitingHello, .authenticating:
            due = (acceptedAt + configuration.authTimeout, .authTimeout)
        case .attached:
            due = (lastReceived + configuration.idleTimeout, .idleTimeout)
            if let partialSince { due = earlier(due, (partialSince + configuration.frameTimeout, .frameTimeout)) }
            if let transmitAskedAt {
                due = earlier(due, (transmitAskedAt + configuration.slowConsumerTimeout, .slowConsumer))
            }
        }
        return due
    }

    private func earlier(
        _ left: (at: Instant, code: ErrorCode), _ right: (at: Instant, code: ErrorCode)
    ) -> (at: Instant, code: ErrorCode) {
        right.at < left.at ? right : left
    }
}

/// Gives a framer, which cannot be copied, a place in an array of connections.
final class FramerBox {
    var framer: Framer

    init(_ framer: consuming Framer) {
        self.framer = framer
    }
}
