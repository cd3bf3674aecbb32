import Foundation
import Testing

@testable import MartletToolSupport

@Suite struct JSONLineTests {
    @Test func `members keep their order`() {
        let line = JSONLine.object([
            .init("b", .count(2)), .init("a", .array([.null, .bool(true), .decimal(1.5)])), .init("c", .object([])),
        ])
        #expect(line.text == #"{"b":2,"a":[null,true,1.500],"c":{}}"#)
        #expect(line["b"] == .integer(2))
        #expect(line["x"] == nil)
    }

    @Test(arguments: [
        "plain", "with \"quotes\" and \\", "two\nlines\r\n", "tab\t bell\u{7} escape\u{1B}[0m", "é, 日本, 🐦",
        "\u{2028}\u{85}", "",
    ])
    func `any text is encoded in one line and parsed back`(text: String) throws {
        let line = JSONLine.array([.string(text)]).text
        #expect(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{2028}" && $0 != "\u{85}" })
        #expect(try JSONDecoder().decode([String].self, from: Data(line.utf8)) == [text])
    }

    @Test func `characters that are invisible or change the writing direction are escaped`() throws {
        for scalar in ["\u{61C}", "\u{200B}", "\u{200F}", "\u{202E}", "\u{2066}", "\u{2069}", "\u{FEFF}"] {
            let line = JSONLine.string("a\(scalar)b").text
            #expect(line.unicodeScalars.allSatisfy { $0.isASCII })
            #expect(try JSONDecoder().decode([String].self, from: Data("[\(line)]".utf8)) == ["a\(scalar)b"])
        }
    }

    @Test func `infinity and NaN are encoded as null`() {
        #expect(JSONLine.decimal(.infinity).text == "null")
        #expect(JSONLine.milliseconds(nil).text == "null")
        #expect(JSONLine.milliseconds(.microseconds(1234)).text == "1.234")
        #expect(JSONLine.count(UInt64.max).text == "18446744073709551615")
    }
}
