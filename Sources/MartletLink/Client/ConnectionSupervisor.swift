import MartletWire

/// The decisions about a client's connections: their attempts, the liveness of their peers, and their replacement.
///
/// | part | decides about | ends |
/// |---|---|---|
/// | `machine` | the current connection and its state | never |
/// | `policy` | the time of the next attempt | `stop` |
/// | `handshake` | the connection's hello and goaway | each connection's end |
/// | `renewal` | the time of the credential's renewal | each connection's end |
/// | `heartbeat`, `natProbe` | the liveness of the peer of an established connection | each connection's end; never |
/// | `backup` | the attempt beside an overdue connection (C-63) | the machine's `promoted`, `closeBackup` |
/// | `status` | the state that the application sees | never |
///
/// After each event the caller requests `nextStep` until it is nil.
struct ConnectionSupervisor: Sendable {
    /// An action for the link.
    enum Step: Sendable {
        case output(LinkOutput)
        /// Prepare to receive bytes, because the carrier is connected.
        case receive
        /// Attach the link and send hello, because the credential is known.
        case sendHello
        /// Report the connection to the user of the link, because the server has sent welcome.
        case established
        /// Detach the link, because its connection has ended.
        case detach
        case ping(nonce: UInt64)
    }

    /// The age of the server's spread from which on a ping asks for the current one (C-92).
    static let maxSpreadAge = Duration.seconds(600)

    private struct Backup: Sendable {
        var began = Instant.zero
        var credential = CredentialState.requested
    }

    private(set) var machine: ConnectionMachine
    private var policy: ReconnectPolicy
    var handshake = ClientHandshake()
    private var renewal = CredentialRenewal()
    var heartbeat: Heartbeat
    private var natProbe = NATProbe(network: NetworkID(rawValue: 0))
    private var backup = Backup()
    private(set) var status = LinkStatus()
    private(set) var metrics: ConnectionMetrics
    private var random: SeededRandom
    private var steps = Deque<Step>()
    /// The maximum interval of the heartbeat that the server requires (C-49).
    private var serverInterval: Duration?
    /// The instant at which the spread of the server is outdated, and a ping asks for the current one (C-92).
    private var spreadDeadline: Instant?
    /// The code and reason of the failure that ends the connection now.
    private var notice: Notice?
    private var path: PathStatus?
    private var localAddress: String?
    private var redirect: String?

    init(_ configuration: LinkConfiguration, seed: UInt64, now: Instant) {
        random = SeededRandom(seed: seed)
        machine = ConnectionMachine(deadlines: configuration.deadlines)
        metrics = ConnectionMetrics(now: now)
        policy = ReconnectPolicy(configuration: configuration.reconnect)
        heartbeat = Heartbeat(strategy: configuration.heartbeat, now: now, random: random.next())
    }

    /// The current connection or attempt; the latest one while disconnected.
    var current: ConnectionID { machine.current }

    var isEstablished: Bool {
        if case .connected(_, .established) = machine.state { true } else { false }
    }

    /// Whether the client waits for its next attempt.
    var isWaiting: Bool { if case .waiting = policy.state { true } else { false } }

    /// Returns whether bytes of this connection are processed. After the last goaway they are ignored, because an
    /// incomplete frame would count as a fault.
    func isReceiving(on id: ConnectionID) -> Bool {
        if case .connected(id, _) = machine.state { true } else { false }
    }

    /// Whether messages or requests wait for a connection.
    var hasPending: Bool { policy.hasPending }

    mutating func nextStep() -> Step? { steps.popFirst() }

    // MARK: The user and the system

    /// A stop in progress ends first, with the output `.stopped`.
    mutating func start(now: Instant) {
        if case .disconnecting = machine.state { reportStopped() }
        _ = policy.resume()
        handle(.connect, now: now)
    }

    mutating func stop(now: Instant) {
        policy.cancel()
        handshake.leave(now: now)
        if case .disconnected = machine.state { return reportStopped() }
        handle(.disconnect, now: now)
    }

    mutating func retryNow(now: Instant) { follow(policy.resume(), now: now) }

    mutating func enterForeground(now: Instant) {
        if heartbeat.mode == .foreground {
            follow(heartbeat.probe(now: now, random: nonce()), now: now)
        } else {
            setMode(.foreground, now: now)
        }
        follow(policy.enterForeground(now: now), now: now)
    }

    /// Reports whether messages or requests wait for a connection.
    mutating func setPending(_ hasPending: Bool, now: Instant) {
        guard hasPending != policy.hasPending else { return }
        follow(policy.setPending(hasPending, now: now, random: random.next()), now: now)
    }

    mutating func setMode(_ mode: HeartbeatMode, now: Instant) {
        follow(heartbeat.setMode(mode, now: now, random: nonce()), now: now)
    }

    mutating func wake(now: Instant) { follow(heartbeat.wake(now: now, random: nonce()), now: now) }

    mutating func pathChanged(to status: PathStatus, now: Instant) {
        let before = path
        path = status
        natProbe.pathChanged(to: status.network, now: now)
        follow(policy.pathChanged(to: status, now: now), now: now)
        guard let before else { return }
        let isConnected = isReceiving(on: current)
        let change = PathChange(from: before, to: status, localAddress: isConnected ? localAddress : nil)
        // An attempt on the previous path would end only at its deadline.
        if case .connecting = machine.state, change == .probe { return handle(.reconnect, now: now) }
        guard isConnected else { return }
        switch change {
        case .none, .pause: break
        case .probe: follow(heartbeat.probe(now: now, random: nonce()), now: now)
        case .replace: handle(.reconnect, now: now)
        }
    }

    // MARK: The carrier

    mutating func connected(_ id: ConnectionID, localAddress: String?, now: Instant) {
        self.localAddress = localAddress
        handle(id == machine.backup ? .backupConnected(id) : .connectSuccess(id), now: now)
    }

    mutating func connectFailed(_ id: ConnectionID, _ failure: ConnectionFailure, now: Instant) {
        handle(id == machine.backup ? .backupFailed(id) : .connectFailure(id), failure, now: now)
    }

    mutating func closed(_ id: ConnectionID, byPeer: Bool, isTLSFailure: Bool, now: Instant) {
        guard id == current else { return }
        if case .disconnecting = machine.state { return handle(.disconnectComplete(id), now: now) }
        guard isEstablished else { return lose(isTLSFailure ? .tlsFailure : .unreachable, now: now) }
        lose(byPeer ? .closedByPeer : .lost, now: now)
    }

    mutating func credential(_ credential: Credential?, _ mechanism: MechanismName?, for id: ConnectionID) {
        if id == machine.backup { return backup.credential = .received(credential, mechanism) }
        guard id == current else { return }
        if handshake.isAwaitingCredential {
            handshake.received(credential, mechanism)
            if isReceiving(on: id) { steps.append(.sendHello) }
        } else if isEstablished, renewal.received(credential), let credential {
            handshake.renew(credential)
        }
    }

    mutating func credentialFailed(_ id: ConnectionID, now: Instant) {
        if id == machine.backup { return handle(.endBackup, now: now) }
        guard id == current else { return }
        if handshake.isAwaitingCredential {
            lose(.credentialUnavailable, now: now)
        } else {
            _ = renewal.received(nil)
        }
    }

    mutating func answer(
        _ message: Credential, expecting expected: Credential?, for id: ConnectionID, now: Instant
    ) {
        if id == current { handshake.answer(message, expecting: expected, now: now) }
    }

    /// The server's message of the exchange has no valid answer (C-70).
    mutating func exchangeFailed(_ id: ConnectionID, now: Instant) {
        if id == current, handshake.isExchanging { serverUnverified(now: now) }
    }

    // MARK: Frames

    mutating func pongReceived(nonce: UInt64, now: Instant) {
        guard case .answered(_, let silence) = heartbeat.pongReceived(nonce: nonce, now: now) else { return }
        metrics.pingAnswered()
        natProbe.answered(after: silence, now: now)
    }

    mutating func spreadReceived(_ spread: Duration, now: Instant) {
        policy.setSpread(spread)
        spreadDeadline = now + Self.maxSpreadAge
    }

    /// Reports a message of the authentication exchange, or the server's answer to a renewal (C-69, C-71). Returns
    /// false if neither is due.
    mutating func authReceived(_ auth: Auth, now: Instant) -> Bool {
        if isEstablished { return renewal.answered(lifetime: auth.credentialLifetime, now: now, random: random.next()) }
        guard let message = auth.credential, handshake.challenged() else { return false }
        steps.append(.output(.answerChallenge(current, message)))
        return true
    }

    /// Reports that the server has not proved that it knows the password's keys. Further attempts would have the same
    /// result, or give an impostor further chances (C-70).
    mutating func serverUnverified(now: Instant) { fail(.unauthenticated, .serverUnverified, now: now) }

    /// Reports that the server has accepted the hello and the link is confirmed.
    mutating func welcomed(_ welcome: Welcome, now: Instant) {
        // An exchange cannot be repeated on a connection (C-71).
        if let lifetime = welcome.credentialLifetime, !handshake.isExchanging {
            renewal.begin(lifetime: lifetime, now: now, random: random.next())
        }
        handshake.welcomed(welcome)
        serverInterval = welcome.heartbeatInterval
        redirect = nil
        if status.epoch != nil { status.reconnects += 1 }
        status.epoch = welcome.epoch.rawValue
        if welcome.resumed != nil { status.resumes += 1 }
        policy.established(resumed: welcome.resumed != nil, spread: welcome.reconnectSpread, now: now)
        spreadDeadline = welcome.reconnectSpread.map { _ in now + Self.maxSpreadAge }
        heartbeat.restart(now: now)
        handle(.welcome(current), now: now)
    }

    mutating func rejected(_ notice: Notice, _ carrier: Carrier, now: Instant) {
        if notice.code == .resumeRejected, handshake.resumesLink {  // C-34
            handshake.discardResumptionState()
            // On a carrier without order, early frames of the old link could arrive after the next hello, and count as
            // frames of the new link (C-34).
            guard carrier == .reliable else { return handle(.reconnect, now: now) }
            guard handshake.isExchanging else { return steps.append(.sendHello) }
            handshake.begin(.requested)
            return steps.append(.output(.fetchCredential(current)))
        }
        handle(.reject(current), note(notice, now: now), now: now)
    }

    /// Reports that the server ends this connection. Its notice determines the next attempt.
    mutating func goAwayReceived(_ notice: Notice, now: Instant) { lose(note(notice, now: now), now: now) }

    /// Reports a violation of the protocol by the server. The server receives a goaway, and the link continues on
    /// another connection (C-41).
    mutating func fail(_ code: ErrorCode, _ failure: ConnectionFailure = .lost, now: Instant) {
        handshake.fail(code, now: now)
        steps.append(.output(.transmit(current)))
        notice = Notice(code: code)
        lose(failure, now: now)
    }

    /// Ends the link. The next connection begins a new link (C-42).
    mutating func endLink(now: Instant) {
        handshake.discardResumptionState()
        if isReceiving(on: current) { fail(.none, now: now) }
    }

    // MARK: The link's acknowledgements

    /// Reports that welcome or acknowledgements are overdue (C-63).
    mutating func startBackup(now: Instant) { handle(.startBackup, now: now) }

    /// Reports that the peer is silent. The backup attempt, if there is one, replaces the connection.
    mutating func replaceSilent(now: Instant) {
        guard machine.backup != nil else { return lose(.lost, now: now) }
        noteFailure(.lost, of: current)
        status.state = .connecting(attempt: policy.attempt + 1)
        handle(.promoteBackup, now: now)
    }

    /// Whether there is a backup attempt.
    var hasBackup: Bool { machine.backup != nil }

    /// Reports the latest progress of acknowledgements. Progress after the start of the backup attempt ends it.
    mutating func linkProgressed(at progress: Instant, hasUnacknowledged: Bool, now: Instant) {
        guard isEstablished, hasBackup, progress > backup.began || !hasUnacknowledged else { return }
        handle(.endBackup, now: now)
    }

    /// Adapts the heartbeat to the link's state at the end of a turn.
    mutating func adapt(to rtt: RTTEstimator, expectsReply: Bool, now: Instant) {
        heartbeat.expectReply(expectsReply, now: now)
        heartbeat.setRoundTrip(smoothed: rtt.smoothed, timeout: rtt.timeout)
        let limit = natProbe.interval(now: now)
        heartbeat.setLimit(min(serverInterval ?? limit, limit))  // C-49
        measureQuality(rtt)
    }

    mutating func measureQuality(_ rtt: RTTEstimator) { status.quality = rtt.quality }

    /// The status is reported to the application.
    mutating func statusReported(now: Instant) { metrics.entered(status.state, now: now) }

    // MARK: Time

    var deadline: Instant? {
        let earliest = machine.deadline.orEarlier(policy.deadline).orEarlier(handshake.deadline)
        // The heartbeat and renewals begin with welcome (S-33).
        guard isEstablished else { return earliest }
        return earliest.orEarlier(heartbeat.deadline).orEarlier(renewal.deadline).orEarlier(spreadDeadline)
    }

    mutating func deadlinePassed(now: Instant) {
        perform(machine.deadlinePassed(now: now), now: now)
        follow(policy.deadlinePassed(now: now), now: now)
        if isEstablished { follow(heartbeat.deadlinePassed(now: now, random: nonce()), now: now) }
        if handshake.deadlinePassed(now: now) { startBackup(now: now) }
        if isEstablished, let due = spreadDeadline, due <= now {
            spreadDeadline = now + Self.maxSpreadAge
            follow(heartbeat.probe(now: now, random: nonce()), now: now)
        }
        if isEstablished, renewal.deadlinePassed(now: now) { steps.append(.output(.fetchCredential(current))) }
    }

    // MARK: Results of the parts

    private mutating func nonce() -> UInt64 { random.next() & ~Link.probeBit }

    private mutating func handle(
        _ event: ConnectionMachine.Event, _ failure: ConnectionFailure = .unreachable, now: Instant
    ) {
        perform(machine.handle(event, now: now), failure, now: now)
    }

    /// Ends the current connection with a failure.
    private mutating func lose(_ failure: ConnectionFailure, now: Instant) {
        handle(.networkError(current), failure, now: now)
    }

    private mutating func perform(
        _ answer: ConnectionMachine.Answer, _ failure: ConnectionFailure = .unreachable, now: Instant
    ) {
        guard case .act(let actions) = answer else { return }
        for action in actions {
            switch action {
            case .open(let id):
                metrics.attempted(now: now)
                handshake.begin(.requested)
                status.state = .connecting(attempt: policy.attempt + 1)
                // Each attempt has a new credential, because an earlier one may have expired (C-12).
                steps.append(.output(.fetchCredential(id)))
                steps.append(.output(.connect(id, redirect: redirect)))
            case .sendHello:
                status.state = .handshaking
                steps.append(.receive)
                if handshake.canSendHello { steps.append(.sendHello) }
            case .established:
                metrics.established(now: now)
                status.state = .online
                noteFailure(nil, of: nil)
                steps.append(.established)
            case .close(let id, let isGraceful):
                steps.append(.output(.close(id, graceful: isGraceful || handshake.hasFailed)))
                if isGraceful { status.state = .stopping }
            case .closed(let id, let cause): ended(id, cause, failure, now: now)
            case .startBackup(let id):
                metrics.attempted(now: now)
                backup = Backup(began: now)
                steps.append(.output(.startBackup(id, beside: current)))
            case .promoted: handshake.begin(backup.credential)
            }
        }
    }

    private mutating func ended(
        _ id: ConnectionID, _ cause: ConnectionMachine.CloseCause, _ failure: ConnectionFailure, now: Instant
    ) {
        defer { notice = nil }
        handshake.ended(now: now)
        renewal.end()
        steps.append(.detach)
        switch cause {
        case .requested: reportStopped()
        case .replaced: break
        case .connectFailed, .connectTimedOut, .handshakeTimedOut, .rejected, .lost:
            metrics.failed(failure)
            noteFailure(failure, of: id)
            follow(policy.failed(failure, now: now, random: random.next()), now: now)
        }
    }

    /// Sets the failure in the status, with the code and reason that belong to it; nil after welcome.
    private mutating func noteFailure(_ failure: ConnectionFailure?, of id: ConnectionID?) {
        status.lastFailure = failure
        status.lastCode = notice?.code
        status.lastReason = notice?.reason
        status.failedConnection = id
    }

    private mutating func reportStopped() {
        status.state = .stopped(nil)
        steps.append(.output(.stopped))
    }

    private mutating func follow(_ answer: ReconnectPolicy.Answer, now: Instant) {
        switch answer {
        case .none: break
        case .now(let reason):
            if reason != .redirected { redirect = nil }
            handle(.reconnect, now: now)
        case .wait(let until, let reason): status.state = .waiting(until: until, reason)
        case .paused(let until, let reason): status.state = .paused(until: until, reason)
        case .stopped(let reason): status.state = .stopped(reason)
        }
    }

    private mutating func follow(_ answer: Heartbeat.Answer, now: Instant) {
        guard isEstablished else { return }
        switch answer {
        case .none: break
        case .sendPing(let nonce):
            metrics.pingSent()
            steps.append(.ping(nonce: nonce))
        case .dead:
            metrics.peerSilent()
            _ = natProbe.failed(after: heartbeat.probedSilence, now: now)
            replaceSilent(now: now)
        }
    }

    /// Returns the failure for a notice of the server, which determines the next attempt (C-43).
    private mutating func note(_ notice: Notice, now: Instant) -> ConnectionFailure {
        handshake.answered()
        self.notice = notice
        if let target = notice.redirect { redirect = target }
        switch notice.code {
        case .unauthenticated: return .unauthenticated
        case .forbidden: return .forbidden
        case .revoked: return .revoked
        // A late hello of this device may have begun another link, which the next link ends (C-39).
        case .replaced: return handshake.takeLateHello(now: now) ? .lost : .replaced
        case .unsupportedVersion: return .unsupportedVersion
        case _ where notice.redirect != nil: return .redirected(retryAfter: notice.retryAfter)
        case .draining, .serverBusy, .tooManyLinks: return .refused(retryAfter: notice.retryAfter)
        default: return notice.retryAfter == nil ? .lost : .refused(retryAfter: notice.retryAfter)
        }
    }
}

// MARK: Recordings

extension ConnectionSupervisor {
    /// What the frames of a connection change. A recording has it where an event follows.
    struct Activity: Equatable, Sendable {
        var heartbeat = Heartbeat.Activity()
        var quality = LinkQuality.unknown
    }

    var activity: Activity {
        get { Activity(heartbeat: heartbeat.activity, quality: status.quality) }
        set { (heartbeat.activity, status.quality) = (newValue.heartbeat, newValue.quality) }
    }

    /// The parts of the state from which later decisions follow.
    var summary: String {
        """
        \(status); \(machine.state), deadline \(deadline.map { "\($0.nanoseconds)" } ?? "none"), attempt \
        \(policy.attempt), interval of pings \(heartbeat.currentInterval.map { "\($0)" } ?? "none")
        """
    }

    /// Returns whether the local address of the connection is on a path.
    func isLocal(on path: PathStatus) -> Bool { localAddress.map(path.addresses.contains) ?? false }
}

/// The metrics are not written, because no decision depends on them. The steps are taken by the caller.
extension ConnectionSupervisor: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try machine.archive(&archive)
        try policy.archive(&archive)
        try handshake.archive(&archive)
        try renewal.archive(&archive)
        try heartbeat.archive(&archive)
        try natProbe.archive(&archive)
        try backup.began.archive(&archive)
        try backup.credential.archive(&archive)
        try status.archive(&archive)
        var draws = random.state
        try draws.archive(&archive)
        random = SeededRandom(seed: draws)
        try archive.optional(&serverInterval, .zero)
        try archive.optional(&spreadDeadline, .zero)
        try archive.optional(&notice, Notice(code: .none))
        try archive.optional(&path, .down)
        try archive.presence(of: &localAddress)
        try archive.text(&redirect, upTo: Notice.maxRedirectByteCount)
    }
}

extension ConnectionSupervisor.Activity: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try heartbeat.archive(&archive)
        try archive.choice(&quality)
    }
}

extension ConnectionSupervisor.Step: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var (index, id, other) = (0, ConnectionID.none, ConnectionID.none)
        var (redirect, isGraceful, secret, nonce) = (String?.none, false, Credential?.none, UInt64(0))
        switch self {
        case .receive: break
        case .sendHello: index = 1
        case .established: index = 2
        case .detach: index = 3
        case .ping(let number): (index, nonce) = (4, number)
        case .output(.connect(let attempt, let target)): (index, id, redirect) = (5, attempt, target)
        case .output(.fetchCredential(let attempt)): (index, id) = (6, attempt)
        case .output(.answerChallenge(let attempt, let message)): (index, id, secret) = (7, attempt, message)
        case .output(.startBackup(let attempt, let current)): (index, id, other) = (8, attempt, current)
        case .output(.close(let attempt, let graceful)): (index, id, isGraceful) = (9, attempt, graceful)
        case .output(.transmit(let attempt)): (index, id) = (10, attempt)
        case .output(.stopped), .output(.status): index = 11
        }
        index = try archive.tag(index, below: 12)
        if (5...10).contains(index) { try id.archive(&archive) }
        switch index {
        case 0: self = .receive
        case 1: self = .sendHello
        case 2: self = .established
        case 3: self = .detach
        case 4:
            try nonce.archive(&archive)
            self = .ping(nonce: nonce)
        case 5:
            try archive.text(&redirect, upTo: Notice.maxRedirectByteCount)
            self = .output(.connect(id, redirect: redirect))
        case 6: self = .output(.fetchCredential(id))
        case 7:
            try archive.secret(&secret)
            guard let secret else { throw archive.fault }
            self = .output(.answerChallenge(id, secret))
        case 8:
            try other.archive(&archive)
            self = .output(.startBackup(id, beside: other))
        case 9:
            try isGraceful.archive(&archive)
            self = .output(.close(id, graceful: isGraceful))
        case 10: self = .output(.transmit(id))
        default: self = .output(.stopped)
        }
    }
}
