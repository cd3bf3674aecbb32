import MartletWire
import Testing

@Suite("Reset")
struct ResetTests {
    // S-1
    @Test("a reset of the control session is refused")
    func reset() {
        #expect(throws: WireError.invalidValue(.session)) {
            try Reset([Field(.session, 0 as UInt16), Field(.code, 1 as UInt16)])
        }
    }
}
