import MartletWire
import Testing

@testable import MartletProtocol

/// Specs/hostile.md row 21.
@Suite("A sequence beyond the window ends the connection")
struct OutOfWindowTests {
    @Test(
        "8,192 ahead is refused, be it by one or by half the circle", arguments: Venue.allCases,
        [8194, 1 << 30] as [UInt32])
    func beyond(venue: Venue, sequence: UInt32) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            let body = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("hi"))
            let header = FrameHeader(type: .data, sequence: sequence, flags: .reliable, session: .first)
            await peer.send(header.frame(body: body.rawBytes))
            #expect(try await peer.farewell()?.code == .outOfWindow)
        }
    }

    @Test("what is within is held, up to the link's window on all sessions together")
    func held() async throws {
        let hall = VirtualHall()
        let peer = hall.connect()
        try await peer.hello()
        let body = Message.encodeClient(
            counter: 1, kind: .text, content: Message.textContent(String(repeating: "x", count: 8000)))
        // More dropped frames than an honest peer sends would end the connection (S-59).
        for index in 0..<30 as Range<UInt16> {
            let id = SessionID(rawValue: 2 * index + 1)
            try await peer.open("room \(index)", on: id)
            for sequence in 3..<35 as Range<UInt32> where !peer.isOver {
                let header = FrameHeader(type: .data, sequence: sequence, flags: .reliable, session: id)
                await peer.send(header.frame(body: body.rawBytes))
            }
        }
        let held = try #require(hall.link(of: peer)?.heldByteCount)
        #expect(held > 0 && held <= 1 << 20)
        #expect(hall.engine.statistics.messagesStored == 0)
    }
}
