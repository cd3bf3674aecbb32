import MartletRelay
import MartletWire
import Testing

@testable import MartletLink

/// Specs/hostile.md row 21.
@Suite("A sequence beyond the window ends the connection")
struct OutOfWindowTests {
    @Test(
        "sequence 8,192 or 2³⁰ ahead closes the connection", arguments: RelayBackend.allCases,
        [8194, 1 << 30] as [UInt32])
    func beyond(backend: RelayBackend, sequence: UInt32) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            let body = Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("hi"))
            let header = FrameHeader(type: .data, sequence: sequence, flags: .reliable, session: .first)
            await peer.send(header.frame(body: body.rawBytes))
            #expect(try await peer.finalNotice()?.code == .outOfWindow)
        }
    }

    @Test("frames within the window are held, up to the link's window over all sessions")
    func held() async throws {
        let fixture = EngineFixture()
        let peer = fixture.connect()
        try await peer.hello()
        let body = Message.encodeClient(
            counter: 1, kind: .text, content: Message.textContent(String(repeating: "x", count: 8000)))
        // The frames stay below the number of dropped frames that ends a connection (S-59).
        for index in 0..<30 as Range<UInt16> {
            let id = SessionID(rawValue: 2 * index + 1)
            try await peer.open("room \(index)", on: id)
            for sequence in 3..<35 as Range<UInt32> where !peer.isClosed {
                let header = FrameHeader(type: .data, sequence: sequence, flags: .reliable, session: id)
                await peer.send(header.frame(body: body.rawBytes))
            }
        }
        let held = try #require(fixture.link(of: peer, { $0.heldByteCount }))
        #expect(held > 0 && held <= 1 << 20)
        #expect(fixture.engine.statistics.messagesStored == 0)
    }
}
