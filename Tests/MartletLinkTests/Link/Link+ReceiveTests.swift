import MartletTestSupport
import MartletWire
import Testing

@testable import MartletLink

/// Received frames in order and out of order, and round trips.
@Suite struct LinkReceiveTests {
    // S-5
    @Test func `frames directly behind an open are delivered before it is accepted`() throws {
        let pair = LinkPair(.reliable)
        pair.relay.accepts = false
        let session = try pair.client.link.open(Open(room: RoomName.named("lobby"), kind: .file, cursor: 3))
        pair.send(1, on: session)
        pair.run(for: .milliseconds(60))
        #expect(
            pair.relay.events == [.open(session, Open(room: RoomName.named("lobby"), kind: .file, cursor: 3))])
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == [1])
        #expect(pair.relay.link.sessions[1].priority == .low)
    }

    // W-51, S-51
    @Test func `a window is that of the session's kind from its first frame on`() throws {
        let limits = Limits(linkWindow: 2 << 20, sessionWindow: 1 << 20)
        for (kind, count) in [(SessionKind.file, 64), (.chat, 16), (.signaling, 4)] {
            let pair = LinkPair(.reliable, limits: limits)
            pair.relay.accepts = false
            pair.relay.releases = false
            let session = try pair.client.link.open(Open(room: RoomName.named("lobby"), kind: kind, cursor: 0))
            for number in 0..<80 { pair.send(number, byteCount: 16_384, on: session) }
            pair.run(for: .seconds(20))
            #expect(pair.relay.bodies(on: session).count == count)
            #expect(pair.relay.fault == nil)
        }
    }

    /// A frame that requests an acknowledgement takes the general path. Others must have the same effects.
    @Test func `the fast path has the effects of the general path, except for the acknowledgement`() throws {
        let (short, long) = (LinkPair(.reliable), LinkPair(.reliable))
        let session = try short.open()
        #expect(try long.open() == session && long.now == short.now)
        var inflater = Inflater()
        func take(_ pair: LinkPair, _ header: FrameHeader, isUrgent: Bool) throws -> Link.Reception {
            var header = header
            if isUrgent { header.flags.insert(.ackNow) }
            let body = [UInt8](repeating: 7, count: 20)
            return try pair.relay.link.receive(
                header, .body(body.rawBytes), inflater: &inflater, now: pair.now + .milliseconds(5))
        }
        func state(_ link: borrowing Link) -> [String] {
            let parents: [Any] = [link.connection, link.connection.acks]
            let children = parents.flatMap { Mirror(reflecting: $0).children }
                .filter { !["acks", "state"].contains($0.label) }
            let values: [Any] = [
                link.sendCredit, link.receiveCredit, link.rates, link.arrivals, link.counters, link.rtt,
                link.sessions.recentlyEnded, link.sessions.hasReady, link.sessions.hasUnacknowledged,
                link.sessions.queueCount,
            ]
            let sessions = link.sessions.liveSlots.map { slot -> Any in
                (
                    link.sessions[slot].local, link.sessions[slot].peer, link.sessions[slot].marks.needsAck,
                    link.sessions[slot].lastAck, link.sessions[slot].isOutstanding,
                    link.sessions[slot].receive.cumulative, link.sessions[slot].receive.usage,
                    link.sessions[slot].receive.creditLimit, link.sessions[slot].receive.creditReleased,
                    link.sessions[slot].send.next, link.sessions[slot].send.end
                )
            }
            return children.map { "\($0.label ?? ""): \(parts(of: $0.value))" }
                + (values + sessions).map { parts(of: $0) }
        }
        for sequence in 2...4 as ClosedRange<UInt32> {
            let header = FrameHeader(
                type: .data, sequence: sequence, timestamp: 100 + sequence / 2,
                flags: FrameFlags([.reliable, .checksummed], priority: .high), session: session)
            #expect(try take(short, header, isUrgent: false) == .deliver(session, creditByteCount: 20))
            #expect(try take(long, header, isUrgent: true) == .deliver(session, creditByteCount: 20))
            #expect(state(short.relay.link) == state(long.relay.link))
        }
        #expect(short.relay.link.connection.acks.deadline == short.now + .milliseconds(5) + Link.maxAckDelay)
        #expect(!short.relay.link.connection.acks.isRequested && long.relay.link.connection.acks.isRequested)
    }

    @Test func `a member list longer than a frame arrives whole`() throws {
        let pair = LinkPair(.unreliable, path: LinkTests.rough)
        pair.relay.accepts = false
        let session = try pair.client.link.open(Open(room: RoomName.named("lobby"), cursor: 0))
        pair.run(for: .seconds(2))
        let names = (0..<256).compactMap { AccountName(String(repeating: "n", count: 120) + "\($0)") }
        let opened = Opened(head: 5, first: 1, members: names)
        pair.relay.link.accept(session, opened)
        pair.run(for: .seconds(5))
        #expect(pair.client.events.contains(.opened(session, opened)))
    }

    // S-20
    @Test func `the first frame behind a gap is acknowledged at once`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        let header = FrameHeader(
            type: .data, sequence: 3, timestamp: 1, flags: FrameFlags([.reliable, .checksummed], priority: .high),
            session: session)
        #expect(!pair.relay.link.connection.acks.isRequested)
        pair.relay.take(header, [UInt8](repeating: 7, count: 20).rawBytes, now: pair.now)
        #expect(pair.relay.link.connection.acks.isRequested)
    }

    // S-25
    @Test func `a round trip is measured more precisely than the millisecond of the timestamps`() throws {
        let pair = LinkPair(.reliable, path: LinkPath(delay: .microseconds(300)))
        let session = try pair.open()
        for number in 1...20 {
            pair.send(number, on: session)
            pair.run(for: .milliseconds(100))
        }
        #expect(try #require(pair.client.link.rtt.smoothed) < .milliseconds(1))
        #expect(pair.client.link.counters.roundTripSamples >= 20)
    }

    // W-15, S-25
    @Test func `an echo of a timestamp that was never sent gives no round trip`() {
        let pair = LinkPair(.reliable)
        for timestamp in [UInt32.max - 60_000, 5_000_000, 1 << 31] {
            let pong = Pong(nonce: 1, echo: Echo(timestamp: timestamp, delay: .zero)).encode()
            pair.client.take(FrameHeader(type: .pong), pong.rawBytes, now: pair.now)
        }
        #expect(!pair.client.link.rtt.hasSample)
        #expect(pair.client.events == Array(repeating: .pong(nonce: 1), count: 3))
    }

    @Test func `a pong of an unknown or earlier probe changes nothing`() {
        let pair = LinkPair(.reliable)
        let pong = Pong(nonce: Link.probeBit | 7, echo: Echo(timestamp: 0, delay: .zero)).encode()
        pair.client.take(FrameHeader(type: .pong), pong.rawBytes, now: pair.now)
        #expect(pair.client.events.isEmpty && pair.client.fault == nil)
    }

    // S-28
    @Test func `a frame that the peer lacks after a probe on a stream is sent again`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        pair.run(for: .seconds(1))
        // The relay drops a received frame, as without space to hold it.
        pair.swallows = { header, byRelay in !byRelay && header.type == .data }
        pair.send(1, on: session)
        pair.settle()
        pair.swallows = { _, _ in false }
        pair.run(for: .seconds(2))
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == [1])
        #expect(pair.client.link.counters.retransmissions == 1)
        #expect(pair.frames(.ping, byRelay: false).count == 1)
    }

    // S-20
    @Test func `duplicates are counted and acknowledged at once`() throws {
        let pair = LinkPair(.unreliable, path: LinkPath(doubledPerMille: 1000))
        let session = try pair.open()
        pair.run(for: .seconds(1))
        let before = pair.relay.link.counters.duplicates
        pair.send(1, on: session)
        pair.run(for: .seconds(1))
        #expect(pair.relay.link.counters.duplicates == before + 1)
        #expect(LinkPair.numbers(pair.relay.bodies(on: session)) == [1])
    }

    // W-17, S-45
    @Test func `no frame is refused for its priority`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        for (sequence, priority) in zip(UInt32(2)..., Priority.allCases) {
            let header = FrameHeader(
                type: .data, sequence: sequence, flags: FrameFlags(.reliable, priority: priority), session: session)
            pair.relay.take(header, [1].rawBytes, now: pair.now)
        }
        #expect(pair.relay.bodies(on: session).count == 4)
        #expect(pair.relay.fault == nil)
    }

    @Test func `requests travel on a room's session and on the link's own`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        for id in [session, .control] {
            #expect(pair.client.link.send(.request, EncodedBody([1, 2, 3]), on: id) == .queued)
        }
        pair.run(for: .seconds(1))
        #expect(pair.relay.deliveries.map(\.session) == [.control, session])
        #expect(pair.relay.deliveries.map(\.credit) == [3, 3])
    }

    // W-18, S-52
    @Test func `a compressed transient frame is delivered`() throws {
        let pair = LinkPair(.reliable)
        let session = try pair.open()
        let plain = [UInt8](repeating: 7, count: 1000)
        let deflater = Deflater()
        let compressed = deflater.compress(plain.rawBytes)
        let packed = try #require(compressed)
        var header = FrameHeader(type: .transient, session: session, bodyByteCount: UInt32(packed.count))
        header.compression = .zlib
        #expect(pair.relay.take(header, packed.rawBytes, now: pair.now) == .handled)
        #expect(pair.relay.deliveries.map(\.body) == [plain])
        #expect(pair.relay.deliveries.map(\.credit) == [0])
        let nowhere = FrameHeader(
            type: .transient, compression: .zlib, session: SessionID(rawValue: 99), bodyByteCount: header.bodyByteCount)
        pair.relay.take(nowhere, packed.rawBytes, now: pair.now)
        #expect(pair.relay.deliveries.count == 1)
    }

    // S-37
    @Test func `requests on the control session have a window of 64 KiB`() {
        let pair = LinkPair(.reliable)
        pair.relay.releases = false
        for number in 1...20 {
            let body = EncodedBody(LinkPair.body(number, byteCount: 8192))
            #expect(pair.client.link.send(.request, body, on: .control) == .queued)
        }
        pair.run(for: .seconds(5))
        #expect(pair.relay.deliveries.count == 8)
        pair.relay.releases = true
        pair.relay.releaseAll()
        pair.run(for: .seconds(5))
        #expect(pair.relay.deliveries.count == 20)
        #expect(pair.relay.fault == nil)
        // A peer that exceeds the window is at fault.
        let other = LinkPair(.reliable)
        other.relay.releases = false
        let piece = LinkPair.body(1, byteCount: 8192)
        for sequence in UInt32(1)...9 {
            let header = FrameHeader(type: .request, sequence: sequence, flags: .reliable, bodyByteCount: 8192)
            other.relay.take(header, piece.rawBytes, now: other.now)
        }
        #expect(other.relay.deliveries.count == 8)
        #expect(other.relay.fault == .peer(.creditExceeded))
    }
}
