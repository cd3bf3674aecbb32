/// The layout of a command's help.
package enum HelpText {
    /// The maximum number of columns.
    package static let width = 80

    /// Returns the help of a command.
    package static func text(for command: CommandSpec, of program: String) -> String {
        var usage = "Usage: \(program) \(command.name)"
        if !command.options.isEmpty { usage += " [OPTION]..." }
        for operand in command.operands { usage += " \(operand)" }
        var parts = [usage, wrap(command.summary, indent: 0)]
        let rows = command.options.map { (label(of: $0), sentence(of: $0)) } + [("-h, --help", "print this help")]
        parts.append("Options:\n" + table(rows))
        parts += command.notes.map { wrap($0, indent: 0) }
        parts.append("Exit codes:\n" + table(exitCodes(of: command).map { ("\($0.code.rawValue)", $0.meaning) }))
        return parts.joined(separator: "\n\n") + "\n"
    }

    /// The exit codes of a command, with that of all commands.
    static func exitCodes(of command: CommandSpec) -> [ExitMeaning] {
        command.exitCodes + [ExitMeaning(.usage, "the command line is invalid")]
    }

    /// Returns the help of a program, with the list of its commands.
    package static func text(for program: CommandLineProgram) -> String {
        let rows = program.commands.map { ($0.name, $0.summary) }
        return """
            Usage: \(program.name) COMMAND [OPTION]...

            \(program.summary)

            Commands:
            \(table(rows))

            '\(program.name) COMMAND --help' prints the options and exit codes of one command.
            '\(program.name) --version' prints the version.

            """
    }

    private static func label(of option: OptionSpec) -> String {
        let long = "--\(option.name)" + (option.placeholder.map { " \($0)" } ?? "")
        return option.short.map { "-\($0), \(long)" } ?? "    \(long)"
    }

    /// The help of an option, with its default.
    static func sentence(of option: OptionSpec) -> String {
        option.help + (option.fallback.map { " [\($0)]" } ?? "")
    }

    /// Returns a table of two columns. A label that exceeds the first column has its own line.
    private static func table(_ rows: [(String, String)]) -> String {
        let labelWidth = 22
        return rows.map { label, sentence in
            let text = wrap(sentence, indent: labelWidth + 4)
            if label.count > labelWidth { return "  \(label)\n" + text }
            let padded = "  " + label + String(repeating: " ", count: labelWidth - label.count + 2)
            return padded + text.drop { $0 == " " }
        }
        .joined(separator: "\n")
    }

    /// Returns the text in indented lines of at most ``width`` columns. A line that fits is not changed.
    package static func wrap(_ text: String, indent: Int) -> String {
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if indent + paragraph.count <= width {
                lines.append(margin + paragraph)
                continue
            }
            var line = ""
            for word in paragraph.split(separator: " ") {
                if !line.isEmpty, indent + line.count + 1 + word.count > width {
                    lines.append(margin + line)
                    line = ""
                }
                line += (line.isEmpty ? "" : " ") + word
            }
            lines.append(margin + line)
        }
        return lines.joined(separator: "\n")
    }
}
