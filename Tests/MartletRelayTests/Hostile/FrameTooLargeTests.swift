import MartletWire
import Testing

/// Specs/hostile.md row 3.
@Suite("A frame length beyond the limit ends the connection")
struct FrameTooLargeTests {
    private static let lengths: [UInt32] = [12 * 1024 + 1, 1 << 20, UInt32.max - 27, .max]

    @Test("before the handshake, from the header alone, and nothing is allocated", arguments: Venue.allCases, lengths)
    func beforeHandshake(venue: Venue, length: UInt32) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            await peer.send(Speaker.header(.hello, bodyByteCount: length))
            #expect(try await peer.farewell()?.code == .frameTooLarge)
            #expect(peer.heldByteCount(at: stage) ?? 0 <= 64)
        }
    }

    @Test("the longest hello that is allowed is waited for, and costs what has come of it")
    func longestHello() async throws {
        let hall = VirtualHall()
        let peer = hall.connect()
        await peer.send(Speaker.header(.hello, bodyByteCount: 12 * 1024))
        #expect(!peer.isOver)
        #expect(hall.heldByteCount(of: peer) <= 64)
    }

    // W-7
    @Test("after the handshake the negotiated limit holds", arguments: Venue.allCases)
    func afterHandshake(venue: Venue) async throws {
        try await venue.play { stage in
            let limits = Limits(maxBodyByteCount: 20 * 1024)
            let peer = try await stage.member(limits: limits)
            await peer.send(Speaker.header(.data, bodyByteCount: 20 * 1024 + 1, session: .first))
            #expect(try await peer.farewell()?.code == .frameTooLarge)
        }
    }

    @Test("a frame as long as was agreed on is taken, be it the first behind welcome", arguments: Venue.allCases)
    func longest(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            try await peer.hello()
            await peer.send(Open(room: RoomName("lobby")!, cursor: 0), on: .first)
            await peer.say { $0.text(String(repeating: "x", count: 60 * 1024), counter: 1, on: .first) }
            let accepted: Accepted = try await peer.next()
            #expect(accepted.runs == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1)])
        }
    }
}
