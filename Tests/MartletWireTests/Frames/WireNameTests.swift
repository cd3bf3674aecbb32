import MartletWire
import Testing

@Suite("Names")
struct NameTests {
    @Test("are text without control characters", arguments: ["a", "Ada Lovelace", "房間", "🐦", "ê", "\u{A0}"])
    func valid(_ text: String) {
        #expect(AccountName(text)?.text == text)
        #expect(RoomName(text)?.description == text)
        #expect(MethodName(text)?.text == text)
    }

    // W-31
    @Test("are not empty and hold no control character", arguments: ["", "\0", "a\nb", "\u{7F}", "a\u{85}", "\u{9F}"])
    func invalid(_ text: String) {
        #expect(AccountName(text) == nil)
        #expect(RoomName(text) == nil)
        #expect(MethodName(text) == nil)
    }

    @Test("are bounded in bytes, not in characters")
    func bounds() {
        #expect(AccountName(String(repeating: "é", count: 64)) != nil)
        #expect(AccountName(String(repeating: "é", count: 64) + "a") == nil)
        #expect(RoomName(String(repeating: "a", count: 128)) != nil)
        #expect(RoomName(String(repeating: "a", count: 129)) == nil)
        #expect(MethodName(String(repeating: "a", count: 64)) != nil)
        #expect(MethodName(String(repeating: "a", count: 65)) == nil)
    }

    @Test("are judged alike as text and as a sender's bytes")
    func sender() {
        for value in 0...0x180 as ClosedRange<UInt32> {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = "a\(scalar)"
            var fields = [Field(.counter, 1 as UInt64), Field(.kind, 0x1002 as UInt16), Field(.content, [])]
            fields += [Field(.offset, 1 as UInt64), Field(.acceptedAt, 1 as UInt64), Field(.device, 1 as UInt64)]
            let message = try? Message(fields + [Field(.sender, Array(text.utf8))])
            #expect(message?.relay?.sender == AccountName(text))
            #expect((message == nil) == (AccountName(text) == nil))
        }
    }

    // W-31
    @Test("differ when their bytes do, even where they look the same")
    func identity() {
        let composed = AccountName("\u{E9}")
        let decomposed = AccountName("e\u{301}")
        #expect(composed?.text == decomposed?.text)
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, AccountName("\u{E9}")]).count == 2)
    }
}
