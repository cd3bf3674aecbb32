import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

@Suite struct LinkIdleTests {
    @Test(arguments: [Carrier.reliable, .unreliable], [UInt64(1), 2, 3])
    func `an idle link releases its memory and continues afterwards`(
        carrier: Carrier, seed: UInt64
    ) throws {
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
            #expect(end.link.hasIdleMemory && end.link.deadline == nil)
            let (positions, credit) = (end.link.positions, CreditTable(end.link))
            end.link.releaseIdleMemory()
            #expect(!end.link.hasIdleMemory && end.link.sessions.queueCount == 0)
            #expect(end.link.positions == positions)
            #expect(CreditTable(end.link).link == credit.link && CreditTable(end.link).sessions == credit.sessions)
        }
        pair.client.forget()
        let body = [UInt8]("further".utf8)
        #expect(pair.relay.link.send(.data, EncodedBody(body), on: chat) == .queued)
        pair.run(for: .seconds(20))
        #expect(pair.client.bodies(on: chat) == [body])
    }

    // W-84.
    @Test(arguments: UInt64(1)...8)
    func `releasing memory does not change the bytes of packets`(seed: UInt64) throws {
        let pairs = [false, true].map { PacketPair(releases: $0, .supported.union(.compact)) }
        for pair in pairs {
            var random = SeededRandom(seed: seed)
            try talk(on: pair, &random)
            #expect(pair.client.bodies.count > 30 && pair.relay.bodies.count > 30)
        }
        #expect(pairs[0].sent == pairs[1].sent)
        #expect(pairs[0].client.bodies == pairs[1].client.bodies && pairs[0].relay.bodies == pairs[1].relay.bodies)
        #expect(pairs[0].client.releaseCount + pairs[0].relay.releaseCount == 0)
        #expect(pairs[1].client.releaseCount > 30 && pairs[1].relay.releaseCount > 30)
    }

    /// Sends texts, deliveries of ten authors, accepted frames and pings, on sessions that begin at different times.
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

    @Test func `a queue with unacknowledged frames keeps its memory`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.run(for: .seconds(5))
        pair.client.link.releaseIdleMemory()
        #expect(pair.client.link.hasIdleMemory == false)
        let body = EncodedBody([UInt8]("kept".utf8))
        #expect(pair.client.link.send(.data, body, on: session) == .queued)
        pair.client.link.releaseIdleMemory()
        #expect(pair.client.link.sessions.queueCount == 1 && pair.client.link.queuedByteCount(on: session) == 4)
        pair.run(for: .seconds(5))
        pair.client.link.releaseIdleMemory()
        #expect(pair.client.link.sessions.queueCount == 0 && pair.relay.bodies(on: session) == [[UInt8]("kept".utf8)])
    }

    @Test func `a frame behind a gap keeps its memory until the gap closes`() throws {
        var stream = ReceiveStream(windowByteCount: 1000, maxMessageByteCount: 1000)
        let body: [UInt8] = [1, 2, 3]
        let arrival = try stream.accept(
            2, type: .data, hasMore: false, plain: body.rawBytes, isInPlace: true, heldRoom: 1000)
        stream.releaseIdleMemory()
        #expect(arrival == .held && stream.hasPending)
        _ = try stream.accept(1, type: .data, hasMore: false, plain: body.rawBytes, isInPlace: true, heldRoom: 1000)
        #expect(stream.popReady()?.body == body && stream.popReady()?.body == body)
        stream.releaseIdleMemory()
        #expect(!stream.hasPending && stream.expected == 3)
    }
}
