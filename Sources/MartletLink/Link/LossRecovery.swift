/// The timers of a connection on which frames or credit are awaited.
///
/// | timer | runs while | when it expires |
/// |---|---|---|
/// | `AckTimer` | frames are unacknowledged | probe or retransmit, the third time replace the connection |
/// | `ackTimeout` | frames are unacknowledged | end the connection (S-30) |
/// | overdue | frames of a client are unacknowledged on a stream | another connection may be faster (C-63) |
/// | `CreditProbe` | frames wait for credit alone | probe |
///
/// All but the last end when every frame is acknowledged, reset or named by a resume (`stop`, S-29).
struct LossRecovery: Sendable {
    /// The answer to a deadline that has passed.
    enum OnDeadline: Equatable {
        case none
        /// Send a ping that requests an acknowledgement.
        case probe
        /// Send the overdue frames again.
        case retransmit
        case replaceConnection
        case ackTimeout
    }

    /// A ping that requests an acknowledgement (S-28).
    private struct Probe: Vacant {
        static var vacant: Probe { Probe(nonce: 0, sentAt: .vacant) }

        var nonce: UInt64
        var sentAt: Instant
    }

    var ackTimer = AckTimer()
    var creditProbe = CreditProbe()
    @CompactOptional private var probe: Probe? = nil
    @CompactOptional private(set) var overdueDeadline: Instant? = nil
    /// The instant at which the wait for an acknowledgement of a new frame ends (S-30).
    private var progressDeadline: Instant
    /// Whether output waited for room of the carrier when the acknowledgement timer last expired.
    private var wasWaitingForRoom = false

    init(now: Instant) {
        progressDeadline = now + Link.ackTimeout
    }

    /// The latest instant at which the peer acknowledged a new frame, or at which the wait for that began.
    var lastProgress: Instant { progressDeadline + (.zero - Link.ackTimeout) }

    /// The earliest instant at which `deadlinePassed` or `overduePassed` is to be called.
    @inline(__always)
    func deadline(hasUnacknowledged: Bool) -> Instant? {
        let end = hasUnacknowledged ? progressDeadline : nil
        return ackTimer.deadline.orEarlier(creditProbe.deadline).orEarlier(end).orEarlier(overdueDeadline)
    }

    var isQuiescent: Bool { ackTimer.deadline == nil && creditProbe.deadline == nil && overdueDeadline == nil }

    // MARK: Sending

    /// Bytes were written.
    @inline(__always)
    mutating func noteOutput() {
        guard wasWaitingForRoom else { return }
        // A stream takes more bytes only after the peer took some, which is a sign of life (S-29).
        wasWaitingForRoom = false
        ackTimer.heard()
    }

    /// The first of the frames that are unacknowledged now was sent.
    mutating func startAckTimer(now: Instant, timeout: Duration) {
        progressDeadline = now + Link.ackTimeout
        ackTimer.sent(now: now, timeout: timeout)
    }

    /// The client waits for progress, for at most `interval`; nil for no wait.
    mutating func startOverdueTimer(now: Instant, interval: Duration?) {
        overdueDeadline = interval.map { now + $0 }
    }

    /// Notes the nonce of a ping that requests an acknowledgement.
    mutating func noteProbe(_ nonce: UInt64, now: Instant) {
        probe = Probe(nonce: nonce, sentAt: now)
    }

    // MARK: Receiving

    /// The peer acknowledged a new frame.
    mutating func noteProgress(now: Instant, timeout: Duration, hasUnacknowledged: Bool) {
        progressDeadline = now + Link.ackTimeout
        probe = nil
        ackTimer.progressed(now: now, timeout: timeout, hasUnacknowledged: hasUnacknowledged)
    }

    /// The link continues on this connection.
    mutating func noteResume(now: Instant) {
        progressDeadline = now + Link.ackTimeout
    }

    /// Returns the instant of the probe that this pong answers.
    mutating func takePong(_ nonce: UInt64) -> Instant? {
        guard let probe, probe.nonce == nonce else { return nil }
        self.probe = nil
        return probe.sentAt
    }

    /// No frame is unacknowledged any more (S-29).
    mutating func stop() {
        ackTimer.stop()
        overdueDeadline = nil
        probe = nil
    }

    // MARK: Time

    mutating func deadlinePassed(
        now: Instant, timeout: Duration, isReliableCarrier: Bool, hasUnacknowledged: Bool, isWaitingForRoom: Bool
    ) -> OnDeadline {
        if hasUnacknowledged, progressDeadline <= now { return .ackTimeout }  // S-30
        let isProbeDue = creditProbe.expired(now: now, timeout: timeout, isReliableCarrier: isReliableCarrier)
        let answer = ackTimer.expired(now: now, timeout: timeout, isReliableCarrier: isReliableCarrier)
        if answer == .probe { wasWaitingForRoom = isWaitingForRoom }
        return isProbeDue && answer == .none ? .probe : answer
    }

    /// Whether the client has waited for too long. The next check is after half of `interval`.
    mutating func overduePassed(now: Instant, interval: Duration) -> Bool {
        guard let deadline = overdueDeadline, deadline <= now else { return false }
        overdueDeadline = now + interval / 2
        return true
    }
}

/// The timer of unacknowledged frames (RFC 6298 §5, RFC 9002 §6.2, adapted to reliable carriers).
///
/// On a carrier without order an expiry sends frames again at once. On a reliable carrier the frame is in flight or the
/// connection is dead, so the first expiry sends a ping: a pong with the frame still missing sends it again, silence
/// replaces the connection. Each expiry doubles the timeout (S-29).
///
/// | state | ends with |
/// |---|---|
/// | idle: no frame is unacknowledged | `sent` |
/// | armed | `progressed` without unacknowledged frames, `stop` |
/// | expired once or twice in silence | `heard`, `progressed`, `stop`; the third expiry replaces the connection |
struct AckTimer: Equatable, Sendable {
    /// Expiries in a row, without a frame from the peer between them, after which the connection is replaced.
    static let maxExpiries: UInt8 = 3

    @CompactOptional private(set) var deadline: Instant? = nil
    private(set) var expiries: UInt8 = 0
    private var heardSinceExpiry = false

    /// A frame that is to be acknowledged was sent.
    mutating func sent(now: Instant, timeout: Duration) {
        if deadline == nil { deadline = now + backedOff(timeout) }
    }

    /// The peer acknowledged a new frame.
    mutating func progressed(now: Instant, timeout: Duration, hasUnacknowledged: Bool) {
        expiries = 0
        deadline = hasUnacknowledged ? now + timeout : nil
    }

    /// A frame arrived.
    mutating func heard() {
        heardSinceExpiry = true
    }

    mutating func stop() {
        self = AckTimer()
    }

    mutating func expired(now: Instant, timeout: Duration, isReliableCarrier: Bool) -> LossRecovery.OnDeadline {
        guard let deadline, deadline <= now else { return .none }
        expiries = heardSinceExpiry ? 1 : expiries + 1
        heardSinceExpiry = false
        if expiries >= AckTimer.maxExpiries { return .replaceConnection }
        self.deadline = now + backedOff(timeout)
        return isReliableCarrier ? .probe : .retransmit
    }

    private func backedOff(_ timeout: Duration) -> Duration {
        .nanoseconds(timeout.nanoseconds << min(expiries, 6))
    }
}

/// The timer of frames that wait for credit alone (RFC 9293 §3.8.6.1, zero-window probing; S-41).
///
/// Credit arrives with acknowledgements. When every frame is acknowledged and the frame with the credit was lost, no
/// further acknowledgement follows, so the blocked side sends a ping. A consumer may be slow for hours, so the interval
/// doubles up to `maxInterval`. On a carrier without order, the probe or its answer may be lost, so the interval after
/// an unanswered probe is at most `maxUnansweredInterval`.
struct CreditProbe: Equatable, Sendable {
    /// The maximum interval between two probes.
    static let maxInterval: Duration = .seconds(60)
    /// The maximum interval after a probe that may have been lost.
    static let maxUnansweredInterval: Duration = .seconds(5)

    @CompactOptional private(set) var deadline: Instant? = nil
    private var count: UInt8 = 0
    private var isAnswered = false

    var isRunning: Bool { deadline != nil }

    mutating func update(isBlocked: Bool, now: Instant, timeout: Duration) {
        if !isBlocked {
            self = CreditProbe()
        } else if deadline == nil {
            deadline = now + timeout
        }
    }

    /// An ack named a session that is blocked.
    mutating func noteAnswer() { isAnswered = isRunning }

    /// Whether a probe is to be sent now.
    mutating func expired(now: Instant, timeout: Duration, isReliableCarrier: Bool) -> Bool {
        guard let deadline, deadline <= now else { return false }
        let limit =
            isReliableCarrier || isAnswered ? CreditProbe.maxInterval : CreditProbe.maxUnansweredInterval
        isAnswered = false
        count = min(count + 1, 6)
        self.deadline = now + min(timeout * (1 << count), limit)
        return true
    }
}
