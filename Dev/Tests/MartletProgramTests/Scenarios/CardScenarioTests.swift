import Foundation
import MartletToolSupport
import Testing

@testable import MartletLab

/// `martlet card` and `martlet cards` against a relay in this process.
@Suite(.timeLimit(.minutes(10))) struct CardScenarioTests {
    private let account = ["--room", "ci", "--account"]

    @Test func `cards published from a shell → the current ones, newest state first`() async throws {
        try await withToolRelay { relay in
            let ada = ["--to", relay] + account + ["ada"]
            let bob = ["--to", relay] + account + ["bob"]
            try await expectExit(0, ["cards"] + ada, input: "")
            for words in [
                ["--id", "build-7", "--title", "Build 7", "--status", "running", "--detail", "branch=main"] + ada,
                ["--id", "flag", "--time", "1700000000000", "--url", "https://a.example/"] + bob,
                ["--id", "build-7", "--status", "unknown"] + bob,
                ["--id", "build-7", "--title", "Build 7", "--status", "failed", "--detail", "a=b=c", "--detail", "e="]
                    + ada,
                ["--id", "build-7", "--status", "removed"] + bob,
            ] {
                try await expectExit(0, ["card"] + words, input: "")
            }
            let json = try await ToolRun(["cards", "--json"] + ada, input: "")
            #expect(json.code == 0 && json.lines.count == 2)
            let first =
                #"{"account":"ada","offset":4,"id":"build-7","title":"Build 7","status":"failed","#
                + #""details":[{"key":"a","value":"b=c"},{"key":"e","value":""}],"time":"#
            #expect(json.lines[0].hasPrefix(first))
            #expect(
                json.lines[1] == #"{"account":"bob","offset":2,"id":"flag","title":"flag","status":"ok","details":[],"#
                    + #""url":"https://a.example/","time":1700000000000}"#)
            let text = try await ToolRun(["cards"] + ada, input: "")
            #expect(text.lines.count == 7 && text.lines[0] == "failed  Build 7" && text.lines[2] == "    a: b=c")
            #expect(text.lines[5] == "    flag of bob, 2023-11-14T22:13:20Z")
            let history = try await ToolRun(["history", "-n", "1"] + ada, input: "")
            #expect(history.lines == [#"5 bob: [card "build-7", removed] build-7"#])
        }
    }

    @Test func `values out of their bounds → a usage error`() async throws {
        try await withToolRelay { relay in
            let id = ["card", "--to", relay, "--id", "a"]
            for words in [
                ["card", "--to", relay], ["card", "--to", relay, "--id", "a\nb"], id + ["--status", "broken"],
                id + ["--detail", "a"], id + ["--detail", "=b"], id + ["--title", "a\u{1B}"],
                id + ["--url", "javascript:alert(1)"], id + ["--time", "\(UInt64.max)"],
                id + (0...16).flatMap { ["--detail", "\($0)=v"] },
            ] {
                try await expectExit(64, words, input: "")
            }
        }
    }

    @Test func `--follow → the cards oldest state first, then each new state until a signal`() async throws {
        try await withToolRelay { relay in
            let ada = ["--to", relay] + account + ["ada"]
            for name in ["a", "b"] { try await expectExit(0, ["card", "--id", name] + ada, input: "") }
            let output = Pipe()
            let process = try ChildProcess(
                ["cards", "--follow"] + ada, input: FileHandle.nullDevice, output: output.fileHandleForWriting)
            try output.fileHandleForWriting.close()
            let (lines, line) = AsyncStream.makeStream(of: String.self)
            Thread.detachNewThread {
                var splitter = LineSplitter(maxPieceByteCount: 1 << 10)
                while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
                    for piece in splitter.split(data) { line.yield(String(decoding: piece.dropLast(), as: UTF8.self)) }
                }
                line.finish()
            }
            var heads = lines.filter { !$0.hasPrefix("    ") }.makeAsyncIterator()
            #expect(await heads.next() == "ok  a")
            #expect(await heads.next() == "ok  b")
            try await expectExit(0, ["card", "--id", "a", "--status", "warning"] + ada, input: "")
            #expect(await heads.next() == "warning  a")
            try await expectExit(0, ["card", "--id", "a", "--status", "removed"] + ada, input: "")
            #expect(await heads.next() == "removed  a of ada")
            kill(process.identifier, SIGINT)
            #expect(await process.exitCode() == 130)
        }
    }
}
