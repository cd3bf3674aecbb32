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

    @Test func `control characters of names and addresses in errors are shown as text`() throws {
        for words in [["--room", "\u{1B}[31mx"], ["--account", "\u{1B}[31mx"], ["--to", "\u{1B}[31mx"]] {
            let message = try failure(words[0], words[1])?.message
            #expect(message?.hasPrefix(#""\u{001B}[31mx" "#) == true)
        }
    }
}
