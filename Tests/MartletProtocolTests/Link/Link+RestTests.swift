import MartletWire
import Testing

@testable import MartletProtocol

extension Link: Packable {
    mutating func mayRest() -> Bool { isAtRest }
}

@Suite struct LinkRestTests {
    /// Whoever adds a member to one of these decides what becomes of it at rest: `pass`, or a condition of `isAtRest`.
    @Test func `every member is passed or keeps a link from rest`() {
        let session = Session(
            id: .control, kind: .chat, state: .open, sendLimit: 0, receiveWindow: 0, maxMessageByteCount: 0)
        let link = Link(role: .relay, limits: .minimum, features: [], began: .zero)
        func count(_ value: Any) -> Int { Mirror(reflecting: value).children.count }
        #expect(count(link) == 52)
        #expect(count(session) == 16)
        #expect(count(session.send) == 17)
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
