import Testing

@testable import MartletToolSupport

@Suite struct HelpTextTests {
    private let command = CommandSpec(
        name: "send", summary: "Send lines.", operand: "ROOM [FILE]",
        options: [
            Option.flag("json", short: "j", help: "print JSON").spec,
            Option.count("count", in: 1...9, fallback: 3, help: "how many lines").spec,
        ],
        notes: ["/who    who is here\n/retry  again"], exitCodes: [ExitMeaning(.success, "all lines were accepted")]
    ) { _ in .success }

    @Test func `a command → usage, options, notes and exit codes`() {
        let help = HelpText.text(for: command, of: "martlet")
        #expect(help.hasPrefix("Usage: martlet send [OPTION]... ROOM [FILE]\n\nSend lines.\n\nOptions:\n  -j, --json "))
        #expect(help.contains("how many lines [3]\n"))
        #expect(help.contains("\n/who    who is here\n/retry  again\n"))
        #expect(help.contains("Exit codes:\n  0 "))
        #expect(help.contains("\n  64 "))
    }

    @Test func `a program → its name, summary and commands`() {
        let program = CommandLineProgram(name: "martlet", summary: "Messages.", commands: [command])
        let help = HelpText.text(for: program)
        #expect(help.hasPrefix("Usage: martlet COMMAND [OPTION]...\n\nMessages.\n\nCommands:\n  send "))
    }

    @Test func `a paragraph wider than the terminal → lines broken between words`() {
        let text = HelpText.wrap(String(repeating: "word ", count: 30) + "end", indent: 4)
        #expect(text.split(separator: "\n").count == 3)
        #expect(text.split(separator: "\n").allSatisfy { $0.hasPrefix("    ") && $0.count <= HelpText.width })
    }

    @Test func `lines that fit → unchanged, with their columns`() {
        #expect(HelpText.wrap("/who    who is here\n/retry  again", indent: 0) == "/who    who is here\n/retry  again")
    }
}
