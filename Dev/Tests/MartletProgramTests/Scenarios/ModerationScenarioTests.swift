import Testing

/// `martlet room` against a relay in this process.
@Suite(.timeLimit(.minutes(10))) struct ModerationScenarioTests {
    // R-56
    @Test func `a room is moderated by commands, whose exit codes are those of the relay's answers`() async throws {
        try await withToolRelay(hasRoles: true) { relay in
            func room(_ account: String, _ words: String...) async throws -> ToolRun {
                try await ToolRun(["room", "lobby"] + words + ["--to", relay, "--account", account], input: "")
            }
            func send(_ account: String) async throws -> Int32 {
                try await ToolRun("send", "--to", relay, "--account", account, "--timeout", "5", input: "one\n").code
            }
            #expect(try await send("ada") == 0)
            #expect(try await room("ada", "role", "bob", "moderator") == ToolRun(code: 0))
            let json = try await room("ada", "role", "eve b", "reader", "--json")
            #expect(json == ToolRun(code: 0, lines: [#"{"room":"lobby","operation":"role","account":"eve b"}"#]))
            #expect(try await room("bob", "ban", "mal").code == 0)
            #expect(try await send("mal") == 77)
            #expect(try await room("bob", "role", "bob", "owner").code != 0)
            #expect(
                try await room("ada", "roles").lines == [
                    "Your role is owner; the room is open.", "ada: owner", "bob: moderator", "eve b: reader",
                    "mal: banned",
                ])
            #expect(
                try await room("ada", "roles", "--json").lines == [
                    #"{"ownRole":"owner","access":"open"}"#, #"{"account":"ada","role":"owner"}"#,
                    #"{"account":"bob","role":"moderator"}"#, #"{"account":"eve b","role":"reader"}"#,
                    #"{"account":"mal","isBanned":true}"#,
                ])
            #expect(try await room("bob", "unban", "mal").code == 0)
            // An announcement requires the permission administer, which an owner does not have (R-59).
            #expect(try await room("ada", "announce", "at ten").code == 1)
            #expect(try await room("ada", "close").code == 0)
            #expect(try await send("mal") == 77)
        }
    }

    @Test func `a command in the input of a chat is not published`() async throws {
        try await withToolRelay { relay in
            let chat = try await ToolRun("chat", "--to", relay, "--account", "ada", input: "/ban bob\n//shrug\nhello\n")
            #expect(chat.code == 1)
            let history = try await ToolRun("history", "--to", relay, "--account", "bob")
            #expect(history.lines == ["1 ada: /shrug", "2 ada: hello"])
        }
    }

    @Test func `operands that an action does not take → 64`() async throws {
        try await expectExit(64, "room")
        try await expectExit(64, "room", "lobby")
        try await expectExit(64, "room", "lobby", "destroy", "bob")
        try await expectExit(64, "room", "lobby", "ban")
        try await expectExit(64, "room", "lobby", "mute", "bob", "soon")
        try await expectExit(64, "room", "a\nb", "ban", "bob")
    }

    @Test func `a relay without roles → 1`() async throws {
        try await withToolRelay { relay in
            try await expectExit(1, "room", "lobby", "ban", "bob", "--to", relay, "--account", "ada")
        }
    }
}
