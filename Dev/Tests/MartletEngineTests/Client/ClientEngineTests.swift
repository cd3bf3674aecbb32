import MartletMetrics
import MartletTestSupport
import MartletWire
import Testing

@testable import Martlet
@testable import MartletLink

/// Start and stop of a client, events of the user and the system, and the status.
@Suite struct ClientEngineTests {
    enum Moment: CaseIterable {
        case idle, connecting, awaitingCredential, handshaking, online, waiting, stopping, stoppedByServer, stopped
    }

    private func stage(at moment: Moment) -> ClientStage {
        let stage = ClientStage()
        switch moment {
        case .idle: break
        case .connecting: stage.act { $0.handle(.start, now: $1) }
        case .awaitingCredential:
            stage.givesCredentials = false
            stage.act { $0.handle(.start, now: $1) }
            stage.accept()
        case .handshaking:
            stage.act { $0.handle(.start, now: $1) }
            stage.accept()
        case .online: stage.goOnline(.lobby)
        case .waiting:
            stage.goOnline(.lobby)
            stage.end()
        case .stopping:
            stage.goOnline(.lobby)
            stage.finishesCloses = false
            stage.act { $0.handle(.stop, now: $1) }
        case .stoppedByServer:
            stage.goOnline(.lobby)
            stage.say(GoAway(Notice(code: .revoked)))
        case .stopped:
            stage.goOnline(.lobby)
            stage.act { $0.handle(.stop, now: $1) }
            stage.forgetOutputs()
        }
        return stage
    }

    @Test(arguments: Moment.allCases) func `a stop in any state → stopped once, then no output`(moment: Moment) {
        let stage = stage(at: moment)
        stage.act { $0.handle(.stop, now: $1) }
        stage.run(for: .seconds(5))
        #expect(stage.count(.link(.stopped)) == 1)
        #expect(stage.engine.status.state == .stopped(nil))
        stage.forgetOutputs()
        stage.run(for: .seconds(3600))
        #expect(stage.outputs.isEmpty)
        #expect(stage.engine.deadline == nil)
    }

    @Test(arguments: Moment.allCases) func `a start after a stop in any state → a connection attempt`(moment: Moment) {
        let stage = stage(at: moment)
        stage.act { $0.handle(.stop, now: $1) }
        stage.act { $0.handle(.start, now: $1) }
        #expect(stage.count(.link(.stopped)) == 1)
        #expect(stage.engine.status.state == .connecting(attempt: 1))
        stage.accept()
        stage.run(for: .seconds(9))
        #expect(stage.engine.status.state == .handshaking)
        #expect(stage.count(.link(.stopped)) == 1)
    }

    // C-7
    @Test func `a stop → queued messages, then goaway, then stopped`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.takesBytes = false
        try stage.act { engine, now in
            try engine.send(counter: 1, content: MessageContent(text: "last"), in: room, now: now)
        }
        stage.takesBytes = true
        stage.act { $0.handle(.stop, now: $1) }
        #expect(stage.log.frames.suffix(2).map(\.type) == [.data, .goaway])
        #expect(stage.farewell == ErrorCode.none)
        #expect(stage.outputs.suffix(2).contains(.link(.stopped)))
    }

    @Test func `a frame received after the goaway is no fault`() {
        let stage = ClientStage()
        stage.goOnline(.lobby)
        stage.act { engine, now in
            engine.handle(.stop, now: now)
            // A frame arrives before the driver has performed the close.
            var maker = FrameMaker()
            let ping = maker.frame(Ping(nonce: 1))
            engine.receive(ping.rawBytes, on: engine.client.connection.current, now: now)
        }
        #expect(stage.log.all(GoAway.self).map(\.notice.code) == [.none])
        #expect(stage.count(.link(.stopped)) == 1)
        #expect(stage.engine.status.lastCode == nil)
    }

    @Test func `welcome and opened in one piece → the status is online before the room is opened, and once`() throws {
        let stage = ClientStage()
        let room = try stage.act { engine, now in try engine.open(.lobby, now: now) }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.forgetOutputs()
        let opened = Opened(head: 0, first: 1, log: nil, members: [.alice])
        stage.send(stage.maker.frame(ClientStage.welcome()) + stage.maker.frame(opened, on: .first))
        let online = try #require(
            stage.outputs.firstIndex { if case .link(.status(let status)) = $0 { status.isOnline } else { false } })
        let isOpened = try #require(
            stage.outputs.firstIndex { if case .room(room, .opened) = $0 { true } else { false } })
        #expect(online < isOpened)
        #expect(stage.states == [.online])
    }

    @Test func `a start while waiting for the next attempt → one attempt at once`() {
        let stage = stage(at: .waiting)
        stage.act { $0.handle(.start, now: $1) }
        let connection = stage.connection
        #expect(stage.engine.status.state == .connecting(attempt: 1))
        stage.run(for: .seconds(14))
        #expect(stage.connection == connection)
        stage.act { $0.handle(.start, now: $1) }
        #expect(stage.connection == connection)
    }

    @Test func `retryNow while waiting → an attempt at once`() {
        let stage = stage(at: .waiting)
        let old = stage.connection
        stage.act { $0.handle(.retryNow, now: $1) }
        #expect(stage.connection != old)
        #expect(stage.engine.status.state == .connecting(attempt: 1))
        // During an attempt the call has no effect.
        let connection = stage.connection
        stage.act { $0.handle(.retryNow, now: $1) }
        #expect(stage.connection == connection)
    }

    // C-51
    @Test func `entering the foreground → a ping, also if already there, unless one is unanswered`() {
        let stage = ClientStage()
        stage.goOnline()
        for count in 1...2 {
            stage.run(for: .seconds(1))
            stage.act { $0.handle(.enterForeground, now: $1) }
            stage.act { $0.handle(.enterForeground, now: $1) }
            let pings = stage.log.all(Ping.self)
            #expect(pings.count == count)
            stage.say(Pong(nonce: pings[count - 1].nonce, echo: Echo(timestamp: 0, delay: .zero)))
        }
    }

    @Test func `entering the foreground → an offline client connects at once, an online one sends a ping`() {
        let offline = stage(at: .waiting)
        let old = offline.connection
        offline.act { $0.handle(.setMode(.background), now: $1) }
        #expect(offline.connection == old)
        offline.act { $0.handle(.enterForeground, now: $1) }
        #expect(offline.connection != old)

        let online = stage(at: .online)
        online.act { $0.handle(.setMode(.background), now: $1) }
        #expect(online.log.all(Ping.self).isEmpty)
        online.act { $0.handle(.enterForeground, now: $1) }
        #expect(online.log.all(Ping.self).count == 1)
        online.run(for: .seconds(5))
        #expect(online.engine.status.lastFailure == .lost)
    }

    // C-57
    @Test func `entering the foreground after a refusal with retryAfter → an attempt after it, retryNow → at once`() {
        for isUser in [false, true] {
            let stage = ClientStage()
            stage.goOnline()
            stage.say(GoAway(Notice(code: .draining, retryAfter: .seconds(20))))
            let old = stage.connection
            stage.act { $0.handle(isUser ? .retryNow : .enterForeground, now: $1) }
            #expect((stage.connection != old) == isUser)
            stage.run(for: .seconds(21))
            #expect(stage.connection != old)
        }
    }

    @Test func `a wake → a ping at once, whose pong keeps the connection`() throws {
        let stage = stage(at: .online)
        stage.act { $0.handle(.wake, now: $1) }
        let ping = try #require(stage.log.last(Ping.self))
        stage.run(for: .seconds(1))
        stage.say(Pong(nonce: ping.nonce, echo: Echo(timestamp: 0, delay: .zero)))
        stage.run(for: .seconds(10))
        #expect(stage.engine.status.isOnline)
    }

    @Test func `no path → paused, a new path → an attempt`() {
        let stage = stage(at: .waiting)
        stage.act { $0.handle(.pathChanged(to: .down), now: $1) }
        guard case .paused(_, .noPath) = stage.engine.status.state else {
            Issue.record("\(stage.engine.status.state)")
            return
        }
        stage.run(for: .seconds(5))
        stage.act { $0.handle(.pathChanged(to: Self.wifi(1)), now: $1) }
        #expect(stage.engine.status.state == .connecting(attempt: 1))
    }

    // C-109
    @Test func `no path → an attempt nevertheless, within the highest ceiling and 10 s`() {
        let stage = stage(at: .waiting)
        let old = stage.connection
        stage.act { $0.handle(.pathChanged(to: .down), now: $1) }
        stage.run(for: .seconds(34))
        #expect(stage.connection != old)
    }

    @Test func `a path without the connection's address replaces the connection`() {
        let stage = stage(at: .online)
        let old = stage.connection
        stage.act { $0.handle(.pathChanged(to: Self.wifi(1, "10.0.0.1")), now: $1) }
        #expect(stage.connection == old)
        stage.act { $0.handle(.pathChanged(to: Self.wifi(2, "10.9.9.9")), now: $1) }
        #expect(stage.connection != old)
        #expect(stage.outputs.contains(.link(.close(old, graceful: false))))
    }

    // C-51, C-54
    @Test func `another network with the connection's address → a ping`() {
        let stage = stage(at: .online)
        stage.act { $0.handle(.pathChanged(to: Self.wifi(1, "10.0.0.1")), now: $1) }
        stage.act { $0.handle(.pathChanged(to: Self.wifi(2, "10.0.0.1")), now: $1) }
        #expect(stage.log.all(Ping.self).count == 1)
    }

    // C-54
    @Test func `another network during an attempt → the attempt starts again`() {
        let stage = ClientStage()
        stage.act { $0.handle(.pathChanged(to: Self.wifi(1)), now: $1) }
        stage.act { $0.handle(.start, now: $1) }
        let first = stage.connection
        stage.act { $0.handle(.pathChanged(to: Self.wifi(1)), now: $1) }
        #expect(stage.connection == first)
        stage.act { $0.handle(.pathChanged(to: Self.wifi(2)), now: $1) }
        #expect(stage.connection != first)
        #expect(stage.outputs.contains(.link(.close(first, graceful: false))))
    }

    @Test func `a silent server → waiting for the next attempt, with the failure in the status`() {
        let stage = stage(at: .online)
        stage.run(for: .seconds(60))
        #expect(stage.states.contains { if case .waiting = $0 { true } else { false } })
        #expect(stage.engine.status.lastFailure != nil)
    }

    // C-49
    @Test(arguments: [nil, 20]) func `a heartbeat interval of 20 s in welcome → a ping after 20 s`(hint: Int?) {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome(heartbeatInterval: hint.map { .seconds($0) })
        stage.run(for: .seconds(20))
        #expect(stage.log.all(Ping.self).count == (hint == nil ? 0 : 1))
    }

    // C-92
    @Test(arguments: [true, false])
    func `a client that is never silent asks for the spread every 10 min, if the server has named one`(isNamed: Bool) {
        let stage = ClientStage()
        stage.answersPings = true
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome(reconnectSpread: isNamed ? .seconds(1) : nil)
        for _ in 1...125 {
            stage.run(for: .seconds(10))
            stage.say(Ack(linkCredit: 1 << 20, sessions: []))
        }
        #expect(stage.log.all(Ping.self).count == (isNamed ? 2 : 0))
    }

    // C-93
    @Test func `the client waits for up to the spread of the latest pong after the server has ended`() throws {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome(reconnectSpread: .zero)
        stage.act { $0.handle(.enterForeground, now: $1) }
        let ping = try #require(stage.log.last(Ping.self))
        stage.say(
            Pong(nonce: ping.nonce, echo: Echo(timestamp: 0, delay: .zero), reconnectSpread: .seconds(24)))
        stage.end()
        let next = try #require(stage.engine.status.nextAttempt)
        #expect(next - stage.now > .milliseconds(250) && next - stage.now < .seconds(24))
    }

    // C-95
    @Test func `a message that is queued in a long wait → an attempt within 3 s`() throws {
        let stage = ClientStage()
        let lobby = try stage.act { try $0.open(.lobby, RoomOptions(), now: $1) }
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.welcome(reconnectSpread: .zero)
        stage.end()
        func wait() -> Duration { stage.engine.status.nextAttempt.map { $0 - stage.now } ?? .zero }
        var seconds = 0
        while wait() < .seconds(6), seconds < 600 {
            stage.run(for: .seconds(1))
            seconds += 1
        }
        #expect(wait() >= .seconds(6))
        try stage.act { try $0.send(counter: 1, content: MessageContent(text: "hello"), in: lobby, now: $1) }
        #expect(wait() < .seconds(3))
    }

    @Test func `frame counters and round trips are kept on a new link, the smoothed round trip is not`() throws {
        let stage = ClientStage()
        stage.goOnline(.lobby)
        stage.run(for: .milliseconds(100))
        stage.say(
            Ack(
                echo: Echo(timestamp: 0, delay: .zero), linkCredit: 1 << 20,
                sessions: [SessionAck(session: .first, cumulative: 1, creditLimit: 1 << 20)]))
        #expect(stage.engine.roundTrips.count == 1)
        #expect(stage.engine.smoothedRTT != nil)
        let before = stage.engine.counters
        #expect(before.framesReceived == 3)
        stage.end()
        stage.run(for: .seconds(13))
        stage.accept()
        stage.say(Reject(Notice(code: .resumeRejected)))
        #expect(stage.engine.counters.framesReceived == 3)
        #expect(stage.engine.counters.bytesReceived == before.bytesReceived)
        #expect(stage.engine.roundTrips.count == 1)
        #expect(stage.engine.smoothedRTT == nil)
    }

    static func wifi(_ network: UInt64, _ addresses: Set<String> = []) -> PathStatus {
        PathStatus(
            isUp: true, kind: .wifi, network: NetworkID(rawValue: network),
            addresses: addresses.isEmpty ? ["10.0.0.1"] : addresses)
    }

    static func wifi(_ network: UInt64, _ address: String) -> PathStatus { wifi(network, [address]) }
}
