import MartletWire
import Testing

@Suite("Receipts")
struct ReceiptTests {
    // W-65
    @Test("an unknown kind of receipt is refused", arguments: [0, 4, 255] as [UInt8])
    func receiptKind(_ kind: UInt8) {
        #expect(throws: WireError.invalidValue(.receiptKind)) {
            try Receipt([Field(.receiptKind, kind), Field(.upTo, 1 as UInt64)])
        }
    }

    @Test("a refusal with the counter 0 is refused")
    func refusal() throws {
        let fields = [Field(.receiptKind, 3 as UInt8), Field(.code, 0x0405 as UInt16)]
        let parsed = try Receipt(fields + [Field(.counter, 1 as UInt64)])
        #expect(parsed == .refused(.init(counter: 1, code: .refused)))
        #expect(throws: WireError.invalidValue(.counter)) { try Receipt(fields + [Field(.counter, 0 as UInt64)]) }
    }
}
