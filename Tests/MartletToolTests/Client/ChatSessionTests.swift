import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct ChatSessionTests {
    @Test func `the text of a line has no newline`() {
        #expect(ChatSession.text(of: .text("hi")) == "hi")
        #expect(ChatSession.text(of: .bytes(Array("\n".utf8))) == "")
        #expect(ChatSession.text(of: .bytes(Array("no end".utf8))) == "no end")
    }

    @Test func `bytes that are neither UTF-8 nor a line have no text`() {
        #expect(ChatSession.text(of: .bytes([0xFF, 0x0A])) == nil)
        #expect(ChatSession.text(of: nil) == nil)
    }
}
