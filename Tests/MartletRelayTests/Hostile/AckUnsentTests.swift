import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 19.
@Suite("An acknowledgement of unsent data ends the connection")
struct AckUnsentTests {
    private static let wrong: [SessionAck] = [
        SessionAck(session: .first, cumulative: 2, creditLimit: 1 << 20),
        SessionAck(session: .first, cumulative: .max, creditLimit: .max),
        SessionAck(session: .control, cumulative: 1, creditLimit: 0),
        SessionAck(session: .first, cumulative: 0, creditLimit: 0, ranges: [2...3]),
        SessionAck(session: .first, cumulative: 0, creditLimit: 0, ranges: [2...UInt64.max]),
    ]

    @Test("is told, and changes nothing", arguments: Venue.allCases, wrong)
    func unsent(venue: Venue, part: SessionAck) async throws {
        try await venue.play { stage in
            let peer = try await stage.connect()
            // Said as soon as `opened` comes: a peer that says nothing for 7 s would be taken for dead (S-29).
            await peer.setManners { speaker, frame in
                guard frame.header.type == .opened else { return [] }
                return speaker.frame(Ack(linkCredit: 1 << 20, sessions: [part]))
            }
            let welcome = try await peer.hello()
            try await peer.open()
            #expect(try await peer.farewell()?.code == .ackUnsent)

            // `opened` was not acknowledged, so it comes again.
            let again = try await stage.connect()
            let resume = welcome.resumePoint([:])
            #expect(try await again.hello(Speaker.hello(resume: resume)).resumed != nil)
            let opened: Opened = try await again.expect()
            #expect(opened.head == 0)
        }
    }
}
