import MartletWire
import Testing

@testable import MartletTool

@Suite struct TokensFileTests {
    @Test func `accounts, tokens, comments`() throws {
        let credentials = try TokensFile.parse("# friends\nalice  s3cret\n\nbob\tother # the builder\n")
        #expect(credentials.count == 2)
        let alice = try #require(AccountName("alice"))
        #expect(credentials[alice] == Credential("s3cret"))
    }

    @Test(arguments: ["alice\n", "alice a b\n", "alice a\nalice b\n"])
    func `a line that is wrong is named`(text: String) {
        let error = #expect(throws: CommandError.self) { try TokensFile.parse(text) }
        #expect(error?.message.contains("line \(text.split(separator: "\n").count)") == true)
    }

    @Test func `a file that is not there`() {
        #expect(throws: CommandError.self) { try TokensFile.read("/nowhere/at/all") }
    }
}
