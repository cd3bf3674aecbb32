import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// Resumes of a link, and its timers during silence.
@Suite struct LinkResumeTests {
    static let carriers: [Carrier] = [.reliable, .unreliable]

    // MARK: Resume

    // C-33
    @Test(arguments: carriers, 1...20 as ClosedRange<UInt64>)
    func `cuts at any time neither lose nor duplicate frames`(carrier: Carrier, seed: UInt64) throws {
        let path = LinkPath(bytesPerSecond: 200_000, lostPerMille: 20, doubledPerMille: 20, overtakenPerMille: 50)
        let pair = LinkPair(carrier, path: path, seed: seed)
        let chat = try pair.open("chat")
        let file = try pair.open("file", kind: .file)
        var random = SeededRandom(seed: seed)
        for number in 1...200 {
            pair.send(number, on: chat)
            pair.send(number, on: chat, from: pair.relay)
            if number % 10 == 0 { pair.send(number, byteCount: 40_000, on: file) }
            pair.run(for: .milliseconds(Int64(random.next() % 40)))
            if number % 20 == 0 {
                pair.cut()
                pair.run(for: .milliseconds(Int64(random.next() % 100)))
                pair.resume()
            }
        }
        pair.run(within: .seconds(120)) { !pair.client.link.hasUnacknowledged && !pair.relay.link.hasUnacknowledged }
        pair.run(for: .seconds(10))
        #expect(LinkPair.numbers(pair.relay.bodies(on: chat)) == Array(1...200))
        #expect(LinkPair.numbers(pair.client.bodies(on: chat)) == Array(1...200))
        #expect(
            pair.relay.bodies(on: file)
                == stride(from: 10, through: 200, by: 10).map { LinkPair.body($0, byteCount: 40_000) })
        #expect(pair.client.fault == nil && pair.relay.fault == nil)
        #expect(pair.client.link.counters.resumes == 10)
        #expect(pair.client.link.sendCredit.used == pair.relay.link.linkCreditReceived)
        #expect(pair.relay.link.linkCreditReceived == pair.relay.link.linkCreditReleased)
        #expect(pair.client.link.connection.flight.inFlight == 0)
    }

    // C-23, C-24
    @Test func `a link adopts no lower limits, and keeps its compression`() {
        let link = Link(role: .client, limits: Limits(linkWindow: 100_000), features: [.zlib], began: .zero)
        #expect(link.canAdopt(Limits(linkWindow: 100_000), features: [.zlib]) == true)
        #expect(link.canAdopt(Limits(linkWindow: 200_000, sessionWindow: 300_000), features: .supported) == true)
        #expect(link.canAdopt(Limits(linkWindow: 99_999), features: [.zlib]) == false)
        #expect(link.canAdopt(Limits(maxBodyByteCount: 20_000), features: [.zlib]) == false)
        #expect(link.canAdopt(Limits(maxMessageByteCount: 20_000), features: [.zlib]) == false)
        #expect(link.canAdopt(Limits(sessionWindow: 20_000), features: [.zlib]) == false)
        #expect(link.canAdopt(Limits(maxSessions: 254), features: [.zlib]) == false)
        #expect(link.canAdopt(Limits(), features: [.requests]) == false)
        let plain = Link(role: .client, limits: Limits(), features: [], began: .zero)
        #expect(plain.canAdopt(Limits(), features: []) == true)
    }

    // W-35, C-16
    @Test func `queued frames are sent directly behind the hello, within the early limit`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.cut()
        for number in 1...20 { pair.send(number, byteCount: 1000, on: session) }
        pair.forgetFrames()
        pair.resume()
        let early = pair.frames(.data, byRelay: false)
        #expect(early.count == 7)
        #expect(early.reduce(0) { $0 + $1.body.count + FrameHeader.byteCount } <= Link.earlyByteCount)
        // They arrive half a round trip after the connect, directly behind the handshake.
        pair.run(for: .milliseconds(50))
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == Array(1...7))
        pair.run(for: .seconds(1))
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == Array(1...20))
        #expect(pair.client.link.counters.retransmissions == 0)
    }

    // C-16
    @Test func `a frame that is too long for the early limit waits for the answer`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.cut()
        pair.send(1, byteCount: 10_000, on: session)
        pair.forgetFrames()
        pair.resume()
        #expect(pair.frames(.data, byRelay: false).isEmpty)
        #expect(pair.client.link.hasOutput(now: pair.now) == false)
        pair.run(for: .seconds(1))
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == [1])
    }

    // W-11, C-33
    @Test func `frames that the peer has received, also out of order, are not sent again`() throws {
        let pair = LinkPair(.unreliable)
        let session = try pair.open()
        pair.run(for: .seconds(1))
        pair.loses = { header, _ in header.type == .data && [4, 5].contains(header.sequence) }
        for number in 1...9 { pair.send(number, on: session) }
        pair.run(for: .milliseconds(101))
        pair.cut()
        pair.loses = { _, _ in false }
        pair.forgetFrames()
        pair.resume()
        pair.run(for: .seconds(1))
        #expect(pair.frames(.data, byRelay: false).map(\.header.sequence) == [4, 5])
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == Array(1...9))
    }

    // Specs/hostile.md row 31
    @Test func `a burst after a reconnect is at most a window`() throws {
        let pair = LinkPair(.reliable, limits: Limits(sessionWindow: 64 << 10))
        let session = try pair.open()
        pair.run(for: .seconds(1))
        for number in 1...100 { pair.send(number, byteCount: 10_000, on: session) }
        pair.settle()
        pair.cut()
        pair.forgetFrames()
        pair.resume()
        pair.run(for: .milliseconds(100))
        let again = pair.frames(.data, byRelay: false)
        #expect(again.reduce(0) { $0 + $1.body.count } <= 64 << 10)
        pair.run(for: .seconds(5))
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == Array(1...100))
    }

    // W-46, C-30
    @Test func `a resume with one impossible position is refused as a whole`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        for number in 1...5 { pair.send(number, on: session) }
        pair.run(for: .seconds(1))
        func canResume(_ session: SessionID, _ received: UInt64) -> Bool {
            pair.client.link.canResume(from: [SessionPosition(session: session, received: received)])
        }
        #expect(canResume(session, 6))
        #expect(!canResume(session, 5))
        #expect(!canResume(session, 7))
        #expect(!canResume(session, .max))
        #expect(canResume(SessionID(rawValue: 2), 0))
        #expect(!canResume(SessionID(rawValue: 2), 1))
        #expect(pair.client.link.canResume(from: []) == true)
        pair.client.link.close(session)
        pair.run(for: .seconds(1))
        #expect(pair.client.link.canResume(from: [SessionPosition(session: session, received: 3)]) == true)
    }

    // C-33
    @Test(arguments: carriers) func `a close ends its session although its acknowledgement is lost`(
        carrier: Carrier
    ) throws {
        let pair = LinkPair(carrier)
        let session = try pair.open()
        pair.client.link.close(session)
        // The client has received the relay's close, and its acknowledgement is in flight.
        pair.run(within: .seconds(2)) { pair.client.link.sessionCount == 0 }
        #expect(pair.relay.link.sessionCount == 1)
        pair.cut()
        pair.resume()
        pair.run(for: .seconds(1))
        #expect(pair.relay.link.sessionCount == 0)
        #expect(pair.client.fault == nil && pair.relay.fault == nil)
    }

    // S-14
    @Test func `a lost last acknowledgement is repeated on a carrier without order`() throws {
        let pair = LinkPair(.unreliable)
        let session = try pair.open()
        pair.client.link.close(session)
        pair.loses = { header, byRelay in !byRelay && header.type == .ack }
        pair.run(for: .seconds(1))
        #expect(pair.client.link.sessionCount == 0 && pair.relay.link.sessionCount == 1)
        pair.loses = { _, _ in false }
        pair.run(for: .seconds(5))
        #expect(pair.relay.link.sessionCount == 0)
        #expect(pair.relay.demands.isEmpty)
    }

    // C-33
    @Test func `frames of a session that was closed before the peer knew it are sent after a resume`() throws {
        let pair = LinkPair(.reliable)
        _ = try pair.open("other")
        let name = RoomName.named("lobby")
        let session = try pair.client.link.open(Open(room: name, cursor: 0))
        pair.send(1, on: session)
        pair.client.link.close(session)
        pair.settle()
        pair.cut()
        pair.resume()
        pair.run(for: .seconds(1))
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == [1])
        #expect(pair.client.link.sessionCount == 1 && pair.relay.link.sessionCount == 1)
    }

    // C-17
    @Test func `larger limits apply to sessions that were opened before`() throws {
        let pair = LinkPair(.reliable, limits: .minimum, connected: false)
        let name = RoomName.named("lobby")
        let session = try pair.client.link.open(Open(room: name, kind: .file, cursor: 0))
        pair.relay.link = Link(role: .relay, limits: Limits(), features: .supported, began: pair.now)
        for number in 1...20 { pair.send(number, byteCount: 16_000, on: session) }
        pair.relay.releases = false
        pair.resume()
        pair.run(for: .milliseconds(50))
        pair.client.link.adopt(Limits(), features: [.zlib])
        pair.run(for: .seconds(3))
        #expect(pair.relay.bodies(on: session).count == 16)
        #expect(pair.client.link.limits == Limits() && pair.client.link.features == [.zlib])
        #expect(pair.relay.fault == nil)
    }

    // MARK: Silence

    // S-29
    @Test func `an overdue frame on a stream causes a probe, and three in silence a new connection`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.run(for: .seconds(1))
        pair.forgetFrames()
        pair.path.delay = .seconds(1000)
        pair.send(1, on: session)
        let sent = pair.now
        pair.run(within: .seconds(60)) { !pair.client.demands.isEmpty }
        #expect(pair.client.demands == [.replaceConnection])
        #expect(pair.frames.map(\.header.type) == [.data, .ping, .ping])
        #expect(pair.frames[1].header.flags.contains(.ackNow))
        #expect(pair.now - sent == .seconds(1 + 2 + 4))
    }

    // S-29
    @Test func `queued frames do not keep a dead connection alive`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.run(for: .seconds(1))
        pair.path.delay = .seconds(1000)
        let began = pair.now
        for number in 1...20 where pair.client.demands.isEmpty {
            pair.send(number, on: session)
            pair.run(for: .milliseconds(500))
        }
        #expect(pair.client.demands == [.replaceConnection])
        #expect(pair.now - began <= .seconds(7.5))
    }

    // C-63
    @Test func `a client on a stream requests another connection after three round trips, and again later`() throws {
        let pair = LinkPair(.reliable, path: LinkPath(delay: .milliseconds(200)))
        let session = try pair.open()
        pair.run(for: .seconds(1))
        #expect(pair.client.overdueCount == 0)
        pair.path.delay = .seconds(1000)
        pair.send(1, on: session)
        pair.run(for: .milliseconds(1_199))
        #expect(pair.client.overdueCount == 0)
        pair.run(for: .milliseconds(1))
        #expect(pair.client.overdueCount == 1)
        pair.run(for: .milliseconds(600))
        #expect(pair.client.overdueCount == 2)
        #expect(pair.relay.overdueCount == 0)
    }

    // S-29
    @Test func `a slow path that accepts bytes keeps its connection`() throws {
        // One fragment takes longer than three expiries. The draining buffer proves that the peer receives.
        let pair = LinkPair(.reliable, path: LinkPath(bytesPerSecond: 1200, bufferByteCount: 4096))
        let session = try pair.open(kind: .chat)
        for number in 1...40 { pair.send(number, byteCount: 2000, on: session) }
        pair.run(for: .seconds(20))
        pair.send(41, byteCount: 16_000, on: session)
        pair.run(for: .seconds(100))
        #expect(pair.client.demands.isEmpty)
        #expect(pair.relay.bodies(on: session).count == 41)
    }

    // S-27
    @Test func `an overdue frame on a carrier without order is sent again at once`() throws {
        let pair = LinkPair(.unreliable)
        let session = try pair.open()
        pair.run(for: .seconds(1))
        pair.forgetFrames()
        pair.loses = { _, byRelay in !byRelay }
        pair.send(1, on: session)
        let sent = pair.now
        let timeout = pair.client.link.rtt.timeout
        pair.run(within: .seconds(1)) { pair.frames(.data, byRelay: false).count == 2 }
        #expect(pair.now - sent == timeout)
        pair.loses = { _, _ in false }
        pair.run(for: .seconds(2))
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == [1])
        #expect(pair.client.link.counters.retransmissions == 2)
    }

    @Test func `three silent expiries replace a connection of datagrams too`() throws {
        let pair = LinkPair(.unreliable)
        let session = try pair.open()
        pair.run(for: .seconds(1))
        pair.loses = { _, _ in true }
        for number in 1...100 { pair.send(number, byteCount: 1000, on: session) }
        pair.forgetFrames()
        pair.run(within: .seconds(60)) { !pair.client.demands.isEmpty }
        #expect(pair.client.demands == [.replaceConnection])
        #expect(pair.frames(.data, byRelay: false).count <= 100 + 2 * Link.maxOverdueFrames)
    }

    @Test func `a lost retransmission is detected by later ones before the timer expires`() throws {
        let pair = LinkPair(.unreliable)
        let session = try pair.open()
        pair.run(for: .seconds(1))
        var losses = 0
        pair.loses = { header, byRelay in
            guard !byRelay, header.type == .data, header.sequence == 2, losses < 2 else { return false }
            losses += 1
            return true
        }
        let began = pair.now
        for number in 1...60 {
            pair.send(number, on: session)
            pair.run(for: .milliseconds(10))
        }
        pair.run(within: .seconds(5)) { pair.relay.bodies(on: session).count == 60 }
        #expect(losses == 2)
        #expect(pair.relay.deliveries[0].at - began < .milliseconds(320))
    }

    // S-30
    @Test func `a live peer that acknowledges nothing causes an acknowledgement timeout after a minute`() throws {
        for quiet in [0, 300] as [Int64] {
            let pair = LinkPair(.reliable)
            let session = try pair.open()
            pair.run(for: .seconds(quiet + 1))
            // The peer answers every ping, but never acknowledges.
            pair.swallows = { header, byRelay in byRelay && header.type == .ack }
            pair.send(1, on: session)
            let sent = pair.now
            pair.run(within: .seconds(120)) { !pair.client.demands.isEmpty }
            #expect(pair.client.demands == [.ackTimeout])
            #expect(pair.now - sent == .seconds(60))
        }
    }
}
