import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Faults of a peer at a relay, by the rows of Specs/hostile.md: the code, the end of the connection, and the bounds.
@Suite struct RelayHostileTests {
    // W-43, C-41, C-42
    @Test(arguments: Fault.all)
    func `a fault of a client ends its connection with the code, and its link resumes without losses`(fault: Fault)
        throws
    {
        let stage = RelayStage()
        let mallory = stage.member("mallory", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        mallory.text("before", counter: 1)
        let welcome = try #require(mallory.log.last(Welcome.self))
        mallory.send(fault.bytes(&mallory.maker))
        #expect(mallory.farewell == fault.code)
        #expect(mallory.closedAt == stage.now)
        #expect(
            stage.relay.notes.last { if case .link(.faulted) = $0 { true } else { false } }
                == .link(.faulted(fault.code)))
        #expect(stage.relay.engine.statistics.faults == 1)
        #expect(bob.closedAt == nil)
        #expect(bob.log.all(Message.self).map(\.text) == ["before"])
        let again = try #require(stage.connect())
        let positions = [
            SessionPosition(session: .control, received: 0), SessionPosition(session: .first, received: 0),
        ]
        again.greet(
            "mallory", resume: ResumePoint(link: welcome.link, token: welcome.resumeToken, positions: positions))
        #expect(again.log.last(Welcome.self)?.epoch == Epoch(rawValue: 2))
        #expect(again.log.last(Accepted.self)?.runs == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1)])
    }

    @Test(arguments: Fault.all.filter { [1, 2, 3, 9].contains($0.row) })
    func `a fault before hello occupies less than 64 bytes and is answered with at most three times the bytes`(
        fault: Fault
    )
        throws
    {
        let stage = RelayStage()
        let peer = try #require(stage.connect())
        let bytes = fault.bytes(&peer.maker)
        for byte in bytes where peer.closedAt == nil {
            peer.send([byte])
            #expect(stage.heldByteCount(peer) <= 64)
        }
        #expect(peer.closedAt == stage.now)
        #expect(stage.relay.notes == [.link(.faulted(fault.code))])
        #expect(peer.log.byteCount <= 3 * bytes.count)
    }

    // C-22, Specs/hostile.md row 2
    @Test func `an unsupported version is answered with the supported ones`() throws {
        let stage = RelayStage()
        let peer = stage.member("mallory")
        peer.send([0x8D, 0x4D, 0x52, 0x54, 9])
        #expect(peer.log.last(GoAway.self)?.notice.spokenVersions == [.current, .newest])
        let other = try #require(stage.connect())
        let future = WireVersion(major: 9, minor: 0)
        other.say(
            Hello(
                spokenVersions: [future], features: [], limits: Limits(), device: DeviceID(rawValue: 1),
                account: .alice, credential: nil, agent: nil, resume: nil))
        #expect(other.farewell == .unsupportedVersion)
        #expect(other.log.last(GoAway.self)?.notice.spokenVersions == [.current, .newest])
    }

    // W-39
    @Test func `a relay without packets reports only version 1 0`() throws {
        let stage = RelayStage { $0.link.features = .supported }
        let peer = stage.member("mallory")
        peer.send([0x8D, 0x4D, 0x52, 0x54, 9])
        #expect(peer.log.last(GoAway.self)?.notice.spokenVersions == [.current])
    }

    // C-13, Specs/hostile.md row 4
    @Test func `a first frame that is not hello is refused by its header`() throws {
        let stage = RelayStage()
        let peer = try #require(stage.connect())
        let bytes = peer.maker.frame(.data, [UInt8](repeating: 0, count: 8000), on: .first)
        peer.send(Array(bytes.prefix(28)))
        #expect(peer.farewell == .expectedHello)
        #expect(stage.heldByteCount(peer) <= 4096)
    }

    // W-31, Specs/hostile.md row 45
    @Test(arguments: ["a\u{200B}b", "a\u{202E}b", "a\u{2066}b", "\u{FEFF}ab", "\u{2028}ab", "abcd ", "ab  c"])
    func `a name with invisible or reordering characters ends the handshake`(name: String) throws {
        let stage = RelayStage()
        let peer = try #require(stage.connect())
        var body = RawPeer.hello("alice").encode()
        let place = try #require(body.firstRange(of: Array("alice".utf8)))
        body.replaceSubrange(place, with: Array(name.utf8))
        peer.send(peer.maker.frame(.hello, body))
        #expect(peer.farewell == .invalidHello)
    }

    // W-75, C-8, C-10, Specs/hostile.md row 5
    @Test func `single bytes before hello end the connection after the timeout`() throws {
        let stage = RelayStage()
        let peer = try #require(stage.connect())
        let began = stage.now
        for byte in peer.maker.frame(RawPeer.hello()) where peer.closedAt == nil {
            peer.send([byte])
            #expect(stage.heldByteCount(peer) <= 16 * 1024)
            stage.run(for: .milliseconds(100))
        }
        #expect(peer.farewell == .handshakeTimeout)
        #expect(peer.closedAt == began + .seconds(5))
    }

    // C-60, Specs/hostile.md row 5
    @Test func `an incomplete frame ends the connection after the timeout`() {
        let stage = RelayStage()
        let peer = stage.member("mallory", of: .lobby)
        // Only the rest of its frame is expected from it.
        peer.acknowledge(1)
        let began = stage.now
        peer.send(Array(peer.maker.frame(Ping(nonce: 1)).dropLast()))
        for _ in 0..<40 where peer.closedAt == nil {
            stage.run(for: .seconds(1))
            peer.send([])
        }
        #expect(peer.farewell == .frameTimeout)
        #expect(peer.closedAt == began + .seconds(30))
    }

    // W-75, C-8, Specs/hostile.md row 6
    @Test func `a peer whose authentication has no result is disconnected after the timeout`() throws {
        let stage = RelayStage()
        stage.relay.authenticationDelay = .seconds(60)
        let peer = try #require(stage.connect())
        let began = stage.now
        peer.greet("mallory")
        for _ in 0..<100 where peer.closedAt == nil {
            stage.run(for: .milliseconds(200))
            peer.say(Ping(nonce: 1))
            #expect(stage.heldByteCount(peer) <= 16 * 1024)
        }
        #expect(peer.farewell == .authTimeout)
        #expect(peer.closedAt == began + .seconds(10))
        #expect(stage.relay.notes == [.link(.faulted(.authTimeout)), .link(.refused(.named("mallory"), .authTimeout))])
    }

    // C-9, Specs/hostile.md row 6
    @Test func `early frames beyond the bound end the connection`() throws {
        let stage = RelayStage()
        stage.relay.authenticationDelay = .seconds(1)
        let peer = try #require(stage.connect())
        peer.greet("mallory")
        while peer.closedAt == nil {
            peer.say(.data, [UInt8](repeating: 0, count: 4000), on: .first)
            #expect(stage.heldByteCount(peer) <= 16 * 1024)
        }
        #expect(peer.farewell == .protocolViolation)
    }

    @Test func `a flipped bit in hello ends the connection`() throws {
        let stage = RelayStage()
        let peer = try #require(stage.connect())
        var hello = peer.maker.frame(RawPeer.hello("mallory"))
        hello[hello.count - 1] ^= 1
        peer.send(hello)
        #expect(peer.farewell == .badChecksum)
        #expect(peer.log.byteCount <= 3 * hello.count)
        #expect(stage.relay.notes == [.link(.faulted(.badChecksum))])
    }

    @Test func `any single flipped bit ends the connection`() {
        for bit in 0..<(28 * 8 + 64) {
            let stage = RelayStage()
            let peer = stage.member("mallory", of: .lobby)
            var bytes = peer.maker.frame(
                .data, Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("x")), on: .first)
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            peer.send(bytes)
            stage.run(for: .seconds(31))
            #expect(peer.closedAt != nil, "bit \(bit)")
            #expect(stage.relay.log[.lobby] == nil, "bit \(bit)")
        }
    }

    @Test func `the end of the stream within a frame ends the connection`() {
        let stage = RelayStage()
        let peer = stage.member("mallory", of: .lobby)
        let body = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("x"))
        peer.send(Array(peer.maker.frame(.data, body, on: .first).dropLast()))
        peer.finish()
        #expect(peer.farewell == .unexpectedEOF)
        #expect(stage.relay.log[.lobby] == nil)
    }

    @Test func `unknown frames that are not critical are skipped and counted`() {
        let stage = RelayStage()
        let peer = stage.member("mallory", of: .lobby)
        for _ in 0..<32 { peer.say(FrameType(rawValue: 0x1ABC), []) }
        peer.text("still", counter: 1)
        #expect(stage.link(of: peer, { $0.link.counters.skipped }) == 32)
        #expect(stage.relay.log[.lobby]?.count == 1)
    }

    // W-72, R-24, Specs/hostile.md row 14
    @Test func `an invalid value is refused with a receipt and the session continues`() {
        let stage = RelayStage()
        let peer = stage.member("mallory", of: .lobby)
        var notText = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("x"))
        notText[notText.count - 1] = 0xFF
        peer.say(.data, notText, on: .first)
        var twice = TLVWriter(reserving: 0)
        twice.append(.counter, uint64: 2)
        twice.append(.counter, uint64: 2)
        peer.say(.data, twice.bytes, on: .first)
        var missing = TLVWriter(reserving: 0)
        missing.append(.counter, uint64: 3)
        peer.say(.data, missing.bytes, on: .first)
        let stamped = Message.encodeRelay(
            offset: 1, acceptedAt: 1, sender: .alice, device: DeviceID(rawValue: 1),
            clientBody: Message.encodeClient(counter: 4, kind: .text, content: Message.textContent("x")).rawBytes)
        peer.say(.data, stamped, on: .first)
        let refusals = peer.log.all(Receipt.self).compactMap { receipt -> Receipt.Refusal? in
            if case .refused(let refusal) = receipt { refusal } else { nil }
        }
        #expect(refusals.map(\.counter) == [1, 2, 3, 4])
        #expect(refusals.map(\.code) == [.invalidValue, .duplicateField, .missingField, .invalidValue])
        #expect(peer.closedAt == nil)
        // A message without a counter cannot be refused by a receipt, so its session is reset.
        peer.say(.data, [], on: .first)
        #expect(peer.log.last(Reset.self)?.code == .missingField)
        #expect(peer.closedAt == nil)
        #expect(stage.relay.log[.lobby] == nil)
    }

    // W-72
    @Test func `an invalid request is answered with an error`() {
        let stage = RelayStage()
        let peer = stage.member("mallory", of: .lobby)
        var request = TLVWriter(reserving: 0)
        request.append(.correlation, uint64: 9)
        peer.say(.request, request.bytes, on: .first)
        #expect(peer.log.last(Response.self)?.status == .missingField)
        peer.say(.request, [], on: .first)
        #expect(peer.farewell == .missingField)
    }

    // S-58, Specs/hostile.md row 20
    @Test func `a peer with unread responses is disconnected before a megabyte is queued`() throws {
        let stage = RelayStage()
        let peer = stage.member("mallory")
        var correlation: UInt64 = 0
        while peer.closedAt == nil {
            correlation += 1
            peer.say(Request(correlation: correlation, method: .locate, deadline: .seconds(1)))
            guard let queued = stage.queued(for: peer) else { break }
            try #require(queued.byteCount <= 1 << 20)
        }
        #expect(peer.farewell == .slowConsumer)
        #expect(correlation > 1000)
    }

    @Test func `a compressed hello ends the connection`() throws {
        let stage = RelayStage()
        let peer = try #require(stage.connect())
        let deflater = Deflater()
        let hello = RawPeer.hello("mallory", credential: Credential([UInt8](repeating: 7, count: 4096))).encode()
        let compressed = deflater.compress(hello.rawBytes)
        peer.say(.hello, try #require(compressed), compression: .zlib)
        #expect(peer.farewell == .compressionNotAllowed)
    }

    @Test func `compression without the negotiated feature ends the connection`() throws {
        let stage = RelayStage { $0.link.features = [] }
        let peer = stage.member("mallory", of: .lobby)
        let deflater = Deflater()
        let body = [UInt8](repeating: 0, count: 4096)
        let compressed = deflater.compress(body.rawBytes)
        peer.say(.data, try #require(compressed), on: .first, compression: .zlib)
        #expect(peer.farewell == .compressionNotAllowed)
    }

    @Test func `pings to a connection that is not writable cause at most four pongs`() {
        let stage = RelayStage()
        let peer = stage.member("mallory")
        peer.isReading = false
        for nonce in UInt64(0)..<50 { peer.say(Ping(nonce: nonce)) }
        #expect(stage.link(of: peer, { $0.link.connection.control.count }) == 4)
    }

    @Test func `opening and closing sessions at a high rate ends the connection`() {
        let stage = RelayStage()
        let peer = stage.member("mallory")
        var opened = 0
        while peer.closedAt == nil {
            let session = SessionID(rawValue: UInt16(2 * opened + 1))
            peer.open(.lobby, on: session)
            peer.say(Reset(session: session, code: .cancelled))
            opened += 1
            #expect(stage.relay.engine.statistics.rooms <= 1)
        }
        #expect(peer.farewell == .churnLimit)
        #expect(opened == Link.openBurst + 1)
    }

    @Test func `a peer without acknowledgements receives one window and is disconnected after a minute`() {
        let stage = RelayStage()
        let mallory = stage.member("mallory", of: .lobby)
        let alice = stage.member("alice", of: .lobby)
        var sequence = mallory.log.frames.count
        for counter in UInt64(1)...200 {
            alice.text(String(repeating: "x", count: 8000), counter: counter)
            alice.acknowledge(1 + counter)
        }
        sequence = mallory.log.frames.count - sequence
        #expect(mallory.log.byteCount <= 256 * 1024 + 16 * 1024)
        for _ in 0..<70 {
            stage.run(for: .seconds(1))
            mallory.say(Ping(nonce: 1))
            alice.say(Ping(nonce: 1))
        }
        #expect(mallory.farewell == .ackTimeout)
    }

    // W-75, C-61, Specs/hostile.md row 20
    @Test func `a peer that never reads is disconnected after 10 s within a megabyte, and others are not affected`() {
        let stage = RelayStage()
        let mallory = stage.member("mallory", of: .lobby)
        let alice = stage.member("alice", of: .lobby)
        let bob = stage.member("bob", of: .lobby)
        // The peer acknowledges what it has read, because a silent peer is disconnected earlier.
        mallory.acknowledge(1)
        mallory.isReading = false
        let began = stage.now
        for counter in UInt64(1)...300 {
            alice.text(String(repeating: "x", count: 8000), counter: counter)
            alice.acknowledgeAll()
            bob.acknowledgeAll()
            stage.run(for: .milliseconds(50))
            #expect(bob.log.frames.last { $0.type == .data }?.at == stage.now + .milliseconds(-50))
            guard let queued = stage.queued(for: mallory) else { continue }
            #expect(queued.byteCount <= 1 << 20)
        }
        #expect(mallory.closedAt == began + .seconds(10))
        #expect(stage.relay.notes.contains(.link(.faulted(.slowConsumer))))
        #expect(bob.closedAt == nil)
    }

    @Test func `five refused resumes end the connection`() throws {
        let stage = RelayStage()
        let peer = try #require(stage.connect())
        for _ in 0..<5 {
            #expect(peer.closedAt == nil)
            peer.greet(
                "mallory", resume: ResumePoint(link: LinkID(rawValue: 1), token: ResumeToken(1, 2, 3, 4), positions: [])
            )
        }
        #expect(peer.farewell == .resumeRejected)
        #expect(peer.log.all(Reject.self).count == 5)
        #expect(stage.relay.engine.statistics.resumesRefused == 5)
    }

    @Test func `a token of another account or of an earlier connection is refused`() throws {
        let stage = RelayStage()
        let alice = stage.member("alice")
        let welcome = try #require(alice.log.last(Welcome.self))
        let mallory = try #require(stage.connect())
        mallory.greet(
            "mallory", resume: ResumePoint(link: welcome.link, token: welcome.resumeToken, positions: []))
        #expect(mallory.log.last(Reject.self)?.notice.code == .resumeRejected)
        let forged = try #require(stage.connect())
        forged.greet("alice", resume: ResumePoint(link: welcome.link, token: ResumeToken(1, 1, 1, 1), positions: []))
        #expect(forged.log.last(Reject.self)?.notice.code == .resumeRejected)
        #expect(alice.closedAt == nil)
    }

    // C-15, Specs/hostile.md row 32
    @Test func `answers to an unauthenticated peer have at most three times its bytes`() throws {
        let stage = RelayStage()
        let redirect = "martlet://" + String(repeating: "b", count: 500)
        stage.act { $0.drain(retryAfter: .seconds(1), redirect: redirect, now: $1) }
        let peer = try #require(stage.connect())
        let hello = peer.maker.frame(RawPeer.hello("a"))
        peer.send(hello)
        #expect(peer.farewell == .draining)
        #expect(peer.log.byteCount <= 3 * hello.count)
        for count in [1, 10, 27] {
            let other = try #require(stage.connect())
            other.send([UInt8](repeating: 0, count: count))
            #expect(other.closedAt != nil)
            #expect(other.log.byteCount <= 3 * count)
        }
    }

    @Test func `random bytes close the connection or are processed, and others are not affected`() {
        var random = SeededRandom(seed: 1)
        for round in 0..<300 {
            let stage = RelayStage()
            let peer = stage.member("mallory", of: .lobby)
            let bob = stage.member("bob", of: .lobby)
            for _ in 0..<20 {
                let types = FrameType.registered
                let type = types[Int(random.next() % UInt64(types.count))]
                var body = (0..<Int(random.next() % 80)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                if round.isMultiple(of: 2) {
                    body = Message.encodeClient(
                        counter: random.next() | 1, kind: .text, content: Message.textContent("x"))
                }
                peer.say(
                    type, body, on: SessionID(rawValue: UInt16(random.next() % 4)),
                    flags: FrameFlags(rawValue: UInt8(random.next() % 8)),
                    sequence: UInt32(truncatingIfNeeded: random.next() % 6))
                stage.run(for: .milliseconds(Int64(random.next() % 2000)))
                bob.acknowledgeAll()
            }
            #expect(bob.closedAt == nil)
        }
    }
}
