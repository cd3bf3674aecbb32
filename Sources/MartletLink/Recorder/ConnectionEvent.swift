import MartletWire

/// An event of a client's connections, by the method of `ConnectionSupervisor` that takes it.
enum ConnectionEvent: Sendable {
    case input(LinkInput)
    case linkEnded
    /// The hello is queued. Welcome is overdue after `timeout`.
    case helloSent(timeout: Duration?)
    /// Frames of the handshake were written to the connection, and some are left.
    case framesWritten(leaving: Int)
    case goAwaySent
    case resumptionDiscarded
    case pong(nonce: UInt64)
    case spread(Duration)
    case auth(Auth)
    case serverUnverified
    case welcomed(Welcome)
    case rejected(Notice, Carrier)
    case goAwayReceived(Notice)
    case failed(ErrorCode)
    case backupStarted
    case peerSilent
    case progressed(at: Instant, hasUnacknowledged: Bool)
    case pending(Bool)
    case deadlinePassed
    /// Frames have arrived or were sent, or the round-trip time was measured.
    case activity(ConnectionSupervisor.Activity)
}

extension ConnectionSupervisor {
    mutating func handle(_ event: ConnectionEvent, now: Instant) {
        switch event {
        case .input(let input): handle(input, now: now)
        case .linkEnded: endLink(now: now)
        case .helloSent(let timeout):
            let configuration = LinkConfiguration(account: .placeholder, device: DeviceID(rawValue: 0))
            handshake.sendHello(configuration, positions: [], timeout: timeout, now: now)
        case .framesWritten(let count): handshake.framesWritten(leaving: count)
        case .goAwaySent: handshake.sendGoAway()
        case .resumptionDiscarded: handshake.discardResumptionState()
        case .pong(let nonce): pongReceived(nonce: nonce, now: now)
        case .spread(let spread): spreadReceived(spread, now: now)
        case .auth(let auth):
            if !authReceived(auth, now: now) { fail(.protocolViolation, now: now) }
        case .serverUnverified: serverUnverified(now: now)
        case .welcomed(let welcome): welcomed(welcome, now: now)
        case .rejected(let notice, let carrier): rejected(notice, carrier, now: now)
        case .goAwayReceived(let notice): goAwayReceived(notice, now: now)
        case .failed(let code): fail(code, now: now)
        case .backupStarted: startBackup(now: now)
        case .peerSilent: replaceSilent(now: now)
        case .progressed(let progress, let hasUnacknowledged):
            linkProgressed(at: progress, hasUnacknowledged: hasUnacknowledged, now: now)
        case .pending(let hasPending): setPending(hasPending, now: now)
        case .deadlinePassed: deadlinePassed(now: now)
        case .activity(let activity): self.activity = activity
        }
    }

    private mutating func handle(_ input: LinkInput, now: Instant) {
        switch input {
        case .start: start(now: now)
        case .stop: stop(now: now)
        case .retryNow: retryNow(now: now)
        case .enterForeground: enterForeground(now: now)
        case .setMode(let mode): setMode(mode, now: now)
        case .wake: wake(now: now)
        case .pathChanged(let status): pathChanged(to: status, now: now)
        case .connected(let id, let localAddress): connected(id, localAddress: localAddress, now: now)
        case .connectFailed(let id, let failure): connectFailed(id, failure, now: now)
        case .closed(let id, let byPeer, let isTLSFailure):
            closed(id, byPeer: byPeer, isTLSFailure: isTLSFailure, now: now)
        case .credential(let id, let secret, let mechanism): credential(secret, mechanism, for: id)
        case .answer(let id, let message, let serverFinal): answer(message, expecting: serverFinal, for: id, now: now)
        case .exchangeFailed(let id): exchangeFailed(id, now: now)
        case .credentialFailed(let id): credentialFailed(id, now: now)
        }
    }
}

extension AccountName {
    /// The name in place of the account of a recorded connection.
    static let placeholder = AccountName(StateArchive.placeholder)!
}

extension ConnectionEvent: Archived {
    private static let kindCount = 20

    private var kind: Int {
        switch self {
        case .activity: 0
        case .input: 1
        case .linkEnded: 2
        case .helloSent: 3
        case .framesWritten: 4
        case .goAwaySent: 5
        case .resumptionDiscarded: 6
        case .pong: 7
        case .spread: 8
        case .auth: 9
        case .serverUnverified: 10
        case .welcomed: 11
        case .rejected: 12
        case .goAwayReceived: 13
        case .failed: 14
        case .backupStarted: 15
        case .peerSilent: 16
        case .progressed: 17
        case .pending: 18
        case .deadlinePassed: 19
        }
    }

    /// An event of a kind, with values in place of those that are read.
    private static func blank(_ kind: Int) -> ConnectionEvent {
        switch kind {
        case 0: .activity(ConnectionSupervisor.Activity())
        case 1: .input(.start)
        case 2: .linkEnded
        case 3: .helloSent(timeout: nil)
        case 4: .framesWritten(leaving: 0)
        case 5: .goAwaySent
        case 6: .resumptionDiscarded
        case 7: .pong(nonce: 0)
        case 8: .spread(.zero)
        case 9: .auth(Auth())
        case 10: .serverUnverified
        case 11: .welcomed(.blank)
        case 12: .rejected(Notice(code: .none), .reliable)
        case 13: .goAwayReceived(Notice(code: .none))
        case 14: .failed(.none)
        case 15: .backupStarted
        case 16: .peerSilent
        case 17: .progressed(at: .zero, hasUnacknowledged: false)
        case 18: .pending(false)
        default: .deadlinePassed
        }
    }

    static let blank = ConnectionEvent.deadlinePassed

    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        let kind = try archive.tag(kind, below: Self.kindCount)
        if archive.isReading { self = Self.blank(kind) }
        switch self {
        case .linkEnded, .goAwaySent, .resumptionDiscarded, .serverUnverified, .backupStarted, .peerSilent,
            .deadlinePassed:
            break
        case .activity(var activity):
            try activity.archive(&archive)
            self = .activity(activity)
        case .input(var input):
            try input.archive(&archive)
            self = .input(input)
        case .helloSent(var timeout):
            try archive.optional(&timeout, .zero)
            self = .helloSent(timeout: timeout)
        case .framesWritten(var count):
            try archive.count(&count, upTo: HandshakeQueue.maxRecordedCount)
            self = .framesWritten(leaving: count)
        case .pong(var nonce):
            try nonce.archive(&archive)
            self = .pong(nonce: nonce)
        case .spread(var spread):
            try spread.archive(&archive)
            self = .spread(spread)
        case .auth(let auth):
            var (secret, lifetime) = (auth.credential, auth.credentialLifetime)
            try archive.secret(&secret)
            try archive.optional(&lifetime, .zero)
            self = .auth(Auth(credential: secret, credentialLifetime: lifetime))
        case .welcomed(var welcome):
            try welcome.archive(&archive)
            self = .welcomed(welcome)
        case .rejected(var notice, let carrier):
            try notice.archive(&archive)
            var isReliable = carrier == .reliable
            try isReliable.archive(&archive)
            self = .rejected(notice, isReliable ? .reliable : .unreliable)
        case .goAwayReceived(var notice):
            try notice.archive(&archive)
            self = .goAwayReceived(notice)
        case .failed(var code):
            try code.archive(&archive)
            self = .failed(code)
        case .progressed(var instant, var hasUnacknowledged):
            try instant.archive(&archive)
            try hasUnacknowledged.archive(&archive)
            self = .progressed(at: instant, hasUnacknowledged: hasUnacknowledged)
        case .pending(var hasPending):
            try hasPending.archive(&archive)
            self = .pending(hasPending)
        }
    }
}

extension LinkInput: Archived {
    private var kind: Int {
        switch self {
        case .start: 0
        case .stop: 1
        case .retryNow: 2
        case .enterForeground: 3
        case .setMode: 4
        case .wake: 5
        case .pathChanged: 6
        case .connected: 7
        case .connectFailed: 8
        case .closed: 9
        case .credential: 10
        case .answer: 11
        case .exchangeFailed: 12
        case .credentialFailed: 13
        }
    }

    private static let blanks: [LinkInput] = [
        .start, .stop, .retryNow, .enterForeground, .setMode(.foreground), .wake, .pathChanged(to: .down),
        .connected(.none, localAddress: nil), .connectFailed(.none), .closed(.none, byPeer: false),
        .credential(.none, nil), .answer(.none, Credential([])!, expecting: nil), .exchangeFailed(.none),
        .credentialFailed(.none),
    ]

    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        let kind = try archive.tag(kind, below: Self.blanks.count)
        if archive.isReading { self = Self.blanks[kind] }
        switch self {
        case .start, .stop, .retryNow, .enterForeground, .wake: break
        case .setMode(var mode):
            try archive.choice(&mode)
            self = .setMode(mode)
        case .pathChanged(var status):
            // The recorder has replaced the addresses.
            var hasLocal = !status.addresses.isEmpty
            try status.archive(&archive)
            try hasLocal.archive(&archive)
            status.addresses = hasLocal ? [StateArchive.placeholder] : []
            self = .pathChanged(to: status)
        case .connected(var id, var address):
            try id.archive(&archive)
            try archive.presence(of: &address)
            self = .connected(id, localAddress: address)
        case .connectFailed(var id, var failure):
            try id.archive(&archive)
            try failure.archive(&archive)
            self = .connectFailed(id, failure)
        case .closed(var id, var byPeer, var isTLSFailure):
            try id.archive(&archive)
            try byPeer.archive(&archive)
            try isTLSFailure.archive(&archive)
            self = .closed(id, byPeer: byPeer, isTLSFailure: isTLSFailure)
        case .credential(var id, var secret, var mechanism):
            try id.archive(&archive)
            try archive.secret(&secret)
            try archive.mechanism(&mechanism)
            self = .credential(id, secret, mechanism: mechanism)
        case .answer(var id, let message, var expected):
            try id.archive(&archive)
            var secret = Optional(message)
            try archive.secret(&secret)
            try archive.secret(&expected)
            guard let secret else { throw archive.fault }
            self = .answer(id, secret, expecting: expected)
        case .exchangeFailed(var id):
            try id.archive(&archive)
            self = .exchangeFailed(id)
        case .credentialFailed(var id):
            try id.archive(&archive)
            self = .credentialFailed(id)
        }
    }
}

/// The fields of welcome on which the connection depends.
extension Welcome: Archived {
    fileprivate static let blank = Welcome(
        features: [], limits: .minimum, account: .placeholder, link: LinkID(rawValue: 0), resumeToken: .placeholder,
        epoch: Epoch(rawValue: 0), resumeLifetime: .zero)

    mutating func archive(_ archive: inout StateArchive) throws(RecordingError) {
        var (link, epoch, isResumed) = (link.rawValue, Int(epoch.rawValue), resumed != nil)
        var (interval, spread, lifetime) = (heartbeatInterval, reconnectSpread, credentialLifetime)
        try link.archive(&archive)
        try archive.count(&epoch, upTo: Int(UInt32.max))
        try isResumed.archive(&archive)
        try archive.optional(&interval, .zero)
        try archive.optional(&spread, .zero)
        try archive.optional(&lifetime, .zero)
        self = Welcome(
            features: [], limits: .minimum, account: .placeholder, link: LinkID(rawValue: link),
            resumeToken: .placeholder, epoch: Epoch(rawValue: UInt32(epoch)), resumeLifetime: .zero,
            heartbeatInterval: interval, reconnectSpread: spread, credentialLifetime: lifetime,
            resumed: isResumed ? [] : nil)
    }
}
