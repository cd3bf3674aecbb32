/// What becomes of frames that are not acknowledged in time (RFC 6298 §5, RFC 9002 §6.2, with Martlet's reliable
/// carriers).
///
/// On a carrier that is not reliable an expiry sends again at once. On a reliable carrier the frame is either on its
/// way or the connection is dead, so the first expiry asks with a ping: a pong with the frame still missing sends it
/// again, silence replaces the connection. Each expiry doubles the timeout; the third in a row without a sign of life
/// ends the connection. States: idle (nothing outstanding), armed (a deadline), probing (a ping is out). All that is
/// owned is the deadline and a count (S-29).
struct AckTimer: Equatable, Sendable {
    /// Expiries in a row, without a frame from the peer between them, after which the connection is replaced.
    static let maxExpiries: UInt8 = 3

    enum OnExpiry: Equatable {
        case none
        case probe
        case sendAgain
        case replaceConnection
    }

    @Compact private(set) var deadline: Instant? = nil
    private(set) var expiries: UInt8 = 0
    private var heardSinceExpiry = false

    /// Something that wants an acknowledgement was sent.
    mutating func sent(now: Instant, timeout: Duration) {
        if deadline == nil { deadline = now + backedOff(timeout) }
    }

    /// The peer acknowledged something new.
    mutating func progressed(now: Instant, timeout: Duration, hasOutstanding: Bool) {
        expiries = 0
        deadline = hasOutstanding ? now + timeout : nil
    }

    /// Any frame arrived.
    mutating func heard() {
        heardSinceExpiry = true
    }

    mutating func stop() {
        self = AckTimer()
    }

    mutating func expired(now: Instant, timeout: Duration, isReliableCarrier: Bool) -> OnExpiry {
        guard let deadline, deadline <= now else { return .none }
        expiries = heardSinceExpiry ? 1 : expiries + 1
        heardSinceExpiry = false
        if expiries >= AckTimer.maxExpiries { return .replaceConnection }
        self.deadline = now + backedOff(timeout)
        return isReliableCarrier ? .probe : .sendAgain
    }

    private func backedOff(_ timeout: Duration) -> Duration {
        .nanoseconds(timeout.nanoseconds << min(expiries, 6))
    }
}
