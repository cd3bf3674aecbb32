import MartletLink
import MartletRelay
import MartletWire
import Testing

/// Specs/hostile.md row 7.
@Suite("A wrong checksum ends the connection")
struct BadChecksumTests {
    /// Header checks precede the checksum. An increased length leaves the frame incomplete.
    private static let codes: Set<ErrorCode> = [
        .badMagic, .unsupportedVersion, .reservedBits, .frameTooLarge, .badChecksum, .compressionNotAllowed,
        .frameTimeout,
    ]

    @Test("any flipped bit of a frame closes the connection, and the resumed link loses nothing")
    func everyBit() async throws {
        var writer = FrameWriter()
        let bitCount = 8 * writer.text("abc", counter: 1, on: .first).count
        for bit in 0..<bitCount {
            let fixture = EngineFixture()
            let peer = fixture.connect()
            let welcome = try await peer.hello()
            try await peer.open()
            await peer.write {
                var frame = $0.text("abc", counter: 1, on: .first)
                frame[bit / 8] ^= 1 << UInt8(bit % 8)
                return frame
            }
            let code = try await peer.finalNotice()?.code
            #expect(code.map(Self.codes.contains) == true, "bit \(bit): \(String(describing: code))")
            #expect(fixture.engine.statistics.messagesStored == 0)

            let again = fixture.connect()
            again.writer = peer.writer
            let resumed = try await again.hello(FrameWriter.hello(resume: welcome.resumePoint([.first: 1])))
            #expect(resumed.resumed?.contains(SessionPosition(session: .first, received: 1)) == true)
            await again.write { $0.repeating { $0.text("abc", counter: 1, on: .first) } }
            let accepted: Accepted = try await again.next()
            #expect(accepted.runs.first?.firstOffset == 1)
        }
    }

    @Test("flipped bit of a body closes as badChecksum", arguments: RelayBackend.allCases)
    func body(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.write {
                var frame = $0.text("abc", counter: 1, on: .first)
                frame[frame.count - 1] ^= 0x20
                return frame
            }
            #expect(try await peer.finalNotice()?.code == .badChecksum)
            #expect(await fixture.storedCount == 0)
        }
    }

    // W-10
    @Test("frame without a checksum closes as badChecksum", arguments: RelayBackend.allCases)
    func missing(backend: RelayBackend) async throws {
        try await backend.run { fixture in
            let peer = try await fixture.member()
            await peer.write {
                var frame = $0.text("abc", counter: 1, on: .first)
                frame[16] &= ~FrameFlags.checksummed.rawValue
                return frame
            }
            #expect(try await peer.finalNotice()?.code == .badChecksum)
        }
    }
}
