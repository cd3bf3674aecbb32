import MartletProtocol
import MartletWire
import Testing

/// Specs/hostile.md row 9.
@Suite("Reserved flag bits end the connection")
struct ReservedBitsTests {
    @Test("either bit, before and after the handshake", arguments: Venue.allCases, [0x40, 0x80, 0xC0] as [UInt8])
    func bits(venue: Venue, bits: UInt8) async throws {
        try await venue.play { stage in
            let early = try await stage.connect()
            await early.send(Speaker.bytes(.hello, Speaker.hello().encode(), flags: FrameFlags(rawValue: bits)))
            #expect(try await early.farewell()?.code == .reservedBits)

            let late = try await stage.member()
            await late.say { $0.text("no", counter: 1, on: .first, flags: FrameFlags(rawValue: bits)) }
            #expect(try await late.farewell()?.code == .reservedBits)
            #expect(await stage.storedCount == 0)
        }
    }
}
