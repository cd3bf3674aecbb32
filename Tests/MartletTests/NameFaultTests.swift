import Testing

@testable import Martlet

@Suite struct NameFaultTests {
    @Test(arguments: [
        ("", NameFault.empty), (" x", .blankAtBegin), ("x ", .blankAtEnd), ("a  b", .blanksSideBySide),
        (" ", .blankAtBegin),
        ("a\n", .refused("\n")), ("\u{1B}[31mx", .refused("\u{1B}")), ("a\u{202E}b", .refused("\u{202E}")),
        (String(repeating: "é", count: 65), .tooLong(byteCount: 130)),
    ])
    func `the rule that a text breaks`(text: String, fault: NameFault) {
        #expect(NameFault(text) == fault)
    }

    @Test(arguments: ["lobby", "two words", "日本", String(repeating: "x", count: 128)])
    func `a name breaks none`(text: String) {
        #expect(NameFault(text) == nil)
    }
}
