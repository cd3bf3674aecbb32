import Foundation
import MartletToolTestSupport
import Testing

/// `martlet send --file` and `martlet fetch` against a relay in this process.
@Suite(.timeLimit(.minutes(10))) struct AttachmentScenarioTests {
    private func contents(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    // R-100, M-20
    @Test func `two files that are sent and fetched, the newest one and the one of an offset`() async throws {
        try await withFolder { folder in
            let files = (1...2).map { number in Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 * number) }) }
            for (index, data) in files.enumerated() {
                try data.write(to: URL(fileURLWithPath: "\(folder)/file\(index)"))
            }
            try await withToolRelay { relay in
                for index in files.indices {
                    let run = try await ToolRun(
                        "send", "--file", "\(folder)/file\(index)", "--media-type", "a/b", "--to", relay, "--account",
                        "ada")
                    #expect(run == ToolRun(code: 0))
                }
                try await expectExit(0, "fetch", "-o", "\(folder)/new", "--to", relay, "--account", "bob")
                #expect(try contents("\(folder)/new") == files[1])
                let first = try await ToolRun(
                    "fetch", "-o", "\(folder)/first", "--offset", "1", "--to", relay, "--account", "bob")
                #expect(first.code == 0)
                #expect(try contents("\(folder)/first") == files[0])
                let history = try await ToolRun("history", "--to", relay, "--account", "bob")
                #expect(
                    history.lines.map { $0.prefix(27) } == [
                        #"1 ada: [attachment "file0","#, #"2 ada: [attachment "file1","#,
                    ])
            }
        }
    }

    @Test func `a file that does not exist → 74; a message without an attachment → 1; no path → 64`() async throws {
        try await withFolder { folder in
            try await withToolRelay { relay in
                try await expectExit(74, "send", "--file", "\(folder)/none", "--to", relay, "--account", "ada")
                try await expectExit(1, "fetch", "-o", "\(folder)/a", "--to", relay, "--account", "ada")
                try await expectExit(0, "send", "--to", relay, "--account", "ada", input: "text\n")
                let run = try await ToolRun(
                    "fetch", "-o", "\(folder)/a", "--offset", "1", "--to", relay, "--account", "ada")
                #expect(run.code == 1)
                try await expectExit(64, "fetch", "--to", relay, "--account", "ada")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
            }
        }
    }

    @Test func `a folder that does not exist → 74; an account that may not enter → 77`() async throws {
        try await withFolder { folder in
            let file = "\(folder)/file"
            try Data("content".utf8).write(to: URL(fileURLWithPath: file))
            try await withToolRelay { relay in
                try await expectExit(0, "send", "--file", file, "--to", relay, "--account", "ada")
                try await expectExit(74, "fetch", "-o", "\(folder)/none/a", "--to", relay, "--account", "bob")
                try await expectExit(77, "send", "--file", file, "--to", relay, "--account", "mallory")
                try await expectExit(77, "fetch", "-o", "\(folder)/a", "--to", relay, "--account", "mallory")
            }
        }
    }

    // R-100
    @Test func `a relay without attachments → 1`() async throws {
        try await withFolder { folder in
            let file = "\(folder)/file"
            try Data("content".utf8).write(to: URL(fileURLWithPath: file))
            try await withToolRelay(attachments: nil) { relay in
                try await expectExit(1, "send", "--file", file, "--to", relay, "--account", "ada")
            }
        }
    }
}
