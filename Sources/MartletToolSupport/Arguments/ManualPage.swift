/// Manual pages in the language of man(7), made of the tables of a program.
package enum ManualPage {
    /// Returns the page of a program, `martlet(1)`.
    package static func text(for program: CommandLineProgram) -> String {
        page(
            program.name, program, program.summary,
            [
                section("SYNOPSIS", "\(bold(program.name)) \(italic("COMMAND")) [\(italic("OPTION"))]..."),
                section("DESCRIPTION", escaped(program.summary)),
                section("COMMANDS", program.commands.map { row(bold($0.name), $0.summary) }.joined(separator: "\n")),
                section(
                    "OPTIONS",
                    row(bold("--help"), "print the list of commands") + "\n"
                        + row(bold("--version"), "print the version")),
                section(
                    "SEE ALSO",
                    program.commands.map { "\(bold("\(program.name)-\($0.name)"))(1)" }.joined(separator: ",\n")),
            ])
    }

    /// Returns the page of a command, `martlet-serve(1)`.
    package static func text(for command: CommandSpec, of program: CommandLineProgram) -> String {
        let operands = command.operands.map { operand in
            let name = italic(CommandSpec.name(of: operand))
            return operand.hasPrefix("[") ? " [\(name)]" : " \(name)"
        }.joined()
        let options = command.options.map { option in
            let names = [option.short.map { "-\($0)" }, "--\(option.name)"].compactMap(\.self)
            let value = option.placeholder.map { " \(italic($0))" } ?? ""
            return row(names.map { bold($0) }.joined(separator: ", ") + value, HelpText.sentence(of: option))
        }
        let codes = HelpText.exitCodes(of: command).map { row(bold("\($0.code.rawValue)"), $0.meaning) }
        return page(
            "\(program.name)-\(command.name)", program, command.summary,
            [
                section("SYNOPSIS", "\(bold("\(program.name) \(command.name)")) [\(italic("OPTION"))]...\(operands)"),
                section(
                    "DESCRIPTION", ([command.summary] + command.notes).map { paragraph($0) }.joined(separator: "\n")),
                section("OPTIONS", (options + [row(bold("-h, --help"), "print this help")]).joined(separator: "\n")),
                section("EXIT STATUS", codes.joined(separator: "\n")),
                section("SEE ALSO", "\(bold(program.name))(1)"),
            ])
    }

    private static func page(
        _ name: String, _ program: CommandLineProgram, _ summary: String, _ sections: [String]
    ) -> String {
        let title = ".TH \(escaped(name.uppercased())) 1 \"\" \"\(escaped(program.title))\" \"User Commands\""
        return ([title, section("NAME", "\(escaped(name)) \\- \(escaped(summary))")] + sections).joined(separator: "\n")
            + "\n"
    }

    private static func section(_ name: String, _ text: String) -> String { ".SH \(name)\n\(text)" }

    private static func row(_ label: String, _ sentence: String) -> String { ".TP\n\(label)\n\(escaped(sentence))" }

    /// A paragraph with lines of its own keeps them.
    private static func paragraph(_ text: String) -> String {
        text.contains("\n") ? ".PP\n.nf\n\(escaped(text))\n.fi" : ".PP\n\(escaped(text))"
    }

    private static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

    private static func italic(_ text: String) -> String { "\\fI\(escaped(text))\\fR" }

    /// Escapes the characters that begin a request, or that are printed as others.
    private static func escaped(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let first = line.first.map { $0 == "." || $0 == "'" } == true ? "\\&" : ""
            return line.reduce(into: first) { result, character in
                switch character {
                case "\\": result += "\\e"
                case "-": result += "\\-"
                case "'": result += "\\(aq"
                case "`": result += "\\(ga"
                case "^": result += "\\(ha"
                case "~": result += "\\(ti"
                case _ where !character.isASCII:
                    for scalar in character.unicodeScalars {
                        let digits = String(scalar.value, radix: 16, uppercase: true)
                        result += "\\[u" + String(repeating: "0", count: max(4 - digits.count, 0)) + digits + "]"
                    }
                default: result.append(character)
                }
            }
        }
        .joined(separator: "\n")
    }
}
