import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct ChatSessionTests {
    @Test func `a line has a text without its end`() {
        #expect(ChatSession.text(of: .text("hi")) == "hi")
        #expect(ChatSession.text(of: .bytes(Array("\n".utf8))) == "")
        #expect(ChatSession.text(of: .bytes(Array("no end".utf8))) == "no end")
    }

    @Test func `what is no UTF-8 and no line has none`() {
        #expect(ChatSession.text(of: .bytes([0xFF, 0x0A])) == nil)
        #expect(ChatSession.text(of: nil) == nil)
    }
}
