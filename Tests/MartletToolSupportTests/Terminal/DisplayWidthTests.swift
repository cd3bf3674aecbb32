import Testing

@testable import MartletToolSupport

@Suite struct DisplayWidthTests {
    @Test(arguments: [
        ("abc", 3), ("", 0), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("한글", 4), ("🐦", 2), ("👩‍👩‍👧", 2), ("❤️", 2), ("✓✓", 2),
        ("\u{200B}", 0),
        ("a\u{7}b", 2), ("Ａ", 2),
    ])
    func `a text → its columns`(text: String, columns: Int) {
        #expect(DisplayWidth.of(text) == columns)
    }

    @Test func `a prefix contains only whole characters`() {
        #expect(DisplayWidth.prefix(of: "日本", columns: 3) == "日")
        #expect(DisplayWidth.prefix(of: "ab", columns: 5) == "ab")
        #expect(DisplayWidth.prefix(of: "ab", columns: 0) == "")
    }
}
