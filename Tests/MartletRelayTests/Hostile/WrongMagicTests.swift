import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Specs/hostile.md row 1.
@Suite("A connection with the wrong magic is refused")
struct WrongMagicTests {
    // W-5
    @Test("bytes of another protocol close the connection as badMagic", arguments: RelayBackend.allCases)
    func anotherProtocol(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            await peer.send([UInt8]("POST /index.html HTTP/1.1\r\n".utf8))
            #expect(try await peer.finalNotice()?.code == .badMagic)
            #expect(peer.heldByteCount(at: fixture) ?? 0 <= 64)
            #expect(await fixture.statistics.faults == 1)
        }
    }

    @Test("wrong magic behind a valid frame closes the connection as badMagic", arguments: RelayBackend.allCases)
    func behindAFrame(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.write { $0.text("good", counter: 1, on: .first) + [0x8D, 0x4D, 0x52, 0x55] }
            #expect(try await peer.finalNotice()?.code == .badMagic)
            #expect(await fixture.storedCount == 1)
        }
    }

    @Test("prefix of the magic is held in at most 64 bytes")
    func prefix() async throws {
        let fixture = EngineFixture()
        let peer = fixture.connect()
        await peer.send([0x8D, 0x4D, 0x52])
        #expect(fixture.heldByteCount(of: peer) <= 64)
        #expect(!peer.isClosed)
        await peer.send([0x00])
        // Four bytes allow a reply of twelve, and no goaway is that short.
        #expect(try await peer.finalNotice() == nil)
        #expect(peer.age == .zero)
    }
}
