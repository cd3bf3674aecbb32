import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 18.
@Suite("Sessions opened and closed beyond the rate end the connection")
struct SessionChurnTests {
    @Test("a burst of more than 256 ends the connection", arguments: Venue.allCases)
    func burst(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            try await peer.hello()
            await peer.say { speaker in
                (0..<400).flatMap { index in
                    let id = SessionID(rawValue: UInt16(2 * index + 1))
                    return speaker.frame(Open(room: RoomName("room \(index)")!, cursor: 0), on: id)
                        + speaker.frame(Reset(session: id, code: .cancelled))
                }
            }
            #expect(try await peer.farewell()?.code == .churnLimit)
        }
    }

    @Test("33 a second may go on for ever, and leave nothing behind")
    func steady() async throws {
        let hall = VirtualHall()
        let peer = hall.connect()
        try await peer.hello()
        for index in 0..<1000 {
            let id = SessionID(rawValue: UInt16(2 * index + 1))
            try await peer.open("room \(index)", on: id)
            await peer.send(Reset(session: id, code: .cancelled))
            hall.run(for: .milliseconds(31))
        }
        #expect(!peer.isOver)
        #expect(hall.engine.statistics.rooms == 0)
        #expect(hall.link(of: peer)?.sessionCount == 0)
    }

    @Test("frames for sessions that are not open are churn as well", arguments: Venue.allCases)
    func unknownSessions(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            try await peer.hello()
            await peer.say { speaker in
                (0..<400).flatMap { speaker.text("?", counter: $0 + 1, on: SessionID(rawValue: UInt16(2 * $0 + 1))) }
            }
            #expect(try await peer.farewell()?.code == .churnLimit)
        }
    }
}
