import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite struct DoctorCommandTests {
    @Test(
        "invalid values of options → usage errors without a line",
        arguments: [
            ["--account", " x", "martlet://127.0.0.1"], ["--token", String(repeating: "x", count: 4097)],
            ["--trust", "/nonexistent", "127.0.0.1"], ["--certificate", "/nonexistent", "127.0.0.1"],
        ])
    func usage(words: [String]) async throws {
        var parser = ArgumentParser(for: DoctorCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        var lines: [DoctorLine] = []
        await #expect(throws: UsageError.self) { try await DoctorCommand.check(arguments) { lines.append($0) } }
        #expect(lines.isEmpty)
    }

    @Test func `the URI of a database that does not answer → a failure of the check of the database`() async throws {
        var parser = ArgumentParser(for: DoctorCommand.spec)
        let uri = "postgresql://martlet@/rooms?host=/nonexistent"
        guard case .run(let arguments) = try parser.parse([uri]) else { throw UsageError(message: "help") }
        var lines: [DoctorLine] = []
        #expect(try await DoctorCommand.check(arguments) { lines.append($0) } == .unavailable)
        #expect(lines.map(\.check) == [.database] && lines.map(\.mark) == [.fail])
        #expect(lines[0].found.contains("/nonexistent"))
    }
}
