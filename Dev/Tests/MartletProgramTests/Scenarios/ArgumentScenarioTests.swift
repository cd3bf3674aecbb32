import Foundation
import MartletToolSupport
import MartletToolTestSupport
import Testing

@testable import MartletLab

/// Arguments of the program `martlet`.
@Suite struct ArgumentScenarioTests {
    @Test func `an argument that is not UTF-8 → a usage error`() throws {
        let errors = Pipe()
        let process = try Subprocess(
            "/bin/sh", ["-c", #"exec "$0" user list --file "$(printf '\377')""#, ChildProcess.program.path],
            errors: errors.fileHandleForWriting.fileDescriptor)
        try errors.fileHandleForWriting.close()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        #expect(text == "martlet: an argument is not UTF-8\n")
        #expect(process.waitForEnd() == .exit(64))
    }

    @Test(arguments: ["--file ", "--file="])
    func `send with the path of a file that is not UTF-8 → the file, and a name with U+FFFD`(_ option: String)
        async throws
    {
        try await withFolder { folder in
            try await withToolRelay { relay in
                let send = #"exec "$0" send --to "$2" --account ada \#(option)"$1/$(printf '\377a')""#
                let words = [
                    "-c", #"echo content >"$1/$(printf '\377a')"; \#(send)"#, ChildProcess.program.path, folder, relay,
                ]
                #expect(try await Subprocess("/bin/sh", words).end() == .exit(0))
                let history = try await ToolRun("history", "--to", relay, "--account", "bob")
                #expect(history.lines.first?.hasPrefix("1 ada: [attachment \"\u{FFFD}a\",") == true)
            }
        }
    }

    @Test func `help with a command → the help of the command; with an unknown one → a usage error`() async throws {
        let (general, help) = (try await ToolRun("--help"), try await ToolRun("user", "--help"))
        #expect(general.code == 0)
        #expect(help.code == 0)
        #expect(help != general)
        let (found, own, unknown) = (
            try await ToolRun("help", "user"), try await ToolRun("help", "help"), try await ToolRun("help", "bogus")
        )
        #expect(found == help)
        #expect(own == general)
        #expect(unknown == ToolRun(code: 64))
    }

    @Test func `serve with a certificate that cannot be read → exit code 66`() async throws {
        let words = ["serve", "--listen", "127.0.0.1:0", "--allow-all", "--certificate", "/none", "--key", "/none"]
        let process = try ChildProcess(words, input: nil, output: nil)
        #expect(await process.exitCode() == 66)
    }
}
