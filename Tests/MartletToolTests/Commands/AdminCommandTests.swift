import MartletToolSupport
import MartletWire
import Testing

@testable import MartletTool

/// The operands and the lines of `martlet admin`.
@Suite struct AdminCommandTests {
    @Test func `operands → the request`() throws {
        let (mute, query) = try AdminCommand.parse(["mute", "lobby", "bob", "60"])
        #expect(mute.method == .mute)
        #expect(query == AdministrationQuery(room: "lobby", account: "bob", duration: .seconds(60)))
        #expect(try AdminCommand.parse(["announce", "at ten"]).1 == AdministrationQuery(text: "at ten"))
        let one = try AdminCommand.parse(["announce", "at ten", "lobby"]).1
        #expect(one == AdministrationQuery(room: "lobby", text: "at ten"))
        let kick = try AdminCommand.parse(["kick", "bob"]).1
        #expect(kick == AdministrationQuery(account: "bob"))
        let erase = try AdminCommand.parse(["erase", "lobby", "bob"]).1
        #expect(erase == AdministrationQuery(room: "lobby", account: "bob"))
        #expect(try AdminCommand.parse(["links"]).1 == AdministrationQuery())
        #expect(Set(AdminCommand.actions.map(\.method)) == Set(AdministrationMethod.allCases))
    }

    @Test(arguments: [
        [], ["reboot"], ["links", "lobby"], ["room"], ["kick"], ["ban", "lobby"], ["mute", "lobby", "bob", "0"],
        ["revoke", "a\nb"], ["announce", "text", "lobby", "more"],
    ])
    func `other operands → a usage error`(_ operands: [String]) {
        #expect(throws: UsageError.self) { try AdminCommand.parse(operands) }
    }

    @Test
    func `the options of retention → its bounds; without one, with none and bounds, or elsewhere → a usage error`()
        throws
    {
        func query(_ words: [String]) throws -> AdministrationQuery {
            var parser = ArgumentParser(for: AdminCommand.spec)
            guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
            return try AdminCommand.request(arguments).1
        }
        let all = try query(["retention", "lobby", "--messages", "5", "--days", "2", "--bytes", "7"])
        #expect(all == AdministrationQuery(room: "lobby", maxAge: 172_800_000, maxCount: 5, maxByteCount: 7))
        #expect(try query(["retention", "lobby", "--none"]) == AdministrationQuery(room: "lobby"))
        for other in [
            ["retention", "lobby"], ["retention", "lobby", "--none", "--days", "1"], ["room", "lobby", "--none"],
            ["links", "--messages", "1"], ["retention", "lobby", "--days", "0"],
        ] {
            #expect(throws: UsageError.self) { try query(other) }
        }
    }

    @Test func `the fields of an item → a line of names and values, or a JSON object`() throws {
        let account = AccountOverview(account: "eve", linkCount: 2, sessionCount: 3).encode()
        #expect(
            try AdminCommand.line(of: account, isJSON: false) == #"account "eve"  linkCount 2  sessionCount 3"#)
        #expect(
            try AdminCommand.line(of: account, isJSON: true) == #"{"account":"eve","linkCount":2,"sessionCount":3}"#)
        #expect(throws: CommandError.self) { try AdminCommand.line(of: [0, 1, 2], isJSON: true) }
    }
}
