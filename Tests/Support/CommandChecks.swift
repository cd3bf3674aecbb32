package import MartletToolSupport
import Testing

/// Checks the help and the options of every command of a program.
package func expectCompleteHelp(of program: CommandLineProgram) {
    #expect(!program.commands.isEmpty)
    for command in program.commands {
        let help = HelpText.text(for: command, of: program.name)
        #expect(help.hasPrefix("Usage: \(program.name) \(command.name)"))
        for option in command.options {
            #expect(help.contains("--\(option.name)"))
            #expect(!option.help.isEmpty)
        }
        #expect(help.contains("Exit codes:\n  0 "))
        #expect(help.split(separator: "\n").allSatisfy { $0.count <= HelpText.width }, "\(command.name)")
        #expect(Set(command.options.map(\.name)).count == command.options.count)
        let letters = command.options.compactMap(\.short)
        #expect(Set(letters).count == letters.count)
        #expect(!letters.contains("h"))
        #expect(HelpText.text(for: program).contains("\n  \(command.name) "))
    }
}
