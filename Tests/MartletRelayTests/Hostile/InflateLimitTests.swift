import MartletLink
import MartletWire
import Testing

/// Specs/hostile.md row 15.
@Suite("Inflating stops at the limit")
struct InflateLimitTests {
    /// Zeros deflate to a thousandth of their size, the maximum of the format.
    private static func bomb(_ byteCount: Int) -> [UInt8] {
        let deflater = Deflater(level: 9)
        return deflater.compress([UInt8](repeating: 0, count: byteCount).rawBytes)!
    }

    private static func packed() -> [UInt8] {
        let deflater = Deflater()
        let text = Message.textContent(String(repeating: "so it goes ", count: 100))
        return deflater.compress(Message.encodeClient(counter: 1, kind: .text, content: text).rawBytes)!
    }

    @Test(
        "inflation beyond the limit closes as inflateLimit", arguments: RelayBackend.allCases,
        [65 * 1024, 1 << 20, 32 << 20])
    func limit(backend: RelayBackend, byteCount: Int) async throws {
        let body = Self.bomb(byteCount)
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.write { $0.frame(.data, body, on: .first, compression: .zlib) }
            #expect(try await peer.finalNotice()?.code == .inflateLimit)
            #expect(await fixture.storedCount == 0)
        }
    }

    @Test("truncated, extended or corrupt stream closes as inflateFailed", arguments: RelayBackend.allCases)
    func wrecks(backend: RelayBackend) async throws {
        let packed = Self.packed()
        var wrongSum = packed
        wrongSum[packed.count - 1] ^= 1
        try await backend.run { fixture in
            for body in [Array(packed.dropLast(5)), packed + [0], wrongSum, [], [1, 2, 3]] {
                let peer = try await fixture.member()
                await peer.write { $0.frame(.data, body, on: .first, compression: .zlib) }
                #expect(try await peer.finalNotice()?.code == .inflateFailed)
                #expect(await fixture.storedCount == 0)
            }
        }
    }

    @Test("valid compressed message is delivered", arguments: RelayBackend.allCases)
    func right(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let reader = try await fixture.member("bob", device: 2)
            let peer = try await fixture.member()
            await peer.write { $0.frame(.data, Self.packed(), on: .first, compression: .zlib) }
            let message: Message = try await reader.expect()
            #expect(message.text == String(repeating: "so it goes ", count: 100))
        }
    }

    @Test("compressed fragments consume credit by their inflated size", arguments: RelayBackend.allCases)
    func credit(backend: RelayBackend) async throws {
        let body = Self.bomb(60 * 1024)
        try await backend.run { fixture in
            let peer = try await fixture.member()
            // Fragments of one message without an end.
            await peer.write { writer in
                (0..<400).flatMap { _ in
                    writer.frame(.data, body, on: .first, flags: .moreFragments, compression: .zlib)
                }
            }
            #expect(try await peer.finalNotice()?.code == .creditExceeded)
        }
    }
}
