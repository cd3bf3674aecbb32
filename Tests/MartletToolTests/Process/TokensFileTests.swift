import MartletWire
import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite struct TokensFileTests {
    private func tokens(_ text: String) throws -> [String: String] {
        let credentials = try TokensFile.parse(Array(text.utf8), named: "friends")
        return Dictionary(
            uniqueKeysWithValues: credentials.map { ($0.key.text, String(decoding: $0.value.bytes, as: UTF8.self)) })
    }

    @Test func `accounts and tokens are parsed, comments are skipped`() throws {
        #expect(
            try tokens("# friends\nalice  s3cret\n\nbob\tother # the builder\n  # end")
                == ["alice": "s3cret", "bob": "other"])
    }

    @Test func `a number sign with a combining mark begins a comment`() throws {
        #expect(try tokens("#\u{20E3} friends\nada sesame #\u{20E3} the first\n") == ["ada": "sesame"])
        #expect(throws: CommandError(.noInput, "friends:1: a token cannot begin with #")) {
            try tokens("ada #\u{20E3}sesame\n")
        }
    }

    @Test func `a number sign within a token belongs to it`() throws {
        #expect(try tokens("ada a#very-long-secret\nbob b#\n") == ["ada": "a#very-long-secret", "bob": "b#"])
    }

    @Test(arguments: [
        "ada sesame\r\nbob pass\r\n", "# who\r\nada sesame\r\n\r\nbob pass\r\n", "ada sesame\nbob pass\r\n",
        "ada sesame\r\n# bob has left\r\nbob pass", "\u{FEFF}ada sesame\nbob pass\n",
    ])
    func `lines end with LF or CR LF, and a byte order mark is ignored`(text: String) throws {
        #expect(try tokens(text) == ["ada": "sesame", "bob": "pass"])
    }

    @Test(arguments: [
        ("alice\n", 1, "an account without a token"), ("alice s\n\nbob a b\n", 3, "text after the token"),
        ("alice a\nalice b\n", 2, "the account alice is repeated"),
        ("alice #secret\n", 1, "a token cannot begin with #"),
        ("alice # no token yet\n", 1, "a token cannot begin with #"), ("alice a\rbob b\n", 1, "a control character"),
        ("alice a\nbob b\r", 2, "a control character"),
    ])
    func `an invalid line → an error with file and line`(text: String, line: Int, message: String) {
        #expect(throws: CommandError(.noInput, "friends:\(line): \(message)")) { try tokens(text) }
    }

    @Test func `bytes that are not UTF-8 → an error with file and line`() {
        let bytes = Array("ada sesame\n# caf".utf8) + [0xE9, 0x0A]
        #expect(throws: CommandError(.noInput, "friends:2: invalid UTF-8")) {
            try TokensFile.parse(bytes, named: "friends")
        }
    }

    @Test func `a file without an account → an error`() {
        #expect(throws: CommandError(.noInput, "friends: the file contains no account")) { try tokens("# later\n\n") }
    }

    @Test func `a missing file → an error`() {
        #expect(throws: CommandError.self) { try TokensFile.read("/nowhere/at/all") }
    }
}
