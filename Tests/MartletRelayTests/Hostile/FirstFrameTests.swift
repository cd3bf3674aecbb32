import MartletWire
import Testing

/// Specs/hostile.md row 4.
@Suite("A first frame other than hello ends the connection")
struct FirstFrameTests {
    // W-32
    @Test("any other type is refused", arguments: Venue.allCases, FrameType.registered.filter { $0 != .hello })
    func anotherType(venue: Venue, type: FrameType) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            await peer.send(Speaker.bytes(type, [UInt8](repeating: 0, count: 64)))
            #expect(try await peer.farewell()?.code == .expectedHello)
        }
    }

    @Test("it is refused from its header, before any of its body came", arguments: Venue.allCases)
    func fromHeader(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            await peer.send(Speaker.header(.data, bodyByteCount: 12 * 1024, session: .first))
            #expect(try await peer.farewell()?.code == .expectedHello)
            #expect(peer.heldByteCount(at: stage) ?? 0 <= 4096)
        }
    }

    @Test("a hello on a session, or with a sequence, is none", arguments: Venue.allCases)
    func misplaced(venue: Venue) async throws {
        try await venue.play { stage in
            let body = Speaker.hello().encode()
            for header in [
                FrameHeader(type: .hello, session: .first), FrameHeader(type: .hello, sequence: 1),
                FrameHeader(type: .hello, flags: .moreFragments), FrameHeader(type: .hello, flags: .reliable),
            ] {
                let peer = try await stage.connect()
                await peer.send(header.frame(body: body.rawBytes))
                #expect(try await peer.farewell()?.code == .protocolViolation)
            }
        }
    }

    // W-32, C-13
    @Test("a hello that lacks a field is invalidHello", arguments: Venue.allCases)
    func lacking(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            await peer.send(Speaker.bytes(.hello, TLVBytes.leaf(.device, [0, 0, 0, 0, 0, 0, 0, 1])))
            #expect(try await peer.expect(Reject.self).notice.code == .invalidHello)
            #expect(try await peer.farewell() == nil)
        }
    }

    // W-32
    @Test("a second hello is a violation", arguments: Venue.allCases)
    func second(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.send(Speaker.hello())
            #expect(try await peer.farewell()?.code == .protocolViolation)
        }
    }
}
