/// The machine that verifies that the peer of an established connection is alive (Specs/hostile.md row 27).
///
/// | state | meaning | left by |
/// |---|---|---|
/// | idle | a frame was received recently | silence for the interval: a ping; suspension |
/// | probing | one or two pings are unanswered | any frame: idle; ``probeCount`` unanswered pings: dead |
/// | suspended | no pings are sent, and the peer does not count as dead | any other mode: a ping |
/// | dead | the connection must be replaced | ``restart(now:)`` on the next connection |
///
/// Any frame proves that the peer is alive, so a ping is sent only after silence. While an answer is expected, the
/// silence before a ping is at most ``maxSilenceWhenExpecting``. A dead peer is then detected two probe timeouts later,
/// after at most 8.8 s. Otherwise it is detected 4.8 s after the current interval (C-47).
package struct Heartbeat: Equatable, Sendable {
    /// The number of consecutive unanswered pings after which the peer counts as dead.
    package static let probeCount = 2  // bound
    /// The minimum timeout of a ping. A sleeping radio needs up to this duration to wake up.
    package static let minProbeTimeout = Duration.seconds(2)
    /// The maximum timeout of a ping. Two of them are shorter than 5 s.
    package static let maxProbeTimeout = Duration.milliseconds(2400)
    /// The maximum silence before a ping while a frame is unacknowledged.
    package static let maxSilenceWhenExpecting = Duration.seconds(4)
    /// The minimum delay of a timer from which the machine concludes that the process was suspended. The silence of
    /// that time is no evidence against the peer (C-51, Specs/hostile.md row 26).
    package static let suspensionThreshold = Duration.seconds(5)

    /// The result of an event.
    package enum Answer: Hashable, Sendable {
        /// There is nothing to do.
        case none
        /// The owner sends a ping with this nonce.
        case sendPing(nonce: UInt64)
        /// The peer counts as dead, and the owner replaces the connection. The machine reports this once.
        case dead
    }

    /// The result of a pong.
    package enum PongAnswer: Hashable, Sendable {
        /// The pong answers a ping after the duration `roundTrip`. Before the ping, neither endpoint had sent a frame
        /// for `silence`.
        case answered(roundTrip: Duration, silence: Duration)
        /// The nonce belongs to none of the latest pings. Like any frame, the pong proves that the peer is alive.
        case unknown
    }

    fileprivate struct Ping: Equatable, Sendable {
        var nonce: UInt64
        var sentAt: Instant
    }

    private enum State: CaseIterable, Sendable {
        case idle
        case probing
        case dead
    }

    private var parts: HeartbeatInterval
    private var probeTimeout = minProbeTimeout
    private var jitter: UInt64
    private var interval: Duration?
    private var state = State.idle
    private var lastReceived: Instant
    private var lastSent: Instant
    private var expectingSince: Instant?
    private var pings: [Ping] = []
    /// The duration without frames in both directions before the first of the current or latest pings.
    package private(set) var probedSilence = Duration.zero

    /// Creates the machine of a connection.
    ///
    /// - Parameters:
    ///   - mode: The use of the application.
    ///   - strategy: The strategy of the heartbeat.
    ///   - now: The instant at which the connection was established.
    ///   - random: 64 uniform random bits for the jitter of the first interval.
    package init(
        mode: HeartbeatMode = .foreground, strategy: HeartbeatStrategy = .balanced, now: Instant, random: UInt64
    ) {
        parts = HeartbeatInterval(mode: mode, strategy: strategy)
        jitter = random
        interval = parts.duration(random: random)
        lastReceived = now
        lastSent = now
    }

    /// The use of the application.
    package var mode: HeartbeatMode { parts.mode }

    /// The silence before a ping while no answer is expected; nil while suspended.
    package var currentInterval: Duration? { interval }

    /// The instant of the next call of ``deadlinePassed(now:random:)``; nil while suspended or dead.
    package var deadline: Instant? {
        guard let interval, state != .dead else { return nil }
        if state == .probing, let last = pings.last { return last.sentAt + probeTimeout }
        let idleDeadline = lastReceived + interval
        guard let expectingSince else { return idleDeadline }
        return min(idleDeadline, max(lastReceived, expectingSince) + Self.maxSilenceWhenExpecting)
    }

    /// Restarts the machine on a connection that is established at `now`. The mode, the strategy and the properties of
    /// the path remain.
    package mutating func restart(now: Instant) {
        state = .idle
        pings = []
        lastReceived = now
        expectingSince = nil
    }

    /// Reports a received frame of any type (C-46).
    package mutating func received(now: Instant) {
        lastReceived = now
        if state == .probing { state = .idle }
    }

    /// Reports a sent frame of any type.
    package mutating func sent(now: Instant) {
        lastSent = now
    }

    /// Reports a received pong, as an addition to ``received(now:)``.
    package mutating func pongReceived(nonce: UInt64, now: Instant) -> PongAnswer {
        received(now: now)
        guard let ping = pings.first(where: { $0.nonce == nonce }) else { return .unknown }
        pings = []
        return .answered(roundTrip: now - ping.sentAt, silence: probedSilence)
    }

    /// Reports whether a sent frame waits for an acknowledgement or a response.
    package mutating func expectReply(_ isExpected: Bool, now: Instant) {
        if !isExpected {
            expectingSince = nil
        } else if expectingSince == nil {
            expectingSince = now
        }
    }

    /// Reports the smoothed round-trip time, and the retransmission timeout without backoff.
    package mutating func setRoundTrip(smoothed: Duration?, timeout: Duration) {
        parts.roundTrip = smoothed
        probeTimeout = (timeout * 2).clamped(to: Self.minProbeTimeout...Self.maxProbeTimeout)
        interval = parts.duration(random: jitter)
    }

    /// Sets the maximum interval, determined by the NAT's idle timeout and the server's hint; nil for no maximum.
    package mutating func setLimit(_ limit: Duration?) {
        parts.limit = limit
        interval = parts.duration(random: jitter)
    }

    /// Reports the use of the application. The change to the foreground, and the end of suspension, cause a ping at
    /// once. The start of suspension discards the unanswered pings.
    ///
    /// - Returns: The next step of the owner.
    package mutating func setMode(_ mode: HeartbeatMode, now: Instant, random: UInt64) -> Answer {
        let old = parts.mode
        parts.mode = mode
        interval = parts.duration(random: jitter)
        guard mode != old, state != .dead else { return .none }
        if mode == .suspended {
            state = .idle
            pings = []
            return .none
        }
        return mode == .foreground || old == .suspended ? firstPing(now: now, random: random) : .none
    }

    /// Sends a ping at once because the path has changed. The method has no effect while probing, suspended or dead.
    package mutating func probe(now: Instant, random: UInt64) -> Answer {
        guard state == .idle, interval != nil else { return .none }
        return firstPing(now: now, random: random)
    }

    /// Sends a ping at once because the process was suspended. The time of suspension does not count as silence (C-51).
    package mutating func wake(now: Instant, random: UInt64) -> Answer {
        guard state != .dead, interval != nil else { return .none }
        return firstPing(now: now, random: random)
    }

    /// Sends the next ping, or reports the peer as dead, if ``deadline`` is at or before `now`.
    ///
    /// - Parameters:
    ///   - now: The current instant.
    ///   - random: 64 uniform random bits for the nonce and the jitter of the next interval.
    package mutating func deadlinePassed(now: Instant, random: UInt64) -> Answer {
        guard let deadline, deadline <= now else { return .none }
        if state == .idle || now - deadline >= Self.suspensionThreshold { return firstPing(now: now, random: random) }
        guard pings.count < Self.probeCount else {
            state = .dead
            return .dead
        }
        return ping(now: now, random: random)
    }

    private mutating func firstPing(now: Instant, random: UInt64) -> Answer {
        probedSilence = now - max(lastReceived, lastSent)
        jitter = random
        interval = parts.duration(random: random)
        state = .probing
        pings = []
        return ping(now: now, random: random)
    }

    private mutating func ping(now: Instant, random: UInt64) -> Answer {
        pings.append(Ping(nonce: random, sentAt: now))
        lastSent = now
        return .sendPing(nonce: random)
    }
}

extension Heartbeat {
    /// What the frames of a connection change: the silence, and what the heartbeat knows about the path.
    struct Activity: Equatable, Sendable {
        var isProbing = false
        var received = Instant.zero
        var sent = Instant.zero
        var expectingSince: Instant?
        var roundTrip: Duration?
        var probeTimeout = Duration.zero
        var limit: Duration?
    }

    var activity: Activity {
        get {
            Activity(
                isProbing: state == .probing, received: lastReceived, sent: lastSent, expectingSince: expectingSince,
                roundTrip: parts.roundTrip, probeTimeout: probeTimeout, limit: parts.limit)
        }
        set {
            if !newValue.isProbing, state == .probing { state = .idle }
            (lastReceived, lastSent, expectingSince) = (newValue.received, newValue.sent, newValue.expectingSince)
            (parts.roundTrip, parts.limit, probeTimeout) = (newValue.roundTrip, newValue.limit, newValue.probeTimeout)
            interval = parts.duration(random: jitter)
        }
    }
}

extension Heartbeat: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try parts.archive(&archive)
        try jitter.archive(&archive)
        try archive.choice(&state)
        var activity = activity
        try activity.archive(&archive)
        if archive.isReading { self.activity = activity }
        try archive.list(&pings, Ping(nonce: 0, sentAt: .zero), upTo: Self.probeCount)
        try probedSilence.archive(&archive)
    }
}

extension Heartbeat.Activity: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try isProbing.archive(&archive)
        try received.archive(&archive)
        try sent.archive(&archive)
        try archive.optional(&expectingSince, .zero)
        try archive.optional(&roundTrip, .zero)
        try probeTimeout.archive(&archive)
        try archive.optional(&limit, .zero)
    }
}

extension Heartbeat.Ping: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try nonce.archive(&archive)
        try sentAt.archive(&archive)
    }
}
