import Foundation
import Testing

@testable import MartletLab

/// `martlet admin` against a relay process (R-178).
@Suite(.timeLimit(.minutes(10))) struct AdminScenarioTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")

    @Test func `a relay is administered by commands, until drain ends its process`() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let rules = folder.appendingPathComponent("rules")
        let audit = folder.appendingPathComponent("audit").path
        try Data("allow administer in martlet.administration to account root\nallow all in * to everyone\n".utf8)
            .write(to: rules)
        let process = try ChildProcess(
            [
                "serve", "--listen", "127.0.0.1:0", "--drain", "1", "--allow-all", "--room-roles", "--rooms",
                rules.path, "--audit", audit,
            ], input: nil, output: nil)
        var lines = process.messages.makeAsyncIterator()
        let listening = try #require(await lines.next())
        let port = try #require(listening.firstMatch(of: /127\.0\.0\.1:(\d+)/)?.1)
        let relay = "martlet://127.0.0.1:\(port)"
        func admin(_ words: String...) async throws -> ToolRun {
            try await ToolRun(["admin"] + words + ["--to", relay, "--account", "root"], input: "")
        }
        let send = ["send", "--to", relay, "--account", "bob", "--timeout", "5"]
        #expect(try await ToolRun(send, input: "secret\nsecond\n").code == 0)
        #expect(try await admin("announce", "at ten", "lobby").lines == ["count 1"])
        let room = try await admin("room", "lobby", "--json")
        #expect(room.lines.first?.hasPrefix(#"{"room":"lobby","memberCount":0,"log":""#) == true)
        #expect(room.lines.first?.contains(#""head":3,"first":1,"#) == true)
        #expect(try await admin("links").lines.first?.hasPrefix(#"account "root"  device "#) == true)
        #expect(try await admin("erase", "lobby", "bob", "--json").lines == [#"{"count":2}"#])
        let messages = try await admin("export", "lobby", "--json").lines
        #expect(messages.count == 5 && messages.count(where: { $0.contains(#""kind":"erased""#) }) == 2)
        #expect(try await admin("export", "lobby", "--limit", "2").lines.count == 2)
        #expect(try await admin("ban", "lobby", "bob") == ToolRun(code: 0))
        #expect(try await ToolRun(send, input: "third\n").code == 77)
        #expect(try await admin("mute", "lobby", "server", "60").code == 1)
        try await expectExit(77, "admin", "status", "--to", relay, "--account", "eve")
        #expect(try await admin("drain").code == 0)
        #expect(await process.exitCode() == 0)
        let records = try String(contentsOfFile: audit, encoding: .utf8).split(separator: "\n")
        #expect(records.contains { $0.contains(#""method":"admin.status","code":"forbidden""#) })
        #expect(records.contains { $0.contains(#""method":"admin.erase","target":"bob"}"#) })
    }

    @Test func `operands that an action does not take → 64`() async throws {
        try await expectExit(64, "admin")
        try await expectExit(64, "admin", "reboot")
        try await expectExit(64, "admin", "room")
        try await expectExit(64, "admin", "links", "lobby")
        try await expectExit(64, "admin", "mute", "lobby", "bob", "soon")
        try await expectExit(64, "admin", "kick", "a\nb", "bob")
    }
}
