/// Finds out whether the peer of an established connection is still there (Specs/hostile.md row 27).
///
/// | state | means | left by |
/// |---|---|---|
/// | idle | the peer was heard of not long ago | silence for the interval: a ping; suspension |
/// | probing | a ping is out, or two | any frame: idle; ``probeCount`` unanswered: dead |
/// | suspended | nothing is sent and nothing is concluded | any other mode: a ping |
/// | dead | the connection has to be replaced | ``restart(now:)`` on the next one |
///
/// Any frame is proof of life, so a ping is sent only after silence. While an answer is expected the silence is at most
/// ``maxSilenceWhenExpecting``, and a dead peer is noticed that plus two probe timeouts later: 8.8 s. Otherwise it is
/// noticed 4.8 s after the current interval (C-47).
public struct Heartbeat: Equatable, Sendable {
    /// Pings in a row that may stay without any answer.
    public static let probeCount = 2
    /// The least time that an answer to a ping is given: a sleeping radio needs as much to wake.
    public static let minProbeTimeout = Duration.seconds(2)
    /// The most time that an answer to a ping is given: two of them stay below 5 s.
    public static let maxProbeTimeout = Duration.milliseconds(2400)
    /// The longest silence while something is unacknowledged.
    public static let maxSilenceWhenExpecting = Duration.seconds(4)
    /// A timer that comes this late slept with the process: what was not heard meanwhile proves nothing (C-51,
    /// Specs/hostile.md row 26).
    public static let suspensionThreshold = Duration.seconds(5)

    /// What an event led to.
    public enum Answer: Hashable, Sendable {
        /// Nothing to do.
        case none
        /// Send a ping with this nonce.
        case sendPing(nonce: UInt64)
        /// The peer is gone: replace the connection. Said once.
        case dead
    }

    /// What a pong was.
    public enum PongAnswer: Hashable, Sendable {
        /// The answer to a ping of ours, that long after it; the link had been silent both ways for `silence` before.
        case answered(roundTrip: Duration, silence: Duration)
        /// Its nonce belongs to none of the last pings; still a frame, and so proof of life.
        case unknown
    }

    private struct Ping: Equatable, Sendable {
        var nonce: UInt64
        var sentAt: Instant
    }

    private enum State: Equatable, Sendable {
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
    /// How long the link had been silent both ways before the first of the current or last pings.
    public private(set) var probedSilence = Duration.zero

    /// The heartbeat of a connection that is established at `now`; `random` is for the first interval's jitter.
    public init(
        mode: HeartbeatMode = .foreground, strategy: HeartbeatStrategy = .balanced, now: Instant, random: UInt64
    ) {
        parts = HeartbeatInterval(mode: mode, strategy: strategy)
        jitter = random
        interval = parts.duration(random: random)
        lastReceived = now
        lastSent = now
    }

    /// How the application is being used.
    public var mode: HeartbeatMode { parts.mode }

    /// The silence after which the peer is asked while no answer is expected; `nil` while suspended.
    public var currentInterval: Duration? { interval }

    /// When to call ``deadlinePassed(now:random:)``; `nil` while suspended and when dead.
    public var deadline: Instant? {
        guard let interval, state != .dead else { return nil }
        if state == .probing, let last = pings.last { return last.sentAt + probeTimeout }
        let unasked = lastReceived + interval
        guard let expectingSince else { return unasked }
        return min(unasked, max(lastReceived, expectingSince) + Self.maxSilenceWhenExpecting)
    }

    /// Starts over on a connection that is established at `now`; mode, strategy and what is known of the path stay.
    public mutating func restart(now: Instant) {
        state = .idle
        pings = []
        lastReceived = now
        expectingSince = nil
    }

    /// A frame of any type came (C-46).
    public mutating func received(now: Instant) {
        lastReceived = now
        if state == .probing { state = .idle }
    }

    /// A frame of any type went out.
    public mutating func sent(now: Instant) {
        lastSent = now
    }

    /// A pong came; this is ``received(now:)`` too.
    public mutating func pongReceived(nonce: UInt64, now: Instant) -> PongAnswer {
        received(now: now)
        guard let ping = pings.first(where: { $0.nonce == nonce }) else { return .unknown }
        pings = []
        return .answered(roundTrip: now - ping.sentAt, silence: probedSilence)
    }

    /// Whether something that was sent waits for an acknowledgement or a reply.
    public mutating func expectReply(_ isExpected: Bool, now: Instant) {
        if !isExpected {
            expectingSince = nil
        } else if expectingSince == nil {
            expectingSince = now
        }
    }

    /// What is known of the round trip: the smoothed time and the timeout without doubling.
    public mutating func setRoundTrip(smoothed: Duration?, timeout: Duration) {
        parts.roundTrip = smoothed
        probeTimeout = (timeout * 2).clamped(to: Self.minProbeTimeout...Self.maxProbeTimeout)
        interval = parts.duration(random: jitter)
    }

    /// The longest interval for other reasons (the NAT's idle limit, the server's hint), if there is one.
    public mutating func setLimit(_ limit: Duration?) {
        parts.limit = limit
        interval = parts.duration(random: jitter)
    }

    /// How eagerly a silent peer is asked.
    public mutating func setStrategy(_ strategy: HeartbeatStrategy) {
        parts.strategy = strategy
        interval = parts.duration(random: jitter)
    }

    /// The application is used otherwise. Coming to the foreground or out of suspension asks the peer at once; going
    /// into suspension forgets pings that are out.
    public mutating func setMode(_ mode: HeartbeatMode, now: Instant, random: UInt64) -> Answer {
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

    /// Asks the peer at once, because the path changed. Without effect while it is being asked already, while suspended
    /// and when dead.
    public mutating func probe(now: Instant, random: UInt64) -> Answer {
        guard state == .idle, interval != nil else { return .none }
        return firstPing(now: now, random: random)
    }

    /// The process woke after it had been frozen: asks the peer at once, and does not hold the time asleep against it
    /// (C-51).
    public mutating func wake(now: Instant, random: UInt64) -> Answer {
        guard state != .dead, interval != nil else { return .none }
        return firstPing(now: now, random: random)
    }

    /// Asks, asks again, or gives the peer up when ``deadline`` is at or before `now`. `random` gives the nonce and the
    /// next interval's jitter.
    public mutating func deadlinePassed(now: Instant, random: UInt64) -> Answer {
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
