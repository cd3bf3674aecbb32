import Foundation
import Testing

@testable import MartletToolSupport

@Suite(.timeLimit(.minutes(10))) struct SubprocessTests {
    /// Returns what is written to the pipe until all its writers have closed it.
    private func text(_ pipe: Pipe) throws -> String {
        try pipe.fileHandleForWriting.close()
        return String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }

    @Test func `a program with arguments, variables and streams → its outputs and its exit code`() throws {
        let (input, output, errors) = (Pipe(), Pipe(), Pipe())
        try input.fileHandleForWriting.write(contentsOf: Data("input".utf8))
        try input.fileHandleForWriting.close()
        let process = try Subprocess(
            "/bin/sh", ["-c", "echo \"$1\" $A $(cat); echo $B$HOME >&2; exit 3", "sh", "one\ntwo"],
            variables: ["A=a", "B=b", "HOME=c"], input: input.fileHandleForReading.fileDescriptor,
            output: output.fileHandleForWriting.fileDescriptor, errors: errors.fileHandleForWriting.fileDescriptor)
        #expect(try text(output) == "one\ntwo a input\n")
        #expect(try text(errors) == "bc\n")
        #expect(process.waitForEnd() == .exit(3))
        #expect(!process.isRunning)
    }

    @Test func `a variable of this process → replaced in the environment of a child`() throws {
        let output = Pipe()
        let process = try Subprocess(
            "/usr/bin/env", variables: ["PATH=/none"], output: output.fileHandleForWriting.fileDescriptor)
        let lines = try text(output).split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("PATH=") } == ["PATH=/none"] && lines.count > 1)
        #expect(process.waitForEnd() == .exit(0))
    }

    @Test func `no streams → an empty input, and outputs that are discarded`() async throws {
        let end = try await Subprocess("/bin/sh", ["-c", "echo a && echo b >&2 && exit $(wc -c)"]).end()
        #expect(end == .exit(0))
    }

    @Test func `a program that is missing → the error of its start`() {
        let error = #expect(throws: Subprocess.NotStarted.self) { try Subprocess("/none") }
        #expect(error?.description == "No such file or directory")
    }

    @Test func `a signal → the end names it, and later signals are not sent`() async throws {
        let process = try Subprocess("/bin/sh", ["-c", "kill -STOP $$"])
        process.signal(SIGKILL)
        #expect(await process.end() == .signal(SIGKILL))
        #expect(await process.end().code == 137)
        process.signal(SIGTERM)
    }

    @Test func `blocked and ignored signals of this process → default ones in a child`() async throws {
        _ = signal(SIGPIPE, SIG_IGN)
        #expect(try await Subprocess("/bin/sh", ["-c", "kill -PIPE $$"]).end() == .signal(SIGPIPE))
    }

    @Test func `a descriptor without FD_CLOEXEC → not inherited by a child that runs on`() throws {
        var ends: [Int32] = [-1, -1]
        let created = unsafe pipe(&ends)
        try #require(created == 0)
        let input = Pipe()
        let child = try Subprocess("/bin/cat", input: input.fileHandleForReading.fileDescriptor)
        close(ends[1])
        var byte: UInt8 = 0
        // A child with a copy of the descriptor would keep the pipe open.
        let count = unsafe read(ends[0], &byte, 1)
        #expect(count == 0)
        close(ends[0])
        try input.fileHandleForWriting.close()
        #expect(child.waitForEnd() == .exit(0))
    }
}
