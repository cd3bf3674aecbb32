import Foundation
import Martlet
import Testing

@testable import MartletTool
@testable import MartletToolSupport

@Suite struct ClientOptionsTests {
    private func failure(_ words: String...) throws -> UsageError? {
        var parser = ArgumentParser(for: SendCommand.spec)
        guard case .run(let arguments) = try parser.parse(words) else { throw UsageError(message: "help") }
        return #expect(throws: UsageError.self) { try ClientOptions.client(arguments, agent: "send") }
    }

    @Test func `an invalid name of the room is a usage error`() throws {
        let error = UsageError(message: #"" x" is not a valid name: it begins with a space"#)
        #expect(try failure("--room", " x") == error)
    }

    // C-68
    @Test func `a password without TLS, or beside a token, is a usage error`() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try "open sesame\n".write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let plain = try failure("--password-file", file)?.message
        #expect(plain?.contains("does not use TLS") == true)
        let message = try failure("--password-file", file, "--token", "x", "--plaintext")?.message
        #expect(message == "'--token' and '--password-file' exclude each other")
    }

    @Test func `control characters of names and addresses in errors are shown as text`() throws {
        for words in [["--room", "\u{1B}[31mx"], ["--account", "\u{1B}[31mx"], ["--to", "\u{1B}[31mx"]] {
            let message = try failure(words[0], words[1])?.message
            #expect(message?.hasPrefix(#""\u{001B}[31mx" "#) == true)
        }
    }
}
