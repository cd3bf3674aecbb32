import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 11.
@Suite("A TLV longer than its container ends the connection")
struct MalformedTLVTests {
    private static let bodies: [[UInt8]] = [
        [0, 0x40, 0, 0, 0, 9, 1, 2, 3],
        [0, 0x40, 0xFF, 0xFF, 0xFF, 0xFF],
        [0, 0x40, 0],
        TLVBytes.container([0, 0x53, 0, 0, 0, 200, 65]),
        Message.encodeClient(counter: 1, kind: .text, content: Message.textContent("hi")) + [0],
    ]

    @Test("in a message", arguments: Venue.allCases, bodies)
    func message(venue: Venue, body: [UInt8]) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.say { $0.frame(.data, body, on: .first) }
            #expect(try await peer.farewell()?.code == .malformedTLV)
            #expect(await stage.storedCount == 0)
        }
    }

    @Test("in a hello, an open, an acknowledgement, a receipt, a request", arguments: Venue.allCases)
    func others(venue: Venue) async throws {
        try await venue.play { stage in
            let early = try await stage.connect()
            await early.send(Speaker.bytes(.hello, [0, 0x11, 0, 0, 0, 9, 1]))
            #expect(try await early.farewell()?.code == .malformedTLV)
            for (type, session) in [
                (FrameType.open, SessionID.second), (.ack, .control), (.receipt, .first), (.request, .first),
                (.transient, .first),
            ] {
                let peer = try await stage.member()
                await peer.say { $0.frame(type, [0, 0x11, 0, 0, 0, 9, 1], on: session) }
                #expect(try await peer.farewell()?.code == .malformedTLV, "\(type)")
            }
        }
    }
}
