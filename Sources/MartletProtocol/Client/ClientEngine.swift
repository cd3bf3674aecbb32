import MartletWire

/// All decisions of a client: when to connect, what to say, what to keep, what to tell the application.
///
/// Events come in as calls, each with its instant; then `nextOutput` is called until it answers nil, and
/// `deadlinePassed` when `deadline` has come. Bytes go in with `receive` and out with `transmit`. The engine composes
/// the connection machine, the reconnect policy, the heartbeat and the link; rooms and their unaccepted messages
/// outlive all of these.
///
/// A new connection says hello with the link's resume token and sends what is unacknowledged right behind it. When the
/// server refuses the resume, a new link is begun on the same connection: rooms are opened again from their cursors and
/// unaccepted messages are sent again; their counters let the relay accept each once.
public struct ClientEngine: ~Copyable {
    /// Who the client is, and its bounds.
    public let configuration: ClientConfiguration

    enum TimerKey: Hashable, Sendable {
        case receipts(RoomID)
        case expiry(RoomID)
        case reopen(RoomID)
        case typing(RoomID)
        case request(UInt64)
        case frame
        case welcome
    }

    /// From a frame's first byte to its last (C-60, Specs/hostile.md row 5).
    static let frameTimeout: Duration = .seconds(30)
    /// How long a hello may be under way whose connection has ended: a system goes on sending what it has been given.
    static let strayHelloLifetime: Duration = .seconds(60)

    /// When sessions may be opened on the link: those of all rooms at once, others at a rate that the server takes.
    var opens = TokenBucket(burst: Link.ownOpenBurst, perMinute: Link.ownOpensPerMinute)
    /// What a resume needs beside the link itself.
    struct Ticket: Sendable {
        var link: LinkID
        var token: ResumeToken
    }

    var random: SeededRandom
    var machine: ConnectionMachine
    var policy: ReconnectPolicy
    var heartbeat: Heartbeat
    var natProbe = NATProbe(network: NetworkID(rawValue: 0))
    var serverInterval: Duration?
    var path: PathStatus?
    var localAddress: String?

    var link: Link
    var ticket: Ticket?
    var framer: Framer?
    var inflater = Inflater()
    let deflater = Deflater()
    /// What is being written; its memory serves each message.
    var writer = TLVWriter()
    var senders = AccountNames()
    var handshake = HandshakeQueue()
    var handshakeConnection = ConnectionID.none
    var isCarrierUp = false
    var isTransmitAsked = false
    /// Whether the connection's hello asks for a new link and has no answer yet.
    var awaitsNewLink = false
    /// Until when such a hello of an earlier connection may still arrive, and begin a link in place of a later one's.
    var strayHelloUntil = Instant.zero
    var credential = CredentialState.none
    var backup = Backup()
    var redirect: String?
    var failure: ConnectionFailure?
    var isStopping = false
    /// The goodbye follows on what the link still has to send.
    var owesGoodbye = false
    var flushesOnClose = false

    var rooms: [RoomID: ClientRoom] = [:]
    /// What the application has of all rooms and has not taken.
    var held: HeldMessages
    /// Whether a room may have dropped messages.
    var hasLaggingRooms = false
    var roomOfName: [RoomName: RoomID] = [:]
    var roomOfSession: [SessionID: RoomID] = [:]
    var nextRoom: UInt32 = 1
    var requests: [UInt64: ClientRequest] = [:]
    var nextRequest: UInt64 = 1
    var timers = TimerQueue<TimerKey>()
    var outputs = Deque<ClientOutput>()
    var toldStatus = ClientStatus()
    var current = ClientStatus()
    var pastCounters = LinkCounters()
    var establishedCount: UInt64 = 0
    /// Round-trip times of all links so far.
    public internal(set) var roundTrips = RTTHistogram()

    /// Whether this attempt's credential is there.
    enum CredentialState: Sendable {
        case none
        case fetching
        case ready(Credential?)
    }

    /// A client that is idle.
    ///
    /// - Parameter seed: for jitter and nonces; different for each client.
    public init(configuration: ClientConfiguration, seed: UInt64, now: Instant) {
        self.configuration = configuration
        random = SeededRandom(seed: seed)
        // A link has a window under way and, beside it, what has arrived of one message (S-37).
        held = HeldMessages(
            maxByteCount: configuration.limits.linkWindow + configuration.limits.maxMessageByteCount)
        machine = ConnectionMachine(deadlines: configuration.deadlines)
        policy = ReconnectPolicy(configuration: configuration.reconnect)
        heartbeat = Heartbeat(strategy: configuration.heartbeat, now: now, random: random.next())
        link = Link(
            role: .client, limits: ClientEngine.earlyLimits(configuration), features: [], began: now,
            firstSequence: configuration.firstSequence)
    }

    // MARK: Life

    /// Begins to connect; while it waits to try again, it tries at once.
    ///
    /// A stop that is under way is over with it: `.stopped` comes first.
    public mutating func start(now: Instant) {
        finishStop()
        _ = policy.resume()
        perform(machine.handle(.connect, now: now), now: now)
    }

    /// Ends in good order: sends what may still be sent, says goodbye, and answers `.stopped` (C-7).
    ///
    /// What the server answers from here on is not heard: messages it has not accepted so far stay unaccepted here, and
    /// are sent again after the next `start`.
    public mutating func stop(now: Instant) {
        isStopping = true
        policy.cancel()
        if case .connected = machine.state, link.isAttached { owesGoodbye = true }
        let answer = machine.handle(.disconnect, now: now)
        if answer == .ignored, machine.state == .disconnected { return finishStop() }
        perform(answer, now: now)
    }

    /// The user asks for an attempt at once, also after the client gave up.
    public mutating func retryNow(now: Instant) {
        follow(policy.resume(), now: now)
    }

    /// The application is in front of its user: the server is asked at once whether it is there, also when the
    /// application was there before (C-51).
    public mutating func enterForeground(now: Instant) {
        if heartbeat.mode == .foreground {
            obey(heartbeat.probe(now: now, random: nonce()), now: now)
        } else {
            setMode(.foreground, now: now)
        }
        if case .waiting = policy.state { follow(policy.tryNow(), now: now) }
    }

    /// The application went into the background: the heartbeat slows down.
    public mutating func enterBackground(now: Instant) {
        setMode(.background, now: now)
    }

    /// How the application is being used.
    public mutating func setMode(_ mode: HeartbeatMode, now: Instant) {
        obey(heartbeat.setMode(mode, now: now, random: nonce()), now: now)
    }

    /// The process was frozen and goes on.
    public mutating func wake(now: Instant) {
        obey(heartbeat.wake(now: now, random: nonce()), now: now)
    }

    /// The path monitor reported a status.
    public mutating func pathChanged(to status: PathStatus, now: Instant) {
        let before = path
        path = status
        natProbe.pathChanged(to: status.network, now: now)
        follow(policy.pathChanged(to: status, now: now), now: now)
        guard let before else { return }
        let change = PathChange(from: before, to: status, localAddress: isCarrierUp ? localAddress : nil)
        if case .connecting = machine.state, change == .probe {
            // A dial on the path of before would only run into its deadline.
            return perform(machine.handle(.reconnect, now: now), now: now)
        }
        guard isCarrierUp else { return }
        switch change {
        case .none, .pause: break
        case .probe: obey(heartbeat.probe(now: now, random: nonce()), now: now)
        case .redial: perform(machine.handle(.reconnect, now: now), now: now)
        }
    }

    // MARK: Time and outputs

    /// When `deadlinePassed` wants to be called.
    public var deadline: Instant? {
        let earliest = timers.earliest.orEarlier(machine.deadline).orEarlier(policy.deadline)
        // Before the welcome the machine's deadline is the only one: the server may take its time to let us in (S-33).
        guard isEstablished else { return earliest }
        return earliest.orEarlier(heartbeat.deadline).orEarlier(link.deadline)
    }

    /// Acts on the deadlines that have passed.
    public mutating func deadlinePassed(now: Instant) {
        perform(machine.deadlinePassed(now: now), now: now)
        follow(policy.deadlinePassed(now: now), now: now)
        if isEstablished { obey(heartbeat.deadlinePassed(now: now, random: nonce()), now: now) }
        if isEstablished {
            switch link.deadlinePassed(now: now) {
            case .proceed: break
            case .overdue: startBackup(now: now)
            case .replaceConnection: replaceSilent(now: now)
            case .ackTimeout: fail(.peer(.ackTimeout), now: now)
            }
        }
        while let key = timers.popExpired(now: now) {
            switch key {
            case .receipts(let room): sendReceipts(room, now: now)
            case .expiry(let room): expire(room, now: now)
            case .reopen(let room): reopen(room, now: now)
            case .typing(let room): endTyping(room, now: now)
            case .request(let request): finishRequest(request, .failed(.deadlineExceeded), now: now)  // S-55
            case .welcome: missWelcome(now: now)
            case .frame: if isCarrierUp { fail(.peer(.frameTimeout), now: now) }
            }
        }
    }

    /// The next thing to do; nil when there is none until the next event.
    public mutating func nextOutput(now: Instant) -> ClientOutput? {
        if let output = outputs.popFirst() { return output }
        refresh(now: now)
        return outputs.popFirst()
    }

    /// Writes what there is to send on a connection, as whole frames, as far as `out` has room.
    ///
    /// - Returns: whether there may be more.
    @discardableResult
    public mutating func transmit(on id: ConnectionID, into out: inout OutputRawSpan, now: Instant) -> Bool {
        isTransmitAsked = false
        guard id == handshakeConnection else { return false }
        guard handshake.write(into: &out) else { return true }
        guard id == machine.current, link.isAttached else { return false }
        let start = out.byteCount
        link.transmit(into: &out, now: now)
        if owesGoodbye, !link.hasOutput(now: now) {
            owesGoodbye = false
            handshake.append(.goaway, GoAway(Notice(code: .none)).encode())
            _ = handshake.write(into: &out)
        }
        if out.byteCount > start { heartbeat.sent(now: now) }
        return !handshake.isEmpty || link.hasOutput(now: now)
    }

    /// Where the client stands and why.
    public var status: ClientStatus { current }

    /// What all links so far have counted.
    public var counters: LinkCounters { pastCounters.adding(link.counters) }

    /// The smoothed round-trip time of the current link.
    public var smoothedRTT: Duration? { link.rtt.smoothed }

    // MARK: Inside

    /// What may be counted on before the server has answered: the least that any server takes (C-17).
    static func earlyLimits(_ configuration: ClientConfiguration) -> Limits {
        let least = Limits.minimum
        return Limits(
            maxBodyByteCount: least.maxBodyByteCount, maxMessageByteCount: configuration.limits.maxMessageByteCount,
            linkWindow: least.linkWindow, sessionWindow: least.sessionWindow,
            maxSessions: configuration.limits.maxSessions)
    }

    var isEstablished: Bool {
        if case .connected(_, .established) = machine.state { return true }
        return false
    }

    mutating func nonce() -> UInt64 {
        random.next() & ~Link.probeBit
    }

    mutating func obey(_ answer: Heartbeat.Answer, now: Instant) {
        guard isEstablished else { return }
        switch answer {
        case .none: break
        case .sendPing(let nonce): link.ping(nonce: nonce)
        case .dead:
            _ = natProbe.failed(after: heartbeat.probedSilence, now: now)
            replaceSilent(now: now)
        }
    }

    /// At the end of a turn: derived state follows, the status is told when it changed.
    private mutating func refresh(now: Instant) {
        endBackupIfNotNeeded(now: now)
        if isEstablished {
            heartbeat.expectReply(link.hasUnacknowledged || !requests.isEmpty, now: now)
            heartbeat.setRoundTrip(smoothed: link.rtt.smoothed, timeout: link.rtt.baseTimeout)
            let limit = natProbe.interval(now: now)
            heartbeat.setLimit(min(serverInterval ?? limit, limit))  // C-49
            current.quality = link.rtt.quality
        }
        if !isTransmitAsked, owesGoodbye || !handshake.isEmpty || link.hasOutput(now: now) {
            isTransmitAsked = true
            outputs.append(.transmit(handshakeConnection))
        }
        guard current != toldStatus else { return }
        toldStatus = current
        outputs.append(.status(current))
    }

    mutating func finishStop() {
        guard isStopping else { return }
        isStopping = false
        current.state = .stopped(nil)
        outputs.append(.stopped)
    }
}
