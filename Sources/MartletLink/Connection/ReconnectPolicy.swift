/// The machine that determines the time of the next connection attempt (C-55).
///
/// | state | meaning | left by |
/// |---|---|---|
/// | idle | connected, connecting, or no connection requested | a failure |
/// | waiting | an attempt is due at an instant | the instant, a new path, no path, the user |
/// | paused | no path, an attempt is due later than otherwise | the instant, a path, the user |
/// | stopped | another attempt would fail in the same way | a resume by the user |
///
/// A wait is a uniform random duration below a ceiling (full jitter). The ceiling doubles from ``Configuration/base``
/// to ``Configuration/cap``. It is reset after a connection that lasted ``Configuration/healthyAfter``, and by a new
/// path, since the failures belong to the old path. A duration that the server requires is a minimum, which only the
/// user can shorten. A report that there is no path delays attempts and never prevents them, because it can be wrong
/// (C-109).
///
/// After the peer ended an established connection the ceiling begins at the spread that the server has named (C-93), or
/// at ``Configuration/peerClosedBase``. A resumed link shows that the server kept its state and has not failed. Each
/// further end of this kind then begins at half the previous ceiling, at least at ``Configuration/base``, until the
/// server answers with a new link or a connection lasts `steadyAfter`.
///
/// With a server that has named its spread, ceilings rise less while attempts are worth more: to
/// ``Configuration/notListeningCap`` while the host answers that no server listens (C-94), and to
/// ``Configuration/pendingCap`` while messages wait (C-95). They rise to twice the first ceiling in any case, so that
/// the clients of a large server remain spread.
public struct ReconnectPolicy: Equatable, Sendable {
    /// The maximum wait that a server can require. Longer ones are reduced to it (C-57).
    package static let maxRetryAfter = Duration.seconds(3600)
    /// The maximum number of consecutive redirects. Further ones count as failures (C-58).
    package static let maxRedirectCount = 5
    /// The minimum duration of a connection after which its end by the peer begins at the full ceiling again (C-55).
    package static let steadyAfter = Duration.seconds(60)
    /// The duration by which an attempt without a path is delayed (C-109).
    package static let pathlessDelay = Duration.seconds(10)
    /// The maximum number of halvings of the first ceiling, beyond which it is the base in any case.
    private static let maxHalvingCount = 16

    /// The parameters of the policy.
    public struct Configuration: Hashable, Sendable {
        /// The ceiling of the first wait, 250 ms by default.
        public var base: Duration
        /// The highest ceiling of a wait, 24 s by default.
        public var cap: Duration
        /// The ceiling of the first wait after the peer ended an established connection, 12 s by default, with a server
        /// that has named no spread.
        ///
        /// A server that fails ends all its connections at the same time. If 10,000 clients reconnected within 1 s, the
        /// server would receive 10,000 attempts in that second. Within 12 s it receives at most 1,300 in any second,
        /// for any duration of the failure (C-55, Specs/hostile.md row 30).
        public var peerClosedBase: Duration
        /// The highest ceiling of a wait after an attempt that the host answered without a server on the port, 1.5 s by
        /// default (C-94).
        public var notListeningCap: Duration
        /// The duration after the loss of the connection for which ``notListeningCap`` applies, 5 min by default.
        public var notListeningPeriod: Duration
        /// The highest ceiling of a wait while messages or requests wait for a connection, 3 s by default (C-95).
        public var pendingCap: Duration
        /// The minimum duration of a connection after which its end counts as the first failure, 1 s by default (C-56).
        public var healthyAfter: Duration
        /// The duration between the appearance of a cellular or unknown path and the first attempt on it.
        public var cellularDelay: Duration
        /// The maximum number of consecutive failed attempts, at least 1; nil for no limit. A connection that lasted
        /// less than ``healthyAfter`` counts as a failed attempt, the loss of a longer one does not.
        public var maxAttemptCount: Int?

        /// Creates a configuration.
        public init(
            base: Duration = .milliseconds(250), cap: Duration = .seconds(24),
            peerClosedBase: Duration = .seconds(12), notListeningCap: Duration = .milliseconds(1500),
            notListeningPeriod: Duration = .seconds(300), pendingCap: Duration = .seconds(3),
            healthyAfter: Duration = .seconds(1), cellularDelay: Duration = .seconds(1), maxAttemptCount: Int? = nil
        ) {
            self.base = base
            self.cap = cap
            self.peerClosedBase = peerClosedBase
            self.notListeningCap = notListeningCap
            self.notListeningPeriod = notListeningPeriod
            self.pendingCap = pendingCap
            self.healthyAfter = healthyAfter
            self.cellularDelay = cellularDelay
            self.maxAttemptCount = maxAttemptCount
        }
    }

    /// The state of the policy.
    package enum State: Hashable, Sendable {
        /// A connection exists, is being attempted, or is not requested.
        case idle
        /// The next attempt is due at an instant.
        case waiting(until: Instant, RetryReason)
        /// The next attempt is due when the cause has ended, at the latest at an instant.
        case paused(until: Instant, PauseReason)
        /// There is no attempt until the user resumes.
        case stopped(StopReason)
    }

    /// The result of an event.
    package enum Answer: Hashable, Sendable {
        /// Nothing changed.
        case none
        /// The owner connects now.
        case now(RetryReason)
        /// The owner connects at an instant.
        case wait(until: Instant, RetryReason)
        /// The owner connects when the cause has ended, at the latest at an instant.
        case paused(until: Instant, PauseReason)
        /// The owner does not connect until the user resumes, and reports the reason.
        case stopped(StopReason)
    }

    /// The parameters of the policy.
    package private(set) var configuration: Configuration
    /// The state of the policy.
    package private(set) var state = State.idle
    /// The number of consecutive failed attempts, the loss of the connection included.
    package private(set) var attempt = 0
    /// The number of consecutive failed attempts, without the loss of a healthy connection.
    private var failedAttemptCount = 0

    /// Whether messages or requests wait for a connection.
    package private(set) var hasPending = false

    /// The ceiling of the first wait in this row of failures.
    private var base: Duration
    /// The duration over which the server's clients spread their attempts; nil if it has named none.
    private var spread: Duration?
    /// The number of consecutive closes by the peer that were followed by a resume.
    private var resumedCloseCount = 0
    /// The instant of the first failure in this row.
    private var failedSince = Instant.zero
    /// Whether the current wait was shortened because of a pending message.
    private var wasShortened = false
    /// Whether the peer ended the latest established connection.
    private var wasClosedByPeer = false
    private var path: PathStatus?
    private var establishedAt: Instant?
    private var notBefore = Instant.zero
    private var refusedCredentialCount = 0
    private var redirectCount = 0

    /// Creates an idle policy. It assumes a path until the first report.
    package init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
        base = configuration.base
    }

    /// The instant of the next attempt; nil if the policy is not waiting.
    package var deadline: Instant? {
        switch state {
        case .waiting(let until, _), .paused(let until, _): until
        case .idle, .stopped: nil
        }
    }

    /// Reports that the server sent welcome.
    ///
    /// - Parameters:
    ///   - resumed: Whether the server has resumed the link, and has therefore kept its state.
    ///   - spread: The duration over which the clients of the server spread their attempts; nil if it names none.
    ///   - now: The current instant.
    package mutating func established(resumed: Bool = false, spread: Duration? = nil, now: Instant) {
        if !resumed {
            resumedCloseCount = 0
        } else if wasClosedByPeer {
            resumedCloseCount = min(resumedCloseCount + 1, Self.maxHalvingCount)
        }
        self.spread = spread
        hasPending = false
        wasClosedByPeer = false
        state = .idle
        establishedAt = now
        notBefore = .zero
        refusedCredentialCount = 0
    }

    /// Reports another duration over which the clients of the server spread their attempts.
    package mutating func setSpread(_ spread: Duration) { self.spread = spread }

    /// Reports whether messages or requests wait for a connection (C-95). The first one in a wait can shorten it.
    package mutating func setPending(_ hasPending: Bool, now: Instant, random: UInt64) -> Answer {
        self.hasPending = hasPending
        guard hasPending, !wasShortened, case .waiting(let until, .backoff(let attempt)) = state else { return .none }
        wasShortened = true
        // A second draw below the same ceiling would move the clients of a large server together.
        let ceiling = pendingCeiling(ownCeiling)
        guard ceiling < ownCeiling else { return .none }
        let earlier = now + .uniform(below: ceiling, random: random)
        return earlier < until ? schedule(at: earlier, .backoff(attempt: attempt), now: now) : .none
    }

    /// Reports that an attempt failed or an established connection ended while a connection is requested.
    ///
    /// - Parameters:
    ///   - failure: The failure.
    ///   - now: The current instant.
    ///   - random: 64 uniform random bits for the jitter.
    /// - Returns: The next step of the owner.
    package mutating func failed(_ failure: ConnectionFailure, now: Instant, random: UInt64) -> Answer {
        var isAttempt = true
        if let establishedAt {
            let age = now - establishedAt
            if age >= configuration.healthyAfter {
                resetFailures()
                isAttempt = false
            }
            if age >= Self.steadyAfter { resumedCloseCount = 0 }
            wasClosedByPeer = failure == .closedByPeer
        }
        if let ceiling = firstCeiling(after: failure) { base = max(configuration.base, ceiling) }
        if attempt == 0 { failedSince = now }
        establishedAt = nil
        wasShortened = false
        if let reason = reasonToStop(after: failure) { return stop(reason) }
        if case .redirected(let retryAfter) = failure, redirectCount < Self.maxRedirectCount {
            redirectCount += 1
            return schedule(at: requireWait(retryAfter ?? .zero, now: now), .redirected, now: now)
        }
        attempt += 1
        if isAttempt { failedAttemptCount += 1 }
        if let limit = configuration.maxAttemptCount, failedAttemptCount >= max(limit, 1) { return stop(.attemptLimit) }
        switch failure {
        case .refused(let retryAfter?), .redirected(let retryAfter?):
            let earliest = requireWait(retryAfter, now: now)
            return schedule(at: earliest + backoff(failure, now: now, random: random), .serverRequired, now: now)
        default:
            return schedule(at: now + backoff(failure, now: now, random: random), .backoff(attempt: attempt), now: now)
        }
    }

    /// Reports the status of the path monitor (C-57, C-109).
    package mutating func pathChanged(to status: PathStatus, now: Instant) -> Answer {
        let old = path
        path = status
        switch state {
        case .idle, .stopped:
            return .none
        case .paused(let until, _):
            return status.isUp ? pathUp(status.kind, now: now, latest: until) : .none
        case .waiting(let until, _):
            guard status.isUp else { return pause(from: until) }
            guard let old, old.kind != status.kind || old.network != status.network else { return .none }
            return pathUp(status.kind, now: now, latest: until)
        }
    }

    /// Reports that the application is in the foreground: requests an attempt, but not before the server permits one
    /// (C-57). It has no effect in the states stopped and idle.
    package mutating func enterForeground(now: Instant) -> Answer {
        guard deadline != nil else { return .none }
        return waitForServer(now: now) ?? connectNow(.userRequested)
    }

    /// Leaves the state stopped for the user: requests an attempt at once and resets the number of failures.
    package mutating func resume() -> Answer {
        guard state != .idle else { return .none }
        resetFailures()
        refusedCredentialCount = 0
        return connectNow(.userRequested)
    }

    /// Reports that no connection is requested any more. The policy keeps only the status of the path.
    package mutating func cancel() {
        resetFailures()
        resumedCloseCount = 0
        spread = nil
        hasPending = false
        wasShortened = false
        failedSince = .zero
        wasClosedByPeer = false
        refusedCredentialCount = 0
        establishedAt = nil
        notBefore = .zero
        state = .idle
    }

    /// Returns `now` if the instant of the next attempt is at or before `now`.
    package mutating func deadlinePassed(now: Instant) -> Answer {
        guard let deadline, deadline <= now else { return .none }
        if case .waiting(_, let reason) = state { return connectNow(reason) }
        return connectNow(.backoff(attempt: attempt))
    }
}

extension ReconnectPolicy {
    /// Returns the first ceiling after a failure that may affect all clients of the server; nil if it affects this
    /// client only.
    private func firstCeiling(after failure: ConnectionFailure) -> Duration? {
        let whole = min(spread ?? configuration.peerClosedBase, configuration.cap)
        return switch failure {
        case .closedByPeer: whole / (1 << resumedCloseCount)
        case .refused where establishedAt != nil: whole
        default: nil
        }
    }

    private mutating func reasonToStop(after failure: ConnectionFailure) -> StopReason? {
        switch failure {
        case .revoked: return .revoked
        case .forbidden: return .forbidden
        case .replaced: return .replaced
        case .unsupportedVersion: return .unsupportedVersion
        case .serverUnverified: return .serverUnverified
        case .unauthenticated:
            refusedCredentialCount += 1
            if refusedCredentialCount > 1 { return .unauthenticated }
        case .unreachable, .notListening, .credentialUnavailable, .tlsFailure, .proxyFailure, .captivePortal, .lost,
            .closedByPeer, .refused, .redirected:
            break
        }
        return nil
    }

    private mutating func requireWait(_ retryAfter: Duration, now: Instant) -> Instant {
        notBefore = now + retryAfter.clamped(to: .zero...Self.maxRetryAfter)
        return notBefore
    }

    private func backoff(_ failure: ConnectionFailure, now: Instant, random: UInt64) -> Duration {
        var ceiling = ownCeiling
        if spread != nil, failure == .notListening, now - failedSince < configuration.notListeningPeriod {
            ceiling = min(ceiling, max(configuration.notListeningCap, base * 2))
        }
        return .uniform(below: hasPending ? pendingCeiling(ceiling) : ceiling, random: random)
    }

    /// The ceiling by the number of failures alone.
    private var ownCeiling: Duration {
        var ceiling = base
        for _ in 1..<max(attempt, 1) {
            guard ceiling > .zero, ceiling < configuration.cap else { break }
            ceiling *= 2
        }
        return min(ceiling, configuration.cap)
    }

    private func pendingCeiling(_ ceiling: Duration) -> Duration {
        spread == nil ? ceiling : min(ceiling, max(configuration.pendingCap, base * 2))
    }

    private mutating func schedule(at instant: Instant, _ reason: RetryReason, now: Instant) -> Answer {
        if let path, !path.isUp { return pause(from: max(instant, now)) }
        guard instant > now else { return connectNow(reason) }
        state = .waiting(until: instant, reason)
        return .wait(until: instant, reason)
    }

    private mutating func pathUp(_ kind: PathKind, now: Instant, latest: Instant) -> Answer {
        resetFailures()
        if let wait = waitForServer(now: now) { return wait }
        let delay = kind == .cellular || kind == .other ? configuration.cellularDelay : .zero
        return schedule(at: min(now + delay, latest), .pathUp(kind), now: now)
    }

    /// Schedules the attempt at the instant before which the server permits none; returns nil if it has passed. An
    /// attempt that follows a redirect remains one.
    private mutating func waitForServer(now: Instant) -> Answer? {
        guard notBefore > now else { return nil }
        let isRedirected = if case .waiting(_, .redirected) = state { true } else { false }
        return schedule(at: notBefore, isRedirected ? .redirected : .serverRequired, now: now)
    }

    private mutating func connectNow(_ reason: RetryReason) -> Answer {
        state = .idle
        notBefore = .zero
        return .now(reason)
    }

    private mutating func pause(from instant: Instant) -> Answer {
        let until = instant + Self.pathlessDelay
        state = .paused(until: until, .noPath)
        return .paused(until: until, .noPath)
    }

    private mutating func stop(_ reason: StopReason) -> Answer {
        state = .stopped(reason)
        return .stopped(reason)
    }

    private mutating func resetFailures() {
        attempt = 0
        failedAttemptCount = 0
        redirectCount = 0
        base = configuration.base
    }
}

extension ReconnectPolicy: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try configuration.archive(&archive)
        try state.archive(&archive)
        try archive.count(&attempt, upTo: Int(Int32.max))
        try archive.count(&failedAttemptCount, upTo: Int(Int32.max))
        try hasPending.archive(&archive)
        try base.archive(&archive)
        try archive.optional(&spread, .zero)
        try archive.count(&resumedCloseCount, upTo: Self.maxHalvingCount)
        try failedSince.archive(&archive)
        try wasShortened.archive(&archive)
        try wasClosedByPeer.archive(&archive)
        try archive.optional(&path, .down)
        try archive.optional(&establishedAt, .zero)
        try notBefore.archive(&archive)
        try archive.count(&refusedCredentialCount, upTo: Int(Int32.max))
        try archive.count(&redirectCount, upTo: Int(Int32.max))
    }
}

extension ReconnectPolicy.Configuration {
    fileprivate mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try base.archive(&archive)
        try cap.archive(&archive)
        try peerClosedBase.archive(&archive)
        try notListeningCap.archive(&archive)
        try notListeningPeriod.archive(&archive)
        try pendingCap.archive(&archive)
        try healthyAfter.archive(&archive)
        try cellularDelay.archive(&archive)
        var limit = maxAttemptCount ?? 0
        try archive.count(&limit, upTo: Int(Int32.max))
        if archive.isReading { maxAttemptCount = limit == 0 ? nil : limit }
    }
}

extension ReconnectPolicy.State {
    fileprivate mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var (index, instant) = (0, Instant.zero)
        var (retry, stop) = (RetryReason.userRequested, StopReason.replaced)
        switch self {
        case .idle: break
        case .waiting(let until, let reason): (index, instant, retry) = (1, until, reason)
        case .paused(let until, .noPath): (index, instant) = (2, until)
        case .stopped(let reason): (index, stop) = (3, reason)
        }
        switch try archive.tag(index, below: 4) {
        case 0: self = .idle
        case 1:
            try instant.archive(&archive)
            try retry.archive(&archive)
            self = .waiting(until: instant, retry)
        case 2:
            try instant.archive(&archive)
            self = .paused(until: instant, .noPath)
        default:
            try stop.archive(&archive)
            self = .stopped(stop)
        }
    }
}
