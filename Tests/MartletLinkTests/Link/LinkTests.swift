import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// The guarantees of a link, as scripts that run on both carriers.
@Suite struct LinkTests {
    static let carriers: [Carrier] = [.reliable, .unreliable]
    /// The faults of a carrier without order.
    static let rough = LinkPath(lostPerMille: 100, doubledPerMille: 50, overtakenPerMille: 100)

    private func opened(_ pair: LinkPair) -> [SessionID] {
        pair.relay.events.compactMap { if case .open(let id, _) = $0 { id } else { nil } }
    }

    // MARK: Order

    @Test(arguments: carriers) func `frames arrive in order and once, both ways`(carrier: Carrier) throws {
        let pair = LinkPair(carrier, path: LinkTests.rough)
        let session = try pair.open()
        for number in 1...500 {
            #expect(pair.send(number, on: session) == .queued)
            #expect(pair.send(number, on: session, from: pair.relay) == .queued)
            if number % 10 == 0 { pair.run(for: .milliseconds(5)) }
        }
        pair.run(within: .seconds(30)) { !pair.client.link.hasUnacknowledged && !pair.relay.link.hasUnacknowledged }
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == Array(1...500))
        #expect(LinkPair.numbers(pair.client.bodies(on: session)) == Array(1...500))
        #expect(pair.client.fault == nil && pair.relay.fault == nil)
    }

    // S-42
    @Test(arguments: carriers) func `fragments of several sessions interleave and are joined again`(
        carrier: Carrier
    ) throws {
        let pair = LinkPair(carrier, path: LinkTests.rough, seed: 2)
        let sessions = try ["a", "b", "c"].map { try pair.open($0) }
        pair.forgetFrames()
        for number in 1...3 {
            for session in sessions { pair.send(number, byteCount: 100_000 + number, on: session) }
        }
        pair.run(within: .seconds(30)) { !pair.client.link.hasUnacknowledged }
        for session in sessions {
            #expect(pair.relay.bodies(on: session) == (1...3).map { LinkPair.body($0, byteCount: 100_000 + $0) })
        }
        let order = pair.frames(.data, byRelay: false).prefix(6).map(\.header.session)
        #expect(Set(order.prefix(3)).count == 3)
        #expect(Array(order.prefix(3)) == Array(order.suffix(3)))
    }

    @Test func `a compressed message is inflated on the way`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        let deflater = Deflater()
        let plain = [UInt8](repeating: 7, count: 40_000)
        let body = EncodedBody(compressing: plain, with: deflater)
        #expect(body.bytes.count < 1000)
        #expect(pair.client.link.send(.data, body, on: session) == .queued)
        pair.run(for: .seconds(1))
        #expect(pair.relay.bodies(on: session) == [plain])
        #expect(pair.relay.deliveries.map(\.credit) == [plain.count])
    }

    // MARK: Sessions

    // W-57, S-2, S-7
    @Test(arguments: carriers) func `a session that opened and closed on both sides leaves an ID that is not reused`(
        carrier: Carrier
    ) throws {
        let pair = LinkPair(carrier)
        let session = try pair.open()
        #expect(pair.client.link.sessionCount == 1)
        pair.send(1, on: session)
        pair.client.link.close(session)
        #expect(pair.send(2, on: session) == .noSession)
        pair.run(for: .seconds(1))
        #expect(pair.client.link.sessionCount == 0)
        #expect(pair.relay.link.sessionCount == 0)
        #expect(pair.relay.events.suffix(1) == [.closed(session, code: nil)])
        #expect(pair.client.events.contains(.closed(session, code: nil)))
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == [1])
        #expect(try pair.open() != session)
    }

    // S-7
    @Test(arguments: carriers) func `both sides may close at once`(carrier: Carrier) throws {
        let pair = LinkPair(carrier)
        let session = try pair.open()
        pair.client.link.close(session, code: .cancelled)
        pair.relay.link.close(session)
        pair.client.link.close(session)
        pair.run(for: .seconds(1))
        #expect(pair.client.link.sessionCount == 0 && pair.relay.link.sessionCount == 0)
        #expect(pair.relay.events.contains(.closed(session, code: .cancelled)))
    }

    // W-57, S-10
    @Test(arguments: carriers) func `a reset ends one session and no other`(carrier: Carrier) throws {
        let pair = LinkPair(carrier)
        let doomed = try pair.open("doomed")
        let other = try pair.open("other")
        for number in 1...50 {
            pair.send(number, on: doomed)
            pair.send(number, on: other)
        }
        pair.client.link.reset(doomed, code: .cancelled)
        pair.run(for: .seconds(2))
        #expect(pair.relay.events.contains(.reset(doomed, code: .cancelled)))
        #expect(pair.relay.bodies(on: doomed).isEmpty)
        #expect(LinkPair.numbers(pair.relay.bodies(on: other)) == Array(1...50))
        #expect(pair.send(1, on: doomed) == .noSession)
        #expect(pair.client.link.sessionCount == 1 && pair.relay.link.sessionCount == 1)
    }

    // W-56, S-6
    @Test func `a session that is closed before it is accepted is reset`() throws {
        let pair = LinkPair(.reliable)
        pair.relay.accepts = false
        let lobby = RoomName.named("lobby")
        let refused = try pair.client.link.open(Open(room: lobby, cursor: 0))
        let closed = try pair.client.link.open(Open(room: lobby, cursor: 0))
        pair.run(for: .seconds(1))
        pair.relay.link.reset(refused, code: .roomFull)
        pair.relay.link.close(closed)
        pair.run(for: .seconds(1))
        #expect(
            pair.client.events.suffix(2) == [.reset(refused, code: .roomFull), .reset(closed, code: .cancelled)])
        #expect(pair.client.link.sessionCount == 0 && pair.relay.link.sessionCount == 0)
    }

    @Test func `a session that the peer does not know is dropped without a reset`() throws {
        let pair = LinkPair(.reliable, connected: false)
        let lobby = RoomName.named("lobby")
        for _ in 0..<10_000 {
            let session = try pair.client.link.open(Open(room: lobby, cursor: 0))
            pair.client.link.reset(session, code: .cancelled)
        }
        #expect(pair.client.link.sessionCount == 0)
        #expect(pair.client.link.queuedByteCount(on: .control) == 0)
        #expect(pair.client.link.recentlyEndedCount == 0)
    }

    @Test func `the backlog counts bulk messages, other messages and other frames`() throws {
        let pair = LinkPair(.reliable)
        let file = try pair.open("file", kind: .file)
        let chat = try pair.open("chat")
        pair.run(for: .seconds(1))
        #expect(pair.client.link.queued(perFrame: 10) == LinkBacklog())
        pair.send(1, byteCount: 40_000, on: file)
        pair.send(2, byteCount: 100, on: chat)
        _ = pair.client.link.send(.receipt, EncodedBody([1, 2, 3]), on: file)
        #expect(pair.client.link.queued(perFrame: 10) == LinkBacklog(bulk: 40_030, nonBulk: 110, others: 13))
        pair.client.link.reset(file, code: .cancelled)
        let reset = pair.client.link.queued(perFrame: 0)
        #expect(reset.bulk == 0 && reset.nonBulk == 100 && reset.others == reset.byteCount - 100)
    }

    // W-58, S-9
    @Test(arguments: carriers) func `suspend and resume arrive in order`(carrier: Carrier) throws {
        let pair = LinkPair(carrier)
        let session = try pair.open()
        pair.client.link.suspend(session)
        pair.client.link.resume(session, cursor: 7)
        pair.client.link.suspend(SessionID(rawValue: 99))
        pair.client.link.resume(.control, cursor: nil)
        pair.run(for: .seconds(1))
        #expect(pair.relay.events.suffix(2) == [.suspended(session), .resumed(session, cursor: 7)])
        pair.client.link.close(session)
        pair.client.link.suspend(session)
        pair.run(for: .seconds(1))
        #expect(pair.relay.events.filter { $0 == .suspended(session) }.count == 1)
        #expect(pair.relay.fault == nil)
    }

    // C-25
    @Test func `a link opens at most as many sessions as both sides allow and a resume can name`() throws {
        let lobby = RoomName.named("lobby")
        let small = LinkPair(.reliable, limits: Limits(maxSessions: 3))
        for _ in 0..<3 { _ = try small.client.link.open(Open(room: lobby, cursor: 0)) }
        #expect(throws: LinkError.local(.tooManySessions)) { try small.client.link.open(Open(room: lobby, cursor: 0)) }
        let large = LinkPair(.reliable, limits: Limits(maxSessions: 60_000))
        for _ in 0..<255 { _ = try large.client.link.open(Open(room: lobby, cursor: 0)) }
        #expect(throws: LinkError.local(.tooManySessions)) { try large.client.link.open(Open(room: lobby, cursor: 0)) }
        #expect(large.client.link.positions.count == ResumePoint.maxPositionCount)
    }

    // S-2
    @Test func `IDs wrap around and skip open sessions`() throws {
        let lobby = RoomName.named("lobby")
        for (role, first) in [(LinkRole.client, 1), (.relay, 2)] as [(LinkRole, UInt16)] {
            var link = Link(role: role, limits: Limits(), features: [], began: .zero)
            #expect(try link.open(Open(room: lobby, cursor: 0)).rawValue == first)
            for _ in 0..<(0x7FFF - (role == .client ? 0 : 1)) {
                let session = try link.open(Open(room: lobby, cursor: 0))
                #expect(session.rawValue % 2 == first % 2)
                link.reset(session, code: .cancelled)
            }
            #expect(try link.open(Open(room: lobby, cursor: 0)).rawValue == first + 2)
        }
    }

    // S-1
    @Test func `a session that does not exist accepts no frames`() {
        let pair = LinkPair(.reliable)
        let nobody = SessionID(rawValue: 5)
        #expect(pair.send(1, on: nobody) == .noSession)
        pair.client.link.close(nobody)
        pair.client.link.close(.control)
        pair.client.link.reset(.control, code: .cancelled)
        pair.client.link.accept(nobody, Opened(head: 0, first: 1))
        pair.client.link.release(10, on: nobody)
        pair.client.link.release(0, on: .control)
        #expect(pair.client.link.queuedByteCount(on: nobody) == 0)
        #expect(pair.client.link.hasOutput(now: pair.now) == false)
    }

    // S-31
    @Test func `a session holds a bounded number of frames`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.client.link.detach()
        var sent = 0
        while pair.send(sent, on: session) == .queued { sent += 1 }
        #expect(sent == SendStream.maxEntries)
        #expect(pair.send(0, on: session) == .full)
    }

    @Test func `the counter of sent frames is the number of frames on the carrier, fragments included`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.send(1, byteCount: 100_000, on: session)
        pair.run(for: .seconds(2))
        #expect(pair.client.link.counters.framesSent == pair.frames.count { !$0.byRelay })
        #expect(pair.frames(.data, byRelay: false).count > 1)
    }

    // MARK: Transient frames

    // S-52
    @Test(arguments: carriers) func `the newest transient frames are sent while a connection is attached`(
        carrier: Carrier
    ) throws {
        let pair = LinkPair(carrier)
        let session = try pair.open()
        let bodies = (0..<20).map { [UInt8]([UInt8($0)]) }
        for body in bodies { pair.client.link.sendTransient(EncodedBody(body), on: session) }
        pair.client.link.sendTransient(EncodedBody([UInt8](repeating: 1, count: 20_000)), on: session)
        pair.run(for: .seconds(1))
        let received = pair.relay.deliveries.filter { $0.type == .transient }
        #expect(received.map(\.body) == Array(bodies.suffix(Session.maxTransients)))
        #expect(received.allSatisfy { $0.credit == 0 })
        pair.client.link.sendTransient(EncodedBody(bodies[0]), on: session)
        pair.cut()
        pair.client.link.sendTransient(EncodedBody(bodies[0]), on: session)
        pair.resume()
        pair.run(for: .seconds(1))
        #expect(pair.relay.deliveries.filter { $0.type == .transient }.count == received.count)
    }

    // MARK: The link itself

    // W-53, W-70
    @Test(arguments: carriers) func `a ping is answered, and goaway arrives`(carrier: Carrier) {
        let pair = LinkPair(carrier)
        pair.client.link.ping(nonce: 42)
        pair.run(for: .seconds(1))
        #expect(pair.client.events == [.pong(nonce: 42)])
        #expect(pair.client.link.rtt.latest == .milliseconds(100))
        pair.relay.link.goAway(Notice(code: .draining))
        pair.run(for: .seconds(1))
        #expect(pair.client.events.last == .goAway(GoAway(Notice(code: .draining))))
    }

    @Test(arguments: carriers) func `acknowledged bytes of a session are reported`(carrier: Carrier) throws {
        let pair = LinkPair(carrier, path: LinkTests.rough)
        let session = try pair.open()
        let before = pair.client.link.queuedByteCount(on: session)
        #expect(before == 0)
        pair.client.forget()
        for number in 1...100 { pair.send(number, byteCount: 1000, on: session) }
        #expect(pair.client.link.queuedByteCount(on: session) == 100_000)
        pair.run(within: .seconds(20)) { !pair.client.link.hasUnacknowledged }
        let told = pair.client.events.reduce(0) {
            if case .acknowledged(session, let byteCount) = $1 { $0 + byteCount } else { $0 }
        }
        #expect(told == 100_000)
        #expect(pair.client.link.queuedByteCount(on: session) == 0)
    }

    // S-29
    @Test(arguments: [true, false]) func `no timer runs when a reset ends the last unacknowledged session`(
        byClient: Bool
    ) throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.run(for: .seconds(5))
        let sender = byClient ? pair.client : pair.relay
        let other = byClient ? pair.relay : pair.client
        _ = sender.link.send(.receipt, EncodedBody(Receipt.progress(.init(.delivered, upTo: 1)).encode()), on: session)
        other.link.reset(session, code: .cancelled)
        pair.run(for: .seconds(1))
        pair.forgetFrames()
        #expect(!sender.link.hasUnacknowledged && sender.link.deadline == nil)
        sender.link.releaseIdleMemory()
        #expect(sender.link.hasIdleMemory == false)
        pair.run(for: .seconds(600))
        #expect(pair.frames.isEmpty)
    }
}
