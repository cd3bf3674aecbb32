import Testing

/// `martlet rooms` against a relay in this process.
@Suite(.timeLimit(.minutes(10))) struct RoomsScenarioTests {
    // R-121, R-124
    @Test func `a room that was joined, received a message, was read and left`() async throws {
        try await withToolRelay { relay in
            func rooms(_ words: String...) async throws -> ToolRun {
                try await ToolRun(["rooms"] + words + ["--to", relay, "--account", "ada"], input: "")
            }
            #expect(try await rooms() == ToolRun(code: 0))
            #expect(try await rooms("join", "lobby") == ToolRun(code: 0))
            #expect(try await rooms("list") == ToolRun(code: 0, lines: ["lobby  0"]))
            let sent = try await ToolRun("send", "--to", relay, "--account", "bob", input: "one\ntwo\u{1B}[1m\n")
            #expect(sent.code == 0)
            #expect(try await rooms().lines == ["lobby  2  2 unread  bob: two\u{FFFD}[1m"])
            #expect(try await rooms("read", "lobby", "1").code == 0)
            #expect(try await rooms().lines == ["lobby  2  1 unread  bob: two\u{FFFD}[1m"])
            let json = try await ToolRun("rooms", "--json", "--to", relay, "--account", "ada")
            #expect(json.lines.count == 1 && json.lines.first?.contains(#""readUpTo":1,"unread":1"#) == true)
            #expect(try await rooms("leave", "lobby").code == 0)
            #expect(try await rooms() == ToolRun(code: 0))
        }
    }

    @Test func `a last message of any kind → the names of the registry in every output`() async throws {
        try await withToolRelay { relay in
            let common = ["--to", relay, "--account", "ada"]
            #expect(try await ToolRun(["send"] + common, input: "one\n").code == 0)
            try await expectExit(0, "rooms", "join", "lobby", "--to", relay, "--account", "ada")
            for words in [["--react", "1", "--text", "+1"], ["--edit", "1", "--text", "two"], ["--delete", "1"]] {
                #expect(try await ToolRun(["send"] + words + common, input: "").code == 0)
                var lines: [String] = []
                for command in [["rooms"], ["rooms", "--json"], ["history"], ["history", "--json"]] {
                    lines += try await ToolRun(command + common, input: "").lines
                }
                #expect(lines.count >= 4)
                #expect(lines.allSatisfy { !$0.contains("rawValue") && !$0.contains("ContentKind") })
            }
        }
    }

    // R-121
    @Test func `an invitation that is accepted, and one that is declined`() async throws {
        try await withToolRelay { relay in
            try await expectExit(0, "rooms", "join", "lobby", "--to", relay, "--account", "ada")
            for account in ["bob", "carol"] {
                let run = try await ToolRun("rooms", "invite", "lobby", account, "--to", relay, "--account", "ada")
                #expect(run.code == 0)
                let invited = try await ToolRun("rooms", "--to", relay, "--account", account)
                #expect(invited == ToolRun(code: 0, lines: ["lobby  invited by ada  0"]))
            }
            try await expectExit(0, "rooms", "join", "lobby", "--to", relay, "--account", "bob")
            #expect(try await ToolRun("rooms", "--to", relay, "--account", "bob").lines == ["lobby  0"])
            try await expectExit(0, "rooms", "decline", "lobby", "--to", relay, "--account", "carol")
            #expect(try await ToolRun("rooms", "--to", relay, "--account", "carol") == ToolRun(code: 0))
        }
    }

    @Test func `operands that an action does not take → 64`() async throws {
        try await expectExit(64, "rooms", "destroy", "lobby")
        try await expectExit(64, "rooms", "join")
        try await expectExit(64, "rooms", "list", "lobby")
        try await expectExit(64, "rooms", "invite", "lobby")
        try await expectExit(64, "rooms", "read", "lobby", "last")
    }

    // R-121
    @Test func `actions that the relay refuses → 1; an invalid name → 64`() async throws {
        try await withToolRelay { relay in
            try await expectExit(1, "rooms", "invite", "lobby", "bob", "--to", relay, "--account", "ada")
            try await expectExit(1, "rooms", "read", "lobby", "1", "--to", relay, "--account", "ada")
            try await expectExit(1, "rooms", "join", "lobby", "--to", relay, "--account", "mallory")
            try await expectExit(64, "rooms", "join", "a\nb", "--to", relay, "--account", "ada")
        }
    }

    @Test func `no relay for longer than --timeout → 69`() async throws {
        // No test has a relay on port 1.
        try await expectExit(69, "rooms", "--to", "martlet://127.0.0.1:1", "--account", "ada", "--timeout", "0.1")
    }
}
