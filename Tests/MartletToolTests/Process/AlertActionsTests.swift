import Foundation
import MartletAdmin
import MartletToolSupport
import MartletToolTestSupport
import MartletTransport
import Testing

@testable import MartletTool

@Suite(.timeLimit(.minutes(10))) struct AlertActionsTests {
    /// A folder of each test.
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "martlet-alerts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func file(_ name: String) -> String { folder.appending(path: name).path }

    /// Returns the path of a script.
    ///
    /// A process writes it: a child that a different test starts meanwhile has the descriptors of this process until it
    /// executes its program, and a script that is open for writing cannot be executed.
    private func script(_ text: String) throws -> String {
        let path = file("script")
        let command = "printf '%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\""
        let writer = try Subprocess("/bin/sh", ["-c", command, path, "#!/bin/sh\n\(text)"])
        try #require(writer.waitForEnd() == .exit(0))
        return path
    }

    private static let raised = AlertChange(name: "memory", isRaised: true, value: 0.93)

    @Test func `a program that is missing, is no file or has no permission → an error at the check`() throws {
        func fault(_ path: String) -> String? {
            do throws(CommandError) {
                try AlertProgram.check(path)
                return nil
            } catch { return error.message }
        }
        let path = try script("true")
        #expect(fault(path) == nil)
        #expect(fault("\(path)-none")?.hasSuffix("No such file or directory") == true)
        #expect(fault(folder.path)?.hasSuffix("it is not a file") == true)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(fault(path)?.hasSuffix("Permission denied") == true)
        var parser = ArgumentParser(for: ServeCommand.spec)
        guard case .run(let arguments) = try parser.parse(["--alerts", "x", "--alert-command", path]) else { return }
        #expect(throws: CommandError.self) { try AlertArguments.actions(arguments) }
    }

    @Test func `a program → the change in its environment, no input, and signals as usual`() async throws {
        let result = file("result")
        let program = AlertProgram(
            try script(
                "echo \"$MARTLET_ALERT $MARTLET_ALERT_STATE $MARTLET_ALERT_VALUE $(cat) $PATH\" > \(result)"))
        try await program.run(Self.raised)
        let path = try #require(ProcessInfo.processInfo.environment["PATH"])
        #expect(try String(contentsOfFile: result, encoding: .utf8) == "memory raised 0.93  \(path)\n")
        try await program.run(AlertChange(name: "memory", isRaised: false, value: nil))
        #expect(try String(contentsOfFile: result, encoding: .utf8) == "memory ended   \(path)\n")
    }

    @Test func `a program that fails → its code, its signal, or the error of its start`() async throws {
        let failing = AlertProgram(try script("exit 3"))
        await #expect(throws: AlertProgram.Failure.exit(code: 3)) { try await failing.run(Self.raised) }
        let killed = AlertProgram(try script("kill -9 $$"))
        await #expect(throws: AlertProgram.Failure.signal(9)) { try await killed.run(Self.raised) }
        let missing = AlertProgram(file("missing"))
        await #expect(throws: AlertProgram.Failure.notStarted("No such file or directory")) {
            try await missing.run(Self.raised)
        }
    }

    @Test func `a program without an end → killed with its children after the timeout`() async throws {
        let result = file("child")
        let waited = Guarded(Duration.zero)
        // Virtual time passes when the child has written its number.
        let text = "sleep 3600 & echo $! > \(result).new; mv \(result).new \(result); wait"
        let program = AlertProgram(try script(text)) {
            while !Task.isCancelled, !FileManager.default.fileExists(atPath: result) { await Task.yield() }
            let duration = $0
            waited.withLock { $0 += duration }
        }
        await #expect(throws: AlertProgram.Failure.timeout) { try await program.run(Self.raised) }
        #expect(waited.withLock { $0 } == AlertProgram.timeout)
        let child = try #require(
            pid_t(String(contentsOfFile: result, encoding: .utf8).trimmingCharacters(in: .newlines)))
        // The child is an orphan, which the first process of the system collects.
        while !Task.isCancelled, kill(child, 0) == 0, try !isZombie(child) { await Task.yield() }
    }

    private func isZombie(_ process: pid_t) throws -> Bool {
        let path = "/proc/\(process)/stat"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return true }
        return text.contains(") Z ")
    }

    @Test func `actions → each takes the changes in order, and a failure is reported with its change`() async throws {
        struct Refused: Error, CustomStringConvertible { let description = "refused" }
        let (taken, take) = AsyncStream.makeStream(of: String.self)
        let (failures, fail) = AsyncStream.makeStream(of: String.self)
        let actions = AlertActions([
            { take.yield("\($0.name) \($0.isRaised)") },
            { _ in throw Refused() },
        ]) { fail.yield("\($0.name): \($1)") }
        for name in ["a", "b"] { actions.perform(AlertChange(name: name, isRaised: true, value: 1)) }
        #expect(await taken.prefix(2).reduce(into: []) { $0.append($1) } == ["a true", "b true"])
        #expect(await failures.prefix(2).reduce(into: []) { $0.append($1) } == ["a: refused", "b: refused"])
    }

    @Test func `more changes than wait for an action → the failure names the bound`() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let failures = Guarded<[String]>([])
        let actions = AlertActions([{ _ in for await _ in gate { break } }]) { change, reason in
            failures.withLock { $0.append("\(change.name): \(reason)") }
        }
        // The action may have taken the first change.
        for number in 0..<AlertActions.maxWaitingCount + 2 {
            actions.perform(AlertChange(name: "\(number)", isRaised: true, value: nil))
        }
        #expect(failures.withLock { $0.last } == "257: 256 changes wait")
        open.finish()
    }

    @Test func `the end of actions while one is in progress → it is cancelled, and is no failure`() async {
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let failures = Guarded<[String]>([])
        let actions = AlertActions([
            { _ in
                begin.yield()
                while true {
                    try Task.checkCancellation()
                    await Task.yield()
                }
            }
        ]) { change, reason in failures.withLock { $0.append(reason) } }
        actions.perform(Self.raised)
        for await _ in begun { break }
        await actions.finish()
        #expect(failures.withLock { $0 } == [])
    }

    private func message(_ words: String...) throws -> String? {
        var parser = ArgumentParser(for: ServeCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { return "help" }
        do {
            _ = try AlertArguments.actions(arguments)
            return nil
        } catch let error as UsageError {
            return error.message
        }
    }

    @Test func `an action without rules, or an address that is not valid → a usage error`() throws {
        #expect(try message("--alert-command", "/bin/true") == "'--alert-command' requires '--alerts'")
        #expect(try message("--alert-webhook", "https://a.example/") == "'--alert-webhook' requires '--alerts'")
        #expect(
            try message("--alerts", "/rules", "--alert-secret", "/s") == "'--alert-secret' requires '--alert-webhook'")
        #expect(
            try message("--alerts", "/rules", "--alert-webhook", "http://a.example/")
                == "'--alert-webhook': a.example requires https: http is for loopback addresses only")
        #expect(try message("--alerts", "/rules", "--alert-webhook", "http://localhost/") == nil)
    }
}
