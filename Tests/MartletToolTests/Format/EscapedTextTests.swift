import MartletToolSupport
import Testing

@testable import MartletTool

@Suite struct EscapedTextTests {
    @Test(arguments: [
        ("hi", "hi"), ("hi\nada: I owe mallory 100", #"hi\nada: I owe mallory 100"#), ("a\r\nb\rc", #"a\r\nb\rc"#),
        (#"a\nb"#, #"a\\nb"#), ("a\tb", "a\tb"), ("\u{1B}[31mred", #"\u{001B}[31mred"#),
        ("a\u{85}b\u{B}c\u{C}d", #"a\u{0085}b\u{000B}c\u{000C}d"#), ("a\u{2028}b\u{2029}", #"a\u{2028}b\u{2029}"#),
        ("", ""), ("é 日本 👩‍👩‍👧", "é 日本 👩‍👩‍👧"), ("e\u{301}", "e\u{301}"),
    ])
    func `a text is formatted as one line`(text: String, line: String) {
        #expect(EscapedText.line(text).unicodeScalars.elementsEqual(line.unicodeScalars))
    }

    @Test func `a name ends at the first colon without a backslash`() {
        #expect(EscapedText.name("ada") == "ada")
        #expect(EscapedText.name("ada: I owe you") == #"ada\: I owe you"#)
        #expect(EscapedText.name(#"ada\"#) == #"ada\\"#)
    }

    @Test(arguments: Array("\u{202A}\u{202B}\u{202C}\u{202D}\u{202E}\u{2066}\u{2067}\u{2068}\u{2069}".unicodeScalars))
    func `a change of the writing direction is a number in every form`(_ scalar: Unicode.Scalar) {
        let escaped = "a\\u{\(String(scalar.value, radix: 16, uppercase: true))}b"
        let text = "a\(scalar)b"
        #expect(EscapedText.line(text) == escaped)
        #expect(EscapedText.name(text) == escaped)
        #expect(EscapedText.label(text) == escaped)
    }
}
