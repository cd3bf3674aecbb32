import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Connections at a relay from accept to close: authentication, bounds, resumes.
@Suite struct LinkServerTests {
    // C-8, C-9
    @Test func `a hello → reading is paused until the authentication ends, then welcome`() throws {
        let stage = RelayStage()
        stage.relay.authenticationDelay = .seconds(2)
        let peer = try #require(stage.connect())
        peer.greet("alice")
        #expect(peer.isPaused)
        #expect(peer.log.frames.isEmpty)
        stage.run(for: .seconds(2))
        #expect(!peer.isPaused)
        let welcome = try #require(peer.log.last(Welcome.self))
        #expect(welcome.account == .alice)
        #expect(welcome.epoch == Epoch(rawValue: 1))
        #expect(welcome.resumed == nil)
        #expect(welcome.resumeLifetime == .seconds(300))
        #expect(
            stage.relay.notes == [
                .link(.linked(DeviceKey(account: .alice, device: DeviceID(rawValue: 1)), welcome.link))
            ])
    }

    // C-18
    @Test func `frames behind a hello are processed after the authentication`() throws {
        let stage = RelayStage()
        stage.relay.authenticationDelay = .seconds(1)
        let peer = try #require(stage.connect())
        var bytes = peer.maker.frame(RawPeer.hello("alice"))
        bytes += peer.maker.frame(Open(room: .lobby, kind: .chat, cursor: 0, tail: nil, noLocal: false), on: .first)
        peer.send(bytes)
        peer.text("early", counter: 1)
        stage.run(for: .seconds(1))
        #expect(stage.relay.log[.lobby]?.count == 1)
        #expect(peer.log.last(Accepted.self) != nil)
    }

    // S-23
    @Test func `an acknowledgement in front of a fault of its frame → taken, so that the link holds none`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        alice.text("hello", counter: 1)
        let parts = [
            SessionAck(session: .first, cumulative: 2, creditLimit: 1 << 20),
            SessionAck(session: .control, cumulative: 1_000_000, creditLimit: 0),
        ]
        let who = DeviceKey(account: .bob, device: DeviceID(rawValue: 1))
        let found = stage.relay.engine.sessions.links.slot(of: who)
        let slot = try #require(found)
        bob.say(Ack(echo: nil, linkCredit: 1 << 20, sessions: parts))
        #expect(bob.closedAt != nil)
        #expect(stage.relay.engine.sessions.links[slot].suspendedAt != nil)
        #expect(stage.relay.engine.sessions.links[slot].link.arrivals.count == 0)
    }

    //
    @Test func `600 messages in one read are processed 256 a turn, and reading is paused meanwhile`() throws {
        let stage = RelayStage()
        stage.readsOn = false
        let peer = stage.member("alice", of: .lobby)
        let bytes = (UInt64(1)...600).flatMap { peer.maker.text($0) }
        peer.send(bytes)
        for taken in [256, 512] {
            #expect(stage.relay.log[.lobby]?.count == taken)
            #expect(peer.log.last(Accepted.self)?.runs.last?.firstCounter == UInt64(taken - 255))
            #expect(peer.isPaused && stage.relay.engine.unreadByteCount == bytes.count / 600 * (600 - taken))
            #expect(stage.relay.engine.deadline.map { $0 <= stage.now } == true)
            stage.act { engine, now in engine.deadlinePassed(now: now) }
        }
        #expect(stage.relay.log[.lobby]?.count == 600)
        #expect(!peer.isPaused && stage.relay.engine.unreadByteCount == 0)
    }

    //
    @Test func `connections with unread input take turns`() throws {
        let stage = RelayStage()
        stage.readsOn = false
        let busy = stage.member("alice", of: .lobby)
        let other = stage.member("bob", of: .lobby)
        busy.send((UInt64(1)...600).flatMap { busy.maker.text($0) })
        other.send((UInt64(1)...300).flatMap { other.maker.text($0) })
        let counts = (1...3).map { _ in
            stage.act { engine, now in engine.deadlinePassed(now: now) }
            return stage.relay.log[.lobby]?.suffix(1).map(\.sender.text)
        }
        #expect(counts == [["alice"], ["bob"], ["alice"]])
        #expect(stage.relay.log[.lobby]?.count == 900)
    }

    //
    @Test func `two reads of a connection in one turn share its budget`() throws {
        let stage = RelayStage()
        stage.readsOn = false
        let peer = stage.member("alice", of: .lobby)
        let first = (UInt64(1)...200).flatMap { peer.maker.text($0) }
        let second = (UInt64(201)...400).flatMap { peer.maker.text($0) }
        stage.act { engine, now in
            engine.receive(first.rawBytes, on: peer.key, now: now)
            engine.receive(second.rawBytes, on: peer.key, now: now)
        }
        #expect(stage.relay.log[.lobby]?.count == 256)
    }

    //
    @Test func `input behind unread input is processed in order, and the end of the stream last`() throws {
        let stage = RelayStage()
        stage.readsOn = false
        let peer = stage.member("alice", of: .lobby)
        peer.send((UInt64(1)...300).flatMap { peer.maker.text($0) })
        peer.text("more", counter: 301)
        peer.finish()
        #expect(peer.closedAt == nil)
        stage.act { engine, now in engine.deadlinePassed(now: now) }
        #expect(stage.relay.log[.lobby]?.map(\.counter) == Array(1...301))
        #expect(peer.closedAt == stage.now)
    }

    //
    @Test func `unread input of an ended connection is discarded`() throws {
        let stage = RelayStage()
        stage.readsOn = false
        let peer = stage.member("alice", of: .lobby)
        peer.send((UInt64(1)...300).flatMap { peer.maker.text($0) })
        peer.cut()
        stage.act { engine, now in engine.deadlinePassed(now: now) }
        #expect(stage.relay.log[.lobby]?.count == 256)
        #expect(stage.relay.engine.unreadByteCount == 0)
    }

    // W-78, R-50
    @Test func `a packet is read whole, and its frames are processed within the budget`() throws {
        let stage = RelayStage()
        stage.readsOn = false
        let peer = try #require(stage.connect())
        peer.greet("alice", features: .supported.union(.compact))
        peer.open(.lobby, on: .first)
        peer.send((UInt64(1)...255).flatMap { peer.maker.text($0) })
        let first = (UInt64(256)...510).flatMap { peer.maker.text($0) }
        let packet = packet(of: (UInt64(511)...513).map { peer.maker.text($0) })
        #expect(packet.count < 127)
        peer.send(first + packet)
        #expect(stage.relay.log[.lobby]?.count == 511)
        stage.act { engine, now in engine.deadlinePassed(now: now) }
        #expect(stage.relay.log[.lobby]?.map(\.counter) == Array(1...513))
    }

    @Test func `a hello in two pieces leaves no deadline`() throws {
        let stage = RelayStage()
        let peer = try #require(stage.connect())
        let bytes = peer.maker.frame(RawPeer.hello("alice"))
        peer.send(Array(bytes.prefix(50)))
        peer.send(Array(bytes.dropFirst(50)))
        stage.run(for: .seconds(120))
        #expect(peer.closedAt == nil)
    }

    // W-15, C-14
    @Test func `frames of the handshake have no timestamp, and none is echoed`() throws {
        let stage = RelayStage()
        stage.run(for: .seconds(3))
        let silent = try #require(stage.connect())
        silent.say(Ping(nonce: 1))
        let first = stage.member("alice")
        let welcome = try #require(first.log.last(Welcome.self))
        stage.run(for: .seconds(3))
        first.cut()
        let second = try #require(stage.connect())
        second.greet("alice", resume: point(welcome, token: ResumeToken(9, 9, 9, 9)))
        second.greet("alice", resume: point(welcome))
        stage.run(for: .milliseconds(25))
        let frames = silent.log.frames + first.log.frames + second.log.frames
        #expect(frames.map(\.type) == [.goaway, .welcome, .reject, .welcome, .ack])
        #expect(frames.dropLast().map(\.header.timestamp) == [0, 0, 0, 0])
        #expect(second.log.all(Ack.self).map(\.echo) == [nil])
    }

    // W-41, W-42
    @Test func `a welcome contains the lower limits and the common features of both sides`() throws {
        let stage = RelayStage { $0.link.features = [.receipts, .zlib] }
        let peer = try #require(stage.connect())
        let limits = Limits(
            maxBodyByteCount: 20_000, maxMessageByteCount: 1 << 24, linkWindow: 20_000, sessionWindow: 1 << 20)
        let welcome = try #require(peer.greet("alice", limits: limits, features: [.zlib, .requests]))
        #expect(welcome.features == .zlib)
        #expect(welcome.limits.maxBodyByteCount == 20_000)
        #expect(welcome.limits.maxMessageByteCount == 1 << 20)
        #expect(welcome.limits.linkWindow == 20_000)
        #expect(welcome.limits.sessionWindow == 256 << 10)
    }

    @Test func `a refused credential → reject with its code, and the connection ends`() throws {
        let stage = RelayStage()
        stage.relay.refusals[.alice] = Notice(code: .unauthenticated, reason: "no such token")
        let peer = try #require(stage.connect())
        peer.greet("alice")
        #expect(peer.farewell == .unauthenticated)
        #expect(stage.relay.notes == [.link(.refused(.alice, .unauthenticated))])
        #expect(stage.relay.engine.statistics.links == 0)
        #expect(stage.relay.engine.statistics.connections == 0)
    }

    @Test func `a result of the authentication after the end of the connection has no effect`() throws {
        let stage = RelayStage()
        stage.relay.authenticationDelay = .seconds(1)
        let peer = try #require(stage.connect())
        peer.greet("alice")
        peer.cut()
        stage.run(for: .seconds(2))
        #expect(stage.relay.engine.statistics.links == 0)
        #expect(peer.log.frames.isEmpty)
    }

    @Test func `the end of a connection is noted as the suspension of its link`() throws {
        let stage = RelayStage()
        let peer = stage.member("alice", of: .lobby)
        let (who, id) = try #require(stage.link(of: peer, { ($0.who, $0.id) }))
        peer.cut()
        #expect(stage.relay.notes.last == .link(.suspended(who, id)))
    }

    // C-11
    @Test func `a connection beyond the bound is refused until another connection ends`() throws {
        let stage = RelayStage { $0.link.maxConnections = 2 }
        let first = try #require(stage.connect())
        _ = try #require(stage.connect())
        #expect(stage.connect() == nil)
        first.cut()
        #expect(stage.connect() != nil)
        #expect(stage.relay.engine.statistics.connections == 2)
        #expect(stage.relay.engine.statistics.connectionsAccepted == 3)
    }

    @Test func `a link beyond the bound is rejected with serverBusy`() throws {
        let stage = RelayStage { $0.link.maxLinks = 1 }
        let first = stage.member("alice")
        let second = stage.member("bob")
        #expect(second.farewell == .serverBusy)
        #expect(second.log.last(Reject.self)?.notice.retryAfter == .seconds(5))
        #expect(first.closedAt == nil)
    }

    // C-64, Specs/hostile.md row 33
    @Test func `a link beyond the account's bound is rejected with tooManyLinks if all have connections`() throws {
        let stage = RelayStage { $0.maxLinksPerAccount = 2 }
        let peers = (1...3).map { stage.member("mallory", device: $0) }
        #expect(peers.map(\.farewell) == [nil, nil, .tooManyLinks])
        #expect(stage.member("alice").farewell == nil)
        // A device with a link replaces its own link.
        #expect(stage.member("mallory", device: 2).farewell == nil && peers[1].farewell == .replaced)
        #expect(stage.relay.engine.statistics.links == 3)
    }

    // C-64, Specs/hostile.md row 33
    @Test func `a link beyond the account's bound replaces the account's oldest suspended link`() throws {
        let stage = RelayStage { $0.maxLinksPerAccount = 2 }
        let peers = (1...2).map { stage.member("mallory", device: $0) }
        let welcomes = try peers.map { try #require($0.log.last(Welcome.self)) }
        peers[1].cut()
        stage.run(for: .seconds(1))
        peers[0].cut()
        #expect(stage.member("mallory", device: 3).farewell == nil)
        #expect(stage.relay.engine.statistics.links == 2 && stage.relay.engine.statistics.suspendedLinks == 1)
        let again = try #require(stage.connect())
        #expect(again.greet("mallory", device: 1, resume: point(welcomes[0])) != nil)
    }

    // MARK: Resume

    private func point(
        _ welcome: Welcome, token: ResumeToken? = nil,
        positions: [SessionPosition] = [SessionPosition(session: .control, received: 0)]
    ) -> ResumePoint? {
        ResumePoint(link: welcome.link, token: token ?? welcome.resumeToken, positions: positions)
    }

    // C-23, C-24
    @Test func `a resume with a lower limit or without compression is refused, one with more is accepted`() throws {
        let stage = RelayStage()
        let first = try #require(stage.connect())
        let welcome = try #require(first.greet("alice", limits: Limits(linkWindow: 100_000), features: [.zlib]))
        first.cut()
        for (limits, features) in [(Limits(linkWindow: 99_999), Features.zlib), (Limits(), .receipts)] {
            let peer = try #require(stage.connect())
            peer.greet("alice", limits: limits, features: features, resume: point(welcome))
            #expect(peer.log.last(Reject.self)?.notice.code == .resumeRejected)
            peer.cut()
        }
        let peer = try #require(stage.connect())
        let resumed = try #require(peer.greet("alice", resume: point(welcome)))
        #expect(resumed.epoch == Epoch(rawValue: 2))
        #expect(resumed.limits.linkWindow == 1 << 20)
        #expect(resumed.features == .supported)
    }

    // C-23
    @Test func `the features of a resume apply to its rooms`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        let welcome = try #require(bob.log.last(Welcome.self))
        bob.cut()
        let again = try #require(stage.connect())
        let positions = [SessionID.control, .first].map { SessionPosition(session: $0, received: 0) }
        again.greet("bob", features: [.zlib], resume: point(welcome, positions: positions))
        alice.say(Transient(.typing(true)), on: .first)
        #expect(again.log.all(Transient.self).isEmpty)
    }

    // W-44, C-32, C-37
    @Test func `a token resumes its link once, with the next epoch`() throws {
        let stage = RelayStage()
        let first = stage.member("alice")
        let welcome = try #require(first.log.last(Welcome.self))
        first.cut()
        #expect(stage.relay.engine.statistics.suspendedLinks == 1)
        let second = try #require(stage.connect())
        let resumed = try #require(second.greet("alice", resume: point(welcome)))
        #expect(resumed.link == welcome.link)
        #expect(resumed.epoch == Epoch(rawValue: 2))
        #expect(resumed.resumed == [SessionPosition(session: .control, received: 0)])
        #expect(resumed.resumeToken != welcome.resumeToken)
        #expect(stage.relay.engine.statistics.resumes == 1)
        #expect(stage.relay.engine.statistics.suspendedLinks == 0)
        let third = try #require(stage.connect())
        third.greet("alice", resume: point(welcome))
        #expect(third.log.last(Reject.self)?.notice.code == .resumeRejected)
        #expect(third.closedAt == nil)
        // The resumed link is not affected.
        #expect(second.closedAt == nil)
    }

    // C-31
    @Test func `a resume with one impossible position is refused as a whole`() throws {
        let stage = RelayStage()
        let first = stage.member("alice", of: .lobby)
        let welcome = try #require(first.log.last(Welcome.self))
        first.cut()
        for positions in [
            [SessionPosition(session: .first, received: 99)], [SessionPosition(session: .second, received: 1)],
        ] {
            let next = try #require(stage.connect())
            next.greet("alice", resume: point(welcome, positions: positions))
            #expect(next.log.last(Reject.self)?.notice.code == .resumeRejected)
        }
        #expect(stage.relay.engine.statistics.resumesRefused == 2)
    }

    // W-35, C-34
    @Test func `after a refused resume the connection begins a new link, and early frames are discarded`() throws {
        let stage = RelayStage()
        let first = stage.member("alice", of: .lobby)
        let old = try #require(first.log.last(Welcome.self))
        first.cut()
        stage.run(for: .seconds(301))
        let second = try #require(stage.connect())
        var bytes = second.maker.frame(
            RawPeer.hello(
                "alice", resume: point(old, positions: [SessionPosition(session: .first, received: 1)])))
        bytes += second.maker.frame(
            .data, Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("early")), on: .first)
        bytes += second.maker.frame(Ping(nonce: 1))
        second.send(bytes)
        #expect(second.log.frames.map(\.type) == [.reject])
        second.maker = FrameMaker()
        second.greet("alice")
        second.open(.lobby, on: .first)
        #expect(second.log.frames.prefix(2).map(\.type) == [.reject, .welcome])
        #expect(second.log.last(Opened.self) != nil)
        #expect(stage.relay.log[.lobby] == nil)
    }

    // C-38, Specs/hostile.md row 22
    @Test func `a resume ends the link's older connection with staleEpoch, and its frames are ignored`() throws {
        let stage = RelayStage()
        let older = stage.member("alice", of: .lobby)
        let welcome = try #require(older.log.last(Welcome.self))
        let newer = try #require(stage.connect())
        newer.greet("alice", resume: point(welcome))
        #expect(older.farewell == .staleEpoch)
        older.text("late", counter: 1)
        #expect(stage.relay.log[.lobby] == nil)
        #expect(newer.closedAt == nil)
        // The link is not reported as suspended.
        #expect(stage.relay.notes.contains { if case .link(.suspended) = $0 { true } else { false } } == false)
    }

    @Test func `a resume fences the older connection also without room for suspended links`() throws {
        let stage = RelayStage { $0.link.maxSuspendedLinks = 0 }
        let older = stage.member("alice")
        let welcome = try #require(older.log.last(Welcome.self))
        let newer = try #require(stage.connect())
        #expect(newer.greet("alice", resume: point(welcome))?.epoch == Epoch(rawValue: 2))
        #expect(older.farewell == .staleEpoch)
    }

    // C-2, C-39
    @Test func `a new link of a device replaces its old one`() throws {
        let stage = RelayStage()
        let older = stage.member("alice", of: .lobby)
        let welcome = try #require(older.log.last(Welcome.self))
        let newer = stage.member("alice", of: .lobby)
        #expect(older.farewell == .replaced)
        #expect(newer.closedAt == nil)
        #expect(stage.relay.engine.statistics.links == 1)
        let third = try #require(stage.connect())
        third.greet("alice", resume: point(welcome))
        #expect(third.log.last(Reject.self)?.notice.code == .resumeRejected)
        // Other devices of the account are not affected.
        let other = stage.member("alice", device: 2)
        #expect(other.closedAt == nil)
        #expect(newer.closedAt == nil)
    }

    // MARK: Ends

    @Test func `the end of the stream closes the connection without a fault and suspends the link`() throws {
        let stage = RelayStage()
        let peer = stage.member("alice")
        peer.finish()
        #expect(peer.closedAt != nil)
        #expect(peer.log.last(GoAway.self) == nil)
        #expect(stage.relay.engine.statistics.suspendedLinks == 1)
        #expect(stage.relay.engine.statistics.faults == 0)
    }

    // C-41, C-52
    @Test func `a connection that is silent for the idle timeout is closed without a goaway`() throws {
        #expect(RelayConfiguration().link.idleTimeout >= HeartbeatInterval.lowPowerRange.upperBound + .seconds(5))
        let stage = RelayStage { $0.link.idleTimeout = .seconds(100) }
        let peer = stage.member("alice")
        let other = stage.member("bob")
        stage.run(for: .seconds(60))
        other.say(Ping(nonce: 1))
        stage.run(for: .seconds(41))
        #expect(peer.closedAt != nil)
        #expect(peer.log.last(GoAway.self) == nil)
        #expect(other.closedAt == nil)
        stage.run(for: .seconds(60))
        #expect(other.closedAt != nil)
    }

    // C-13
    @Test func `on datagrams, a frame before the hello is ignored until it is repeated`() throws {
        let stage = RelayStage()
        let peer = try #require(stage.connect(.unreliable))
        let open = peer.maker.frame(
            Open(room: .lobby, kind: .chat, cursor: 0, tail: nil, noLocal: false), on: .first)
        peer.send(open)
        #expect(peer.closedAt == nil)
        peer.greet("alice")
        peer.send(open)
        #expect(peer.log.last(Opened.self) != nil)
    }

    // C-66
    @Test func `the expiry of a credential ends the connection and suspends the link`() throws {
        let stage = RelayStage()
        stage.relay.credentialLifetime = .seconds(60)
        let peer = stage.member("alice")
        let welcome = try #require(peer.log.last(Welcome.self))
        stage.run(for: .milliseconds(59_999))
        #expect(peer.closedAt == nil)
        stage.run(for: .milliseconds(1))
        #expect(peer.farewell == .unauthenticated)
        #expect(stage.relay.engine.statistics.suspendedLinks == 1)
        let next = try #require(stage.connect())
        let positions = [SessionPosition(session: .control, received: 0)]
        let point = ResumePoint(link: welcome.link, token: welcome.resumeToken, positions: positions)
        #expect(next.greet("alice", resume: point)?.link == welcome.link)
        stage.run(for: .seconds(59))
        #expect(next.closedAt == nil)
    }

    // C-66
    @Test func `the expiry of a closed connection's credential is removed`() {
        let stage = RelayStage()
        stage.relay.credentialLifetime = .seconds(60)
        stage.member("alice").cut()
        #expect(stage.relay.engine.server.connections.heldCount == 0)
    }

    // C-42, C-62
    @Test(arguments: [0, 2]) func `a goaway removes no suspended link, for any bound`(bound: Int) {
        let stage = RelayStage { $0.link.maxSuspendedLinks = bound }
        for name in ["a", "b"] { stage.member(name).cut() }
        let leaver = stage.member("c", of: .lobby)
        leaver.say(GoAway(Notice(code: .none)))
        #expect(stage.relay.engine.statistics.suspendedLinks == bound)
        #expect(stage.relay.engine.statistics.links == bound)
        #expect(leaver.closedAt != nil)
    }
}

extension FrameMaker {
    /// Returns a frame with a text message.
    fileprivate mutating func text(_ counter: UInt64) -> [UInt8] {
        let body = Message.encodeClient(counter: counter, kind: .text, content: Message.textContent("text"))
        return frame(.data, body, on: .first)
    }
}

private func packet(of frames: [[UInt8]]) -> [UInt8] {
    let encoder = FrameEncoder.compact(PacketWriter())
    var rest = frames[...]
    return Framer.drain {
        while let frame = rest.popFirst() { try! encoder.append(encoded: frame.rawBytes, into: &$0) }
        _ = encoder.finish(into: &$0)
    }
}
