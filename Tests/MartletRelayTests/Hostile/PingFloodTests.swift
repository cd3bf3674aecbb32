import MartletWire
import Testing

@testable import MartletProtocol

/// Specs/hostile.md row 17.
@Suite("A flood of pings ends the connection")
struct PingFloodTests {
    @Test("more than 100 in 10 s end the connection", arguments: Venue.allCases)
    func flood(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.say { speaker in (0..<1000).flatMap { speaker.frame(Ping(nonce: $0)) } }
            #expect(try await peer.farewell()?.code == .controlFlood)
        }
    }

    @Test("ten a second are answered for ever, one for one")
    func steady() async throws {
        let hall = VirtualHall()
        let peer = hall.connect()
        try await peer.hello()
        for nonce in 0..<1000 as Range<UInt64> {
            await peer.send(Ping(nonce: nonce))
            let pong: Pong = try await peer.next()
            #expect(pong.nonce == nonce)
            hall.run(for: .milliseconds(100))
        }
    }

    @Test("a peer that does not read its pongs has four waiting at the most")
    func unread() async throws {
        let hall = VirtualHall()
        let peer = hall.connect()
        try await peer.hello()
        hall.stall(peer)
        for nonce in 0..<50 as Range<UInt64> { await peer.send(Ping(nonce: nonce)) }
        #expect(hall.link(of: peer)?.control.count == Link.maxQueuedPongs)
    }
}
