import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 15.
@Suite("Inflating stops at the limit")
struct InflateLimitTests {
    /// Zeros shrink a thousandfold, which is as much as the format can.
    private static func bomb(_ byteCount: Int) -> [UInt8] {
        let deflater = Deflater(level: 9)
        return deflater.compress([UInt8](repeating: 0, count: byteCount).rawBytes)!
    }

    private static func packed() -> [UInt8] {
        let deflater = Deflater()
        let text = Message.textContent(String(repeating: "so it goes ", count: 100))
        return deflater.compress(Message.encodeClient(counter: 1, kind: .text, content: text).rawBytes)!
    }

    @Test("inflating stops at the limit", arguments: Venue.allCases, [65 * 1024, 1 << 20, 32 << 20])
    func limit(venue: Venue, byteCount: Int) async throws {
        let body = Self.bomb(byteCount)
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.say { $0.frame(.data, body, on: .first, compression: .zlib) }
            #expect(try await peer.farewell()?.code == .inflateLimit)
            #expect(await stage.storedCount == 0)
        }
    }

    @Test("truncated, followed by other bytes, a wrong sum inside, no stream at all", arguments: Venue.allCases)
    func wrecks(venue: Venue) async throws {
        let packed = Self.packed()
        var wrongSum = packed
        wrongSum[packed.count - 1] ^= 1
        try await venue.play { stage in
            for body in [Array(packed.dropLast(5)), packed + [0], wrongSum, [], [1, 2, 3]] {
                let peer = try await stage.member()
                await peer.say { $0.frame(.data, body, on: .first, compression: .zlib) }
                #expect(try await peer.farewell()?.code == .inflateFailed)
                #expect(await stage.storedCount == 0)
            }
        }
    }

    @Test("what is packed rightly is taken, and goes on as it was", arguments: Venue.allCases)
    func right(venue: Venue) async throws {
        try await venue.play { stage in
            let reader = try await stage.member("bob", device: 2)
            let peer = try await stage.member()
            await peer.say { $0.frame(.data, Self.packed(), on: .first, compression: .zlib) }
            let message: Message = try await reader.expect()
            #expect(message.text == String(repeating: "so it goes ", count: 100))
        }
    }

    @Test("small frames that grow large use up credit as large ones", arguments: Venue.allCases)
    func credit(venue: Venue) async throws {
        let body = Self.bomb(60 * 1024)
        try await venue.play { stage in
            let peer = try await stage.member()
            // Fragments of one message that never ends: a million bytes under the name of a thousand.
            await peer.say { speaker in
                (0..<400).flatMap { _ in
                    speaker.frame(.data, body, on: .first, flags: .moreFragments, compression: .zlib)
                }
            }
            #expect(try await peer.farewell()?.code == .creditExceeded)
        }
    }
}
