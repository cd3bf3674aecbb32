import Testing

@testable import Martlet

@Suite struct PrintableTextTests {
    @Test(arguments: [
        ("a\n", #"a\u{000A}"#), ("\u{1B}[31mx", #"\u{001B}[31mx"#), ("a\u{202E}b\u{2066}", #"a\u{202E}b\u{2066}"#),
        ("a\u{2028}b\u{2029}", #"a\u{2028}b\u{2029}"#), ("\u{E000}\u{F0000}", #"\u{E000}\u{F0000}"#),
        ("\u{9B}\u{7F}\u{0}", #"\u{009B}\u{007F}\u{0000}"#), ("a\r\nb", #"a\u{000D}\u{000A}b"#),
    ])
    func `unprintable characters are replaced by their numbers`(text: String, line: String) {
        #expect(PrintableText.line(text) == line)
    }

    @Test(arguments: ["", "come back later", "é 日本 \"x\"", "e\u{301}", "🙂"])
    func `printable characters are unchanged`(text: String) {
        #expect(PrintableText.line(text) == text)
    }
}
