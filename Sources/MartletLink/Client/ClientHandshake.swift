import MartletWire

/// The credential of a connection attempt.
enum CredentialState: Sendable {
    /// The caller fetches the credential.
    case requested
    /// The credential is known; nil if the account needs none. With a mechanism it begins an authentication exchange.
    case received(Credential?, MechanismName?)
}

/// The handshake of a client's connection, and the frames outside of the link: hello and goaway.
///
/// | state | data | ends |
/// |---|---|---|
/// | idle | | `begin` |
/// | authenticating | the credential, or the request for it | `sendHello`; connection's end |
/// | helloSent | credential, exchange, whether the hello requests a new link | `welcomed`, `begin`; connection's end |
/// | welcomed | | `leave`, `fail`; connection's end |
/// | leaving | a goaway follows the link's output (C-7) | `sendGoAway`; connection's end |
/// | failed | a goaway is queued, also beyond the connection's end (C-41) | `begin` |
///
/// | state of the exchange (C-69) | owns | ends |
/// |---|---|---|
/// | none | nothing: the credential is a token | |
/// | awaitingServer | the message required in welcome, after the client's last one | `challenged`, `welcomed` |
/// | answering | | `answer` |
///
/// The resumption state outlives connections. It ends when a server refuses to resume the link (C-34).
struct ClientHandshake: Sendable {
    /// The duration for which a hello can arrive after the end of its connection, because the system continues to send
    /// buffered bytes.
    static let lateHelloLifetime: Duration = .seconds(60)

    fileprivate enum State: Sendable {
        case idle
        case authenticating(CredentialState)
        case helloSent(Credential?, Exchange, requestsNewLink: Bool)
        case welcomed
        case leaving
        case failed
    }

    fileprivate enum Exchange: Sendable {
        case none
        case awaitingServer(expected: Credential?)
        /// The caller computes the answer to a message of the server.
        case answering
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
        deadline = nil
        frames.removeAll()
    }

    mutating func received(_ credential: Credential?, _ mechanism: MechanismName?) {
        state = .authenticating(.received(credential, mechanism))
    }

    /// Queues the hello.
    ///
    /// - Parameter timeout: The duration after which welcome is overdue; nil on a carrier without order.
    mutating func sendHello(
        _ configuration: LinkConfiguration, positions: [SessionPosition], timeout: Duration?, now: Instant
    ) {
        let credential: Credential?
        var mechanism: MechanismName?
        switch state {
        case .authenticating(.received(let known, let name)): (credential, mechanism) = (known, name)
        case .helloSent(let known, .none, _): credential = known
        default: return
        }
        let resume = resumption.map { ResumePoint(link: $0.link, token: $0.token, positions: positions) }
        let hello = Hello(
            spokenVersions: [configuration.features.spokenVersion], features: configuration.features,
            limits: configuration.limits, device: configuration.device,
            account: configuration.account, mechanism: mechanism, credential: credential, agent: configuration.agent,
            resume: resume)
        frames.append(.hello, hello.encode())
        let exchange = mechanism == nil ? Exchange.none : .awaitingServer(expected: nil)
        state = .helloSent(credential, exchange, requestsNewLink: resume == nil)
        welcomeTimeout = timeout ?? .zero
        deadline = timeout.map { now + $0 }
    }

    // MARK: Exchange

    /// The server has sent a message of the exchange. Returns false if none is under way, or if the client has sent its
    /// last message.
    mutating func challenged() -> Bool {
        guard case .helloSent(let credential, .awaitingServer(expected: nil), let requestsNewLink) = state else {
            return false
        }
        state = .helloSent(credential, .answering, requestsNewLink: requestsNewLink)
        deadline = nil
        return true
    }

    /// Queues the client's next message.
    ///
    /// - Parameter expected: the message that welcome has to contain, if this is the last message of the client.
    mutating func answer(_ message: Credential, expecting expected: Credential?, now: Instant) {
        guard case .helloSent(let credential, .answering, let requestsNewLink) = state else { return }
        state = .helloSent(credential, .awaitingServer(expected: expected), requestsNewLink: requestsNewLink)
        frames.append(.auth, Auth(credential: message).encode())
        deadline = welcomeTimeout > .zero ? now + welcomeTimeout : nil
    }

    /// Queues another credential for an established connection (C-71).
    mutating func renew(_ credential: Credential) { frames.append(.auth, Auth(credential: credential).encode()) }

    /// Whether the client authenticates by a mechanism. Each hello then needs an exchange of its own.
    var isExchanging: Bool {
        switch state {
        case .helloSent(_, .awaitingServer, _), .helloSent(_, .answering, _): true
        default: false
        }
    }

    /// Whether a welcome contains the proof of the server's identity that the exchange requires (C-70).
    func verifies(_ welcome: Welcome) -> Bool {
        switch state {
        case .helloSent(_, .awaitingServer(let expected), _): expected != nil && welcome.credential == expected
        case .helloSent(_, .answering, _): false
        default: true
        }
    }

    // MARK: The answer

    /// Returns whether a welcome matches the sent hello (C-20).
    func accepts(_ welcome: Welcome) -> Bool {
        guard case .helloSent = state else { return false }
        return welcome.version.major == WireVersion.current.major && (welcome.resumed != nil) == resumesLink
    }

    mutating func welcomed(_ welcome: Welcome) {
        resumption = ResumptionState(link: welcome.link, token: welcome.resumeToken)
        state = .welcomed
        deadline = nil
    }

    /// Reports that the server has answered the hello by another frame than welcome.
    mutating func answered() {
        if case .helloSent(let credential, let exchange, _) = state {
            state = .helloSent(credential, exchange, requestsNewLink: false)
        }
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
        if case .helloSent(_, _, true) = state { lateHelloDeadline = now + Self.lateHelloLifetime }
    }

    /// Writes the queued frames. Returns false if some do not fit.
    mutating func write(into out: inout OutputRawSpan) -> Bool { frames.write(into: &out) }
}

/// Credentials and tokens are written as their lengths, frames as their number.
extension ClientHandshake: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        try state.archive(&archive)
        var resumes = resumesLink
        try resumes.archive(&archive)
        if resumes {
            var link = resumption?.link.rawValue ?? 0
            try link.archive(&archive)
            if archive.isReading {
                resumption = ResumptionState(link: LinkID(rawValue: link), token: .placeholder)
            }
        }
        var frameCount = frames.count
        try archive.count(&frameCount, upTo: HandshakeQueue.maxRecordedCount)
        if archive.isReading { for _ in 0..<frameCount { frames.append(.hello, []) } }
        try lateHelloDeadline.archive(&archive)
        try welcomeTimeout.archive(&archive)
        try archive.optional(&deadline, .zero)
    }

    /// The number of frames that wait.
    var frameCount: Int { frames.count }

    /// Reports that frames were written, and how many are left.
    mutating func framesWritten(leaving count: Int) { frames.removeFirst(downTo: count) }
}

extension ClientHandshake.State {
    fileprivate mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var (index, credential, requestsNewLink) = (0, CredentialState.requested, false)
        var exchange = ClientHandshake.Exchange.none
        var sent: Credential?
        switch self {
        case .idle: break
        case .authenticating(let known): (index, credential) = (1, known)
        case .helloSent(let known, let state, let isNew):
            (index, sent, exchange, requestsNewLink) = (2, known, state, isNew)
        case .welcomed: index = 3
        case .leaving: index = 4
        case .failed: index = 5
        }
        switch try archive.tag(index, below: 6) {
        case 0: self = .idle
        case 1:
            try credential.archive(&archive)
            self = .authenticating(credential)
        case 2:
            try archive.secret(&sent)
            try exchange.archive(&archive)
            try requestsNewLink.archive(&archive)
            self = .helloSent(sent, exchange, requestsNewLink: requestsNewLink)
        case 3: self = .welcomed
        case 4: self = .leaving
        default: self = .failed
        }
    }
}

extension ClientHandshake.Exchange {
    fileprivate mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var (index, secret) = (0, Credential?.none)
        switch self {
        case .none: break
        case .awaitingServer(let expected): (index, secret) = (1, expected)
        case .answering: index = 2
        }
        switch try archive.tag(index, below: 3) {
        case 0: self = .none
        case 1:
            try archive.secret(&secret)
            self = .awaitingServer(expected: secret)
        default: self = .answering
        }
    }
}

extension CredentialState: Archived {
    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var (isKnown, secret, mechanism) = (false, Credential?.none, MechanismName?.none)
        if case .received(let credential, let name) = self { (isKnown, secret, mechanism) = (true, credential, name) }
        try isKnown.archive(&archive)
        guard isKnown else { return self = .requested }
        try archive.secret(&secret)
        try archive.mechanism(&mechanism)
        self = .received(secret, mechanism)
    }
}

extension StateArchive {
    /// The name of a mechanism, of which only the presence is written.
    mutating func mechanism(_ name: inout MechanismName?) throws(RecordingError) {
        var isPresent = name != nil
        try presence(&isPresent)
        if isReading { name = isPresent ? MechanismName(Self.placeholder) : nil }
    }
}

extension ResumeToken {
    /// The token in place of the one of a recorded connection.
    static let placeholder = ResumeToken(0, 0, 0, 0)
}
