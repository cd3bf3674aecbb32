import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 7.
@Suite("A wrong checksum ends the connection")
struct BadChecksumTests {
    /// Checks of the header come before the checksum; a length that grew leaves the frame incomplete.
    private static let codes: Set<ErrorCode> = [
        .badMagic, .unsupportedVersion, .reservedBits, .frameTooLarge, .badChecksum, .compressionNotAllowed,
        .frameTimeout,
    ]

    @Test("any single flipped bit of a frame ends the connection, and the resumed link loses nothing")
    func everyBit() async throws {
        var speaker = Speaker()
        let bitCount = 8 * speaker.text("abc", counter: 1, on: .first).count
        for bit in 0..<bitCount {
            let hall = VirtualHall()
            let peer = hall.connect()
            let welcome = try await peer.hello()
            try await peer.open()
            await peer.say {
                var frame = $0.text("abc", counter: 1, on: .first)
                frame[bit / 8] ^= 1 << UInt8(bit % 8)
                return frame
            }
            let code = try await peer.farewell()?.code
            #expect(code.map(Self.codes.contains) == true, "bit \(bit): \(String(describing: code))")
            #expect(hall.engine.statistics.messagesStored == 0)

            let again = hall.connect()
            again.speaker = peer.speaker
            let resumed = try await again.hello(Speaker.hello(resume: welcome.resumePoint([.first: 1])))
            #expect(resumed.resumed?.contains(SessionPosition(session: .first, received: 1)) == true)
            await again.say { $0.repeating { $0.text("abc", counter: 1, on: .first) } }
            let accepted: Accepted = try await again.next()
            #expect(accepted.runs.first?.firstOffset == 1)
        }
    }

    @Test("a flipped bit of a body, on a real connection too", arguments: Venue.allCases)
    func body(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.say {
                var frame = $0.text("abc", counter: 1, on: .first)
                frame[frame.count - 1] ^= 0x20
                return frame
            }
            #expect(try await peer.farewell()?.code == .badChecksum)
            #expect(await stage.storedCount == 0)
        }
    }

    // W-10
    @Test("a frame without a checksum is refused", arguments: Venue.allCases)
    func missing(venue: Venue) async throws {
        try await venue.play { stage in
            let peer = try await stage.member()
            await peer.say {
                var frame = $0.text("abc", counter: 1, on: .first)
                frame[16] &= ~FrameFlags.checksummed.rawValue
                return frame
            }
            #expect(try await peer.farewell()?.code == .badChecksum)
        }
    }
}
