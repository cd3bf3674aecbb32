package import MartletLink
package import MartletRelay
package import MartletWire

/// A relay engine in a virtual world, with its place in front of a store that can be slow and can fail.
@dynamicMemberLookup
package final class VirtualRelay {
    /// The engine of the first loop. Its events are called through `VirtualWorld.act`.
    package internal(set) var engine: RelayEngine {
        _read { yield loops.first }
        _modify { yield &loops.first }
    }
    private(set) var loops: VirtualLoops
    /// The store, which other relays may use, too.
    package let store: VirtualStore
    /// The generation of the process. Events for an earlier one are dropped.
    private(set) var generation = 0
    /// The time until which connects fail.
    var isDownUntil = Instant.zero
    /// Whether the process is stopped, as by SIGSTOP: its events and deadlines wait.
    var isStopped = false
    /// The delay of the store. Pending calls are lost when the relay crashes.
    package var storeDelay = Duration.zero
    /// The delay of an authentication.
    package var authenticationDelay = Duration.zero
    /// Refused accounts and the notices sent to them.
    package var refusals: [AccountName: Notice] = [:]
    /// The duration after which credentials expire; nil if they do not.
    package var credentialLifetime: Duration?
    /// The claims of accepted credentials.
    package var claims = Claims()
    /// The answer to a message of an authentication exchange, which are numbered from 0.
    package var exchange: (_ number: Int, Credential?) -> ExchangeAnswer = { _, _ in .refused }
    /// The delay of a decision of the room policy.
    package var policyDelay = Duration.zero
    /// The room policy; nil for a failure.
    package var policy: (RoomAuthorizationRequest) -> RoomDecision? = { _ in .granted(.all) }
    /// The rooms about which the room policy has not answered in time, in order.
    package internal(set) var overdueRooms: [RoomName] = []
    /// Requests without a recipient, in order; without a room, those of accounts' sessions.
    package internal(set) var requests: [(id: RelayCallID, room: RoomName?, request: Request)] = []
    /// The reports of undelivered messages, if `RelayConfiguration.reportsUndelivered` is set.
    package internal(set) var undelivered: [UndeliveredReport] = []
    /// Whether requests without a recipient are answered with `unknownMethod` at once.
    package var answersRequests = true
    /// The results of commands, by number.
    package internal(set) var commandResults: [UInt64: RoomCommandResult] = [:]
    /// Called for every note of the engine, when it occurs. It must not call the world.
    package var onNote: ((RelayNote) -> Void)?
    /// The notes of the engine.
    package internal(set) var notes: [RelayNote] = []
    /// The other relays on the bus; nil without one.
    package internal(set) var peers: BusPeers?
    private var datagrams: [[UInt8]] = []
    private let configuration: RelayConfiguration
    private let loopCount: Int
    private var random: SeededRandom

    /// An answer in an authentication exchange.
    package enum ExchangeAnswer {
        /// The peer has to answer this message.
        case challenge(Credential)
        /// The peer is authenticated, with the last message of the exchange.
        case accepted(final: Credential?)
        /// The peer is refused with `unauthenticated`.
        case refused
    }

    /// Requests of exchanges, and the numbers of their next messages.
    private var exchanges: [ConnectionKey: (request: AuthenticationRequest, number: Int)] = [:]

    /// The delay of messages between loops, constant to preserve their order.
    private static let loopDelay = Duration.microseconds(100)

    /// An asynchronous operation of the relay's shell.
    enum Work {
        case authenticate(ConnectionKey, AuthenticationRequest)
        case continueExchange(ConnectionKey, Credential)
        case store(StoreQuestion, loop: Int)
        case answered(StoreAnswer, loop: Int)
        case changed(RoomRevision)
        case datagram([UInt8])
        case beat
        case call(RelayCallID, RelayCall)
        case send(Int, [LoopMessage])
    }

    init(_ configuration: RelayConfiguration, loopCount: Int = 1, seed: UInt64, store: VirtualStore? = nil) {
        self.configuration = configuration
        self.loopCount = loopCount
        self.store = store ?? VirtualStore(seed: seed)
        loops = VirtualLoops(configuration, count: loopCount, seed: seed)
        random = SeededRandom(seed: seed)
        joinBus()
    }

    private func joinBus() {
        datagrams = []
        peers = configuration.busDatagramByteCount.map {
            BusPeers(id: RelayID(rawValue: random.next()), maxDatagramByteCount: $0)
        }
    }

    /// The state of the store, for worlds with one relay.
    package subscript<Value>(dynamicMember path: ReferenceWritableKeyPath<VirtualStore, Value>) -> Value {
        get { store[keyPath: path] }
        set { store[keyPath: path] = newValue }
    }

    /// The state of the store that it changes only itself.
    package subscript<Value>(dynamicMember path: KeyPath<VirtualStore, Value>) -> Value { store[keyPath: path] }

    /// Replaces the process: the next one has the settings, and neither connections nor a policy.
    func restart(seed: UInt64) {
        generation += 1
        isStopped = false
        loops = VirtualLoops(configuration, count: loopCount, seed: seed)
        random = SeededRandom(seed: seed)
        joinBus()
        exchanges = [:]
        policyDelay = .zero
        policy = { _ in .granted(.all) }
        store.reopen()
    }

    /// Processes the engine's outputs and returns those for the network, and the asynchronous operations with their
    /// delays.
    func drain(now: Instant) -> (network: [RelayOutput], work: [(Work, Duration)]) {
        var network: [RelayOutput] = []
        var work: [(Work, Duration)] = []
        while let (loop, output) = loops.nextOutput(now: now) {
            switch output {
            case .link(.authenticate(let key, let request)):
                later(.authenticate(key, request), authenticationDelay, &work, now: now)
            case .link(.continueExchange(let key, let message)):
                later(.continueExchange(key, message), authenticationDelay, &work, now: now)
            case .call(let id, let call):
                switch call {
                case .authorize: later(.call(id, call), policyDelay, &work, now: now)
                case .attachment: later(.call(id, call), storeDelay, &work, now: now)
                case .administer: perform(.call(id, call), now: now)
                case .request(let room, let request):
                    requests.append((id, room, request))
                    if answersRequests { perform(.call(id, call), now: now) }
                }
            case .policyOverdue(let room): overdueRooms.append(room)
            case .store(let questions):
                for question in questions {
                    if store.isShared {
                        work.append((.store(question, loop: loop), storeDelay))
                    } else if case .saveProgress(let room, let marks) = question {
                        store.save(marks, of: room)
                    } else {
                        later(.store(question, loop: loop), storeDelay, &work, now: now)
                    }
                }
            case .bus(let messages, let hasLost):
                if hasLost { datagrams += peers?.takeDatagrams(hasLost: true) ?? [] }
                peers?.append(messages)
            case .commandEnded(let id, let result): commandResults[id] = result
            case .note(let note, _): report(note)
            case .link(.note(let note, _)): report(.link(note))
            case .undelivered(let reports): undelivered += reports
            case .link(.transmit), .link(.close), .link(.pauseReading), .link(.resumeReading): network.append(output)
            case .send(let other, let messages): work.append((.send(other, messages), VirtualRelay.loopDelay))
            case .link(.transfer): preconditionFailure("VirtualLoops performs transfers")
            }
        }
        return (network, work)
    }

    /// Takes the datagrams for the bus.
    func takeDatagrams() -> [[UInt8]] {
        defer { datagrams = [] }
        return datagrams + (peers?.takeDatagrams() ?? [])
    }

    private func report(_ note: RelayNote) {
        notes.append(note)
        onNote?(note)
    }

    /// Completes an operation and reports its result to the engine.
    func perform(_ work: Work, now: Instant) {
        switch work {
        case .authenticate(let key, let request):
            guard request.mechanism != nil else { return loops.authenticated(key, answer(request), now: now) }
            exchanges[key] = (request, 0)
            proceed(key, request.credential, now: now)
        case .continueExchange(let key, let message): proceed(key, message, now: now)
        case .call(let id, let call): loops.completed(id, result(of: call), now: now)
        case .store(let question, let loop): loops.answered(store.answer(to: question), at: loop, now: now)
        case .answered(let answer, let loop): loops.answered(answer, at: loop, now: now)
        case .changed(let revision): loops.changed(revision, now: now)
        case .datagram(let bytes): pass(peers?.receive(bytes.rawBytes, now: now) ?? [], now: now)
        case .beat:
            let overview = overview
            pass(peers?.beat(overview, now: now) ?? [], now: now)
        case .send(let loop, let messages): loops.receive(messages, at: loop, now: now)
        }
    }

    private var overview: PeerRelay {
        let statistics = loops.statistics
        return PeerRelay(
            relay: peers?.id ?? RelayID(rawValue: 0), name: "relay", agent: "simulator",
            linkCount: UInt32(statistics.links), roomCount: UInt32(statistics.rooms), isDraining: false,
            relayClock: engine.wallClock)
    }

    private func pass(_ events: [BusPeers.Event], now: Instant) {
        for event in events {
            switch event {
            case .incomplete, .lost, .item: loops.busReceived(event, now: now)
            case .command(.kick(let account), _): loops.kick(account, now: now)
            case .command(.revoke(let account), _): loops.revoke(account, now: now)
            case .command(.drain, _), .nameShared: break
            case .fault(_, let fault): preconditionFailure("the bus carries an invalid datagram: \(fault)")
            }
        }
    }

    private func result(of call: RelayCall) -> RelayResult {
        switch call {
        case .authorize(let request): .decision(policy(request))
        case .request, .administer: .answer(RequestAnswer(status: .unknownMethod))
        case .attachment(let call): .attachment(store.attachments.perform(call))
        }
    }

    private func later(_ work: Work, _ delay: Duration, _ list: inout [(Work, Duration)], now: Instant) {
        if delay == .zero { perform(work, now: now) } else { list.append((work, delay)) }
    }

    private func proceed(_ key: ConnectionKey, _ message: Credential?, now: Instant) {
        guard let (request, number) = exchanges.removeValue(forKey: key) else { return }
        switch exchange(number, message) {
        case .challenge(let challenge):
            exchanges[key] = (request, number + 1)
            loops.authenticated(key, .challenge(challenge), now: now)
        case .accepted(let final): loops.authenticated(key, answer(request, final: final), now: now)
        case .refused: loops.authenticated(key, .refused(Notice(code: .unauthenticated)), now: now)
        }
    }

    private func answer(_ request: AuthenticationRequest, final: Credential? = nil) -> AuthenticationAnswer {
        if let notice = refusals[request.account] { return .refused(notice) }
        let token = ResumeToken(random.next(), random.next(), random.next(), random.next())
        return .accepted(
            Identity(request.account, claims: claims, expiresAt: expiry),
            TokenGrant(token: token, digest: digest(token)),
            presented: request.presentedToken.map(digest), final: final)
    }

    private var expiry: UInt64? {
        credentialLifetime.map { engine.wallClock + UInt64($0.nanoseconds / 1_000_000) }
    }

    /// A substitute for SHA-256, which the virtual world does not need.
    private func digest(_ token: ResumeToken) -> TokenDigest {
        var words: [UInt64] = [1, 2, 3, 4]
        for (index, byte) in token.bytes.enumerated() { words[index / 8] = words[index / 8] << 8 &+ UInt64(byte) }
        return TokenDigest(~words[0], ~words[1], ~words[2], ~words[3])
    }
}
