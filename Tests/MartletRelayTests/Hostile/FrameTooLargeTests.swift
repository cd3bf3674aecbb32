import MartletWire
import Testing

/// Specs/hostile.md row 3.
@Suite("A frame length beyond the limit ends the connection")
struct FrameTooLargeTests {
    private static let lengths: [UInt32] = [12 * 1024 + 1, 1 << 20, UInt32.max - 27, .max]

    @Test(
        "header with a length beyond the limit closes as frameTooLarge before the handshake",
        arguments: RelayBackend.allCases, lengths)
    func beforeHandshake(backend: RelayBackend, length: UInt32) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            await peer.send(FrameWriter.header(.hello, bodyByteCount: length))
            #expect(try await peer.finalNotice()?.code == .frameTooLarge)
            #expect(peer.heldByteCount(at: fixture) ?? 0 <= 64)
        }
    }

    @Test("header of the longest hello is held in at most 64 bytes")
    func longestHello() async throws {
        let fixture = EngineFixture()
        let peer = fixture.connect()
        await peer.send(FrameWriter.header(.hello, bodyByteCount: 12 * 1024))
        #expect(!peer.isClosed)
        #expect(fixture.heldByteCount(of: peer) <= 64)
    }

    // W-7
    @Test("length beyond the negotiated limit closes as frameTooLarge", arguments: RelayBackend.allCases)
    func afterHandshake(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let limits = Limits(maxBodyByteCount: 20 * 1024)
            let peer = try await fixture.member(limits: limits)
            await peer.send(FrameWriter.header(.data, bodyByteCount: 20 * 1024 + 1, session: .first))
            #expect(try await peer.finalNotice()?.code == .frameTooLarge)
        }
    }

    @Test("frame of the negotiated maximum length is accepted", arguments: RelayBackend.allCases)
    func longest(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            try await peer.hello()
            await peer.send(Open(room: RoomName("lobby"), cursor: 0), on: .first)
            await peer.write { $0.text(String(repeating: "x", count: 60 * 1024), counter: 1, on: .first) }
            let accepted: Accepted = try await peer.next()
            #expect(accepted.runs == [AcceptedRun(firstCounter: 1, count: 1, firstOffset: 1)])
        }
    }
}
