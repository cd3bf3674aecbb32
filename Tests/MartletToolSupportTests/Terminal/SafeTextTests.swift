import Testing

@testable import MartletToolSupport

@Suite struct SafeTextTests {
    @Test func `control characters are shown as text`() {
        #expect(SafeText.line("a\u{1B}[2Jb\u{9B}31mc\u{7}") == "a\u{FFFD}[2Jb\u{FFFD}31mc\u{FFFD}")
        #expect(SafeText.line("x\u{202E}y\u{2066}z") == "x\u{FFFD}y\u{FFFD}z")
        #expect(SafeText.line("a\tb") == "a    b")
        #expect(SafeText.line("é 日本 👩‍👩‍👧") == "é 日本 👩‍👩‍👧")
    }

    @Test func `newlines are shown, or separate the lines`() {
        #expect(SafeText.line("a\nb\r\nc\rd") == "a\u{23CE}b\u{23CE}c\u{23CE}d")
        #expect(SafeText.lines("a\nb\r\n\nc") == ["a", "b", "", "c"])
        #expect(SafeText.lines("") == [""])
    }
}
