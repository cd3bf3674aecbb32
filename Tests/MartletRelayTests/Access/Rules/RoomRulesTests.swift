import MartletLink
import MartletWire
import Testing

@testable import MartletRelay

@Suite struct RoomRulesTests {
    private static let rules = """
        # staff first
        allow all in staff/* to role staff

        allow all in inbox/{account} to everyone
        allow history,request in news to everyone
        allow publish,history in team-* to claim tenant=acme
        allow none in lobby to account guest
        deny in * to account guest
        allow all in open to everyone
        """

    private func decision(
        _ room: String, _ account: String = "alice", _ claims: Claims = Claims(), rules: String = rules
    ) throws -> RoomDecision {
        let identity = Identity(try #require(AccountName(account)), claims: claims)
        let request = RoomAuthorizationRequest(
            identity: identity, device: DeviceID(rawValue: 1), room: try #require(RoomName(room)))
        return try RoomRules(parsing: Array(rules.utf8)).immediateDecision(on: request)
    }

    @Test func `a role grants its rooms to its accounts only`() throws {
        #expect(try decision("staff/plans", "alice", Claims(roles: ["user", "staff"])) == .granted(.all))
        #expect(try decision("staff/plans", "alice", Claims(roles: ["Staff"])) == .refused)
        #expect(try decision("staff/plans") == .refused)
    }

    @Test func `a claim grants its rooms where its value is equal`() throws {
        let member = Claims(values: ["tenant": "acme"])
        #expect(try decision("team-red", "alice", member) == .granted([.publish, .readHistory]))
        #expect(try decision("team-red", "alice", Claims(values: ["tenant": "acme2"])) == .refused)
        #expect(try decision("team-red", "alice", Claims(values: ["Tenant": "acme"])) == .refused)
    }

    @Test func `a role and a claim that only look like those of a line are others`() throws {
        let rules = "allow all in x to role caf\u{E9}\nallow all in x to claim team=caf\u{E9}"
        #expect(try decision("x", "alice", Claims(roles: ["caf\u{E9}"]), rules: rules) == .granted(.all))
        #expect(try decision("x", "alice", Claims(values: ["team": "caf\u{E9}"]), rules: rules) == .granted(.all))
        let similar = Claims(roles: ["cafe\u{301}"], values: ["team": "cafe\u{301}"])
        #expect(try decision("x", "alice", similar, rules: rules) == .refused)
        let named = "allow all in x to claim caf\u{E9}=1"
        #expect(try decision("x", "alice", Claims(values: ["caf\u{E9}": "1"]), rules: named) == .granted(.all))
        #expect(try decision("x", "alice", Claims(values: ["cafe\u{301}": "1"]), rules: named) == .refused)
    }

    @Test func `the account's own room is granted and that of another account is refused`() throws {
        #expect(try decision("inbox/alice") == .granted(.all))
        #expect(try decision("inbox/bob") == .refused)
    }

    @Test func `permissions are those of the line, and none permits entering only`() throws {
        #expect(try decision("news") == .granted([.readHistory, .request]))
        #expect(try decision("lobby", "guest") == .granted([]))
    }

    @Test func `the first line that matches decides`() throws {
        #expect(try decision("open", "guest") == .refused)
        #expect(try decision("open", "alice") == .granted(.all))
        #expect(try decision("news", "guest") == .granted([.readHistory, .request]))
    }

    @Test func `a room without a rule is refused, and an empty text refuses every room`() throws {
        #expect(try decision("elsewhere") == .refused)
        #expect(try decision("lobby", rules: "# nothing\n\n") == .refused)
    }

    @Test(
        arguments: [
            ("allow all in x", .invalidAccounts), ("allow all in x to", .invalidAccounts),
            ("allow all in x to nobody", .invalidAccounts), ("allow all in x to role", .invalidAccounts),
            ("allow all in x to role a b", .invalidAccounts), ("allow all in x to claim a", .invalidAccounts),
            ("allow all in x to claim =a", .invalidAccounts), ("allow all in x to everyone else", .invalidAccounts),
            ("allow all in x everyone", .invalidPattern), ("allow all in my room to everyone", .invalidPattern),
            ("deny in \"my room to everyone", .invalidQuotes), ("deny in \"a\\b\" to everyone", .invalidQuotes),
            ("allow all to everyone", .invalidPattern), ("allow all in", .invalidPattern), ("deny", .invalidPattern),
            ("allow", .unknownPermission("")), ("allow write in x to everyone", .unknownPermission("write")),
            ("allow all,publish in x to everyone", .unknownPermission("all")),
            ("allow publish, in x to everyone", .unknownPermission("")),
            (
                "permit all in x to everyone",
                .unknownVerb("permit")
            ), ("DENY in * to everyone", .unknownVerb("DENY")),
        ] as [(String, RoomRulesError.Fault)])
    func `an invalid line is refused with its number`(_ line: String, _ fault: RoomRulesError.Fault) throws {
        #expect(throws: RoomRulesError(line: 3, fault: fault)) {
            try RoomRules(parsing: Array("# first\ndeny in a to everyone\n\(line)\n".utf8))
        }
    }

    @Test func `a text of the maximum length is taken`() throws {
        let comment = [UInt8](repeating: UInt8(ascii: "#"), count: RoomRules.maxByteCount)
        _ = try RoomRules(parsing: comment)
    }

    @Test func `a line that is not UTF-8, and a text that is too long, are refused`() {
        #expect(throws: RoomRulesError(line: 1, fault: .invalidUTF8)) {
            try RoomRules(parsing: Array("deny in ".utf8) + [0xFF] + Array(" to everyone".utf8))
        }
        #expect(throws: RoomRulesError(line: 1, fault: .tooLarge)) {
            try RoomRules(parsing: [UInt8](repeating: 0x20, count: RoomRules.maxByteCount + 1))
        }
        let rule = Array("deny in x to everyone\n".utf8)
        let many = Array([[UInt8]](repeating: rule, count: RoomRules.maxRuleCount + 1).joined())
        #expect(throws: RoomRulesError(line: RoomRules.maxRuleCount + 1, fault: .tooManyRules)) {
            try RoomRules(parsing: many)
        }
    }

    @Test func `names in double quotes -> those with blanks, quotes and backslashes`() throws {
        let rules = #"""
              # a comment
            deny in "my room" to account "ada lovelace"
            deny in lobby to account "bob"
            deny in "\"" to role "night \\ shift"
            allow all in * to claim tenant="acme inc"
            """#
        let acme = Claims(values: ["tenant": "acme inc"])
        #expect(try decision("my room", "ada lovelace", acme, rules: rules) == .refused)
        #expect(try decision("my room", "ada", acme, rules: rules) == .granted(.all))
        #expect(try decision("lobby", "bob", acme, rules: rules) == .refused)
        let shift = Claims(roles: [#"night \ shift"#], values: ["tenant": "acme inc"])
        #expect(try decision("\"", "alice", shift, rules: rules) == .refused)
        #expect(try decision("\"", "alice", acme, rules: rules) == .granted(.all))
    }

    // R-176
    @Test(arguments: ["*", "martlet.*", "{account}", "martlet.{account}"])
    func `a pattern for several rooms -> every account is refused in martlet.administration`(_ pattern: String)
        throws
    {
        let rules = "allow administer in \(pattern) to everyone"
        for account in ["martlet.administration", "administration"] {
            #expect(try decision("martlet.administration", account, rules: rules) == .refused)
        }
        let named = "allow administer in martlet.administration to everyone"
        #expect(try decision("martlet.administration", "root", rules: named) == .granted(.administer))
    }

    @Test func `lines may end with CR LF and have tabs`() throws {
        #expect(try decision("x", rules: "allow\tall in x\tto everyone\r\n") == .granted(.all))
    }
}
