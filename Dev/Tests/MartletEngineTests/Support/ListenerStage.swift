import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// The engine of a listener of links without rooms, and scripted peers, in virtual time.
final class ListenerStage {
    /// A scripted peer of a listener.
    final class Peer {
        let key: ConnectionKey
        let log = FrameLog()
        var maker = FrameMaker()
        /// Whether the peer reads.
        var isReading = true
        fileprivate(set) var isClosed = false
        private unowned let stage: ListenerStage

        fileprivate init(_ key: ConnectionKey, on stage: ListenerStage) {
            (self.key, self.stage) = (key, stage)
        }

        /// The code of the listener's last notice, if the connection is closed.
        var farewell: ErrorCode? {
            isClosed ? log.last(GoAway.self)?.notice.code ?? log.last(Reject.self)?.notice.code : nil
        }

        /// The codes of the resets that were received.
        var resets: [ErrorCode] { log.all(Reset.self).map(\.code) }

        func send(_ bytes: [UInt8]) {
            stage.engine.receive(bytes.rawBytes, on: key, now: stage.now)
            stage.settle()
        }

        func say(_ body: some FrameBody, on session: SessionID = .control) { send(maker.frame(body, on: session)) }

        func say(_ type: FrameType, _ body: [UInt8] = [], on session: SessionID = .control, sequence: UInt32? = nil) {
            send(maker.frame(type, body, on: session, sequence: sequence))
        }

        @discardableResult
        func greet(_ features: Features = .all, limits: Limits = Limits(), resume: ResumePoint? = nil) -> Welcome? {
            say(
                Hello(
                    spokenVersions: [features.spokenVersion], features: features, limits: limits,
                    device: DeviceID(rawValue: 1), account: .alice, resume: resume))
            return log.last(Welcome.self)
        }

        func open(_ session: SessionID, _ kind: SessionKind = .chat) {
            say(Open(room: .lobby, kind: kind, cursor: 0), on: session)
        }

        /// Acknowledges a session up to a sequence, and grants practically unlimited credit.
        func acknowledge(_ cumulative: UInt64, on session: SessionID = .first) {
            let part = SessionAck(session: session, cumulative: cumulative, creditLimit: 1 << 40)
            say(Ack(echo: nil, linkCredit: 1 << 40, sessions: [part]))
        }

        /// Sends an application's message on a session.
        func message(_ bytes: [UInt8], counter: UInt64 = 1, on session: SessionID = .first) {
            say(.data, Self.body(bytes, counter: counter), on: session)
        }

        static func body(_ bytes: [UInt8], counter: UInt64 = 1) -> [UInt8] {
            var content = TLVWriter()
            content.append(.data, bytes: bytes)
            return Message.encodeClient(counter: counter, kind: LinkSessions.contentKind, content: content.bytes)
        }

        /// Breaks the connection.
        func cut() {
            isClosed = true
            stage.engine.closed(key, now: stage.now)
            stage.settle()
        }

        fileprivate func read() {
            guard isReading, !isClosed else { return }
            let bytes = Framer.drain { _ = stage.engine.transmit(on: key, into: &$0, now: stage.now) }
            try? log.take(bytes, at: stage.now)
        }

        fileprivate func close(afterFlush: Bool) {
            if afterFlush { read() }
            isClosed = true
        }
    }

    var engine: LinkListenerEngine
    private(set) var now = Instant(nanoseconds: 1_000_000_000)
    private(set) var results: [CallID: SessionResult] = [:]
    private var peers: [Peer] = []
    private var callCount: UInt64 = 0
    private var tokenCount: UInt64 = 0

    init(_ configuration: LinkServerConfiguration = LinkServerConfiguration()) {
        engine = LinkListenerEngine(configuration, seed: 1)
    }

    // The engine is not copyable, so that expectations cannot contain it.
    var isFlushed: Bool { engine.isFlushed }
    var linkCount: Int { engine.linkCount }

    /// Connects a peer; nil if the listener refuses the connection.
    func connect() -> Peer? {
        guard let key = engine.accepted(now: now) else { return nil }
        let peer = Peer(key, on: self)
        peers.append(peer)
        return peer
    }

    /// Connects a peer with a link, and takes the link.
    func link(_ limits: Limits = Limits()) throws -> (peer: Peer, link: LinkKey) {
        let peer = try #require(connect())
        peer.greet(limits: limits)
        return (peer, try #require(takeLink()))
    }

    /// Takes the next link; nil if there is none.
    func takeLink() -> LinkKey? {
        let id = nextCall()
        engine.takeLink(id)
        settle()
        guard case .link(let key, _, _, _) = results[id] else { return nil }
        return key
    }

    /// Performs a call, and returns its result; nil if it waits.
    @discardableResult
    func call(_ call: SessionCall, on link: LinkKey) -> SessionResult? { results[begin(call, on: link)] }

    @discardableResult
    func begin(_ call: SessionCall, on link: LinkKey) -> CallID {
        let id = nextCall()
        engine.begin(call, id, on: link, now: now)
        settle()
        return id
    }

    /// Takes the next session that a peer has opened; nil if there is none.
    func takeSession(_ link: LinkKey) -> SessionKey? {
        guard case .session(let key, _, _) = call(.accept, on: link) else { return nil }
        return key
    }

    private func nextCall() -> CallID {
        callCount += 1
        return CallID(callCount)
    }

    /// Advances time, with deadlines at their instants.
    func run(for duration: Duration) {
        let end = now + duration
        while let next = engine.deadline, next <= end {
            now = max(now, next)
            engine.deadlinePassed(now: now)
            settle()
        }
        now = end
    }

    func settle() {
        var isIdle = true
        while let output = engine.nextOutput(now: now) {
            isIdle = false
            switch output {
            case .result(let call, let result): results[call] = result
            case .link(.authenticate(let key, let request)):
                tokenCount += 1
                let token = ResumeToken(tokenCount, 2, 3, 4)
                let grant = TokenGrant(token: token, digest: Self.digest(token))
                let presented = request.presentedToken.map(Self.digest)
                engine.authenticated(key, .accepted(Identity(request.account), grant, presented: presented), now: now)
            case .link(.transmit(let keys)): for key in keys { peer(key)?.read() }
            case .link(.close(let key, let afterFlush)):
                peer(key)?.close(afterFlush: afterFlush)
                engine.closed(key, now: now)
            default: break
            }
        }
        if !isIdle { return settle() }
        guard let deadline = engine.deadline, deadline == .zero else { return }
        engine.deadlinePassed(now: now)
        settle()
    }

    /// A digest that differs where the first word of the token differs.
    private static func digest(_ token: ResumeToken) -> TokenDigest {
        TokenDigest(token.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }, 0, 0, 0)
    }

    private func peer(_ key: ConnectionKey) -> Peer? { peers.last { $0.key == key } }
}
