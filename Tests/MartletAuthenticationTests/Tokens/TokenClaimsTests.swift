import Testing

@testable import MartletAuthentication

@Suite struct TokenClaimsTests {
    private func claims(_ payload: String) throws -> TokenClaims {
        let value = try JSONReader.read(Array(payload.utf8), maxByteCount: 100_000)
        return try TokenClaims(payload: try #require(value.members), subject: "alice", expiresAt: 5)
    }

    private func array(_ text: String, count: Int) -> String {
        "[" + Array(repeating: "\"\(text)\"", count: count).joined(separator: ",") + "]"
    }

    @Test func `roles are read in their order`() throws {
        #expect(try claims(#"{"roles":["admin","é"]}"#).roles == ["admin", "é"])
        #expect(try claims(#"{"roles":[]}"#).roles == [])
        #expect(try claims("{}").roles == [])
    }

    @Test(arguments: [#""admin""#, "null", "[1]", #"["a",null]"#, #"[""]"#, #"{"a":"b"}"#])
    func `roles of another form are refused`(_ roles: String) {
        #expect(throws: TokenError.invalidClaim("roles")) { try claims("{\"roles\":\(roles)}") }
    }

    @Test func `64 roles of 128 bytes are taken, and more or longer ones are refused`() throws {
        let role = String(repeating: "r", count: 128)
        #expect(try claims("{\"roles\":\(array(role, count: 64))}").roles.count == 64)
        #expect(throws: TokenError.invalidClaim("roles")) { try claims("{\"roles\":\(array("r", count: 65))}") }
        #expect(throws: TokenError.invalidClaim("roles")) { try claims("{\"roles\":\(array(role + "r", count: 1))}") }
    }

    @Test func `only claims that are strings have a text`() throws {
        let claims = try claims(
            #"{"team":"blue","\u00e9":"1","e\u0301":"2","level":3,"a":["b"],"c":{"d":"e"},"n":null}"#)
        #expect(claims.text(of: "team") == "blue")
        #expect(claims.text(of: "\u{E9}") == "1")
        #expect(claims.text(of: "e\u{301}") == "2")
        for name in ["level", "a", "c", "d", "n", "Team", ""] { #expect(claims.text(of: name) == nil) }
    }

    @Test func `64 text claims are taken and 65 are refused`() throws {
        func payload(_ count: Int) -> String {
            "{" + (0..<count).map { "\"c\($0)\":\"\"" }.joined(separator: ",") + ",\"n\":1}"
        }
        #expect(try claims(payload(64)).text(of: "c63")?.isEmpty == true)
        #expect(throws: TokenError.tooManyClaims) { try claims(payload(65)) }
    }
}
