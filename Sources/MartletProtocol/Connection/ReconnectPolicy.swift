/// Decides when to connect again.
///
/// | state | means | left by |
/// |---|---|---|
/// | idle | connected, connecting, or nothing wanted | a failure |
/// | waiting | an attempt is due at an instant | the instant, a new path, no path, the user |
/// | paused | no path, no timer | a path, the user |
/// | stopped | trying again would fail the same way | the user's resume |
///
/// A wait is drawn evenly below a ceiling that doubles from ``Configuration/base`` to ``Configuration/cap`` (full
/// jitter). It starts over only after a connection that stayed healthy, or on a new path, whose attempts say nothing
/// about those on the old one. What the server asked for is the least wait; only the user cuts it short (C-55).
///
/// After an established connection that the peer ended the ceiling begins at ``Configuration/peerClosedBase``. A link
/// that is resumed afterwards shows that the server has not failed, since it would have lost the link: then each such
/// end in a row begins at half the ceiling of the one before, down to ``Configuration/base``, until the server answers
/// with a new link or a connection lasts ``steadyAfter``.
public struct ReconnectPolicy: Equatable, Sendable {
    /// The longest wait that a server can ask for; what it asks beyond that is taken as this (C-57).
    public static let maxRetryAfter = Duration.seconds(3600)
    /// Redirects in a row that are followed; further ones count as failures (C-58).
    public static let maxRedirectCount = 5
    /// How long a connection must have lasted for its end by the peer to be taken for the server's failure again
    /// (C-55).
    public static let steadyAfter = Duration.seconds(60)

    /// The policy's numbers.
    public struct Configuration: Hashable, Sendable {
        /// The ceiling of the first wait; 250 ms by default.
        public var base: Duration
        /// The highest ceiling of a wait; 24 s by default.
        public var cap: Duration
        /// In place of `base` after the peer ended an established connection; 12 s by default.
        ///
        /// A server that dies or leaves ends everybody's connection in the same instant. Spread over 1 s, 10,000
        /// clients come back in that second; over 12 s, at most 1,300 in any second however long the server was away
        /// (C-55, Specs/hostile.md row 30).
        public var peerClosedBase: Duration
        /// How long a connection must have lasted for its end to count as the first failure; 1 s by default (C-56).
        public var healthyAfter: Duration
        /// How long a cellular or unknown path is given to settle before it is used.
        public var cellularDelay: Duration
        /// Attempts in a row that may fail; no limit when `nil`.
        public var maxAttemptCount: Int?

        /// The numbers given, the defaults for the others.
        public init(
            base: Duration = .milliseconds(250), cap: Duration = .seconds(24),
            peerClosedBase: Duration = .seconds(12), healthyAfter: Duration = .seconds(1),
            cellularDelay: Duration = .seconds(1), maxAttemptCount: Int? = nil
        ) {
            self.base = base
            self.cap = cap
            self.peerClosedBase = peerClosedBase
            self.healthyAfter = healthyAfter
            self.cellularDelay = cellularDelay
            self.maxAttemptCount = maxAttemptCount
        }
    }

    /// What the policy is doing, for the user to see.
    public enum State: Hashable, Sendable {
        /// Connected, connecting, or nothing wanted.
        case idle
        /// The next attempt is due then.
        case waiting(until: Instant, RetryReason)
        /// No attempt until the cause has gone.
        case paused(PauseReason)
        /// No attempt until the user resumes.
        case stopped(StopReason)
    }

    /// What an event led to.
    public enum Answer: Hashable, Sendable {
        /// Nothing changed.
        case none
        /// Connect now.
        case now(RetryReason)
        /// Connect then.
        case wait(until: Instant, RetryReason)
        /// Do not connect until told.
        case paused(PauseReason)
        /// Do not connect until the user resumes; tell the user why.
        case stopped(StopReason)
    }

    /// The policy's numbers.
    public let configuration: Configuration
    /// What the policy is doing.
    public private(set) var state = State.idle
    /// Attempts that failed in a row, the connection that was lost included.
    public private(set) var attempt = 0

    private var base: Duration
    /// What `base` becomes when the peer ends an established connection.
    private var peerClosedBase: Duration
    /// Whether the peer ended the last connection that was established.
    private var wasClosedByPeer = false
    private var path: PathStatus?
    private var establishedAt: Instant?
    private var notBefore = Instant.zero
    private var refusedCredentialCount = 0
    private var redirectCount = 0

    /// A policy that is idle; until a path is reported it takes one to be there.
    public init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        base = configuration.base
        peerClosedBase = configuration.peerClosedBase
    }

    /// When the next attempt is due, if the policy waits for an instant.
    public var deadline: Instant? {
        if case .waiting(let until, _) = state { until } else { nil }
    }

    /// The server said welcome.
    ///
    /// - Parameter resumed: whether the link goes on, so that the server is the one that had it.
    public mutating func established(resumed: Bool = false, now: Instant) {
        if !resumed {
            peerClosedBase = configuration.peerClosedBase
        } else if wasClosedByPeer {
            peerClosedBase = max(configuration.base, peerClosedBase / 2)
        }
        wasClosedByPeer = false
        state = .idle
        establishedAt = now
        notBefore = .zero
        refusedCredentialCount = 0
    }

    /// An attempt failed or an established connection ended, and a connection is still wanted.
    public mutating func failed(_ failure: ConnectionFailure, now: Instant, random: UInt64) -> Answer {
        if let establishedAt {
            let age = now - establishedAt
            if age >= configuration.healthyAfter { startOver() }
            if age >= Self.steadyAfter { peerClosedBase = configuration.peerClosedBase }
            wasClosedByPeer = failure == .closedByPeer
        }
        if let spread = spread(after: failure) { base = max(configuration.base, spread) }
        establishedAt = nil
        if let reason = reasonToStop(after: failure) { return stop(reason) }
        switch failure {
        case .redirected(let retryAfter) where redirectCount < Self.maxRedirectCount:
            redirectCount += 1
            return schedule(at: serverAsked(retryAfter ?? .zero, now: now), .redirected, now: now)
        case .refused(let retryAfter?), .redirected(let retryAfter?):
            attempt += 1
            let earliest = serverAsked(retryAfter, now: now)
            return schedule(at: earliest + backoff(random: random), .serverAsked, now: now)
        default:
            attempt += 1
            return schedule(at: now + backoff(random: random), .backoff(attempt: attempt), now: now)
        }
    }

    /// The path monitor reported this status (C-57).
    public mutating func pathChanged(to status: PathStatus, now: Instant) -> Answer {
        let old = path
        path = status
        switch state {
        case .idle, .stopped:
            return .none
        case .paused:
            return status.isUp ? pathUp(status.kind, now: now) : .none
        case .waiting(let until, _):
            guard status.isUp else { return pause() }
            guard let old, old.kind != status.kind || old.network != status.network else { return .none }
            return pathUp(status.kind, now: now, latest: until)
        }
    }

    /// The user asks for an attempt at once. Obeyed in every state but stopped; without effect while idle.
    public mutating func tryNow() -> Answer {
        switch state {
        case .idle: return .none
        case .stopped(let reason): return .stopped(reason)
        case .waiting, .paused: return go(.userAsked)
        }
    }

    /// The user says that the reason to stop is gone: tries at once and counts from the beginning.
    public mutating func resume() -> Answer {
        guard state != .idle else { return .none }
        startOver()
        refusedCredentialCount = 0
        return go(.userAsked)
    }

    /// No connection is wanted any more: forgets everything but the path.
    public mutating func cancel() {
        startOver()
        peerClosedBase = configuration.peerClosedBase
        wasClosedByPeer = false
        refusedCredentialCount = 0
        establishedAt = nil
        notBefore = .zero
        state = .idle
    }

    /// Answers `now` when the instant waited for is at or before `now`.
    public mutating func deadlinePassed(now: Instant) -> Answer {
        guard case .waiting(let until, let reason) = state, until <= now else { return .none }
        return go(reason)
    }
}

extension ReconnectPolicy {
    /// The base after a failure that may have hit every client of the server; nil when it hit this one only.
    private func spread(after failure: ConnectionFailure) -> Duration? {
        switch failure {
        case .closedByPeer: peerClosedBase
        case .refused where establishedAt != nil: configuration.peerClosedBase
        default: nil
        }
    }

    private mutating func reasonToStop(after failure: ConnectionFailure) -> StopReason? {
        switch failure {
        case .revoked: return .revoked
        case .forbidden: return .forbidden
        case .replaced: return .replaced
        case .unsupportedVersion: return .unsupportedVersion
        case .unauthenticated:
            refusedCredentialCount += 1
            if refusedCredentialCount > 1 { return .unauthenticated }
        case .unreachable, .tlsFailure, .lost, .closedByPeer, .refused, .redirected: break
        }
        guard let limit = configuration.maxAttemptCount, attempt >= limit else { return nil }
        return .attemptLimit
    }

    private mutating func serverAsked(_ retryAfter: Duration, now: Instant) -> Instant {
        notBefore = now + retryAfter.clamped(to: .zero...Self.maxRetryAfter)
        return notBefore
    }

    private func backoff(random: UInt64) -> Duration {
        var ceiling = base
        for _ in 1..<max(attempt, 1) where ceiling < configuration.cap { ceiling *= 2 }
        return .uniform(below: min(ceiling, configuration.cap), random: random)
    }

    private mutating func schedule(at instant: Instant, _ reason: RetryReason, now: Instant) -> Answer {
        if let path, !path.isUp { return pause() }
        guard instant > now else { return go(reason) }
        state = .waiting(until: instant, reason)
        return .wait(until: instant, reason)
    }

    private mutating func pathUp(_ kind: PathKind, now: Instant, latest: Instant = .distantFuture) -> Answer {
        startOver()
        if notBefore > now { return schedule(at: notBefore, .serverAsked, now: now) }
        let delay = kind == .cellular || kind == .other ? configuration.cellularDelay : .zero
        return schedule(at: min(now + delay, latest), .pathUp(kind), now: now)
    }

    private mutating func go(_ reason: RetryReason) -> Answer {
        state = .idle
        notBefore = .zero
        return .now(reason)
    }

    private mutating func pause() -> Answer {
        state = .paused(.noPath)
        return .paused(.noPath)
    }

    private mutating func stop(_ reason: StopReason) -> Answer {
        state = .stopped(reason)
        return .stopped(reason)
    }

    private mutating func startOver() {
        attempt = 0
        redirectCount = 0
        base = configuration.base
    }
}
