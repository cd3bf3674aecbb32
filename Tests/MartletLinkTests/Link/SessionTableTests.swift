import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// The link's credit when sessions end in the middle of messages.
@Suite struct SessionTableTests {
    static let carriers: [Carrier] = [.reliable, .unreliable]

    /// Checks that both sides count the same and that all credit is released.
    private func expectSettled(_ pair: LinkPair, sourceLocation: SourceLocation = #_sourceLocation) {
        for (sender, receiver) in [(pair.client, pair.relay), (pair.relay, pair.client)] {
            #expect(sender.link.sendCredit.used == receiver.link.linkCreditReceived, sourceLocation: sourceLocation)
            let received = receiver.link.linkCreditReceived
            #expect(received == receiver.link.linkCreditReleased, sourceLocation: sourceLocation)
            #expect(sender.link.sendCredit.reserved == 0, sourceLocation: sourceLocation)
            #expect(receiver.link.receiveCredit.assemblingByteCount == 0, sourceLocation: sourceLocation)
            #expect(receiver.link.heldByteCount == 0, sourceLocation: sourceLocation)
            #expect(sender.link.connection.flight.inFlight == 0, sourceLocation: sourceLocation)
        }
        #expect(pair.client.fault == nil && pair.relay.fault == nil, sourceLocation: sourceLocation)
    }

    // S-11, S-12
    @Test(arguments: carriers) func `resets during messages cost a link no credit`(carrier: Carrier) throws {
        let path = LinkPath(bytesPerSecond: 1_000_000, lostPerMille: 50, overtakenPerMille: 50)
        let pair = LinkPair(carrier, path: path)
        for number in 1...60 {
            let session = try pair.open("room \(number)", kind: number % 2 == 0 ? .file : .chat)
            for piece in 1...3 { pair.send(piece, byteCount: 50_000, on: session) }
            for piece in 1...3 { pair.send(piece, byteCount: 50_000, on: session, from: pair.relay) }
            pair.run(for: .milliseconds(Int64(number * 7 % 200)))
            switch number % 4 {
            case 0: pair.client.link.reset(session, code: .cancelled)
            case 1: pair.relay.link.reset(session, code: .storeUnavailable)
            case 2:
                pair.client.link.reset(session, code: .cancelled)
                pair.relay.link.reset(session, code: .storeUnavailable)
            default: pair.client.link.close(session)
            }
            if number % 20 == 10 {
                pair.cut()
                pair.resume()
                pair.run(for: .milliseconds(300))
            }
        }
        pair.run(for: .seconds(60))
        #expect(pair.client.link.sessionCount == 0 && pair.relay.link.sessionCount == 0)
        expectSettled(pair)
        let session = try pair.open("after")
        pair.send(7, byteCount: 200_000, on: session)
        pair.run(for: .seconds(5))
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == [7])
    }

    // S-13, S-38
    @Test func `credit held by the application after a reset is released once`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.relay.releases = false
        for number in 1...5 { pair.send(number, byteCount: 10_000, on: session) }
        pair.run(for: .seconds(1))
        pair.client.link.reset(session, code: .cancelled)
        pair.run(for: .seconds(1))
        #expect(pair.relay.link.linkCreditReceived - pair.relay.link.linkCreditReleased == 50_000)
        pair.relay.releaseAll()
        pair.relay.releaseAll()
        expectSettled(pair)
    }

    @Test func `all credit of an ended session can be released at once`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.relay.releases = false
        for number in 1...5 { pair.send(number, byteCount: 10_000, on: session) }
        pair.run(for: .seconds(1))
        pair.relay.link.releaseAll(on: session)
        pair.relay.link.releaseAll(on: SessionID(rawValue: 77))
        expectSettled(pair)
    }

    // S-12
    @Test(arguments: carriers) func `messages on a refused session cost no credit`(
        carrier: Carrier
    ) throws {
        let pair = LinkPair(carrier, limits: Limits(maxSessions: 1))
        pair.relay.link.adopt(Limits(maxSessions: 1), features: [])
        let first = try pair.open()
        pair.client.link.adopt(Limits(maxSessions: 2), features: [])
        let refused = try pair.client.link.open(Open(room: RoomName.named("second"), cursor: 0))
        for number in 1...5 { pair.send(number, byteCount: 10_000, on: refused) }
        pair.run(for: .seconds(5))
        #expect(pair.client.events.contains(.reset(refused, code: .tooManySessions)))
        #expect(pair.relay.bodies(on: refused).isEmpty)
        expectSettled(pair)
        pair.send(1, on: first)
        pair.run(for: .seconds(1))
        #expect(LinkPair.numbers(pair.relay.bodies(on: first)) == [1])
    }

    // S-12
    @Test func `an open that arrives after the reset of its session opens nothing`() throws {
        let pair = LinkPair(.unreliable)
        pair.relay.link.attach(.unreliable, isEarly: false, now: pair.now)
        let session = SessionID(rawValue: 9)
        let reset = Reset(session: session, code: .cancelled, creditUsed: 100).encode()
        let open = Open(room: RoomName.named("lobby"), cursor: 0).encode()
        pair.relay.take(
            FrameHeader(type: .reset, sequence: 1, flags: .reliable), reset.rawBytes, now: pair.now)
        pair.relay.take(
            FrameHeader(type: .open, sequence: 1, flags: .reliable, session: session), open.rawBytes, now: pair.now)
        #expect(pair.relay.events.isEmpty)
        #expect(pair.relay.link.sessionCount == 0)
        #expect(pair.relay.link.linkCreditReceived == 100 && pair.relay.link.linkCreditReleased == 100)
    }

    @Test func `a reused slot has no state of the earlier session`() throws {
        let pair = LinkPair(.unreliable)
        let first = try pair.open("first", kind: .file)
        pair.run(for: .seconds(1))
        pair.loses = { header, _ in header.type == .data && header.sequence == 2 }
        for number in 1...30 { pair.send(number, byteCount: 16_000, on: first) }
        pair.run(for: .milliseconds(60))
        #expect(pair.relay.link.heldByteCount > 0 && pair.client.link.connection.flight.inFlight > 0)
        pair.loses = { _, _ in false }
        pair.client.link.reset(first, code: .cancelled)
        let second = try pair.open("second")
        #expect(pair.client.link.sessions.slots.count == 2)
        pair.send(5, on: second)
        pair.run(for: .seconds(5))
        #expect(LinkPair.numbers(pair.relay.bodies(on: second)) == [5])
        #expect(pair.relay.bodies(on: first).isEmpty)
        #expect(pair.client.link.sessions[1].priority == .high)
    }
}
