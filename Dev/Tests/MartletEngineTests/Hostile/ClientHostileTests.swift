import Martlet
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// Faults of a server at a client, by the rows of Specs/hostile.md.
@Suite struct ClientHostileTests {
    // C-41
    @Test(arguments: Fault.all)
    func `a fault of the server ends its connection with the code, and the client connects again`(fault: Fault) throws {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        try stage.act { engine, now in
            try engine.send(counter: 1, content: MessageContent(text: "mine"), in: room, now: now)
        }
        let connection = stage.connection
        let events = stage.events(in: room).count
        let bytes = fault.bytes(&stage.maker)
        stage.send(bytes)
        #expect(stage.farewell == fault.code)
        #expect(stage.outputs.contains(.link(.close(connection, graceful: true))))
        #expect(stage.engine.status.lastCode == fault.code)
        #expect(stage.engine.status.lastFailure == .lost)
        #expect(stage.events(in: room).count == events)
        // The link and its frames in flight continue on the next connection.
        stage.run(for: .seconds(1))
        stage.accept()
        #expect(stage.log.last(Hello.self)?.resume != nil)
        #expect(stage.log.last(Message.self)?.counter == 1)
        #expect(stage.log.last(GoAway.self) == nil)
    }

    @Test(arguments: Fault.all.filter { [1, 2, 3, 7, 9].contains($0.row) })
    func `a fault before welcome ends the attempt`(fault: Fault) {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        let connection = stage.connection
        stage.send(fault.bytes(&stage.maker))
        #expect(stage.farewell == fault.code)
        #expect(stage.outputs.contains(.link(.close(connection, graceful: true))))
        guard case .waiting = stage.engine.status.state else {
            Issue.record("\(stage.engine.status)")
            return
        }
    }

    // C-19, Specs/hostile.md row 4
    @Test func `a first frame that is not welcome ends the connection`() {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        stage.say(Ping(nonce: 1))
        #expect(stage.farewell == .protocolViolation)
    }

    // C-20, C-32
    @Test func `a welcome that contradicts its hello ends the connection`() throws {
        let fresh = ClientStage()
        fresh.act { $0.handle(.start, now: $1) }
        fresh.accept()
        fresh.welcome(resumed: [])
        #expect(fresh.farewell == .protocolViolation)

        for resumed in [nil, [SessionPosition(session: .first, received: 9)]] {
            let stage = ClientStage()
            stage.goOnline(.lobby)
            stage.end()
            stage.run(for: .seconds(13))
            stage.accept()
            stage.welcome(epoch: 2, resumed: resumed)
            #expect(stage.farewell == .protocolViolation)
        }
    }

    // C-23, C-24, C-32
    @Test
    func `a welcome without the link's features or limits ends the connection and the next hello is for a new link`()
        throws
    {
        let lower = Limits(maxMessageByteCount: 20_000)
        for (limits, features) in [(lower, Features.supported), (Limits(), Features([.requests, .receipts]))] {
            let stage = ClientStage()
            stage.goOnline(.lobby)
            stage.end()
            stage.run(for: .seconds(13))
            stage.accept()
            let positions = [SessionID.control, .first].map { SessionPosition(session: $0, received: 1) }
            stage.welcome(
                limits: limits, features: features, epoch: 2,
                resumed: [SessionPosition(session: .control, received: 0), positions[1]])
            #expect(stage.farewell == .protocolViolation)
            stage.run(for: .seconds(30))
            stage.accept()
            let hello = try #require(stage.log.last(Hello.self))
            #expect(hello.resume == nil)
            #expect(stage.log.last(Open.self)?.room == .lobby)
        }
    }

    // C-60, Specs/hostile.md row 5
    @Test func `an incomplete frame ends the connection after the timeout`() {
        let stage = ClientStage()
        stage.answersPings = true
        stage.goOnline(.lobby)
        let connection = stage.connection
        for byte in stage.maker.frame(Gap(offsets: 1...2), on: .first).dropLast() {
            stage.run(for: .seconds(1))
            stage.send([byte])
        }
        #expect(stage.farewell == .frameTimeout)
        #expect(stage.outputs.contains(.link(.close(connection, graceful: true))))
    }

    @Test func `any single flipped bit ends the connection`() {
        let whole = ClientStage()
        whole.goOnline(.lobby)
        let bytes = whole.maker.frame(Gap(offsets: 1...2), on: .first)
        for bit in 0..<(bytes.count * 8) {
            let stage = ClientStage()
            let room = stage.goOnline(.lobby)
            let events = stage.events(in: room).count
            var flipped = bytes
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            stage.send(flipped)
            // A longer length leaves the frame incomplete.
            stage.run(for: .seconds(31))
            #expect(stage.events(in: room).count == events, "bit \(bit)")
            #expect(stage.states.contains { if case .waiting = $0 { true } else { false } }, "bit \(bit)")
        }
    }

    @Test func `the end of the stream within a frame ends the connection`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let events = stage.events(in: room).count
        stage.send(stage.maker.frame(Gap(offsets: 1...2), on: .first).dropLast())
        stage.end()
        #expect(stage.events(in: room).count == events)
        #expect(stage.engine.status.lastFailure == .closedByPeer)
    }

    @Test func `unknown frames that are not critical are skipped and counted`() {
        let stage = ClientStage()
        stage.goOnline(.lobby)
        for _ in 0..<32 { stage.say(FrameType(rawValue: 0x1ABC), []) }
        #expect(stage.engine.counters.skipped == 32)
        #expect(stage.engine.status.isOnline)
    }

    // R-32, Specs/hostile.md row 14
    @Test func `an invalid message is reported as a gap and the next one is delivered`() {
        let stage = ClientStage()
        let room = stage.goOnline(.lobby)
        let client = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("abc"))
        var body = Message.encodeRelay(
            offset: 1, acceptedAt: 1, sender: .bob, device: DeviceID(rawValue: 2), clientBody: client.rawBytes)
        body[body.count - 1] = 0xFF
        stage.say(.data, body, on: .first)
        stage.message("fine", offset: 2)
        #expect(stage.events(in: room).dropFirst().first == .gap(1...1))
        #expect(stage.events(in: room).count == 3)
        #expect(stage.engine.status.isOnline)
    }

    @Test func `a compressed welcome ends the connection`() {
        let stage = ClientStage()
        stage.act { $0.handle(.start, now: $1) }
        stage.accept()
        let deflater = Deflater()
        let body = ClientStage.welcome().encode() + [UInt8](repeating: 0, count: 0)
        stage.say(.welcome, deflater.compress(body.rawBytes) ?? body, compression: .zlib)
        #expect(stage.farewell == .compressionNotAllowed)
    }

    @Test func `pings to a connection that is not writable cause at most four pongs`() {
        let stage = ClientStage()
        stage.goOnline(.lobby)
        stage.takesBytes = false
        for nonce in UInt64(0)..<50 { stage.say(Ping(nonce: nonce)) }
        stage.takeBytes()
        #expect(stage.log.all(Pong.self).count == 4)
    }

    @Test func `sessions opened by a server at a high rate end the connection`() {
        let stage = ClientStage()
        stage.goOnline(.lobby)
        for number in 1...Link.openBurst + 1 {
            let session = SessionID(rawValue: UInt16(2 * number))
            stage.say(Open(room: .hall, kind: .chat, cursor: 0, tail: nil, noLocal: false), on: session)
        }
        #expect(stage.farewell == .churnLimit)
        #expect(stage.log.all(Reset.self).count == Link.openBurst)
    }

    // S-26, S-30, Specs/hostile.md row 20
    @Test func `a server without acknowledgements receives one window and is disconnected after a minute`() throws {
        let stage = ClientStage()
        stage.answersPings = true
        // No more credit than the negotiated windows.
        let room = stage.goOnline(.lobby, creditLimit: 0)
        let content = MessageContent(text: String(repeating: "x", count: 10_000))
        for counter in UInt64(1)...100 {
            try stage.engine.send(counter: counter, content: content, in: room, now: stage.now)
        }
        stage.act { _, _ in }
        #expect(stage.log.byteCount <= 256 * 1024 + 4096)
        stage.run(for: .seconds(59))
        #expect(stage.log.last(GoAway.self) == nil)
        stage.run(for: .seconds(2))
        #expect(stage.farewell == .ackTimeout)
        // No message fails by a timeout.
        #expect(!stage.events(in: room).contains { if case .failed = $0 { true } else { false } })
    }

    @Test func `a revoked credential stops the client`() {
        let stage = ClientStage()
        stage.goOnline(.lobby)
        stage.say(GoAway(Notice(code: .revoked)))
        #expect(stage.engine.status.state == .stopped(.revoked))
    }

    // C-53, Specs/hostile.md row 26
    @Test func `a client suspended for an hour keeps a connection whose server answers pings`() throws {
        let stage = ClientStage()
        stage.answersPings = true
        stage.goOnline(.lobby)
        let connection = stage.connection
        stage.act { $0.handle(.setMode(.suspended), now: $1) }
        stage.freeze(for: .seconds(3600))
        stage.act { $0.handle(.setMode(.foreground), now: $1) }
        stage.run(for: .seconds(20))
        #expect(stage.connection == connection)
        #expect(stage.engine.status.isOnline)
    }

    @Test func `random bytes close the connection or are processed`() {
        var random = SeededRandom(seed: 1)
        for round in 0..<300 {
            let stage = ClientStage()
            stage.goOnline(.lobby)
            for _ in 0..<20 {
                let types = FrameType.registered
                let type = types[Int(random.next() % UInt64(types.count))]
                var body = (0..<Int(random.next() % 80)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                if round.isMultiple(of: 2) { body = Gap(offsets: 1...max(1, random.next() >> 1)).encode() }
                let session = SessionID(rawValue: UInt16(random.next() % 4))
                stage.say(
                    type, body, on: session, flags: FrameFlags(rawValue: UInt8(random.next() % 8)),
                    sequence: UInt32(truncatingIfNeeded: random.next() % 6))
                stage.run(for: .milliseconds(Int64(random.next() % 2000)))
            }
            stage.act { $0.handle(.stop, now: $1) }
            stage.run(for: .seconds(5))
            #expect(stage.count(.link(.stopped)) == 1)
        }
    }
}
