import MartletLink
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

    @Test("malformed TLV in a message closes as malformedTLV", arguments: RelayBackend.allCases, bodies)
    func message(backend: RelayBackend, body: [UInt8]) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.write { $0.frame(.data, body, on: .first) }
            #expect(try await peer.finalNotice()?.code == .malformedTLV)
            #expect(await fixture.storedCount == 0)
        }
    }

    @Test("malformed TLV in other frames closes as malformedTLV", arguments: RelayBackend.allCases)
    func others(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let early = try await fixture.connect()
            await early.send(FrameWriter.bytes(.hello, [0, 0x11, 0, 0, 0, 9, 1]))
            #expect(try await early.finalNotice()?.code == .malformedTLV)
            for (type, session) in [
                (FrameType.open, SessionID.second), (.ack, .control), (.receipt, .first), (.request, .first),
                (.transient, .first),
            ] {
                let peer = try await fixture.member()
                await peer.write { $0.frame(type, [0, 0x11, 0, 0, 0, 9, 1], on: session) }
                #expect(try await peer.finalNotice()?.code == .malformedTLV, "\(type)")
            }
        }
    }
}
