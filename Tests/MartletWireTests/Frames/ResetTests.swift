import MartletWire
import Testing

@Suite("Reset")
struct ResetTests {
    // S-1
    @Test("Reset does not end the control session")
    func reset() {
        #expect(throws: WireError.invalidValue(.session)) {
            try Reset([Field(.session, 0 as UInt16), Field(.code, 1 as UInt16)])
        }
    }
}
