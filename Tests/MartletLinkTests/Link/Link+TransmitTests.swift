import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// The output of a link: acknowledgements, credit, turns.
@Suite struct LinkTransmitTests {
    static let carriers: [Carrier] = [.reliable, .unreliable]

    // MARK: Acknowledgements

    // W-49, S-20
    @Test(arguments: carriers) func `one frame acknowledges all sessions, 25 ms after the first arrival`(
        carrier: Carrier
    ) throws {
        let pair = LinkPair(carrier)
        let sessions = try ["a", "b", "c"].map { try pair.open($0) }
        pair.run(for: .seconds(1))
        pair.forgetFrames()
        for session in sessions { pair.send(1, on: session) }
        let sent = pair.now
        pair.run(for: .milliseconds(50))
        pair.send(2, on: sessions[0])
        pair.run(within: .seconds(1)) { !pair.frames(.ack, byRelay: true).isEmpty }
        #expect(pair.now == sent + .milliseconds(75))
        pair.run(for: .seconds(1))
        let acks = try pair.acks(byRelay: true)
        #expect(acks.count == 2)
        #expect(acks[0].sessions.map(\.session) == sessions)
        #expect(acks[0].sessions.allSatisfy { $0.cumulative == 2 })
        #expect(acks[1].sessions.map(\.session) == [sessions[0]])
    }

    // S-20
    @Test(arguments: carriers) func `a delayed acknowledgement is sent with other output`(
        carrier: Carrier
    ) throws {
        let pair = LinkPair(carrier)
        let session = try pair.open()
        pair.run(for: .seconds(1))
        pair.forgetFrames()
        pair.send(1, on: session)
        pair.run(for: .milliseconds(55))
        pair.send(1, on: session, from: pair.relay)
        pair.settle()
        #expect(pair.frames.map(\.header.type) == [.data, .ack, .data])
    }

    // W-49, S-20
    @Test func `a gap and its end are acknowledged at once`() throws {
        let pair = LinkPair(.unreliable)
        let session = try pair.open()
        pair.run(for: .seconds(1))
        pair.forgetFrames()
        pair.loses = { header, _ in header.type == .data && header.sequence == 3 }
        for number in 1...6 { pair.send(number, on: session) }
        pair.run(for: .milliseconds(50))
        let acks = try pair.acks(byRelay: true)
        #expect(acks.last?.sessions.first?.cumulative == 2)
        #expect(acks.last?.sessions.first?.ranges == [4...7])
        pair.loses = { _, _ in false }
        pair.forgetFrames()
        // Three later frames have arrived, so the frame is sent again, and its arrival is acknowledged at once.
        pair.run(for: .milliseconds(50))
        #expect(pair.frames(.data, byRelay: false).map(\.header.sequence) == [3])
        pair.run(for: .milliseconds(50))
        #expect(try pair.acks(byRelay: true).map { $0.sessions.map(\.cumulative) } == [[7]])
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == Array(1...6))
        #expect(pair.client.link.counters.retransmissions == 1)
    }

    // S-20, S-21
    @Test func `sessions beyond the size of one acknowledgement are in further ones`() throws {
        let pair = LinkPair(.unreliable)
        let sessions = try (0..<60).map { try pair.open("room \($0)") }
        pair.run(for: .seconds(1))
        pair.forgetFrames()
        // Every other frame is lost, so that every session has the maximum number of ranges.
        for number in 0..<80 { for session in sessions { pair.send(number, byteCount: 8, on: session) } }
        pair.loses = { header, byRelay in !byRelay && header.sequence % 2 == 0 || byRelay }
        pair.run(for: .milliseconds(60))
        let acks = try pair.acks(byRelay: true)
        let now = acks.suffix(200).flatMap(\.sessions)
        #expect(Set(now.map(\.session)) == Set(sessions))
        #expect(now.last?.ranges.count == ReceiveStream.maxAckRanges)
        #expect(pair.frames(.ack, byRelay: true).allSatisfy { $0.body.count <= Link.maxAckByteCount })
        #expect(pair.client.fault == nil && pair.relay.fault == nil)
    }

    // S-24
    @Test func `a timestamp is echoed once, so a late acknowledgement gives no long round trip`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.relay.releases = false
        for number in 1...10 { pair.send(number, byteCount: 16_000, on: session) }
        pair.run(for: .seconds(10))
        pair.relay.releaseAll()
        pair.run(for: .seconds(1))
        #expect(try #require(pair.client.link.rtt.smoothed) < .milliseconds(130))
    }

    // MARK: Credit

    // W-52
    @Test(arguments: carriers) func `a session stops at its window and continues with new credit`(
        carrier: Carrier
    ) throws {
        let pair = LinkPair(carrier, limits: Limits(sessionWindow: 64 << 10))
        let session = try pair.open()
        pair.relay.releases = false
        for number in 1...20 { pair.send(number, byteCount: 10_000, on: session) }
        pair.run(for: .seconds(20))
        #expect(pair.relay.bodies(on: session).count == 6)
        #expect(pair.client.demands.isEmpty && pair.relay.fault == nil)
        pair.relay.releases = true
        pair.relay.releaseAll()
        pair.run(for: .seconds(5))
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == Array(1...20))
    }

    @Test(arguments: carriers) func `a link stops at its window and all sessions continue with new credit`(
        carrier: Carrier
    ) throws {
        let pair = LinkPair(carrier, limits: Limits(linkWindow: 64 << 10, sessionWindow: 64 << 10))
        let sessions = try ["a", "b", "c", "d"].map { try pair.open($0) }
        pair.relay.releases = false
        for number in 1...5 { for session in sessions { pair.send(number, byteCount: 10_000, on: session) } }
        pair.run(for: .seconds(20))
        #expect(pair.relay.deliveries.count == 6)
        pair.relay.releases = true
        pair.relay.releaseAll()
        pair.run(for: .seconds(5))
        for session in sessions { #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == Array(1...5)) }
    }

    // W-51, S-37
    @Test(arguments: carriers) func `a message longer than both windows arrives`(carrier: Carrier) throws {
        let limits = Limits(maxMessageByteCount: 1 << 20, linkWindow: 32 << 10, sessionWindow: 17 << 10)
        let pair = LinkPair(carrier, limits: limits)
        let sessions = try ["a", "b"].map { try pair.open($0) }
        for number in 1...2 {
            for session in sessions { pair.send(number, byteCount: 300_000 + number, on: session) }
        }
        pair.run(within: .seconds(60)) { !pair.client.link.hasUnacknowledged }
        pair.run(for: .seconds(30))
        for session in sessions {
            #expect(pair.relay.bodies(on: session) == (1...2).map { LinkPair.body($0, byteCount: 300_000 + $0) })
        }
    }

    // S-40
    @Test(arguments: carriers) func `many long messages at once do not starve each other of credit`(
        carrier: Carrier
    ) throws {
        let limits = Limits(maxMessageByteCount: 200_000, linkWindow: 100_000, sessionWindow: 100_000)
        let pair = LinkPair(carrier, limits: limits)
        let sessions = try (0..<8).map { try pair.open("room \($0)") }
        for number in 1...3 {
            for session in sessions { pair.send(number, byteCount: 60_000 * number, on: session) }
        }
        pair.run(for: .seconds(120))
        for session in sessions { #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == [1, 2, 3]) }
        #expect(pair.client.link.sendCredit.reserved == 0)
        #expect(pair.client.link.sendCredit.unreservedSlot == nil)
        #expect(pair.relay.link.receiveCredit.assemblingByteCount == 0)
    }

    // S-41
    @Test func `a lost announcement of credit is requested by a probe`() throws {
        let pair = LinkPair(.unreliable, limits: Limits(sessionWindow: 32 << 10))
        let session = try pair.open()
        pair.relay.releases = false
        for number in 1...6 { pair.send(number, byteCount: 10_000, on: session) }
        pair.run(for: .seconds(3))
        #expect(pair.relay.bodies(on: session).count == 3)
        #expect(pair.client.link.hasUnacknowledged == false)
        // The acknowledgement with the credit is lost, and no other frame follows.
        pair.loses = { header, byRelay in byRelay && header.type == .ack }
        pair.relay.releaseAll()
        pair.run(for: .milliseconds(200))
        pair.loses = { _, _ in false }
        pair.relay.releases = true
        pair.run(for: .seconds(130))
        #expect(pair.relay.bodies(on: session).count == 6)
        #expect(pair.client.demands.isEmpty)
    }

    @Test func `a slow consumer is probed a bounded number of times in an hour`() throws {
        let pair = LinkPair(.reliable, limits: Limits(sessionWindow: 32 << 10))
        let session = try pair.open()
        pair.relay.releases = false
        for number in 1...6 { pair.send(number, byteCount: 10_000, on: session) }
        pair.run(for: .seconds(3600))
        #expect(pair.client.demands.isEmpty)
        #expect((55...70).contains(pair.frames(.ping, byRelay: false).count))
        pair.relay.releases = true
        pair.relay.releaseAll()
        pair.run(for: .seconds(1))
        #expect(pair.relay.bodies(on: session).count == 6)
    }

    // MARK: Turns

    // S-45
    @Test func `urgent frames precede queued bulk`() throws {
        let pair = LinkPair(.reliable)
        let file = try pair.open("file", kind: .file)
        let chat = try pair.open("chat")
        let signaling = try pair.open("signaling", kind: .signaling)
        pair.run(for: .seconds(1))
        pair.forgetFrames()
        pair.send(1, byteCount: 100_000, on: file)
        pair.send(2, on: chat)
        pair.send(3, on: signaling)
        pair.settle()
        let order = pair.frames(.data, byRelay: false).map(\.header)
        #expect(order.prefix(3).map(\.session) == [signaling, chat, file])
        #expect(order.prefix(3).map(\.flags.priority) == [.urgent, .high, .low])
    }

    @Test func `bulk after a pause without room in the carrier sets one deadline`() throws {
        let pair = LinkPair(.reliable, path: LinkPath(bytesPerSecond: 1_000_000))
        let file = try pair.open("file", kind: .file)
        for number in 1...40 { pair.send(number, byteCount: 16_000, on: file) }
        // Within the file, between two paced frames.
        let isPaced = pair.run(within: .seconds(2)) {
            (pair.client.link.pacingDeadline ?? .zero) > pair.now && pair.relay.bodies(on: file).count > 10
        }
        try #require(isPaced)
        let pacing = pair.client.link.pacingDeadline
        let paced = try #require(pacing)
        #expect(pair.client.link.hasOutput(now: pair.now) == false)
        #expect(pair.client.link.deadlinePassed(now: paced) == .proceed)
        #expect(pair.client.link.hasOutput(now: paced) == true)
        let found = pair.client.link.deadline
        #expect(try #require(found) > paced)
    }

    // S-32
    @Test func `a frame overtaken by three others is resent when it is older than the loss delay`() throws {
        let pair = LinkPair(.unreliable)
        let session = try pair.open()
        pair.run(for: .seconds(5))
        // The path becomes faster, so the acknowledgement arrives before the loss delay of the round trips until now.
        pair.path.delay = .milliseconds(20)
        pair.loses = { header, _ in header.type == .data && header.sequence == 2 }
        pair.forgetFrames()
        for number in 1...4 { pair.send(number, on: session) }
        pair.run(for: .milliseconds(45))
        pair.loses = { _, _ in false }
        #expect(pair.frames(.ack, byRelay: true).count > 0)
        #expect(pair.frames(.data, byRelay: false).map(\.header.sequence) == [2, 3, 4, 5])
        pair.run(for: .milliseconds(20))
        pair.send(5, on: session)
        pair.run(for: .seconds(1))
        #expect(pair.frames(.data, byRelay: false).map(\.header.sequence) == [2, 3, 4, 5, 6, 2])
    }

    // S-27
    @Test func `an acknowledgement timeout resends frames that are older than the timeout only`() throws {
        let pair = LinkPair(.unreliable)
        let session = try pair.open()
        pair.run(for: .seconds(5))
        pair.loses = { header, _ in header.type == .data }
        pair.forgetFrames()
        pair.send(1, on: session)
        let first = pair.now
        pair.run(for: pair.client.link.rtt.timeout + .milliseconds(-10))
        #expect(pair.frames(.data, byRelay: false).count == 1)
        pair.send(2, on: session)
        pair.run(within: .seconds(5)) { pair.frames(.data, byRelay: false).count > 2 }
        #expect(pair.now >= first + pair.client.link.rtt.timeout)
        #expect(pair.frames(.data, byRelay: false).map(\.header.sequence) == [2, 3, 2])
    }

    // S-49
    @Test func `a session sends transient frames first, then lost frames, then new ones`() throws {
        let pair = LinkPair(.unreliable)
        let session = try pair.open()
        pair.run(for: .seconds(1))
        pair.loses = { header, _ in header.type == .data }
        for number in 1...3 { pair.send(number, on: session) }
        pair.settle()
        pair.loses = { _, _ in false }
        pair.cut()
        pair.send(4, on: session)
        pair.forgetFrames()
        pair.client.link.attach(.unreliable, isEarly: false, now: pair.now)
        pair.client.link.sendTransient(EncodedBody([9]), on: session)
        pair.settle()
        #expect(pair.frames.map(\.header.type) == [.transient, .data, .data, .data, .data])
        #expect(pair.frames.map(\.header.sequence) == [0, 2, 3, 4, 5])
    }

    // S-49
    @Test func `a transient frame queued with open is sent behind it`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.client.link.open(Open(room: .lobby, kind: .chat, cursor: 0, tail: nil, noLocal: false))
        pair.client.link.sendTransient(EncodedBody([9]), on: session)
        pair.settle()
        #expect(pair.frames.prefix(2).map(\.header.type) == [.open, .transient])
    }

    // S-49
    @Test func `a transient frame queued after a resume is sent behind the open that is sent again`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.client.link.open(Open(room: .lobby, kind: .chat, cursor: 0, tail: nil, noLocal: false))
        // The frame is lost with the connection.
        #expect(!pair.client.transmit(capacity: 25_000, now: pair.now).isEmpty)
        pair.cut()
        pair.client.link.attach(.reliable, isEarly: false, now: pair.now)
        pair.client.link.sendTransient(EncodedBody([9]), on: session)
        pair.forgetFrames()
        pair.settle()
        #expect(pair.frames.prefix(2).map(\.header.type) == [.open, .transient])
    }

    @Test func `a frame that does not fit is written into the next buffer`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.run(for: .seconds(1))
        for number in 1...4 { pair.send(number, byteCount: 10_000, on: session) }
        let first = pair.client.transmit(capacity: 25_000, now: pair.now)
        #expect(first.count == 2 * (10_000 + FrameHeader.byteCount))
        #expect(pair.client.link.hasOutput(now: pair.now) == true)
        #expect(pair.client.transmit(capacity: 25_000, now: pair.now).count == first.count)
        #expect(pair.client.link.hasOutput(now: pair.now) == false)
    }

    // W-70, S-28, S-46
    @Test func `an acknowledgement waits for a buffer that holds it whole`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.run(for: .seconds(1))
        pair.client.take(
            FrameHeader(type: .ping, flags: .ackNow), Ping(nonce: 1).encode().rawBytes, now: pair.now)
        pair.send(1, on: session)
        #expect(pair.client.transmit(capacity: 4000, now: pair.now).isEmpty)
        #expect(pair.client.link.hasOutput(now: pair.now) == true)
        pair.forgetFrames()
        pair.settle()
        #expect(pair.frames.map(\.header.type) == [.ack, .pong, .data])
    }

    // C-2
    @Test func `a link without a connection has no output and no deadline`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.cut()
        pair.send(1, on: session)
        pair.client.link.ping(nonce: 1)
        pair.client.link.release(100, on: session)
        #expect(pair.client.link.hasOutput(now: pair.now) == false)
        #expect(pair.client.transmit(now: pair.now).isEmpty)
        #expect(pair.client.link.deadline == nil)
        #expect(pair.client.link.deadlinePassed(now: pair.now) == .proceed)
    }
}
