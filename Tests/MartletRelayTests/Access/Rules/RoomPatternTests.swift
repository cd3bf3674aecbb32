import MartletWire
import Testing

@testable import MartletRelay

@Suite struct RoomPatternTests {
    private func matches(_ pattern: String, _ room: String, _ account: String = "alice") -> Bool? {
        guard let room = RoomName(room), let account = AccountName(account) else { return nil }
        return RoomPattern(pattern)?.matches(room, for: account)
    }

    @Test(arguments: [
        ("lobby", "lobby", true), ("lobby", "lobby2", false), ("lobby", "Lobby", false), ("*", "anything", true),
        ("team-*", "team-", true), ("team-*", "team-red", true), ("team-*", "a-team-red", false),
        ("*-team", "red-team", true), ("*-team", "red-team-2", false), ("a*b*c", "abc", true),
        ("a*b*c", "a1b2b3c", true), ("a*b*c", "acb", false), ("ab*ba", "aba", false), ("ab*ba", "abba", true),
        ("**", "x", true),
    ])
    func `a pattern matches the whole name, with any text for each wildcard`(
        _ pattern: String, _ room: String, _ expected: Bool
    ) {
        #expect(matches(pattern, room) == expected)
    }

    @Test func `the placeholder matches the account that asks and no other`() {
        #expect(matches("dm/{account}/*", "dm/alice/bob") == true)
        #expect(matches("dm/{account}/*", "dm/bob/alice") == false)
        #expect(matches("{account}", "{account}") == false)
        #expect(matches("{account}{account}", "alicealice") == true)
    }

    @Test func `an account whose name looks like a wildcard matches its own name only`() {
        #expect(matches("dm/{account}", "dm/bob", "*") == false)
        #expect(matches("dm/{account}", "dm/*", "*") == true)
    }

    @Test func `names are compared byte by byte, not by canonical equivalence`() {
        #expect(matches("caf\u{E9}", "cafe\u{301}") != true)
    }

    @Test func `an empty pattern, a long one and one with nine wildcards are refused`() {
        #expect(RoomPattern("") == nil)
        #expect(RoomPattern(String(repeating: "x", count: RoomPattern.maxByteCount)) != nil)
        #expect(RoomPattern(String(repeating: "x", count: RoomPattern.maxByteCount + 1)) == nil)
        #expect(RoomPattern(String(repeating: "*", count: RoomPattern.maxWildcardCount)) != nil)
        #expect(RoomPattern(String(repeating: "*", count: RoomPattern.maxWildcardCount + 1)) == nil)
    }
}
