import MartletTestSupport
import MartletWire

@testable import MartletLink
@testable import MartletRelay
@testable import MartletSimulator

/// A relay engine with a store and scripted peers, in virtual time.
final class RelayStage {
    let relay: VirtualRelay
    /// Whether unread input is processed before time advances.
    var readsOn = true
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private(set) var peers: [RawPeer] = []
    private var work: [(at: Instant, work: VirtualRelay.Work)] = []

    init(seed: UInt64 = 1, _ adjust: (inout RelayConfiguration) -> Void = { _ in }) {
        var configuration = RelayConfiguration()
        adjust(&configuration)
        relay = VirtualRelay(configuration, seed: seed)
    }

    /// Connects a peer; nil if the relay refuses the connection.
    func connect(_ carrier: Carrier = .reliable) -> RawPeer? {
        guard let key = relay.engine.accepted(carrier, now: now) else { return nil }
        let peer = RawPeer(key, on: self)
        peers.append(peer)
        return peer
    }

    /// Connects a peer, authenticates it, and opens a room if one is given.
    func member(_ account: String, device: UInt64 = 1, of room: RoomName? = nil) -> RawPeer {
        guard let peer = connect() else { preconditionFailure("the relay refuses the connection") }
        peer.greet(account, device: device)
        if let room { peer.open(room, on: .first) }
        return peer
    }

    func act(_ event: (inout RelayEngine, Instant) -> Void) {
        event(&relay.engine, now)
        settle()
    }

    /// Advances time, with deadlines and delayed work at their instants.
    func run(for duration: Duration) {
        let end = now + duration
        while let next = [relay.engine.deadline, work.map(\.at).min()].compactMap(\.self).min(), next <= end {
            now = max(now, next)
            if let index = work.firstIndex(where: { $0.at <= now }) {
                relay.perform(work.remove(at: index).work, now: now)
            } else {
                relay.engine.deadlinePassed(now: now)
            }
            settle()
        }
        now = end
    }

    /// The bytes in the connection's framer and behind its hello.
    func heldByteCount(_ peer: RawPeer) -> Int {
        guard let slot = relay.engine.server.connections.slot(peer.key) else { return 0 }
        return relay.engine.server.connections[slot].heldByteCount
    }

    /// A value of a peer's link; nil if there is none.
    func link<Value>(of peer: RawPeer, _ value: (borrowing ServerLink) -> Value) -> Value? {
        linkSlot(of: peer).map { value(relay.engine.sessions.links[$0]) }
    }

    /// A value of the relay's state of a peer's link; nil if there is none.
    func relayLink<Value>(of peer: RawPeer, _ value: (borrowing RelayLink) -> Value) -> Value? {
        linkSlot(of: peer).map { value(relay.engine.sessions.relayLinks[$0]) }
    }

    private func linkSlot(of peer: RawPeer) -> Int? {
        let slot = relay.engine.server.connections.slot(peer.key)
        return slot.flatMap { relay.engine.server.connections[$0].linkSlot }
    }

    /// The frames that are queued for a peer; nil if it has no link.
    func queued(for peer: RawPeer) -> LinkBacklog? {
        link(of: peer) { $0.link.queued(perFrame: RelayLink.entryByteCount) }
    }

    /// Whether a peer's link has released all received credit; nil if it has no link.
    func releasesAll(of peer: RawPeer) -> Bool? {
        link(of: peer) { $0.link.linkCreditReleased == $0.link.linkCreditReceived }
    }

    func settle() {
        let drained = relay.drain(now: now)
        work += drained.work.map { (now + $0.1, $0.0) }
        for output in drained.network {
            switch output {
            case .link(.transmit(let keys)): for key in keys { peer(key)?.read() }
            case .link(.close(let key, let afterFlush)):
                guard let peer = peer(key) else { continue }
                if afterFlush { peer.read() }
                peer.closedAt = now
                relay.engine.closed(key, now: now)
            case .link(.pauseReading(let key)): peer(key)?.isPaused = true
            case .link(.resumeReading(let key)): peer(key)?.isPaused = false
            default: break
            }
        }
        if !drained.network.isEmpty { return settle() }
        guard readsOn, !relay.engine.server.unread.isEmpty else { return }
        relay.engine.deadlinePassed(now: now)
        settle()
    }

    private func peer(_ key: ConnectionKey) -> RawPeer? {
        peers.last { $0.key == key }
    }
}

/// A scripted peer of a relay.
final class RawPeer {
    let key: ConnectionKey
    let log = FrameLog()
    var maker = FrameMaker()
    /// Whether the peer reads.
    var isReading = true
    var isPaused = false
    /// The number of requested operations on rooms.
    var operationCount: UInt64 = 0
    fileprivate(set) var closedAt: Instant?
    private unowned let stage: RelayStage

    init(_ key: ConnectionKey, on stage: RelayStage) {
        self.key = key
        self.stage = stage
    }

    /// The code of the relay's last notice, if the connection is closed.
    var farewell: ErrorCode? {
        closedAt == nil ? nil : log.last(GoAway.self)?.notice.code ?? log.last(Reject.self)?.notice.code
    }

    func send(_ bytes: [UInt8]) {
        stage.relay.engine.receive(bytes.rawBytes, on: key, now: stage.now)
        stage.settle()
    }

    func say(_ body: some FrameBody, on session: SessionID = .control) {
        send(maker.frame(body, on: session))
    }

    func say(
        _ type: FrameType, _ body: [UInt8], on session: SessionID = .control, flags: FrameFlags = [],
        sequence: UInt32? = nil, compression: Compression = .none
    ) {
        send(maker.frame(type, body, on: session, flags: flags, sequence: sequence, compression: compression))
    }

    func text(_ text: String, counter: UInt64, on session: SessionID = .first) {
        say(.data, Message.encodeClient(counter: counter, kind: .text, content: Message.textContent(text)), on: session)
    }

    @discardableResult
    func greet(
        _ account: String = "mallory", device: UInt64 = 1, limits: Limits = Limits(), features: Features = .supported,
        resume: ResumePoint? = nil
    ) -> Welcome? {
        say(RawPeer.hello(account, device: device, limits: limits, features: features, resume: resume))
        if features.contains(.compact) { log.allowPackets() }
        return log.last(Welcome.self)
    }

    /// Resumes the link of a welcome, with one open room, on this connection.
    func resume(_ account: String, from welcome: Welcome) -> Welcome? {
        let positions = [
            SessionPosition(session: .control, received: 0), SessionPosition(session: .first, received: 1),
        ]
        return greet(
            account,
            resume: ResumePoint(link: welcome.link, token: welcome.resumeToken, positions: positions))
    }

    static func hello(
        _ account: String = "mallory", device: UInt64 = 1, limits: Limits = Limits(), features: Features = .supported,
        mechanism: MechanismName? = nil, credential: Credential? = nil, resume: ResumePoint? = nil
    ) -> Hello {
        Hello(
            spokenVersions: [features.spokenVersion], features: features, limits: limits,
            device: DeviceID(rawValue: device), account: .named(account), mechanism: mechanism,
            credential: credential, agent: nil, resume: resume)
    }

    func open(_ room: RoomName, on session: SessionID) {
        say(Open(room: room, kind: .chat, cursor: 0, tail: nil, noLocal: false), on: session)
    }

    /// Acknowledges a session up to a sequence, and grants practically unlimited credit.
    func acknowledge(_ cumulative: UInt64, on session: SessionID = .first) {
        let part = SessionAck(session: session, cumulative: cumulative, creditLimit: 1 << 40)
        say(Ack(echo: nil, linkCredit: 1 << 40, sessions: [part]))
    }

    /// Acknowledges all frames that it has read on a session.
    func acknowledgeAll(on session: SessionID = .first) {
        acknowledge(
            UInt64(log.frames.count { $0.header.session == session && $0.header.flags.contains(.reliable) }),
            on: session)
    }

    /// Ends the peer's direction of the stream.
    func finish() {
        stage.act { [key] engine, now in engine.endOfStream(key, now: now) }
    }

    /// Breaks the connection.
    func cut() {
        closedAt = stage.now
        stage.act { [key] engine, now in engine.closed(key, now: now) }
    }

    func read() {
        guard isReading, closedAt == nil else { return }
        let bytes = Framer.drain { stage.relay.engine.transmit(on: key, into: &$0, now: stage.now) }
        try? log.take(bytes, at: stage.now)
    }
}
