import Testing

@testable import Martlet

@Suite struct NameFaultTests {
    @Test(arguments: [
        ("", NameFault.empty), (" x", .leadingSpace), ("x ", .trailingSpace), ("a  b", .adjacentSpaces),
        (" ", .leadingSpace),
        ("a\n", .excluded("\n")), ("\u{1B}[31mx", .excluded("\u{1B}")), ("a\u{202E}b", .excluded("\u{202E}")),
        (String(repeating: "é", count: 65), .tooLong(byteCount: 130, limit: 128)),
        (String(repeating: "x", count: 65), .tooLong(byteCount: 65, limit: 64)),
    ])
    func `an invalid name is reported with the rule that it violates`(text: String, fault: NameFault) {
        #expect(NameFault(text) == fault)
    }

    @Test(arguments: ["lobby", "two words", "日本", String(repeating: "x", count: 64)])
    func `a valid name has no fault`(text: String) {
        #expect(NameFault(text) == nil)
    }
}
