import MartletSimulator
import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink
@testable import MartletRelay

/// Frames without credit: their rate, and their work in one turn.
@Suite struct RateHostileTests {
    /// A frame without progress; the closure receives the number of earlier ones.
    struct Waste: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// The number of such frames that are not charged.
        var freeCount = 0
        var say: @Sendable (RawPeer, Int) -> Void
    }

    static let all: [Waste] = [
        Waste(testDescription: "acks without fields") { peer, _ in
            peer.say(Ack(echo: nil, linkCredit: 0, sessions: []))
        },
        Waste(testDescription: "repeated acks", freeCount: 1) { peer, _ in peer.acknowledge(0) },
        Waste(testDescription: "acks of impossible credit", freeCount: 1) { peer, number in
            let part = SessionAck(session: .first, cumulative: 0, creditLimit: 1 << 40 + UInt64(number) << 30)
            peer.say(Ack(echo: nil, linkCredit: 1 << 40 + UInt64(number) << 30, sessions: [part]))
        },
        Waste(testDescription: "acks of unknown sessions") { peer, _ in
            peer.say(
                Ack(
                    echo: nil, linkCredit: 0,
                    sessions: [SessionAck(session: .second, cumulative: 0, creditLimit: 0)]))
        },
        Waste(testDescription: "duplicates") { peer, _ in peer.say(.receipt, [], on: .first, sequence: 1) },
        Waste(testDescription: "receipts", freeCount: 4) { peer, number in
            peer.say(Receipt.progress(Receipt.Progress(.delivered, upTo: UInt64(number))), on: .first)
        },
        Waste(testDescription: "suspend and resume") { peer, number in
            if number % 2 == 0 { peer.say(Suspend(), on: .first) } else { peer.say(Resume(cursor: nil), on: .first) }
        },
        Waste(testDescription: "cancels") { peer, number in
            peer.say(CancelRequest(correlation: UInt64(number)), on: .first)
        },
        Waste(testDescription: "transient frames", freeCount: 100) { peer, _ in
            peer.say(Transient(.typing(true)), on: .first)
        },
        Waste(testDescription: "transient frames of an unknown session") { peer, _ in
            peer.say(Transient(.typing(true)), on: .second)
        },
        Waste(testDescription: "pongs") { peer, number in
            peer.say(Pong(nonce: UInt64(number), echo: Echo(timestamp: 0, delay: .zero)))
        },
        Waste(testDescription: "resets of unknown sessions") { peer, number in
            peer.say(Reset(session: SessionID(rawValue: UInt16(2 * number + 101)), code: .cancelled))
        },
        Waste(testDescription: "fragments of one byte") { peer, _ in
            peer.say(.data, [0], on: .first, flags: .moreFragments)
        },
        Waste(testDescription: "packets without frames") { peer, _ in
            peer.send(RateHostileTests.packet([], isDeflated: true))
        },
    ]

    /// A packet with this payload of up to 4,096 bytes.
    private static func packet(_ payload: [UInt8], isDeflated: Bool = false) -> [UInt8] {
        var bytes: [UInt8] =
            [(isDeflated ? 0xA0 : 0xC0) | UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)] + payload
        let checksum = CRC32.checksum(bytes.rawBytes)
        for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: checksum >> shift)) }
        return bytes
    }

    private func member(of stage: RelayStage) throws -> RawPeer {
        let peer = try #require(stage.connect())
        peer.greet("mallory", features: .supported.union([.compact, .sharedDeflate]))
        peer.open(.lobby, on: .first)
        return peer
    }

    // S-59, Specs/hostile.md row 43
    @Test(arguments: all)
    func `more than 1,000 frames without progress at once end the connection`(waste: Waste) throws {
        let stage = RelayStage()
        let peer = try member(of: stage)
        var count = 0
        while peer.closedAt == nil, count < 2000 {
            waste.say(peer, count)
            count += 1
        }
        #expect(peer.farewell == .controlFlood)
        #expect(count == 1001 + waste.freeCount)
    }

    // S-59
    @Test(arguments: all)
    func `200 frames without progress in each second are accepted permanently`(waste: Waste) throws {
        guard waste.testDescription != "fragments of one byte" else { return }
        let stage = RelayStage()
        let peer = try member(of: stage)
        for number in 0..<2500 {
            stage.run(for: .milliseconds(5))
            waste.say(peer, number)
            if number % 200 == 0 { peer.acknowledgeAll() }
        }
        #expect(peer.closedAt == nil || peer.farewell == .ackTimeout)
    }

    // S-59, Specs/hostile.md row 43
    @Test func `a resume does not replenish the rate of a link`() throws {
        let stage = RelayStage()
        let peer = try member(of: stage)
        let welcome = try #require(peer.log.last(Welcome.self))
        for _ in 0...1000 { peer.acknowledge(0) }
        #expect(peer.closedAt == nil)
        peer.cut()
        let again = try #require(stage.connect())
        let positions = [
            SessionPosition(session: .control, received: 0), SessionPosition(session: .first, received: 1),
        ]
        #expect(
            again.greet(
                "mallory", features: .supported.union([.compact, .sharedDeflate]),
                resume: ResumePoint(link: welcome.link, token: welcome.resumeToken, positions: positions)) != nil)
        // A few more exceed the rate; a full burst would allow 1,000.
        for _ in 0..<10 where again.closedAt == nil { again.say(Ack(echo: nil, linkCredit: 0, sessions: [])) }
        #expect(again.farewell == .controlFlood)
    }

    // S-59
    @Test func `acks and receipts of 3,000 messages read one by one are not charged to the rate`() throws {
        let stage = RelayStage()
        let reader = stage.member("bob", of: .lobby)
        let writer = stage.member("alice", of: .lobby)
        for counter in UInt64(1)...3000 {
            writer.text("text", counter: counter)
            writer.acknowledgeAll()
            reader.acknowledgeAll()
            reader.say(Receipt.progress(Receipt.Progress(.delivered, upTo: counter)), on: .first)
            reader.say(Receipt.progress(Receipt.Progress(.read, upTo: counter)), on: .first)
        }
        #expect(reader.closedAt == nil && writer.closedAt == nil)
        #expect(stage.link(of: reader, { $0.link.unproductive.isFull(now: stage.now) }) == true)
    }

    // S-14, S-59
    @Test func `frames in flight at the end of their session are not charged, each once`() throws {
        let stage = RelayStage()
        let peer = try member(of: stage)
        peer.say(Reset(session: .first, code: .cancelled))
        for counter in UInt64(1)...2000 { peer.text("late", counter: counter) }
        #expect(peer.closedAt == nil)
        var count = 0
        while peer.closedAt == nil, count < 2000 {
            peer.say(.data, [0], on: .first, sequence: 9)
            count += 1
        }
        #expect(peer.farewell == .controlFlood && count == 1001)
    }

    // S-14, S-59
    @Test func `received frames of a reset session arrive again after a resume → charged from the second time on`()
        throws
    {
        let stage = RelayStage()
        let peer = stage.member("mallory", of: .lobby)
        let welcome = try #require(peer.log.last(Welcome.self))
        stage.relay.storeDelay = .milliseconds(50)
        stage.relay.refusesAppends = true
        publish(1...5, peer)
        stage.run(for: .seconds(1))
        #expect(peer.log.last(Reset.self)?.code == .storeUnavailable)
        peer.cut()
        let again = try #require(stage.connect())
        #expect(again.resume("mallory", from: welcome)?.resumed != nil)
        #expect(stage.link(of: again, { $0.link.sessions.recentlyEnded[.first]?.cumulative }) == 6)
        for sequence in 2...6 as ClosedRange<UInt32> { again.say(.data, [0], on: .first, sequence: sequence) }
        #expect(stage.link(of: again, { $0.link.unproductive.isFull(now: stage.now) }) == true)
        again.say(.data, [0], on: .first, sequence: 6)
        #expect(stage.link(of: again, { $0.link.unproductive.isFull(now: stage.now) }) == false)
    }

    // S-42, Specs/hostile.md row 43
    @Test func `an empty fragment before the last one ends the connection`() throws {
        let stage = RelayStage()
        let peer = try member(of: stage)
        peer.say(.data, [], on: .first, flags: .moreFragments)
        #expect(peer.farewell == .protocolViolation)
    }

    // R-50, Specs/hostile.md row 42
    @Test func `of 1,000 frames in one packet a turn processes 512, then reads another connection`() throws {
        let stage = RelayStage()
        stage.readsOn = false
        let peer = try member(of: stage)
        let other = stage.member("bob", of: .lobby)
        let before = stage.link(of: peer, { $0.link.counters.framesReceived }) ?? 0
        // Each acknowledges sequence 0 of session 1.
        let acks = (0..<4000).map { ([0x27, 0x03, 0x01, 0x00] as [UInt8])[$0 % 4] }
        peer.send(RateHostileTests.packet(acks) + RateHostileTests.packet(acks))
        let after = stage.link(of: peer, { $0.link.counters.framesReceived }) ?? 0
        #expect(after > before && after <= before + UInt64(TurnBudget.unitCount))
        #expect(peer.isPaused && peer.closedAt == nil)
        other.text("hello", counter: 1)
        #expect(stage.relay.log[.lobby]?.count == 1)
        stage.run(for: .zero)
        #expect(peer.farewell == .controlFlood)
    }

    // R-50, Specs/hostile.md row 42
    @Test func `of 600 packets without frames a turn processes about 512`() throws {
        let stage = RelayStage()
        stage.readsOn = false
        let peer = try member(of: stage)
        peer.send((0..<600).flatMap { _ in RateHostileTests.packet([], isDeflated: true) })
        #expect(peer.isPaused)
        #expect(stage.relay.engine.unreadByteCount > 0 && stage.relay.engine.unreadByteCount <= 88 * 6)
    }

    // R-50, Specs/hostile.md row 42
    @Test func `of bodies that inflate to 60 KB a turn processes five`() throws {
        let stage = RelayStage()
        stage.readsOn = false
        let peer = try member(of: stage)
        var body = Ack(echo: nil, linkCredit: 1, sessions: []).encode()
        body += [0x03, 0x33, 0, 0, 0xEA, 0x60] + [UInt8](repeating: 0, count: 60_000)
        let compressed: [UInt8]? = Deflater().compress(body.rawBytes)
        let small = try #require(compressed)
        let before = stage.link(of: peer, { $0.link.counters.framesReceived }) ?? 0
        peer.send((0..<20).flatMap { _ in peer.maker.frame(.ack, small, compression: .zlib) })
        #expect(stage.link(of: peer, { $0.link.counters.framesReceived }) == before + 5)
    }

    // S-4, S-64, Specs/hostile.md row 44
    @Test func `an account that opens sessions on several links at a high rate is refused with serverBusy`() throws {
        let stage = RelayStage()
        var opened = 0
        for _ in 0..<8 {
            let peer = stage.member("mallory")
            for number in 0..<95 {
                let session = SessionID(rawValue: UInt16(2 * number + 1))
                peer.open(.lobby, on: session)
                peer.say(Close(), on: session)
            }
            opened += peer.log.all(Opened.self).count
            let refused = peer.log.all(Reset.self).filter { $0.code == .serverBusy }
            #expect(opened <= AccountTable.opensBurst || !refused.isEmpty)
            let interval = Duration.milliseconds(60_000 / AccountTable.opensPerMinute + 1)
            #expect(refused.allSatisfy { $0.retryAfter.map { $0 > .zero && $0 <= interval } == true })
            peer.say(GoAway(Notice(code: .none)))
        }
        #expect(opened == AccountTable.opensBurst)
        stage.run(for: .seconds(10))
        let peer = stage.member("mallory")
        peer.open(.lobby, on: .first)
        #expect(peer.log.last(Opened.self) != nil)
    }

    // MARK: Messages of an account

    /// A relay at which an account may publish 20 messages a second, and at once.
    private var slowStage: RelayStage {
        var rate = MessageRate()
        (rate.messagesPerSecond, rate.messageBurst) = (20, 20)
        return RelayStage { [rate] in $0.accountRate = rate }
    }

    private func publish(_ counters: ClosedRange<UInt64>, _ peer: RawPeer) {
        for counter in counters { peer.text("flood", counter: counter) }
    }

    // Specs/hostile.md row 54
    @Test func `10 messages beyond the burst → all stored in order, the credit of 10 released after 0.5 s`() throws {
        let stage = slowStage
        let peer = stage.member("mallory", of: .lobby)
        publish(1...30, peer)
        stage.run(for: .milliseconds(499))
        #expect(stage.relay.log[.lobby]?.map(\.counter) == Array(1...30))
        let received = try #require(stage.link(of: peer, { $0.link.linkCreditReceived }))
        #expect(stage.link(of: peer, { $0.link.linkCreditReleased }) == received / 30 * 20)
        stage.run(for: .milliseconds(1))
        #expect(stage.link(of: peer, { $0.link.linkCreditReleased }) == received)
        #expect(peer.closedAt == nil && peer.log.last(Reset.self) == nil)
    }

    //
    @Test func `messages within the burst → their credit is released when they are stored`() {
        let stage = slowStage
        let peer = stage.member("alice", of: .lobby)
        publish(1...20, peer)
        stage.run(for: .milliseconds(100))
        #expect(stage.releasesAll(of: peer) == true)
    }

    // R-54, S-64, Specs/hostile.md row 54
    @Test func `an account beyond its rate begins another link → its sessions are reset with serverBusy`() {
        let stage = slowStage
        publish(1...30, stage.member("mallory", of: .lobby))
        let next = stage.member("mallory", device: 2, of: .hall)
        #expect(next.log.last(Reset.self)?.code == .serverBusy && next.closedAt == nil)
        #expect(next.log.last(Reset.self)?.retryAfter == .milliseconds(500))
        let bob = stage.member("bob", of: .lobby)
        #expect(bob.log.last(Opened.self) != nil)
        bob.text("in time", counter: 1)
        stage.run(for: .milliseconds(500))
        #expect(stage.releasesAll(of: bob) == true)
        next.open(.hall, on: .second)
        #expect(next.log.last(Opened.self) != nil)
    }

    // Specs/hostile.md row 54
    @Test func `an account beyond its rate leaves → the rate is kept until it is no longer overdrawn`() {
        var table = AccountTable(rate: MessageRate())
        var now = Instant(nanoseconds: 1_000_000_000)
        let mallory = table.index(of: .named("mallory"), now: now)
        for _ in 0..<105_000 { table.spend(byteCount: 1, of: mallory, now: now) }
        #expect(table.waitsUntil(mallory, now: now) == now + .seconds(200))
        for _ in 0..<3 {
            now = now + .seconds(60)
            _ = table.index(of: .bob, now: now)
            #expect(table.find(.named("mallory")) == mallory)
        }
        now = now + .seconds(60)
        _ = table.index(of: .bob, now: now)
        #expect(table.find(.named("mallory")) == nil)
    }

    // MARK: Messages of a room

    /// A relay at which the members of a room may publish 20 messages a second, and at once.
    private var slowRooms: RelayStage {
        var rate = MessageRate()
        (rate.messagesPerSecond, rate.messageBurst) = (20, 20)
        return RelayStage { [rate] in $0.roomRate = rate }
    }

    // R-95, Specs/hostile.md row 83
    @Test func `members publish beyond their room's rate → all stored, their credit is released after 0.5 s`() throws {
        let stage = slowRooms
        let (mallory, eve) = (stage.member("mallory", of: .lobby), stage.member("eve", of: .lobby))
        let bob = stage.member("bob", of: .hall)
        publish(1...20, mallory)
        publish(1...10, eve)
        bob.text("in time", counter: 1)
        stage.run(for: .milliseconds(499))
        #expect(stage.relay.log[.lobby]?.count == 30)
        #expect(stage.releasesAll(of: bob) == true)
        let received = try #require(stage.link(of: eve, { $0.link.linkCreditReceived }))
        #expect(try #require(stage.link(of: eve, { $0.link.linkCreditReleased })) < received)
        stage.run(for: .milliseconds(1))
        for peer in [mallory, eve] {
            #expect(stage.releasesAll(of: peer) == true)
            #expect(peer.closedAt == nil && peer.log.last(Reset.self) == nil)
        }
    }

    // R-95, S-64, Specs/hostile.md row 83
    @Test func `an account with withheld credit opens the room again → serverBusy; others enter`() {
        let stage = slowRooms
        publish(1...30, stage.member("mallory", of: .lobby))
        let next = stage.member("mallory", device: 2, of: .lobby)
        #expect(next.log.last(Reset.self)?.code == .serverBusy && next.closedAt == nil)
        #expect(next.log.last(Reset.self)?.retryAfter == .milliseconds(500))
        #expect(stage.member("bob", of: .lobby).log.last(Opened.self) != nil)
        stage.run(for: .milliseconds(500))
        next.open(.lobby, on: .second)
        #expect(next.log.last(Opened.self) != nil)
    }

    // R-95, Specs/hostile.md row 83
    @Test func `all members leave a room beyond its rate → its burst does not begin anew, then it leaves memory`()
        throws
    {
        let stage = slowRooms
        let mallory = stage.member("mallory", of: .lobby)
        publish(1...20, mallory)
        mallory.say(Close(), on: .first)
        stage.run(for: .milliseconds(100))
        let eve = stage.member("eve", of: .lobby)
        publish(1...10, eve)
        stage.run(for: .milliseconds(100))
        let received = try #require(stage.link(of: eve, { $0.link.linkCreditReceived }))
        #expect(try #require(stage.link(of: eve, { $0.link.linkCreditReleased })) < received)
        eve.say(Close(), on: .first)
        stage.run(for: .seconds(2))
        #expect(stage.relay.engine.statistics.rooms == 0)
        #expect(stage.releasesAll(of: eve) == true)
    }

    // S-39, S-59
    @Test func `an ack that raises only the link's credit is charged if the raise is below a sixteenth of a window`()
        throws
    {
        let stage = RelayStage()
        let peer = try member(of: stage)
        let window = UInt64(Limits().linkWindow)
        peer.say(Ack(echo: nil, linkCredit: window + window / 16, sessions: []))
        #expect(stage.link(of: peer, { $0.link.unproductive.isFull(now: stage.now) }) == true)
        peer.say(Ack(echo: nil, linkCredit: window + window / 8 - 1, sessions: []))
        #expect(stage.link(of: peer, { $0.link.unproductive.isFull(now: stage.now) }) == false)
    }
}
