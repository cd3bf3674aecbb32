import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Specs/hostile.md row 16.
@Suite("Compression before authentication ends the connection")
struct CompressionNotAllowedTests {
    @Test("compressed hello closes as compressionNotAllowed without inflation", arguments: RelayBackend.allCases)
    func hello(backend: RelayBackend) async throws {
        let deflater = Deflater()
        let hello = FrameWriter.hello("alice", credential: String(repeating: "secret", count: 100))
        let body = deflater.compress(hello.encode().rawBytes)!
        try await backend.run { fixture in
            let peer = try await fixture.connect()
            await peer.write { $0.frame(.hello, body, compression: .zlib) }
            #expect(try await peer.finalNotice()?.code == .compressionNotAllowed)
        }
    }

    @Test("compression that was not negotiated closes as compressionNotAllowed", arguments: RelayBackend.allCases)
    func notAgreed(backend: RelayBackend) async throws {
        try await backend.run({ $0.link.features = [] }) { fixture in
            let peer = try await fixture.member()
            await peer.write { $0.frame(.data, [1, 2, 3], on: .first, compression: .zlib) }
            #expect(try await peer.finalNotice()?.code == .compressionNotAllowed)
        }
    }
}
