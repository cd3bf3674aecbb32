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
        #expect(try AdminCommand.parse(["links"]).1 == AdministrationQuery())
        #expect(Set(AdminCommand.actions.map(\.method)) == Set(AdministrationMethod.allCases))
    }

    @Test(arguments: [
        [], ["reboot"], ["links", "lobby"], ["room"], ["kick", "lobby"], ["mute", "lobby", "bob", "0"],
        ["revoke", "a\nb"], ["announce", "text", "lobby", "more"],
    ])
    func `other operands → a usage error`(_ operands: [String]) {
        #expect(throws: UsageError.self) { try AdminCommand.parse(operands) }
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
