import MartletTransport
import MartletWire

@testable import MartletLink
@testable import MartletRelay

/// A relay engine with a store in memory and virtual peers, in virtual time.
///
/// Frames of a peer reach the engine at once. Time advances from deadline to deadline while a test waits.
final class EngineFixture: @unchecked Sendable {
    /// The maximum wait of a peer.
    static let timeout = Duration.seconds(900)

    private(set) var engine: RelayEngine
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    let store = InMemoryStore()
    /// The authenticator's refusal for every peer; nil accepts.
    var refusal: Notice?
    /// The room policy, if the configuration asks it.
    var policy: (RoomAuthorizationRequest) -> RoomDecision = { _ in .granted(.all) }
    /// Whether the authenticator answers.
    var authenticates = true
    /// The kernel's buffer for a peer that does not read, in bytes.
    let kernelByteCount = 256 * 1024
    private(set) var notes: [RelayNote] = []
    private var peers: [ConnectionKey: VirtualPeer] = [:]
    private var tokens: UInt64 = 0
    private var scratch = [UInt8](repeating: 0, count: 64 * 1024)

    init(_ configuration: RelayConfiguration = RelayConfiguration()) {
        engine = RelayEngine(configuration: configuration, seed: 7)
    }

    func connect() -> VirtualPeer {
        let key = engine.accepted(.reliable, now: now)!
        let peer = VirtualPeer(key, in: self)
        peers[key] = peer
        settle()
        return peer
    }

    /// Reports an event to the engine and performs its outputs.
    func act<Result>(_ event: (inout RelayEngine, Instant) -> Result) -> Result {
        engine.wallClock = 1_700_000_000_000
        let result = event(&engine, now)
        settle()
        for peer in peers.values { peer.reply() }
        return result
    }

    /// Advances time until `condition` holds; false at the timeout.
    @discardableResult
    func run(for limit: Duration = timeout, until condition: () -> Bool = { false }) -> Bool {
        let end = now + limit
        while !condition() {
            guard let deadline = nextDeadline, deadline <= end else {
                now = end
                return condition()
            }
            now = max(now, deadline)
            for peer in peers.values.filter({ $0.abortAt.map { $0 <= now } ?? false }) { endConnection(peer) }
            if let deadline = engine.deadline, deadline <= now { act { $0.deadlinePassed(now: $1) } }
        }
        return true
    }

    private var nextDeadline: Instant? {
        let aborts = peers.values.compactMap(\.abortAt).min()
        guard let deadline = engine.deadline else { return aborts }
        return min(deadline, aborts ?? deadline)
    }

    /// Unprocessed input of a connection that the engine holds, in bytes.
    func heldByteCount(of peer: VirtualPeer) -> Int {
        guard let slot = engine.server.connections.slot(peer.key) else { return 0 }
        return engine.server.connections[slot].heldByteCount
    }

    /// Fills the peer's kernel buffer and stops its reading.
    func stall(_ peer: VirtualPeer) {
        peer.isReading = false
        peer.unread = [UInt8](repeating: 0, count: kernelByteCount)
    }

    /// Frames queued for a peer or unacknowledged, in bytes with objects.
    func heldForSending(to peer: VirtualPeer) -> Int {
        link(of: peer) { $0.queued(perFrame: RelayLink.entryByteCount).byteCount } ?? 0
    }

    /// A value of a peer's link; nil if there is none.
    func link<Value>(of peer: VirtualPeer, _ value: (borrowing Link) -> Value) -> Value? {
        guard let slot = engine.server.connections.slot(peer.key), let link = engine.server.connections[slot].linkSlot
        else {
            return nil
        }
        return value(engine.sessions.links[link].link)
    }

    // MARK: - Shell

    private func settle() {
        while let output = engine.nextOutput(now: now) {
            switch output {
            case .link(.authenticate(let key, let request)): if authenticates { admit(key, request) }
            case .link(.continueExchange): preconditionFailure("this relay has no exchanges")
            case .link(.transmit(let keys)): for key in keys { peers[key]?.needsWrite = true }
            case .link(.close(let key, let afterFlush)): close(key, afterFlush: afterFlush)
            case .link(.pauseReading), .link(.resumeReading): break
            case .store(let questions):
                let answers = Guarded<[StoreAnswer]>([])
                store.perform(questions.map { $0.call { answer in answers.withLock { $0.append(answer) } } })
                for answer in answers.withLock({ $0 }) { engine.answered(answer, now: now) }
            case .note(let note, _): notes.append(note)
            case .link(.note(let note, _)): notes.append(.link(note))
            case .call(let id, .authorize(let request)):
                engine.completed(id, .decision(policy(request)), now: now)
            case .call(let id, .request), .call(let id, .administer):
                engine.completed(id, .answer(RequestAnswer(status: .unknownMethod)), now: now)
            case .call(let id, .attachment): engine.completed(id, .attachment(.failed(.unavailable)), now: now)
            case .policyOverdue, .undelivered, .bus, .commandEnded: break
            case .send, .link(.transfer): preconditionFailure("this relay has one loop")
            }
        }
        for peer in peers.values { fill(peer) }
    }

    private func admit(_ key: ConnectionKey, _ request: AuthenticationRequest) {
        if let refusal { return engine.authenticated(key, .refused(refusal), now: now) }
        tokens += 1
        let token = ResumeToken(tokens, 0, 0, 0)
        engine.authenticated(
            key,
            .accepted(
                Identity(request.account), TokenGrant(token: token, digest: digest(token)),
                presented: request.presentedToken.map(digest)),
            now: now)
    }

    /// A stand-in for SHA-256.
    private func digest(_ token: ResumeToken) -> TokenDigest {
        let words = token.bytes
        return TokenDigest(words.rawBytes.loadUInt64(at: 0), words.rawBytes.loadUInt64(at: 8), 0, 0)
    }

    /// Fills while the peer reads or its kernel buffer has space.
    func fill(_ peer: VirtualPeer) {
        while peer.needsWrite, peer.isReading || peer.unread.count < kernelByteCount {
            let bytes = transmit(peer.key)
            guard !bytes.isEmpty else {
                peer.needsWrite = false
                break
            }
            if peer.isReading { peer.receive(bytes) } else { peer.unread += bytes }
        }
        if peer.isFinishing, !peer.needsWrite, peer.isReading { endConnection(peer) }
    }

    private func transmit(_ key: ConnectionKey) -> [UInt8] {
        var count = 0
        unsafe scratch.withUnsafeMutableBytes { buffer in
            var out = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
            engine.transmit(on: key, into: &out, now: now)
            count = unsafe out.finalize(for: buffer)
        }
        return Array(scratch[..<count])
    }

    private func close(_ key: ConnectionKey, afterFlush: Bool) {
        guard let peer = peers[key] else { return }
        guard afterFlush else { return endConnection(peer) }
        peer.isFinishing = true
        peer.needsWrite = true
        peer.abortAt = now + .seconds(1)
        fill(peer)
    }

    /// Closes the connection on both sides.
    func endConnection(_ peer: VirtualPeer) {
        guard peers.removeValue(forKey: peer.key) != nil else { return }
        peer.isClosed = true
        act { $0.closed(peer.key, now: $1) }
    }
}

/// A client of an engine in virtual time.
final class VirtualPeer: Peer, @unchecked Sendable {
    let key: ConnectionKey
    private unowned let fixture: EngineFixture
    private let connectedAt: Instant
    var writer = FrameWriter()
    private var splitter = FrameSplitter()
    private var arrivals = Deque<ReceivedFrame>()
    private var replies: [UInt8] = []
    var isReading = true
    private var autoReply: AutoReply = FrameWriter.standardReply
    /// Sent bytes that the peer has not read.
    var unread: [UInt8] = []
    var needsWrite = false
    var isFinishing = false
    var isClosed = false
    var abortAt: Instant?

    init(_ key: ConnectionKey, in fixture: EngineFixture) {
        self.key = key
        self.fixture = fixture
        connectedAt = fixture.now
    }

    var age: Duration? { fixture.now - connectedAt }

    func send(_ bytes: [UInt8]) async { deliver(bytes) }

    func write(_ frames: @escaping @Sendable (inout FrameWriter) -> [UInt8]) async { deliver(frames(&writer)) }

    private func deliver(_ bytes: [UInt8]) {
        guard !isClosed, !isFinishing else { return }
        fixture.act { $0.receive(bytes.rawBytes, on: key, now: $1) }
    }

    func arrival() async throws -> PeerArrival {
        fixture.run { !arrivals.isEmpty || isClosed }
        if let frame = arrivals.popFirst() { return .frame(frame) }
        guard isClosed else { throw PeerError.nothing }
        return .closed
    }

    func receive(_ bytes: [UInt8]) {
        for frame in (try? splitter.frames(in: bytes.rawBytes)) ?? [] {
            arrivals.append(frame)
            replies += autoReply(&writer, frame)
        }
    }

    /// Sends the automatic replies, outside of the engine's calls.
    func reply() {
        guard !replies.isEmpty else { return }
        let bytes = replies
        replies = []
        deliver(bytes)
    }

    func setAutoReply(_ autoReply: @escaping AutoReply) async { self.autoReply = autoReply }

    func finish() async { fixture.act { $0.endOfStream(key, now: $1) } }

    func cut() async { fixture.endConnection(self) }

    func pauseReading() async { isReading = false }

    func resumeReading() {
        isReading = true
        receive(unread)
        unread = []
        fixture.fill(self)
    }
}
