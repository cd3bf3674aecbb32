import MartletRelay
import MartletWire

@testable import MartletProtocol

/// A relay engine with a store in memory and peers at its connections, in virtual time.
///
/// What a peer says reaches the engine at once. Time passes only while somebody waits: from deadline to deadline.
final class VirtualHall: @unchecked Sendable {
    /// The longest that a peer waits for anything.
    static let patience = Duration.seconds(900)

    private(set) var engine: RelayEngine
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    let store = InMemoryStore()
    /// What the authenticator says to everybody instead of letting them in.
    var refusal: Notice?
    /// Whether the authenticator answers.
    var authenticates = true
    /// Bytes that a connection's kernel takes for a peer that does not read.
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

    /// Tells the engine something, and does what it wants done.
    func act<Result>(_ event: (inout RelayEngine, Instant) -> Result) -> Result {
        engine.wallClock = 1_700_000_000_000
        let result = event(&engine, now)
        settle()
        for peer in peers.values { peer.reply() }
        return result
    }

    /// Lets time pass until `condition` holds; false when it does not within the limit.
    @discardableResult
    func run(for limit: Duration = patience, until condition: () -> Bool = { false }) -> Bool {
        let end = now + limit
        while !condition() {
            guard let deadline = nextDeadline, deadline <= end else {
                now = end
                return condition()
            }
            now = max(now, deadline)
            for peer in peers.values.filter({ $0.abortAt.map { $0 <= now } ?? false }) { over(peer) }
            if let deadline = engine.deadline, deadline <= now { act { $0.deadlinePassed(now: $1) } }
        }
        return true
    }

    private var nextDeadline: Instant? {
        let aborts = peers.values.compactMap(\.abortAt).min()
        guard let deadline = engine.deadline else { return aborts }
        return min(deadline, aborts ?? deadline)
    }

    /// Bytes that the engine holds of what a connection has sent and nobody has understood yet.
    func heldByteCount(of peer: VirtualPeer) -> Int {
        guard let slot = engine.slot(peer.key) else { return 0 }
        return engine.heldByteCount(of: slot)
    }

    /// From now on the peer's kernel takes nothing more.
    func stall(_ peer: VirtualPeer) {
        peer.isReading = false
        peer.unread = [UInt8](repeating: 0, count: kernelByteCount)
    }

    /// Bytes that wait for a peer or its acknowledgement, with what it takes to keep them.
    func heldForSending(to peer: VirtualPeer) -> Int {
        link(of: peer)?.queued(perFrame: RelayLink.entryByteCount).byteCount ?? 0
    }

    func link(of peer: VirtualPeer) -> Link? {
        guard let slot = engine.slot(peer.key), let link = engine.connections[slot].linkSlot else { return nil }
        return engine.links.find(link)?.link
    }

    // MARK: The shell

    private func settle() {
        while let output = engine.nextOutput(now: now) {
            switch output {
            case .authenticate(let key, let request): if authenticates { admit(key, request) }
            case .transmit(let keys): for key in keys { peers[key]?.isAsked = true }
            case .close(let key, let afterFlush): close(key, afterFlush: afterFlush)
            case .pauseReading, .resumeReading: break
            case .load(let room): engine.loaded(room, store.load(room))
            case .append(let room, let entries):
                try! store.append(entries, to: room)
                engine.stored(room, upTo: entries.last?.offset, messageCount: entries.count)
            case .read(let room, let member, let range):
                let history = store.read(range, of: room)
                engine.read(member, history.entries, first: history.first)
            case .request(_, let member, let request):
                engine.respond(to: member, Response(correlation: request.correlation, status: .unknownMethod))
            case .note(let note, _): notes.append(note)
            case .tell, .handOver: preconditionFailure("this relay has one loop")
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
                request.account, TokenGrant(token: token, digest: digest(token)),
                presented: request.presentedToken.map(digest)),
            now: now)
    }

    /// Stands in for SHA-256.
    private func digest(_ token: ResumeToken) -> TokenDigest {
        let words = token.bytes
        return TokenDigest(words.rawBytes.loadUInt64(at: 0), words.rawBytes.loadUInt64(at: 8), 0, 0)
    }

    /// Asks for bytes as long as the peer reads, or its kernel takes them.
    func fill(_ peer: VirtualPeer) {
        while peer.isAsked, peer.isReading || peer.unread.count < kernelByteCount {
            let bytes = transmit(peer.key)
            guard !bytes.isEmpty else {
                peer.isAsked = false
                break
            }
            if peer.isReading { peer.take(bytes) } else { peer.unread += bytes }
        }
        if peer.isFinishing, !peer.isAsked, peer.isReading { over(peer) }
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
        guard afterFlush else { return over(peer) }
        peer.isFinishing = true
        peer.isAsked = true
        peer.abortAt = now + .seconds(1)
        fill(peer)
    }

    /// The connection is gone, whoever ended it.
    func over(_ peer: VirtualPeer) {
        guard peers.removeValue(forKey: peer.key) != nil else { return }
        peer.isOver = true
        act { $0.closed(peer.key, now: $1) }
    }
}

/// A client of an engine in virtual time.
final class VirtualPeer: Peer, @unchecked Sendable {
    let key: ConnectionKey
    private unowned let hall: VirtualHall
    private let connectedAt: Instant
    var speaker = Speaker()
    private var cutter = FrameCutter()
    private var arrivals = Deque<ReceivedFrame>()
    private var replies: [UInt8] = []
    var isReading = true
    private var manners: Manners = Speaker.polite
    /// What the relay has sent and the peer has not read.
    var unread: [UInt8] = []
    var isAsked = false
    var isFinishing = false
    var isOver = false
    var abortAt: Instant?

    init(_ key: ConnectionKey, in hall: VirtualHall) {
        self.key = key
        self.hall = hall
        connectedAt = hall.now
    }

    var age: Duration? { hall.now - connectedAt }

    func send(_ bytes: [UInt8]) async { give(bytes) }

    func say(_ words: @escaping @Sendable (inout Speaker) -> [UInt8]) async { give(words(&speaker)) }

    private func give(_ bytes: [UInt8]) {
        guard !isOver, !isFinishing else { return }
        hall.act { $0.receive(bytes.rawBytes, on: key, now: $1) }
    }

    func arrival() async throws -> PeerArrival {
        hall.run { !arrivals.isEmpty || isOver }
        if let frame = arrivals.popFirst() { return .frame(frame) }
        guard isOver else { throw Surprise.nothing }
        return .closed
    }

    func take(_ bytes: [UInt8]) {
        for frame in (try? cutter.frames(in: bytes.rawBytes)) ?? [] {
            arrivals.append(frame)
            replies += manners(&speaker, frame)
        }
    }

    /// Sends what the rules ask for, outside of the engine's calls.
    func reply() {
        guard !replies.isEmpty else { return }
        let bytes = replies
        replies = []
        give(bytes)
    }

    func setManners(_ manners: @escaping Manners) async { self.manners = manners }

    func finish() async { hall.act { $0.endOfStream(key, now: $1) } }

    func cut() async { hall.over(self) }

    func pauseReading() async { isReading = false }

    func resumeReading() {
        isReading = true
        take(unread)
        unread = []
        hall.fill(self)
    }
}
