import MartletWire

/// The guarantees of the layer below.
package enum Carrier: UInt8, Sendable {
    /// A stream: bytes arrive in order and without gaps (TCP, TLS).
    case reliable
    /// Datagrams: frames may be lost, repeated and reordered (UDP, DTLS).
    case unreliable
}

/// The state of a link that belongs to one connection. A new connection replaces it as a whole (S-33).
///
/// | state | carrier | frames of sessions |
/// |---|---|---|
/// | detached | nil | none |
/// | early | present | within `earlyBudget`, until the peer answers the hello (C-16) |
/// | confirmed | present | within credit and the flight window |
struct LinkConnection: Sendable {
    let carrier: Carrier?
    /// Bytes that may still be sent before the peer answers the hello; nil after the answer.
    @CompactOptional private var earlyBudget: Int? = nil
    var control = ControlQueue()
    var acks = AckSchedule()
    var packets = PacketOutput()
    var recovery: LossRecovery
    var flight = FlightWindow()
    var scheduler = FairScheduler()

    /// The state between connections.
    init() {
        carrier = nil
        recovery = LossRecovery(now: .zero)
    }

    init(_ carrier: Carrier, isEarly: Bool, now: Instant) {
        self.carrier = carrier
        recovery = LossRecovery(now: now)
        if isEarly { earlyBudget = Link.earlyByteCount }
    }

    @inline(__always)
    var isEarly: Bool { earlyBudget != nil }

    /// Whether a class of sessions that may send has work.
    @inline(__always)
    func hasFrames(now: Instant) -> Bool {
        earlyBudget != 0 && scheduler.hasWork(allowsBulk: flight.allows(at: now))
    }

    /// The instant at which bulk continues that only pacing delays; nil after it has been noted, when bulk waits only
    /// for room of the carrier.
    var pacingDeadline: Instant? {
        earlyBudget != 0 && scheduler.hasBulkWork ? flight.pacingDeadline : nil
    }

    /// Whether the early budget allows a frame of this size. The first frame beyond it ends the early phase (C-16).
    mutating func allows(byteCount: Int) -> Bool {
        guard let budget = earlyBudget, byteCount > budget else { return true }
        earlyBudget = 0
        return false
    }

    /// Charges a written frame to the early budget, if there is one.
    mutating func charge(byteCount: Int) {
        if let budget = earlyBudget { earlyBudget = budget - byteCount }
    }

    /// The peer has answered the hello.
    mutating func confirm() {
        earlyBudget = nil
    }

    /// Removes a session that has ended.
    mutating func remove(_ slot: Int, priority: Priority, _ marks: Session.Marks, inFlight byteCount: Int) {
        if priority.isBulk { flight.abandoned(byteCount) }
        scheduler.remove(slot, priority: priority)
        if marks.needsAck { acks.remove(slot) }
        if marks.isBlocked { scheduler.unblock(slot) }
    }

    // MARK: Idle

    var hasIdleMemory: Bool { control.slotCount + acks.slots.slotCount > 0 || scheduler.hasMemory }

    mutating func releaseIdleMemory() {
        control.releaseIfEmpty()
        acks.releaseIdleMemory()
        scheduler.releaseIdleMemory()
    }
}

/// Frames of a connection that belong to no session's sequence: pings, pongs and goaway.
struct ControlQueue: Sendable {
    struct Frame: Sendable {
        let type: FrameType
        let flags: FrameFlags
        let body: EncodedBody
    }

    private var frames = Deque<Frame>()
    /// The number of pings without a pong.
    private var pongsDue = 0

    var isEmpty: Bool { frames.isEmpty }
    var count: Int { frames.count }
    var slotCount: Int { frames.slotCount }
    var first: Frame? { frames.first }

    mutating func append(_ type: FrameType, flags: FrameFlags = [], _ body: EncodedBody) {
        if type == .ping { pongsDue += 1 }
        frames.append(Frame(type: type, flags: flags, body: body))
    }

    /// Queues a pong, unless `Link.maxQueuedPongs` of them are queued (Specs/hostile.md row 17).
    mutating func appendPong(_ pong: Pong) {
        guard frames.reduce(0, { $0 + ($1.type == .pong ? 1 : 0) }) < Link.maxQueuedPongs else { return }
        append(.pong, EncodedBody(pong.encode()))
    }

    mutating func removeFirst() {
        _ = frames.popFirst()
    }

    /// Counts a pong; false when it answers no ping of this connection.
    mutating func takePong() -> Bool {
        guard pongsDue > 0 else { return false }
        pongsDue -= 1
        return true
    }

    mutating func releaseIfEmpty() {
        frames.releaseIfEmpty()
    }
}

/// The writer of packets, and its deflate stream (Specs/wire.md §15).
///
/// | state of the stream | ends with |
/// |---|---|
/// | none | compressed output |
/// | open | its instant has passed without compressed output (W-94) |
/// | ending | the end of the stream is written |
struct PacketOutput: Sendable {
    private enum Stream: Equatable {
        case none
        case open(until: Instant)
        case ending
    }

    /// The writer; nil before the first packet.
    private(set) var writer: PacketWriter?
    private var stream = Stream.none
    /// Whether packets pass through a deflate stream, if the peer reads one.
    var deflates = false

    @inline(__always)
    var deadline: Instant? {
        if case .open(let until) = stream { until } else { nil }
    }

    @inline(__always)
    var isEnding: Bool { stream == .ending }

    /// Returns the writer for output. The end of the stream is written first, if it is due.
    ///
    /// - Parameter size: the size of a deflate stream; nil if the peer does not read one.
    mutating func begin(size: DeflateStream.Size?, into out: inout OutputRawSpan) -> PacketWriter {
        let writer = writer ?? PacketWriter(deflates: deflates ? size : nil)
        self.writer = writer
        if isEnding, out.freeCapacity >= PacketWriter.endByteCount {
            writer.endStream(into: &out)
            stream = .none
        }
        return writer
    }

    /// Compressed output was written.
    mutating func noteStream(now: Instant) {
        stream = .open(until: now + Link.streamLifetime)
    }

    mutating func deadlinePassed(now: Instant) {
        if let deadline, deadline <= now { stream = .ending }
    }
}
