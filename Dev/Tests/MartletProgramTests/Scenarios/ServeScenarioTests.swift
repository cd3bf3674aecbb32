import Foundation
import Testing

@testable import MartletLab

/// `martlet serve` as a process, and its reaction to signals and files.
@Suite(.timeLimit(.minutes(10))) struct ServeScenarioTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")

    private func write(_ text: String, to name: String) throws -> String {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent(name)
        try Data(text.utf8).write(to: file)
        return file.path
    }

    private func serve(_ words: [String]) throws -> ChildProcess {
        try ChildProcess(["serve", "--listen", "127.0.0.1:0", "--drain", "0"] + words, input: nil, output: nil)
    }

    @Test func `a reload with an invalid file -> nothing changes and the log says so; then a valid one; then the end`()
        async throws
    {
        defer { try? FileManager.default.removeItem(at: folder) }
        let tokens = try write("ada one\n", to: "tokens")
        let rules = try write("allow all in lobby to everyone\n", to: "rules")
        let audit = folder.appendingPathComponent("audit").path
        let process = try serve(["--tokens", tokens, "--rooms", rules, "--audit", audit])
        var lines = process.messages.makeAsyncIterator()
        var line = await lines.next()
        #expect(line?.contains(" listening ") == true)
        _ = try write("", to: "rules")
        process.signal(SIGHUP)
        line = await lines.next()
        #expect(line?.hasSuffix(#"reloadFailed "\#(rules): the file contains no rule""#) == true)
        _ = try write("deny in lobby to everyone\n", to: "rules")
        process.signal(SIGHUP)
        line = await lines.next()
        #expect(line?.hasSuffix(" roomDecisionsRevoked") == true)
        line = await lines.next()
        #expect(line?.hasSuffix(" reloaded") == true)
        process.signal(SIGUSR2)
        process.signal(SIGUSR1)
        line = await lines.next()
        #expect(line?.hasSuffix(" auditReopened") == true)
        process.signal(SIGTERM)
        line = await lines.next()
        #expect(line?.contains(" ended connections=0 ") == true)
        #expect(await process.exitCode() == 0)
        let records = try String(contentsOfFile: audit, encoding: .utf8).split(separator: "\n")
        #expect(
            records.compactMap { $0.split(separator: "\"").dropFirst(7).first } == [
                "started", "reloadFailed", "roomDecisionsRevoked", "reloaded", "ended",
            ])
    }

    @Test func `--check -> 0, or 1 with the fault of a file, and 64 for options`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let tokens = try write("ada one\n", to: "tokens")
        let rules = try write("", to: "rules")
        try await expectExit(0, "serve", "--check", "--tokens", tokens)
        try await expectExit(1, "serve", "--check", "--tokens", rules)
        try await expectExit(1, "serve", "--check", "--tokens", tokens, "--rooms", rules)
        try await expectExit(1, "serve", "--check", "--tokens", tokens, "--certificate", tokens, "--key", tokens)
        try await expectExit(1, "serve", "--check", "--tokens", tokens, "--audit", "/none/audit")
        try await expectExit(64, "serve", "--check")
    }

    @Test func `options without the one that they need -> 64`() async throws {
        try await expectExit(64, "serve", "--allow-all", "--history-age", "3")
        try await expectExit(64, "serve", "--allow-all", "--ignore-room-roles")
        try await expectExit(64, "serve", "--allow-all", "--rooms-per-account", "3")
        try await expectExit(64, "serve", "--allow-all", "--audience", "chat")
    }

    @Test func `a start that fails with --json -> the error as JSON on standard output`() async throws {
        let run = try await ToolRun("serve", "--json", "--tokens", "/none")
        #expect(run.code == 66)
        #expect(run.lines.count == 1 && run.lines[0].contains(#""event":"startFailed","error":""#))
    }
}
