import Foundation
import Testing

@testable import MartletLab

/// Edits, deletions, reactions and replies in `martlet send`, `history`, `chat` and `listen`, against a relay in this
/// process.
@Suite(.timeLimit(.minutes(10))) struct ChangesScenarioTests {
    /// Sends texts of ada and changes of them.
    private func withChanges(_ body: (String) async throws -> Void) async throws {
        try await withToolRelay { relay in
            let texts = "one\ntwo\nthree\u{1B}[1m\n[four]\n"
            try await expectExit(0, "send", "--to", relay, "--account", "ada", input: texts)
            let ada = ["--to", relay, "--account", "ada"]
            let bob = ["--to", relay, "--account", "bob"]
            for (words, input) in [
                (["--edit", "1"] + ada, "ONE\nmore\n"), (["--delete", "2"] + ada, ""), (["--delete", "3"] + bob, ""),
                (["--react", "3", "--text", "+1"] + ada, ""), (["--react", "3", "--text", "+1"] + bob, ""),
                (["--react", "3", "--text", "a\"]"] + bob, ""), (["--react", "4", "--text", "!"] + bob, ""),
                (["--react", "4", "--text", "!", "--remove"] + bob, ""), (["--reply", "1", "--text", "yes"] + bob, ""),
            ] {
                try await expectExit(0, ["send"] + words, input: input)
            }
            try await body(relay)
        }
    }

    // M-4, M-5, M-9, M-11, M-12
    @Test func `history has the messages as they are now, and --raw the log`() async throws {
        try await withChanges { relay in
            let now = try await ToolRun("history", "--to", relay, "--account", "carol")
            let present = [
                #"1 ada: [edited] ONE\nmore"#, "2 ada: [deleted]", #"3 ada: ["+1" 2, "a\"\]" 1] three\u{001B}[1m"#,
                #"4 ada: \[four]"#, "13 bob: [reply to message 1 of ada] yes",
            ]
            #expect(now == ToolRun(code: 0, lines: present))
            // Changes behind the page are applied.
            let page = try await ToolRun("history", "--before", "4", "--to", relay, "--account", "carol")
            #expect(page.lines == Array(present[..<3]))
            let after = try await ToolRun("history", "--after", "1", "-n", "2", "--to", relay, "--account", "carol")
            #expect(after.lines == Array(present[1..<3]))
            let raw = try await ToolRun("history", "--raw", "--to", relay, "--account", "carol")
            #expect(
                raw.lines == [
                    "1 ada: one", "2 ada: [deleted]", #"3 ada: three\u{001B}[1m"#, #"4 ada: \[four]"#,
                    #"5 ada: [edit of message 1 of ada] ONE\nmore"#, "6 ada: [deletion of message 2 of ada]",
                    "7 bob: [deletion of message 3 of ada]", #"8 ada: [reaction "+1" to message 3 of ada]"#,
                    #"9 bob: [reaction "+1" to message 3 of ada]"#, #"10 bob: [reaction "a\"\]" to message 3 of ada]"#,
                    #"11 bob: [reaction "!" to message 4 of ada]"#,
                    #"12 bob: [removal of reaction "!" to message 4 of ada]"#,
                    "13 bob: [reply to message 1 of ada] yes",
                ])
        }
    }

    // M-5
    @Test func `history and listen have the kind, the target and the effects as JSON`() async throws {
        try await withChanges { relay in
            let history = try await ToolRun("history", "--json", "--to", relay, "--account", "carol").lines
            #expect(history.count == 5)
            #expect(history[0].hasSuffix(#""type":"text","edited":true,"text":"ONE\nmore"}"#))
            #expect(history[1].hasSuffix(#""type":"erased","deleted":true}"#))
            #expect(
                history[2].hasSuffix(
                    #""reactions":[{"reaction":"+1","account":"ada"},{"reaction":"+1","account":"bob"},"#
                        + #"{"reaction":"a\"]","account":"bob"}]}"#))
            let listen = try await ToolRun(
                "listen", "--json", "--from", "start", "-n", "13", "--to", relay, "--account", "carol")
            #expect(listen.code == 0 && listen.lines.count == 13)
            let types = ["edit", "delete", "delete"] + Array(repeating: "reaction", count: 5) + ["reply"]
            for (line, type) in zip(listen.lines.dropFirst(4), types) {
                #expect(line.contains(#""type":"\#(type)""#) && line.contains(#""target":{"sender":"ada","#))
            }
            let lines = try await ToolRun("listen", "--from", "start", "-n", "13", "--to", relay, "--account", "carol")
            #expect(lines.lines == ["one", "three\u{1B}[1m", "[four]"])
        }
    }

    @Test func `send --outcomes writes the offset of each line, and listen --json when it was received`()
        async throws
    {
        try await withToolRelay { relay in
            let send = ["send", "--outcomes", "--to", relay, "--account"]
            let sent = try await ToolRun(send + ["ada"], input: "one\ntwo")
            #expect(sent.code == 0 && sent.lines.count == 2)
            for (line, (offset, end)) in zip(sent.lines, [(1, #""text":"one"}"#), (2, #""data":"dHdv"}"#)]) {
                #expect(line.hasPrefix(#"{"outcome":"accepted","offset":\#(offset),"device":""#) && line.hasSuffix(end))
                #expect(line.contains(#","counter":\#(offset),"queuedAt":"#) && line.contains(#","time":"#))
            }
            let listen = try await ToolRun(
                "listen", "--json", "--from", "start", "-n", "2", "--to", relay, "--account", "bob")
            #expect(listen.lines.count == 2 && listen.lines.allSatisfy { $0.contains(#","receivedAt":"#) })
            try await expectExit(64, "send", "--outcomes", "--edit", "1", "--to", relay, "--account", "ada")
        }
    }

    // M-3, M-4, M-5, M-9
    @Test func `chat names the message of each change, and does not show a deletion by another account`() async throws {
        try await withChanges { relay in
            let output = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
            try Data().write(to: output)
            defer { try? FileManager.default.removeItem(at: output) }
            let pipe = Pipe()
            let chat = try ChildProcess(
                ["chat", "--to", relay, "--account", "carol"], input: pipe.fileHandleForReading,
                output: try FileHandle(forWritingTo: output))
            var lines: [String] = []
            while !Task.isCancelled, lines.last?.hasPrefix("bob: [reply") != true {
                let text = String(decoding: try Data(contentsOf: output), as: UTF8.self)
                lines = text.split(separator: "\n").map(String.init)
                await Task.yield()
            }
            try pipe.fileHandleForWriting.close()
            #expect(await chat.exitCode() == 0)
            let third = #"message 3 of ada "three\u{001B}\[1m""#
            let fourth = #"message 4 of ada "\[four\]""#
            #expect(
                lines == [
                    "ada: one", "ada: [deleted]", #"ada: three\u{001B}[1m"#, #"ada: \[four]"#,
                    #"ada: [edit of message 1 of ada "one"] ONE\nmore"#, "ada: [deletion of message 2 of ada]",
                    #"ada: [reaction "+1" to \#(third)]"#, #"bob: [reaction "+1" to \#(third)]"#,
                    #"bob: [reaction "a\"\]" to \#(third)]"#, #"bob: [reaction "!" to \#(fourth)]"#,
                    #"bob: [removal of reaction "!" to \#(fourth)]"#,
                    #"bob: [reply to message 1 of ada "ONE\nmore"] yes"#,
                ])
        }
    }

    @Test func `options of send that exclude each other or lack a required option → 64`() async throws {
        for words in [
            ["--edit", "1", "--delete", "1"], ["--edit", "1", "--file", "a"], ["--delete", "1", "--outbox", "a"],
            ["--delete", "1", "--text", "a"], ["--text", "a"], ["--remove"], ["--edit", "1", "--remove"],
            ["--react", "first"],
        ] {
            try await expectExit(64, ["send"] + words, input: "")
        }
    }

    // M-4, M-6, M-9
    @Test func `a message that does not exist, an edit without effect, a text out of its bounds → 1; no UTF-8 → 65`()
        async throws
    {
        try await withChanges { relay in
            for words in [
                ["--edit", "99", "--text", "a"], ["--edit", "1", "--text", "a"], ["--edit", "0", "--text", "a"],
                ["--reply", "\(UInt64.max)", "--text", "a"], ["--reply", "1"],
                ["--react", "1", "--text", String(repeating: "a", count: 65)],
            ] {
                try await expectExit(1, ["send", "--to", relay, "--account", "bob"] + words, input: "")
            }
            let long = String(repeating: "a", count: 13_000)
            try await expectExit(65, ["send", "--to", relay, "--reply", "1"], input: long)
        }
    }
}
