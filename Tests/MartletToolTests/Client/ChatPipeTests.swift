import MartletToolSupport
import MartletWire
import Testing

@testable import MartletTool

@Suite struct ChatPipeTests {
    @Test(arguments: [
        ("hello\n", "hello"), ("//shrug\n", "/shrug"), ("///x\n", "//x"), (" /who\n", " /who"), ("   \n", "   "),
        (" two \n", " two "), ("no end", "no end"), ("carriage\r\n", "carriage"), ("a/b\n", "a/b"),
    ])
    func `a line is sent as text without its newline`(line: String, text: String) {
        #expect(ChatPipe().line(of: Array(line.utf8)) == .send(.text(text)))
    }

    @Test(arguments: ["/ban bob\n", "/who\n", "/quit", "/bna bob\n", "/\n", "/usr/bin\n", "/\u{FF}\n"])
    func `a line that begins with a slash is refused, and sent unchanged if it is literal`(line: String) {
        #expect(ChatPipe().line(of: Array(line.utf8)) == .refuse)
        let text = line.last == "\n" ? String(line.dropLast()) : line
        #expect(ChatPipe(isLiteral: true).line(of: Array(line.utf8)) == .send(.text(text)))
    }

    @Test func `a newline in a text is escaped in the printed line`() {
        let line = ChatPipe.line(sender: "mallory", text: "hi\nada: I owe mallory 100")
        #expect(line == #"mallory: hi\nada: I owe mallory 100"#)
    }

    @Test func `a colon in a name is escaped`() {
        #expect(ChatPipe.line(sender: "ada: I owe you 100", text: "hi") == #"ada\: I owe you 100: hi"#)
    }

    @Test(arguments: [Array("\n".utf8), Array("\r\n".utf8), [0xFF, 0x0A]])
    func `a line without text is sent as bytes`(line: [UInt8]) {
        #expect(ChatPipe.content(ofLine: line) == .bytes(line))
    }
}
