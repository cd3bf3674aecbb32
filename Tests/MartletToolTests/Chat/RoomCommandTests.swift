import MartletWire
import Testing

@testable import MartletTool

@Suite struct RoomCommandTests {
    private static let bob = AccountName("bob")
    private static let blank = AccountName("bob b")

    @Test(
        arguments: [
            ("/kick bob", .kick(bob)), ("/ban bob b", .ban(blank)), ("/unban bob", .unban(bob)),
            ("/unmute bob", .unmute(bob)), ("/invite bob", .invite(bob)), ("/mute bob b 60", .mute(blank, seconds: 60)),
            ("/role bob none", .setRole(nil, of: bob)), ("/role bob b owner", .setRole(.owner, of: blank)),
            ("/access inviteOnly", .setAccess(.inviteOnly)), ("/access closed", .setAccess(.closed)),
            ("/close", .setAccess(.closed)),
            ("/announce at  ten", .announce(MessageContent(text: "at ten"))), ("/roles", .listRoles(after: nil)),
        ] as [(String, RoomOperation)])
    func `a command is an operation`(_ line: String, _ operation: RoomOperation) {
        #expect(ChatCommand(line) == .operate(operation))
    }

    @Test(arguments: [
        "/kick", "/mute bob", "/mute bob 0", "/mute bob soon", "/mute 60", "/role bob", "/role bob king", "/role owner",
        "/access", "/access ajar", "/announce", "/close now", "/roles all",
    ])
    func `a command with a missing or invalid word shows its form`(_ line: String) throws {
        let name = line.dropFirst().split(separator: " ")[0]
        let command = try #require(RoomCommand(rawValue: String(name)))
        #expect(ChatCommand(line) == .misused(command.usage))
        #expect(command.usage.hasPrefix("/\(name)"))
    }

    @Test func `a roster is a line for the room and one for each account`() {
        var muted = RoomStanding(AccountName("eve"), role: .reader)
        muted.mutedUntil = 1_700_000_000_123
        var banned = RoomStanding(AccountName("mal"))
        banned.isBanned = true
        let roster = RoomRoster(ownRole: .moderator, access: .open, standings: [muted, banned])
        #expect(
            roster.lines == [
                "Your role is moderator; the room is open.", "eve: reader, muted until 2023-11-14T22:13:20.123Z",
                "mal: banned",
            ])
    }
}
