import MartletWire
import Testing

@Suite("Gaps")
struct GapTests {
    // W-66
    @Test("a gap that does not ascend from 1 is refused")
    func gap() throws {
        func parse(_ first: UInt64, _ upTo: UInt64) throws -> Gap {
            try Gap([Field(.first, first), Field(.upTo, upTo)])
        }
        #expect(try parse(1, 1) == Gap(offsets: 1...1))
        #expect(try parse(1, .max) == Gap(offsets: 1...(.max)))
        #expect(throws: WireError.invalidValue(.first)) { try parse(0, 1) }
        #expect(throws: WireError.invalidValue(.upTo)) { try parse(1, 0) }
        #expect(throws: WireError.invalidValue(.upTo)) { try parse(3, 2) }
    }
}
