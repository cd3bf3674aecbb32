import Testing

@testable import MartletTool

@Suite struct HelpTextTests {
    @Test(arguments: CommandTable.commands.map(\.name))
    func `each command's help names its options and codes and fits a terminal`(name: String) throws {
        let command = try #require(CommandTable.command(named: name))
        let help = HelpText.text(for: command)
        #expect(help.hasPrefix("Usage: martlet \(name)"))
        for option in command.options {
            #expect(help.contains("--\(option.name)"))
            #expect(!option.help.isEmpty)
        }
        #expect(help.contains("Exit codes:\n  0 "))
        #expect(help.contains("\n  64 "))
        for line in help.split(separator: "\n") { #expect(line.count <= HelpText.width) }
    }

    @Test(arguments: CommandTable.commands.map(\.name))
    func `no two options of a command share a name or a letter`(name: String) throws {
        let command = try #require(CommandTable.command(named: name))
        #expect(Set(command.options.map(\.name)).count == command.options.count)
        let letters = command.options.compactMap(\.short)
        #expect(Set(letters).count == letters.count)
        #expect(!letters.contains("h"))
    }

    @Test func `the list of commands has them all`() {
        let help = HelpText.text(for: CommandTable.commands)
        for command in CommandTable.commands { #expect(help.contains("\n  \(command.name) ")) }
    }

    @Test func `a paragraph is broken between words`() {
        let text = HelpText.wrap(String(repeating: "word ", count: 30) + "end", indent: 4)
        #expect(text.split(separator: "\n").count == 3)
        #expect(text.split(separator: "\n").allSatisfy { $0.hasPrefix("    ") && $0.count <= HelpText.width })
        #expect(HelpText.wrap("one\ntwo", indent: 0) == "one\ntwo")
    }

    @Test func `lines that fit keep their columns`() {
        #expect(HelpText.wrap("/who    who is here\n/retry  again", indent: 0) == "/who    who is here\n/retry  again")
        #expect(HelpText.text(for: ChatCommandLine.spec).contains("\n/who    who is here\n"))
    }
}
