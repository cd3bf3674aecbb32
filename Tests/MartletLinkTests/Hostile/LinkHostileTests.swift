import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// Violations of the rules of a link by a peer (Specs/hostile.md), at the relay.
@Suite struct LinkHostileTests {
    /// A relay's link with one open session, and a scripted peer.
    final class Victim {
        let pair: LinkPair
        let session: SessionID
        var end: LinkEnd { pair.relay }

        init(_ carrier: Carrier = .reliable, limits: Limits = Limits()) throws {
            pair = LinkPair(carrier, limits: limits)
            session = try pair.open()
            pair.run(for: .seconds(1))
            end.forget()
            pair.forgetFrames()
        }

        /// Sends a frame past the client's link.
        @discardableResult
        func send(
            _ type: FrameType, _ body: [UInt8] = [], sequence: UInt32 = 0, on session: SessionID = .control,
            _ flags: FrameFlags = []
        ) -> Link.Reception? {
            let header = FrameHeader(
                type: type, sequence: sequence, flags: flags, session: session, bodyByteCount: UInt32(body.count))
            return end.take(header, body.rawBytes, now: pair.now)
        }

        func open(_ id: UInt16, sequence: UInt32 = 1) {
            let body = Open(room: RoomName.named("room"), cursor: 0).encode()
            send(.open, body, sequence: sequence, on: SessionID(rawValue: id), .reliable)
        }

        var fault: ErrorCode? { end.fault?.code }
    }

    // MARK: Rows of the table

    // S-19, Specs/hostile.md row 10
    @Test func `unknown frames are skipped and counted, and keep their sequences`() throws {
        let victim = try Victim()
        let unknown = FrameType(rawValue: 0x7ABC)
        #expect(victim.send(unknown) == .skipped)
        #expect(victim.send(unknown, [1, 2], sequence: 2, on: victim.session, .reliable) == .skipped)
        #expect(victim.send(.data, [3], sequence: 4, on: victim.session, .reliable) == .handled)
        #expect(victim.send(unknown, [1], sequence: 3, on: victim.session, [.reliable, .moreFragments]) == .skipped)
        #expect(victim.end.bodies(on: victim.session) == [[3]])
        #expect(victim.end.link.counters.skipped == 3)
        victim.pair.run(for: .milliseconds(30))
        #expect(try victim.pair.acks(byRelay: true).last?.sessions.map(\.cumulative) == [4])
    }

    // W-73, Specs/hostile.md row 10
    @Test func `more than 32 unknown frames in a minute, or a critical one, end the connection`() throws {
        let flood = try Victim()
        for _ in 0..<32 { flood.send(FrameType(rawValue: 0x7ABC)) }
        #expect(flood.fault == nil)
        flood.send(FrameType(rawValue: 0x7ABC))
        #expect(flood.fault == .unknownFlood)
        let critical = try Victim()
        critical.send(FrameType(rawValue: 0xF123))
        #expect(critical.fault == .unknownCritical)
    }

    @Test func `a body that does not inflate, or may not be compressed, ends the connection`() throws {
        let victim = try Victim()
        let garbage: [UInt8] = [1, 2, 3]
        var header = FrameHeader(type: .data, sequence: 2, flags: .reliable, session: victim.session, bodyByteCount: 3)
        header.compression = .zlib
        victim.end.take(header, garbage.rawBytes, now: victim.pair.now)
        #expect(victim.fault == .inflateFailed)
        let without = try Victim()
        without.end.link.adopt(Limits(), features: [])
        without.end.take(header, garbage.rawBytes, now: without.pair.now)
        #expect(without.fault == .compressionNotAllowed)
    }

    @Test func `more than 100 pings at once end the connection, and at most 4 pongs are queued`() throws {
        let victim = try Victim()
        for number in 1...100 { victim.send(.ping, Ping(nonce: UInt64(number)).encode()) }
        #expect(victim.fault == nil)
        victim.pair.settle()
        #expect(victim.pair.frames(.pong, byRelay: true).count == Link.maxQueuedPongs)
        victim.send(.ping, Ping(nonce: 101).encode())
        #expect(victim.fault == .controlFlood)
    }

    // W-71
    @Test func `after a burst of 100 pings more than 10 a second end the connection`() throws {
        for milliseconds in [99, 101] {
            let victim = try Victim()
            for number in 1...100 { victim.send(.ping, Ping(nonce: UInt64(number)).encode()) }
            victim.pair.run(for: .milliseconds(101))
            for number in 101...300 {
                victim.send(.ping, Ping(nonce: UInt64(number)).encode())
                victim.pair.run(for: .milliseconds(milliseconds))
            }
            #expect(victim.fault == (milliseconds == 99 ? .controlFlood : nil))
        }
    }

    // S-4, Specs/hostile.md row 18
    @Test func `opening and resetting sessions at a high rate ends the connection`() throws {
        let victim = try Victim()
        victim.end.accepts = false
        var id: UInt16 = 101
        var control: UInt32 = 1
        for _ in 0..<Link.openBurst - 1 {
            victim.open(id)
            let reset = Reset(session: SessionID(rawValue: id), code: .cancelled, creditUsed: 0).encode()
            victim.send(.reset, reset, sequence: control, .reliable)
            id += 2
            control += 1
        }
        #expect(victim.fault == nil)
        #expect(victim.end.link.sessionCount == 1)
        #expect(victim.end.link.sessions.slots.count == 3)
        victim.open(id)
        victim.open(id + 2)
        #expect(victim.fault == .churnLimit)
    }

    // S-4, Specs/hostile.md row 18
    @Test func `sessions beyond the limit are refused one by one`() throws {
        let victim = try Victim(limits: Limits(maxSessions: 2))
        victim.open(101)
        victim.open(103)
        victim.open(103)
        victim.send(.data, [1], sequence: 2, on: SessionID(rawValue: 103), .reliable)
        #expect(victim.fault == nil)
        #expect(victim.end.link.sessionCount == 2)
        victim.pair.settle()
        let resets = try victim.pair.frames(.reset, byRelay: true).map { try Reset(parsing: $0.body.rawBytes) }
        #expect(resets.map(\.session.rawValue) == [103])
        #expect(resets.map(\.code) == [.tooManySessions])
    }

    // S-23, Specs/hostile.md row 19
    @Test func `an acknowledgement of an unsent sequence ends the connection and changes nothing`() throws {
        for (cumulative, ranges) in [(2, []), (.max, []), (0, [2...3]), (1, [3...4])]
            as [(UInt64, [ClosedRange<UInt64>])]
        {
            let victim = try Victim()
            let part = SessionAck(session: victim.session, cumulative: cumulative, creditLimit: 0, ranges: ranges)
            let before = victim.end.link.queuedByteCount(on: victim.session)
            victim.send(.ack, Ack(linkCredit: 0, sessions: [part]).encode())
            #expect(victim.fault == .ackUnsent)
            #expect(victim.end.link.queuedByteCount(on: victim.session) == before)
        }
    }

    @Test func `a peer without acknowledgements stalls the link at its window`() throws {
        let victim = try Victim()
        var queued = 0
        for number in 0..<1000
        where victim.pair.send(number, byteCount: 8000, on: victim.session, from: victim.end) == .queued {
            queued += 1
        }
        victim.pair.swallows = { header, byRelay in !byRelay && header.type == .ack }
        victim.pair.run(within: .seconds(70)) { !victim.end.demands.isEmpty }
        #expect(victim.end.demands == [.ackTimeout])
        let sent = Set(victim.pair.frames(.data, byRelay: true).map(\.header.sequence)).count
        #expect(sent * 8000 <= SessionPreset(.chat).windowByteCount)
        #expect(queued == 1000)
    }

    // S-17, Specs/hostile.md row 21
    @Test func `a sequence beyond the window, or below 1, ends the connection`() throws {
        let window = UInt32(ReceiveStream.windowFrameCount)
        for sequence in [2 + window, 2 + window + 1, 0x7FFF_FFFF, 0x8000_0010, .max, 0] {
            let victim = try Victim(.unreliable)
            victim.send(.data, [1], sequence: sequence, on: victim.session, .reliable)
            #expect(victim.fault == .outOfWindow, "\(sequence)")
        }
        let inside = try Victim(.unreliable)
        inside.send(.data, [1], sequence: 2 + window - 1, on: inside.session, .reliable)
        #expect(inside.fault == nil)
    }

    // MARK: Rules of sessions

    // W-54, S-3, S-5
    @Test func `a session is opened by its first frame, once, by the endpoint that owns its number`() throws {
        for sequence in [2, 0, 8192] as [UInt32] {
            let late = try Victim()
            late.open(101, sequence: sequence)
            #expect(late.fault == .protocolViolation)
        }
        let ours = try Victim()
        ours.open(102)
        #expect(ours.fault == .protocolViolation)
        let twice = try Victim()
        twice.open(101)
        twice.open(101)
        #expect(twice.fault == nil)
        twice.open(101, sequence: 2)
        #expect(twice.fault == .protocolViolation)
        let answered = try Victim()
        answered.send(.opened, Opened(head: 0, first: 1).encode(), sequence: 2, on: answered.session, .reliable)
        #expect(answered.fault == .protocolViolation)
        let malformed = try Victim()
        malformed.send(.open, [], sequence: 1, on: SessionID(rawValue: 101), .reliable)
        #expect(malformed.fault == .missingField)
        let fragmented = try Victim()
        fragmented.send(.open, [], sequence: 1, on: SessionID(rawValue: 101), [.reliable, .moreFragments])
        #expect(fragmented.fault == .protocolViolation)
    }

    // S-7
    @Test func `a frame after close ends the connection`() throws {
        for type in [FrameType.data, .close, .receipt] {
            let victim = try Victim()
            victim.send(.close, sequence: 2, on: victim.session, .reliable)
            #expect(victim.fault == nil)
            victim.send(type, sequence: 3, on: victim.session, .reliable)
            #expect(victim.fault == .protocolViolation)
        }
        let held = try Victim()
        held.send(.data, [1], sequence: 3, on: held.session, .reliable)
        held.send(.close, sequence: 2, on: held.session, .reliable)
        #expect(held.fault == .protocolViolation)
        let transient = try Victim()
        transient.send(.close, sequence: 2, on: transient.session, .reliable)
        transient.send(.transient, [1], on: transient.session)
        #expect(transient.end.deliveries.isEmpty)
        #expect(transient.fault == nil)
    }

    // W-59, S-15
    @Test func `frames of sessions that were never opened cause a bounded number of answers`() throws {
        let victim = try Victim()
        victim.send(.transient, [1], on: SessionID(rawValue: 301))
        for sequence in 1...1000 as ClosedRange<UInt32> {
            victim.send(.data, [1], sequence: sequence, on: SessionID(rawValue: 301), .reliable)
        }
        #expect(victim.fault == nil)
        #expect(victim.end.link.sessions[0].send.count == 1)
        for id in stride(from: 303 as UInt16, to: 3003, by: 2) {
            victim.send(.data, [1], sequence: 1, on: SessionID(rawValue: id), .reliable)
        }
        #expect(victim.fault == .churnLimit)
        #expect(victim.end.link.recentlyEndedCount <= RecentlyEndedSessions.maxCount)
        #expect(victim.end.link.sessions[0].send.count <= Link.openBurst + 1)
    }

    // S-14
    @Test func `late frames of an ended session cause one acknowledgement`() throws {
        let victim = try Victim()
        victim.pair.client.link.close(victim.session)
        victim.pair.run(for: .seconds(1))
        victim.pair.forgetFrames()
        for sequence in 1...2000 as ClosedRange<UInt32> {
            victim.send(.data, [1], sequence: sequence, on: victim.session, .reliable)
        }
        #expect(victim.fault == nil)
        victim.pair.settle()
        let acks = try victim.pair.acks(byRelay: true)
        #expect(acks.map { $0.sessions.map(\.session) } == [[victim.session]])
    }

    // S-14, S-20
    @Test func `late frames that arrive within 25 ms of the first are covered by one acknowledgement`() throws {
        let victim = try Victim()
        victim.pair.client.link.close(victim.session)
        victim.pair.run(for: .seconds(1))
        victim.pair.forgetFrames()
        for sequence in 100...120 as ClosedRange<UInt32> {
            victim.send(.data, [1], sequence: sequence, on: victim.session, .reliable)
            victim.pair.run(for: .milliseconds(1))
        }
        victim.pair.run(for: .milliseconds(25))
        #expect(try victim.pair.acks(byRelay: true).map { $0.sessions.map(\.session) } == [[victim.session]])
        victim.send(.data, [1], sequence: 120, on: victim.session, .reliable)
        victim.pair.run(for: .milliseconds(1))
        #expect(try victim.pair.acks(byRelay: true).count == 2)
    }

    // W-74, S-42
    @Test func `a header that violates the rule of its type ends the connection`() throws {
        let cases: [(FrameType, UInt32, SessionID, FrameFlags)] = [
            (.data, 1, .control, .reliable), (.data, 0, SessionID(rawValue: 1), []),
            (.ping, 1, .control, .reliable), (.ack, 0, SessionID(rawValue: 1), []),
            (.hello, 0, .control, []), (.reset, 1, SessionID(rawValue: 1), .reliable),
            (.receipt, 2, SessionID(rawValue: 1), [.reliable, .moreFragments]),
        ]
        for (type, sequence, session, flags) in cases {
            let victim = try Victim()
            victim.send(type, sequence: sequence, on: session, flags)
            #expect(victim.fault == .protocolViolation, "\(type)")
        }
    }

    @Test func `an invalid body on the control session ends the connection`() throws {
        for type in [FrameType.ping, .pong, .ack, .goaway] {
            let victim = try Victim()
            victim.send(type)
            #expect(victim.fault == .missingField, "\(type)")
        }
        for (type, body) in [(FrameType.close, [1]), (.resume, [1])] as [(FrameType, [UInt8])] {
            let victim = try Victim()
            victim.send(type, body, sequence: 2, on: victim.session, .reliable)
            #expect(victim.fault == .malformedTLV, "\(type)")
        }
        let reset = try Victim()
        reset.send(.reset, sequence: 1, .reliable)
        #expect(reset.fault == .missingField)
    }

    // S-21
    @Test func `an acknowledgement with a repeated session ends the connection`() throws {
        let victim = try Victim()
        let part = SessionAck(session: victim.session, cumulative: 1, creditLimit: 0)
        victim.send(.ack, Ack(linkCredit: 0, sessions: [part, part]).encode())
        #expect(victim.fault == .protocolViolation)
    }

    // MARK: Memory

    // W-22, S-44
    @Test func `a message that is too long resets its session only`() throws {
        let limits = Limits(maxMessageByteCount: 40_000)
        let victim = try Victim(limits: limits)
        let piece = [UInt8](repeating: 1, count: 16_000)
        for sequence in 2...4 as ClosedRange<UInt32> {
            victim.send(.data, piece, sequence: sequence, on: victim.session, [.reliable, .moreFragments])
        }
        #expect(victim.fault == nil)
        #expect(victim.end.events == [.reset(victim.session, code: .messageTooLarge)])
        #expect(victim.end.link.sessionCount == 0)
        #expect(victim.end.link.receiveCredit.assemblingByteCount == 0)
        #expect(victim.end.link.linkCreditReleased == victim.end.link.linkCreditReceived)
        let whole = try Victim(limits: limits)
        whole.send(.data, [UInt8](repeating: 1, count: 40_001), sequence: 2, on: whole.session, .reliable)
        #expect(whole.end.events == [.reset(whole.session, code: .messageTooLarge)])
        let free = try Victim()
        free.send(.receipt, [UInt8](repeating: 1, count: 65_537), sequence: 2, on: free.session, .reliable)
        #expect(free.end.events == [.reset(free.session, code: .messageTooLarge)])
    }

    // W-21, S-42
    @Test func `fragments of different types in one message end the connection`() throws {
        let victim = try Victim()
        victim.send(.data, [1], sequence: 2, on: victim.session, [.reliable, .moreFragments])
        victim.send(.request, [1], sequence: 3, on: victim.session, .reliable)
        #expect(victim.fault == .protocolViolation)
        let unknown = try Victim()
        unknown.send(.data, [1], sequence: 2, on: unknown.session, [.reliable, .moreFragments])
        unknown.send(FrameType(rawValue: 0x7ABC), sequence: 3, on: unknown.session, .reliable)
        #expect(unknown.fault == .protocolViolation)
    }

    // W-52, S-36
    @Test func `frames beyond the credit end the connection, in order and out of order`() throws {
        let piece = [UInt8](repeating: 1, count: 16_384)
        for first in [2, 3] as [UInt32] {
            let victim = try Victim()
            victim.end.releases = false
            for sequence in first..<(first + 16) {
                victim.send(.data, piece, sequence: sequence, on: victim.session, .reliable)
            }
            #expect(victim.fault == nil)
            victim.send(.data, [1], sequence: first + 16, on: victim.session, .reliable)
            #expect(victim.fault == .creditExceeded)
        }
    }

    // S-31
    @Test func `held frames of all sessions together are bounded by the link's window`() throws {
        let victim = try Victim(.unreliable)
        for id in stride(from: 101 as UInt16, to: 151, by: 2) {
            victim.open(id)
            for sequence in 3...40 as ClosedRange<UInt32> {
                let body = [UInt8](repeating: 1, count: 8000)
                victim.send(.receipt, body, sequence: sequence, on: SessionID(rawValue: id), .reliable)
            }
        }
        #expect(victim.fault == nil)
        #expect(victim.end.link.heldByteCount <= victim.end.link.limits.linkWindow)
        #expect(victim.end.link.heldByteCount > victim.end.link.limits.linkWindow - 8000)
    }

    // S-11
    @Test func `the credit in a reset is bounded, and at least that of the received frames`() throws {
        func reset(_ creditUsed: UInt64) throws -> Victim {
            let victim = try Victim()
            victim.send(.data, [UInt8](repeating: 1, count: 100), sequence: 2, on: victim.session, .reliable)
            let body = Reset(session: victim.session, code: .cancelled, creditUsed: creditUsed).encode()
            victim.send(.reset, body, sequence: 1, .reliable)
            return victim
        }
        #expect(try reset(100).fault == nil)
        #expect(try reset(5000).fault == nil)
        #expect(try reset(99).fault == .protocolViolation)
        #expect(try reset(.max).fault == .creditExceeded)
    }

    @Test func `random bytes cause an error or are processed`() throws {
        var random = SeededRandom(seed: 5)
        let types = FrameType.registered + [FrameType(rawValue: 0x7000)]
        for carrier in [Carrier.reliable, .unreliable] {
            for _ in 0..<300 {
                let victim = try Victim(carrier)
                for _ in 0..<40 where victim.fault == nil {
                    let type = types[Int(random.next() % UInt64(types.count))]
                    let flags = FrameFlags(rawValue: UInt8(truncatingIfNeeded: random.next()) & 0x37)
                        .union(type.rule?.isReliable == true ? .reliable : [])
                    let session =
                        random.next() % 3 == 0 ? SessionID(rawValue: UInt16(random.next() % 6)) : victim.session
                    let sequence = flags.contains(.reliable) ? UInt32(random.next() % 6) : 0
                    let scope = type.rule?.scope == .control ? SessionID.control : session
                    victim.send(type, LinkHostileTests.body(of: type, &random), sequence: sequence, on: scope, flags)
                }
                victim.pair.settle()
                victim.pair.run(for: .seconds(3))
            }
        }
    }

    /// A body that is mostly valid, with numbers that are mostly out of range.
    private static func body(of type: FrameType, _ random: inout SeededRandom) -> [UInt8] {
        let number = [0, 1, 2, 3, 70_000, 1 << 32, .max][Int(random.next() % 7)] as UInt64
        let session = SessionID(rawValue: UInt16(random.next() % 5) + 1)
        switch type {
        case .ack:
            let upper = number | 1
            let part = SessionAck(
                session: session, cumulative: number / 4, creditLimit: number,
                ranges: number / 4 + 2 <= upper ? [number / 4 + 2...upper] : [])
            return Ack(
                echo: Echo(timestamp: UInt32(truncatingIfNeeded: number), delay: .seconds(9)), linkCredit: number,
                sessions: [part]
            ).encode()
        case .ping: return Ping(nonce: number).encode()
        case .pong: return Pong(nonce: number, echo: Echo(timestamp: 3, delay: .seconds(70))).encode()
        case .reset: return Reset(session: session, code: .cancelled, creditUsed: number).encode()
        case .open: return Open(room: RoomName.named("r"), kind: .file, cursor: number).encode()
        case .opened: return Opened(head: number, first: number).encode()
        case .close: return Close(code: nil, reason: nil).encode()
        default: return [UInt8](repeating: 0, count: Int(random.next() % 9))
        }
    }

    // S-36, Specs/hostile.md row 41
    @Test func `a fault within a message charges the link and its session equally`() throws {
        let victim = try Victim()
        let part = [UInt8](repeating: 1, count: 100)
        victim.send(.data, part, sequence: 2, on: victim.session, [.reliable, .moreFragments])
        victim.send(.request, part, sequence: 3, on: victim.session, .reliable)
        #expect(victim.fault == .protocolViolation)
        let found = victim.end.link.sessions.slot(of: victim.session)
        let slot = try #require(found)
        #expect(victim.end.link.sessions[slot].receive.creditReceived == 200)
        #expect(victim.end.link.linkCreditReceived == 200)
    }

    // S-36
    @Test func `a frame beyond the link's credit charges neither link nor session`() throws {
        let victim = try Victim(limits: Limits(linkWindow: 64 * 1024, sessionWindow: 64 * 1024))
        victim.end.releases = false
        victim.open(101)
        let part = [UInt8](repeating: 1, count: 16_384)
        for sequence in 2...4 as ClosedRange<UInt32> {
            victim.send(.data, part, sequence: sequence, on: victim.session, .reliable)
        }
        victim.send(.data, [UInt8](repeating: 1, count: 20_000), sequence: 2, on: SessionID(rawValue: 101), .reliable)
        #expect(victim.fault == .creditExceeded)
        let found = victim.end.link.sessions.slot(of: SessionID(rawValue: 101))
        let slot = try #require(found)
        #expect(victim.end.link.sessions[slot].receive.creditReceived == 0)
        #expect(victim.end.link.linkCreditReceived == 3 * 16_384)
    }
}
