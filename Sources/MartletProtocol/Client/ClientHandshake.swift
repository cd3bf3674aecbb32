import MartletWire

/// The credential of a connection attempt.
enum CredentialState: Sendable {
    /// The caller fetches the credential.
    case requested
    /// The credential is known; nil if the account needs none.
    case received(Credential?)
}

/// The handshake of a client's connection, and the frames outside of the link: hello and goaway.
///
/// | state | data | ends |
/// |---|---|---|
/// | idle | | `begin` |
/// | authenticating | the credential, or the request for it | `sendHello`; connection's end |
/// | helloSent | the credential; whether the hello requests a new link | `welcomed`, `answered`; connection's end |
/// | welcomed | | `leave`, `fail`; connection's end |
/// | leaving | a goaway follows the link's output (C-7) | `sendGoAway`; connection's end |
/// | failed | a goaway is queued, also beyond the connection's end (C-41) | `begin` |
///
/// The resumption state outlives connections. It ends when a server refuses to resume the link (C-34).
struct ClientHandshake: Sendable {
    /// The duration for which a hello can arrive after the end of its connection, because the system continues to send
    /// buffered bytes.
    static let lateHelloLifetime: Duration = .seconds(60)

    private enum State: Sendable {
        case idle
        case authenticating(CredentialState)
        case helloSent(Credential?, requestsNewLink: Bool)
        case welcomed
        case leaving
        case failed
    }

    private struct ResumptionState: Sendable {
        let link: LinkID
        let token: ResumeToken
    }

    private var state = State.idle
    private var resumption: ResumptionState?
    private var frames = HandshakeQueue()
    /// The end of the time in which a hello of an earlier connection can arrive, and begin a link that replaces a later
    /// one (C-39).
    private var lateHelloDeadline = Instant.zero
    private var welcomeTimeout = Duration.zero
    /// The instant at which welcome is overdue, and a backup connection is attempted (C-63).
    private(set) var deadline: Instant?

    /// Whether the next hello resumes a link.
    var resumesLink: Bool { resumption != nil }
    /// The link that the next hello resumes; nil if it begins a link.
    var linkID: LinkID? { resumption?.link }

    /// Whether frames of the handshake are queued.
    var hasFrames: Bool { !frames.isEmpty }

    /// Whether a credential is awaited.
    var isAwaitingCredential: Bool { if case .authenticating(.requested) = state { true } else { false } }

    /// Whether a hello can be sent: the first, or another after a refused resume.
    var canSendHello: Bool {
        switch state {
        case .authenticating(.received), .helloSent: true
        default: false
        }
    }

    /// Whether a goaway follows the link's output.
    var isLeaving: Bool { if case .leaving = state { true } else { false } }

    /// Whether a goaway is written before the connection closes.
    var hasFailed: Bool { if case .failed = state { true } else { false } }

    // MARK: Events

    /// Begins another attempt. The frames of the last connection are discarded.
    mutating func begin(_ credential: CredentialState) {
        state = .authenticating(credential)
        frames.removeAll()
    }

    mutating func received(_ credential: Credential?) { state = .authenticating(.received(credential)) }

    /// Queues the hello.
    ///
    /// - Parameter timeout: The duration after which welcome is overdue; nil on a carrier without order.
    mutating func sendHello(
        _ configuration: ClientConfiguration, positions: [SessionPosition], timeout: Duration?, now: Instant
    ) {
        let credential: Credential?
        switch state {
        case .authenticating(.received(let known)), .helloSent(let known, _): credential = known
        default: return
        }
        let resume = resumption.map { ResumePoint(link: $0.link, token: $0.token, positions: positions) }
        let hello = Hello(
            spokenVersions: [configuration.features.spokenVersion], features: configuration.features,
            limits: configuration.limits, device: configuration.device,
            account: configuration.account, credential: credential, agent: configuration.agent, resume: resume)
        frames.append(.hello, hello.encode())
        state = .helloSent(credential, requestsNewLink: resume == nil)
        welcomeTimeout = timeout ?? .zero
        deadline = timeout.map { now + $0 }
    }

    /// Returns whether a welcome matches the sent hello (C-20).
    func accepts(_ welcome: Welcome) -> Bool {
        welcome.version.major == WireVersion.current.major && (welcome.resumed != nil) == resumesLink
    }

    mutating func welcomed(_ welcome: Welcome) {
        resumption = ResumptionState(link: welcome.link, token: welcome.resumeToken)
        state = .welcomed
        deadline = nil
    }

    /// Reports that the server has answered the hello by another frame than welcome.
    mutating func answered() {
        if case .helloSent(let credential, _) = state { state = .helloSent(credential, requestsNewLink: false) }
    }

    /// Discards the resumption state. The next hello requests a new link.
    mutating func discardResumptionState() { resumption = nil }

    /// Returns whether a late hello of this device may have caused the server's `replaced`. The result is true once:
    /// the next link ends that of the late hello (C-39).
    mutating func takeLateHello(now: Instant) -> Bool {
        guard now < lateHelloDeadline else { return false }
        lateHelloDeadline = .zero
        return true
    }

    /// Returns whether welcome is overdue, and sets the next deadline.
    mutating func deadlinePassed(now: Instant) -> Bool {
        guard let deadline, deadline <= now else { return false }
        self.deadline = now + welcomeTimeout / 2
        return true
    }

    /// Begins the orderly end of the connection.
    mutating func leave(now: Instant) {
        deadline = nil
        noteLateHello(now: now)
        switch state {
        case .helloSent, .welcomed: state = .leaving
        case .authenticating: state = .idle
        case .idle, .leaving, .failed: break
        }
    }

    /// Queues the goaway that ends the connection after the link's last output.
    mutating func sendGoAway() {
        guard isLeaving else { return }
        state = .idle
        frames.append(.goaway, GoAway(Notice(code: .none)).encode())
    }

    /// Queues a goaway because the server has violated the protocol (C-41).
    mutating func fail(_ code: ErrorCode, now: Instant) {
        noteLateHello(now: now)
        state = .failed
        frames.append(.goaway, GoAway(Notice(code: code)).encode())
    }

    /// Reports the end of the connection.
    mutating func ended(now: Instant) {
        noteLateHello(now: now)
        deadline = nil
        guard !hasFailed else { return }
        state = .idle
        frames.removeAll()
    }

    private mutating func noteLateHello(now: Instant) {
        if case .helloSent(_, true) = state { lateHelloDeadline = now + Self.lateHelloLifetime }
    }

    /// Writes the queued frames. Returns false if some do not fit.
    mutating func write(into out: inout OutputRawSpan) -> Bool { frames.write(into: &out) }
}
