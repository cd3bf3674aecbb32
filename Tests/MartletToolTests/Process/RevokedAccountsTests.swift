import MartletLink
import MartletRelay
import MartletToolSupport
import MartletWire
import Testing

@testable import MartletTool

/// The file of revoked accounts of a relay.
@Suite struct RevokedAccountsTests {
    private func names(_ text: String) throws -> Set<String> {
        Set(try RevokedAccounts(parsing: Array(text.utf8), named: "file").names.map(\.text))
    }

    @Test func `accounts on lines, blanks, comments and an empty file -> the accounts`() throws {
        #expect(try names("alice\n\n  bob smith \t\r\n# carol\n  # dave\nalice") == ["alice", "bob smith"])
        #expect(try names("") == [])
    }

    @Test func `accounts between quotation marks -> the accounts with #, blanks and quotation marks`() throws {
        #expect(try names("\"#carol\"\n\"dave #1\" \n\"\"erin\"\"") == ["#carol", "dave #1", "\"erin\""])
        #expect(try names("\"\n\"\"") == ["\"", "\"\""])
    }

    @Test func `an invalid name or text -> an error with file and line`() {
        #expect(throws: CommandError(.noInput, "file:2: an invalid account name")) { try names("alice\na\u{1}b") }
        #expect(throws: CommandError(.noInput, "file:1: invalid UTF-8")) {
            try RevokedAccounts(parsing: [0xFF], named: "file")
        }
    }

    // C-28, C-69
    @Test func `a revoked account -> revoked at the end of an exchange, and not before`() async throws {
        struct Steps: AuthenticationExchange {
            var isChallenged = false

            mutating func step(_ message: [UInt8]) async throws -> AuthenticationStep {
                defer { isChallenged = true }
                return isChallenged ? .accepted(Identity(AccountName("alice")), final: nil) : .challenge([1])
            }
        }
        let revoked = try RevokedAccounts(parsing: Array("alice".utf8), named: "file")
        var refused = RevocableExchange(exchange: Steps()) { revoked }
        #expect(try await refused.step([]) == .challenge([1]))
        let failure = await #expect(throws: AuthenticationFailure.self) { try await refused.step([]) }
        #expect(failure?.notice.code == .revoked)
        var accepted = RevocableExchange(exchange: Steps()) { RevokedAccounts() }
        _ = try await accepted.step([])
        #expect(try await accepted.step([]) == .accepted(Identity(AccountName("alice")), final: nil))
    }
}
