import MartletWire
import Testing

@testable import MartletProtocol

extension Link: Packable {
    var chargedByteCount: Int { 0 }
    mutating func mayRest() -> Bool { isAtRest }
}

@Suite struct LinkRestTests {
    /// Whoever adds a member to one of these decides what becomes of it at rest: `pass`, or a condition of `isAtRest`.
    @Test func `every member is passed or keeps a link from rest`() {
        let session = Session(
            id: .control, kind: .chat, state: .open, sendLimit: 0, receiveWindow: 0, maxMessageByteCount: 0)
        let link = Link(role: .relay, limits: .minimum, features: [], began: .zero)
        func count(_ value: Any) -> Int { Mirror(reflecting: value).children.count }
        #expect(count(link) == 55)
        #expect(count(session) == 16)
        #expect(count(session.send) == 20)
        #expect(count(session.receive) == 12)
        #expect(count(link.retired) == 3)
        #expect(count(link.flight) == 10)
        #expect(count(link.rtt) == 5)
        #expect(count(link.counters) == 9)
        #expect(count(link.ackTimer) == 3)
        #expect(count(link.creditProbe) == 2)
    }

    @Test(arguments: [Carrier.reliable, .unreliable], [UInt64(1), 2, 3])
    func `a link that has seen much comes back as it was`(carrier: Carrier, seed: UInt64) throws {
        var path = LinkPath()
        if carrier == .unreliable { (path.lostPerMille, path.doubledPerMille, path.overtakenPerMille) = (50, 20, 20) }
        let pair = LinkPair(carrier, path: path, seed: seed)
        let chat = try pair.client.link.open(Open(room: .lobby, cursor: 0))
        let file = try pair.client.link.open(Open(room: .hall, kind: .file, cursor: 0))
        let gone = try pair.client.link.open(Open(room: .lobby, cursor: 0))
        pair.run(for: .seconds(1))
        for round in 0..<20 {
            for session in [chat, file] {
                let body = EncodedBody([UInt8](repeating: UInt8(round), count: 40_000 >> (round % 8)))
                _ = pair.client.link.send(.data, body, on: session)
                _ = pair.relay.link.send(.data, body, on: session)
            }
            if round == 5 { pair.client.link.close(gone) }
            if round == 10 { pair.relay.link.reset(file, code: .cancelled) }
            if round % 4 == 0 { pair.client.link.ping(nonce: UInt64(round)) }
            pair.run(for: .milliseconds(700))
        }
        pair.cut()
        pair.resume()
        pair.run(for: .seconds(100))
        for end in [pair.client, pair.relay] {
            #expect(end.link.isAtRest && end.link.deadline == nil)
            end.link.scheduler.beginAnew()
            let before = parts(of: end.link)
            let (back, byteCount) = Packer.copy(&end.link)
            #expect(parts(of: end.link) == before)
            #expect(parts(of: back) == before)
            #expect(byteCount < 400)
            end.link = back
        }
        // It goes on from there.
        pair.client.forget()
        let body = [UInt8]("further".utf8)
        #expect(pair.relay.link.send(.data, EncodedBody(body), on: chat) == .queued)
        pair.run(for: .seconds(20))
        #expect(pair.client.bodies(on: chat) == [body])
    }

    // W-84.
    @Test(arguments: UInt64(1)...8)
    func `links that send packets say the same whether they have rested or not`(seed: UInt64) throws {
        let pairs = [false, true].map { PacketPair(rests: $0, .supported.union(.compact)) }
        for pair in pairs {
            var random = SeededRandom(seed: seed)
            try talk(on: pair, &random)
            #expect(pair.client.bodies.count > 30 && pair.relay.bodies.count > 30)
        }
        #expect(pairs[0].sent == pairs[1].sent)
        #expect(pairs[0].client.bodies == pairs[1].client.bodies && pairs[0].relay.bodies == pairs[1].relay.bodies)
        #expect(pairs[0].client.packedCount + pairs[0].relay.packedCount == 0)
        #expect(pairs[1].client.packedCount > 30 && pairs[1].relay.packedCount > 30)
    }

    /// Texts, deliveries of ten authors, what was accepted, and pings, on sessions that begin at their time.
    private func talk(on pair: PacketPair, _ random: inout SeededRandom) throws {
        var sessions: [SessionID] = []
        var (counter, offset) = (UInt64(0), UInt64(0))
        for round in UInt64(0)..<60 {
            if round % 20 == 0 { sessions.append(try pair.client.link.open(Open(room: .lobby, cursor: 0))) }
            try pair.run(for: .milliseconds(Int64(random.next() % 20_000)))
            for _ in 0...random.next() % 3 {
                let session = sessions[Int(random.next() % UInt64(sessions.count))]
                switch random.next() % 5 {
                case 0, 1:
                    counter += 1 + random.next() % 2
                    pair.client.send(Message(counter: counter, content: MessageContent(text: "hello")), on: session)
                    let run = AcceptedRun(firstCounter: counter, count: 1, firstOffset: offset + 1)
                    pair.relay.send(Accepted(runs: [run]), on: session)
                case 2, 3:
                    offset += 1
                    let stamp = RelayStamp(
                        offset: offset, acceptedAt: 1_700_000_000_000 + round * 1000,
                        sender: AccountName("author\(random.next() % 10)")!, device: DeviceID(rawValue: 7))
                    pair.relay.send(
                        Message(counter: round + 1, content: MessageContent(text: "語音"), relay: stamp), on: session)
                default:
                    if random.next() % 2 == 0 { pair.client.link.ping(nonce: round) }
                    pair.relay.link.ping(nonce: round)
                }
            }
        }
        try pair.run(for: .seconds(10))
    }

    // W-94.
    @Test func `an open deflate stream keeps a link from rest`() throws {
        let pair = PacketPair(rests: true, .all)
        pair.client.link.deflatesPackets = true
        let session = try pair.client.link.open(Open(room: .lobby, cursor: 0))
        let line = MessageContent(text: "the bird that never lands was seen above the harbour again")
        for counter in UInt64(1)...3 {
            pair.client.send(Message(counter: counter, content: line), on: session)
            try pair.run(for: .seconds(50))
            #expect(!pair.client.link.isAtRest && !pair.relay.framer.isAtRest)
        }
        try pair.run(for: .seconds(11))
        #expect(pair.client.packedCount == 1 && pair.relay.framer.isAtRest)
        // Another stream begins.
        pair.client.send(Message(counter: 4, content: line), on: session)
        try pair.run(for: .seconds(1))
        #expect(pair.relay.bodies.count == 4 && pair.relay.framer.isStreaming)
    }

    @Test func `whatever waits keeps a link from rest`() throws {
        let pair = LinkPair(.reliable)
        #expect(pair.client.link.isAtRest)
        let session = try pair.client.link.open(Open(room: .lobby, cursor: 0))
        #expect(!pair.client.link.isAtRest)
        pair.run(until: pair.now + .seconds(1)) { !pair.relay.link.isAtRest }
        #expect(!pair.relay.link.isAtRest)
        pair.run(for: .seconds(5))
        #expect(pair.client.link.isAtRest && pair.relay.link.isAtRest)
        pair.client.link.ping(nonce: 1)
        #expect(!pair.client.link.isAtRest)
        pair.run(for: .seconds(5))
        pair.relay.link.sendTransient(EncodedBody([1, 2, 3]), on: session)
        #expect(!pair.relay.link.isAtRest)
    }
}
