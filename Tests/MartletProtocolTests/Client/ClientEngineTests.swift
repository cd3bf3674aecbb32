import MartletWire
import Testing

@testable import MartletProtocol

/// A client's life: start, stop, the user's and the system's wishes, and what the status says of it.
@Suite struct ClientEngineTests {
    enum Moment: CaseIterable {
        case idle, connecting, awaitingCredential, handshaking, online, waiting, stopping, stoppedByServer, stopped
    }

    private func stage(at moment: Moment) -> ClientStage {
        let stage = ClientStage()
        switch moment {
        case .idle: break
        case .connecting: stage.act { $0.start(now: $1) }
        case .awaitingCredential:
            stage.givesCredentials = false
            stage.act { $0.start(now: $1) }
            stage.accept()
        case .handshaking:
            stage.act { $0.start(now: $1) }
            stage.accept()
        case .online: stage.goOnline(.lobby)
        case .waiting:
            stage.goOnline(.lobby)
            stage.end()
        case .stopping:
            stage.goOnline(.lobby)
            stage.finishesCloses = false
            stage.act { $0.stop(now: $1) }
        case .stoppedByServer:
            stage.goOnline(.lobby)
            stage.say(GoAway(Notice(code: .revoked)))
        case .stopped:
            stage.goOnline(.lobby)
            stage.act { $0.stop(now: $1) }
            stage.forgetOutputs()
        }
        return stage
    }

    @Test(arguments: Moment.allCases) func `a stop is answered once, and nothing follows`(moment: Moment) {
        let stage = stage(at: moment)
        stage.act { $0.stop(now: $1) }
        stage.run(for: .seconds(5))
        #expect(stage.count(.stopped) == 1)
        #expect(stage.engine.status.state == .stopped(nil))
        stage.forgetOutputs()
        stage.run(for: .seconds(3600))
        #expect(stage.outputs.isEmpty)
        #expect(stage.engine.deadline == nil)
    }

    @Test(arguments: Moment.allCases) func `a start after a stop connects`(moment: Moment) {
        let stage = stage(at: moment)
        stage.act { $0.stop(now: $1) }
        stage.act { $0.start(now: $1) }
        #expect(stage.count(.stopped) == 1)
        #expect(stage.engine.status.state == .connecting(attempt: 1))
        stage.accept()
        stage.run(for: .seconds(9))
        #expect(stage.engine.status.state == .handshaking)
        #expect(stage.count(.stopped) == 1)
    }

    // C-7
    @Test func `a stop sends what is left, then the goodbye, and hears no more`() throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        stage.takesBytes = false
        try stage.act { engine, now in
            try engine.send(counter: 1, content: MessageContent(text: "last"), in: room, now: now)
        }
        stage.takesBytes = true
        stage.act { $0.stop(now: $1) }
        #expect(stage.log.frames.suffix(2).map(\.type) == [.data, .goaway])
        #expect(stage.farewell == ErrorCode.none)
        #expect(stage.outputs.suffix(2).contains(.stopped))
    }

    @Test func `what the server says after the goodbye is no fault`() {
        let stage = ClientStage()
        stage.goOnline(.lobby)
        stage.act { engine, now in
            engine.stop(now: now)
            // Before the shell has carried out the close, a frame comes in.
            var maker = FrameMaker()
            let ping = maker.frame(Ping(nonce: 1))
            engine.receive(ping.rawBytes, on: engine.connection.current, now: now)
        }
        #expect(stage.log.all(GoAway.self).map(\.notice.code) == [.none])
        #expect(stage.count(.stopped) == 1)
        #expect(stage.engine.status.lastCode == nil)
    }

    @Test func `a start while it waits to try again tries at once, and only once`() {
        let stage = stage(at: .waiting)
        stage.act { $0.start(now: $1) }
        let connection = stage.connection
        #expect(stage.engine.status.state == .connecting(attempt: 1))
        stage.run(for: .seconds(14))
        #expect(stage.connection == connection)
        stage.act { $0.start(now: $1) }
        #expect(stage.connection == connection)
    }

    @Test func `the user's wish to try cuts every wait short`() {
        let stage = stage(at: .waiting)
        let old = stage.connection
        stage.act { $0.retryNow(now: $1) }
        #expect(stage.connection != old)
        #expect(stage.engine.status.state == .connecting(attempt: 1))
        // While an attempt is under way there is nothing to wish.
        let connection = stage.connection
        stage.act { $0.retryNow(now: $1) }
        #expect(stage.connection == connection)
    }

    // C-51
    @Test func `coming to the foreground asks the server also when the client was there already, once at a time`() {
        let stage = ClientStage()
        stage.goOnline()
        for count in 1...2 {
            stage.run(for: .seconds(1))
            stage.act { $0.enterForeground(now: $1) }
            stage.act { $0.enterForeground(now: $1) }
            let pings = stage.log.all(Ping.self)
            #expect(pings.count == count)
            stage.say(Pong(nonce: pings[count - 1].nonce, echo: Echo(timestamp: 0, delay: .zero)))
        }
    }

    @Test func `in the foreground an offline client tries at once, an online one asks whether the server is there`() {
        let offline = stage(at: .waiting)
        let old = offline.connection
        offline.act { $0.enterBackground(now: $1) }
        #expect(offline.connection == old)
        offline.act { $0.enterForeground(now: $1) }
        #expect(offline.connection != old)

        let online = stage(at: .online)
        online.act { $0.enterBackground(now: $1) }
        #expect(online.log.all(Ping.self).isEmpty)
        online.act { $0.enterForeground(now: $1) }
        #expect(online.log.all(Ping.self).count == 1)
        online.run(for: .seconds(5))
        #expect(online.engine.status.lastFailure == .lost)
    }

    @Test func `a process that wakes asks at once`() throws {
        let stage = stage(at: .online)
        stage.act { $0.wake(now: $1) }
        let ping = try #require(stage.log.last(Ping.self))
        stage.run(for: .seconds(1))
        stage.say(Pong(nonce: ping.nonce, echo: Echo(timestamp: 0, delay: .zero)))
        stage.run(for: .seconds(10))
        #expect(stage.engine.status.isOnline)
    }

    @Test func `no path pauses, a path goes on`() {
        let stage = stage(at: .waiting)
        stage.act { $0.pathChanged(to: .down, now: $1) }
        #expect(stage.engine.status.state == .paused(.noPath))
        stage.run(for: .seconds(3600))
        #expect(stage.engine.status.state == .paused(.noPath))
        stage.act { $0.pathChanged(to: Self.wifi(1), now: $1) }
        #expect(stage.engine.status.state == .connecting(attempt: 1))
    }

    @Test func `a path that took the connection's address away replaces the connection`() {
        let stage = stage(at: .online)
        let old = stage.connection
        stage.act { $0.pathChanged(to: Self.wifi(1, "10.0.0.1"), now: $1) }
        #expect(stage.connection == old)
        stage.act { $0.pathChanged(to: Self.wifi(2, "10.9.9.9"), now: $1) }
        #expect(stage.connection != old)
        #expect(stage.outputs.contains(.close(old, graceful: false)))
    }

    // C-51, C-54
    @Test func `a path that left the address in place makes the client ask`() {
        let stage = stage(at: .online)
        stage.act { $0.pathChanged(to: Self.wifi(1, "10.0.0.1"), now: $1) }
        stage.act { $0.pathChanged(to: Self.wifi(2, "10.0.0.1"), now: $1) }
        #expect(stage.log.all(Ping.self).count == 1)
    }

    // C-54
    @Test func `another path while it dials: the dial begins again on that`() {
        let stage = ClientStage()
        stage.act { $0.pathChanged(to: Self.wifi(1), now: $1) }
        stage.act { $0.start(now: $1) }
        let first = stage.connection
        stage.act { $0.pathChanged(to: Self.wifi(1), now: $1) }
        #expect(stage.connection == first)
        stage.act { $0.pathChanged(to: Self.wifi(2), now: $1) }
        #expect(stage.connection != first)
        #expect(stage.outputs.contains(.close(first, graceful: false)))
    }

    @Test func `a silent server is given up, and the heartbeat's silence is remembered`() {
        let stage = stage(at: .online)
        stage.run(for: .seconds(60))
        #expect(stage.states.contains { if case .waiting = $0 { true } else { false } })
        #expect(stage.engine.status.lastFailure != nil)
    }

    // C-49
    @Test(arguments: [nil, 20]) func `a server may ask for a shorter interval`(hint: Int?) {
        let stage = ClientStage()
        stage.act { $0.start(now: $1) }
        stage.accept()
        stage.welcome(heartbeatInterval: hint.map { .seconds($0) })
        stage.run(for: .seconds(20))
        #expect(stage.log.all(Ping.self).count == (hint == nil ? 0 : 1))
    }

    @Test func `counters and round trips outlive links`() throws {
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
