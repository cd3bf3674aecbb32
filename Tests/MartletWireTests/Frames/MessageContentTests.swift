import MartletWire
import Testing

@Suite struct MessageContentTests {
    static let texts = ["a", "fifteen of them", "sixteen of these", "The bird that never lands.", "燕子 mårtlet 🐦"]

    @Test(arguments: texts) func `a text is stored as a string and encoded as one TLV`(text: String) throws {
        let content = MessageContent(text: text)
        let bytes = bytes(of: [Field(.text, Array(text.utf8))])
        #expect(content.bytes == bytes)
        #expect(content.byteCount == bytes.count)
        #expect(content.kind == .text)
        #expect(content.text == text)
        #expect(try MessageContent(kind: .text, bytes: bytes) == content)
        #expect(Message(counter: 1, content: content) == Message(counter: 1, kind: .text, content: bytes))
    }

    @Test func `a text with another TLV keeps its bytes`() throws {
        let fields = [Field(.unknown, [1]), Field(.text, Array("hi".utf8))]
        for fields in [fields, fields.reversed()] {
            let bytes = bytes(of: fields)
            let content = try MessageContent(kind: .text, bytes: bytes)
            #expect(content.bytes == bytes)
            #expect(content.byteCount == bytes.count)
            #expect(content.text == "hi")
            #expect(content != MessageContent(text: "hi"))
            let message = Message(counter: 1, content: content)
            #expect(try Message(parsing: message.encode().rawBytes) == message)
        }
    }

    @Test func `a text TLV under another kind is not a text`() throws {
        let bytes = bytes(of: [Field(.text, Array("hi".utf8))])
        let content = try MessageContent(kind: .image, bytes: bytes)
        #expect(content.bytes == bytes)
        #expect(content.kind == .image)
        #expect(content.text == nil)
        #expect(content != MessageContent(text: "hi"))
        #expect(try MessageContent(kind: .image, bytes: []).bytes == [])
    }

    // W-63
    @Test func `contents that violate the rules are refused`() {
        #expect(throws: WireError.missingField(.text)) { try MessageContent(kind: .text, bytes: []) }
        #expect(throws: WireError.invalidValue(.text)) {
            try MessageContent(kind: .text, bytes: bytes(of: [Field(.text, [0xFF])]))
        }
        #expect(throws: WireError.malformedTLV(offset: 0)) { try MessageContent(kind: .image, bytes: [1]) }
    }

    @Test func `texts with different bytes are unequal even if they look alike`() {
        #expect("\u{E9}" == "e\u{301}")
        #expect(MessageContent(text: "\u{E9}") != MessageContent(text: "e\u{301}"))
        #expect(MessageContent(text: "\u{E9}") == MessageContent(text: "\u{E9}"))
    }

    @Test func `an empty text traps`() async {
        await #expect(processExitsWith: .failure) { _ = MessageContent(text: "") }
    }
}
