import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 16.
@Suite("Compression before authentication ends the connection")
struct CompressionNotAllowedTests {
    @Test("a compressed hello is refused without being inflated", arguments: Venue.allCases)
    func hello(venue: Venue) async throws {
        let deflater = Deflater()
        let hello = Speaker.hello("alice", credential: String(repeating: "secret", count: 100))
        let body = deflater.compress(hello.encode().rawBytes)!
        try await venue.play { stage in
            let peer = try await stage.connect()
            await peer.say { $0.frame(.hello, body, compression: .zlib) }
            #expect(try await peer.farewell()?.code == .compressionNotAllowed)
        }
    }

    @Test("compression that was not agreed on is refused after the handshake too", arguments: Venue.allCases)
    func notAgreed(venue: Venue) async throws {
        try await venue.play({ $0.features = [] }) { stage in
            let peer = try await stage.member()
            await peer.say { $0.frame(.data, [1, 2, 3], on: .first, compression: .zlib) }
            #expect(try await peer.farewell()?.code == .compressionNotAllowed)
        }
    }
}
