import MartletWire
import Testing

@Suite struct AccountNamesTests {
    private func name(_ text: String, among names: inout AccountNames) -> AccountName? {
        names.name(Array(text.utf8).rawBytes)
    }

    @Test func `a name equals its text regardless of the previous names`() {
        var names = AccountNames()
        let texts = (1...128).flatMap { count in ["a", "b", "é"].map { String(repeating: $0, count: count) } }
        for text in texts + texts.reversed() + ["", "a\nb", "a\u{85}", "a\u{200B}", "a "] + texts {
            #expect(name(text, among: &names) == AccountName(text))
        }
    }

    // W-31
    @Test func `invalid UTF-8 gives no name`() {
        var names = AccountNames()
        for bytes in [[0xFF], [0x61, 0xC3], []] as [[UInt8]] {
            #expect(names.name(bytes.rawBytes) == nil)
        }
    }

    @Test func `a repeated name shares its memory`() {
        var names = AccountNames()
        let text = String(repeating: "ada", count: 9)
        let first = name(text, among: &names)!
        let again = name(text, among: &names)!
        let places = [first, again].map { name in
            unsafe name.text.utf8.withContiguousStorageIfAvailable { UInt(bitPattern: $0.baseAddress) }
        }
        #expect(places[0] == places[1])
        // A different name in the same slot is not returned for it.
        let other = String(text.dropLast()) + "b"
        #expect(name(other, among: &names)?.text == other)
    }

    @Test func `messages receive cached names`() throws {
        var names = AccountNames()
        for _ in 0..<2 {
            let body = Message(counter: 1, content: MessageContent(text: "hi"), relay: stamp).encode()
            let view = try MessageView(parsing: body.rawBytes)
            let message = Message(view, &names)
            #expect(try message == Message(parsing: body.rawBytes))
            #expect(message.relay == stamp)
        }
    }
}
