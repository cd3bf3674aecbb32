import MartletLink
import MartletWire
import Testing

/// Specs/hostile.md row 9.
@Suite("Reserved flag bits end the connection")
struct ReservedBitsTests {
    @Test(
        "reserved bits close the connection as reservedBits before and after the handshake",
        arguments: RelayBackend.allCases, [0x40, 0x80, 0xC0] as [UInt8])
    func bits(backend: RelayBackend, bits: UInt8) async throws {
        try await backend.run { fixture in
            let early = try await fixture.connect()
            await early.send(FrameWriter.bytes(.hello, FrameWriter.hello().encode(), flags: FrameFlags(rawValue: bits)))
            #expect(try await early.finalNotice()?.code == .reservedBits)

            let late = try await fixture.member()
            await late.write { $0.text("no", counter: 1, on: .first, flags: FrameFlags(rawValue: bits)) }
            #expect(try await late.finalNotice()?.code == .reservedBits)
            #expect(await fixture.storedCount == 0)
        }
    }
}
