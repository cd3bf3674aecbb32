import Testing

@testable import MartletWire

//
@Suite("The digest of a client's message")
struct ClientMessageTests {
    private func digest(_ body: [UInt8]) throws -> UInt16 {
        guard let message = ClientMessage(try MessageView(parsing: body.rawBytes)) else {
            Issue.record("the fields of a relay")
            return 0
        }
        return message.digest
    }

    private func client(_ text: String, counter: UInt64 = 3, timeToLive: Duration? = nil) -> [UInt8] {
        Message.encodeClient(
            counter: counter, kind: .text, content: Message.textContent(text), timeToLive: timeToLive)
    }

    @Test("a text -> the lower 16 bits of the CRC-32 of kind and content")
    func value() throws {
        #expect(try digest(client("hello")) == 0xBEE0)
        #expect(try digest(client("hellp")) == 0xB315)
    }

    @Test("another counter, a time to live, or a compact form -> the same digest")
    func forms() throws {
        let expected = try digest(client("hello"))
        #expect(try digest(client("hello", counter: 9)) == expected)
        #expect(try digest(client("hello", timeToLive: .seconds(3))) == expected)
        let text = Array("hello".utf8)
        let digest = ClientMessage(TextMessage(counter: 3, text: text.rawBytes))?.digest
        #expect(digest == expected)
    }

    @Test("the same content with another kind -> another digest")
    func kinds() throws {
        let content = Message.textContent("hello")
        let other = Message.encodeClient(counter: 3, kind: ContentKind(rawValue: 0xF000), content: content)
        #expect(try digest(other) != digest(client("hello")))
    }
}
