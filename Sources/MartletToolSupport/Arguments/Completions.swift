/// The completion of command lines by shells, made of the tables of a program.
package enum Completions: String, CaseIterable, Sendable {
    case bash
    case zsh
    case fish

    /// Returns the script of a program for the shell.
    package func text(for program: CommandLineProgram) -> String {
        switch self {
        case .bash: Self.bash(program)
        case .zsh: Self.zsh(program)
        case .fish: Self.fish(program)
        }
    }

    /// The values that a shell proposes.
    private enum Values {
        case none
        case files
        case folders
        case words([String])

        init(of placeholder: String) {
            let words = placeholder.split(separator: "|").map { String($0) }
            let isChoice = words.count > 1 && placeholder == placeholder.lowercased()
            self = isChoice ? .words(words) : placeholder == "FILE" ? .files : placeholder == "DIR" ? .folders : .none
        }
    }

    // MARK: bash

    private static func bash(_ program: CommandLineProgram) -> String {
        let function = "_" + program.name
        let values = program.commands.flatMap { command in
            command.options.compactMap { option in
                option.placeholder.map { placeholder in
                    let names = ["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])
                    let pattern = names.map { "\(command.name):\($0)" }.joined(separator: " | ")
                    return "        \(pattern)) \(bashProposal(Values(of: placeholder))) ;;"
                }
            }
        }
        let options = program.commands.map { command in
            let names = command.options.map { "--\($0.name)" } + ["--help"]
            let operands = operandValues(of: command).map { " else \(bashProposal($0, isLast: false));" } ?? ""
            return "        \(command.name)) if [[ $current == -* ]]; then __martlet_words -W '"
                + names.joined(separator: " ") + "';\(operands) fi ;;"
        }
        let commands = (program.commands.map(\.name) + ["--help", "--version"]).joined(separator: " ")
        return """
            # Completion of \(program.name) for bash.
            __martlet_words() { mapfile -t COMPREPLY < <(compgen "$@" -- "$current"); }
            __martlet_files() { compopt -o filenames 2>/dev/null; __martlet_words "$1"; }
            \(function)() {
                local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
                # The words of --name=value are three.
                if [[ $current == = ]]; then
                    current=
                elif [[ $previous == = ]]; then
                    previous=${COMP_WORDS[COMP_CWORD - 2]}
                fi
                COMPREPLY=()
                if ((COMP_CWORD == 1)); then
                    __martlet_words -W '\(commands)'
                    return
                fi
                case ${COMP_WORDS[1]}:$previous in
            \(values.joined(separator: "\n"))
                esac
                case ${COMP_WORDS[1]} in
            \(options.joined(separator: "\n"))
                esac
            }
            complete -F \(function) \(program.name)

            """
    }

    private static func bashProposal(_ values: Values, isLast: Bool = true) -> String {
        let proposal =
            switch values {
            case .none: ""
            case .files: "__martlet_files -f"
            case .folders: "__martlet_files -d"
            case .words(let words): "__martlet_words -W '\(words.joined(separator: " "))'"
            }
        return !isLast ? proposal : proposal.isEmpty ? "return" : "\(proposal); return"
    }

    // MARK: zsh

    private static func zsh(_ program: CommandLineProgram) -> String {
        let commands = program.commands.map { "        \(quoted("\($0.name):\($0.summary)"))" }
        let cases = program.commands.map { command in
            let options = command.options.map { option in
                let repeated = option.repeats ? "*" : ""
                let help = "[\(zshEscaped(HelpText.sentence(of: option)))]"
                guard let placeholder = option.placeholder else {
                    let names = option.short.map { "'(-\($0) --\(option.name))'{-\($0),--\(option.name)}" }
                    return "\(names ?? "--\(option.name)")\(quoted(help))"
                }
                let value = ":\(zshEscaped(placeholder)):\(zshAction(Values(of: placeholder)))"
                let long = quoted("\(repeated)--\(option.name)=\(help)\(value)")
                return option.short.map { "\(long) \(quoted("\(repeated)-\($0)+\(help)\(value)"))" } ?? long
            }
            let operands = operandValues(of: command).map { [quoted("*:operand:\(zshAction($0))")] } ?? []
            let lines = (options + ["'(- *)'{-h,--help}'[print the help]'"] + operands).map { "                \($0)" }
            return "        \(command.name))\n            _arguments -s -S \\\n"
                + lines.joined(separator: " \\\n") + "\n            ;;"
        }
        return """
            #compdef \(program.name)
            # Completion of \(program.name) for zsh.
            _\(program.name)() {
                local -a commands=(
            \(commands.joined(separator: "\n"))
                )
                if ((CURRENT == 2)); then
                    _describe command commands
                    return
                fi
                shift words
                ((CURRENT--))
                case $words[1] in
            \(cases.joined(separator: "\n"))
                esac
            }
            _\(program.name) "$@"

            """
    }

    private static func zshAction(_ values: Values) -> String {
        switch values {
        case .none: " "
        case .files: "_files"
        case .folders: "_directories"
        case .words(let words): "(\(words.joined(separator: " ")))"
        }
    }

    private static func zshEscaped(_ text: String) -> String { escaped(text, ["\\", "[", "]", ":"]) }

    // MARK: fish

    private static func fish(_ program: CommandLineProgram) -> String {
        let start = "complete -c \(program.name)"
        var lines = ["# Completion of \(program.name) for fish.", "\(start) -f"]
        for command in program.commands {
            lines.append("\(start) -n __fish_use_subcommand -a \(command.name) -d \(fishQuoted(command.summary))")
        }
        for command in program.commands {
            let condition = "\(start) -n '__fish_seen_subcommand_from \(command.name)'"
            if let values = operandValues(of: command) { lines.append("\(condition)\(fishAction(values, of: "-a"))") }
            for option in command.options {
                let short = option.short.map { " -s \($0)" } ?? ""
                let value = option.placeholder.map { fishAction(Values(of: $0), of: "-x -a", none: " -x") } ?? ""
                lines.append(
                    "\(condition)\(short) -l \(option.name)\(value) -d \(fishQuoted(HelpText.sentence(of: option)))")
            }
            lines.append("\(condition) -s h -l help -d 'print the help'")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func fishAction(_ values: Values, of option: String, none: String = "") -> String {
        switch values {
        case .none: none
        case .files: none.isEmpty ? " -F" : " -r -F"
        case .folders: " \(option) '(__fish_complete_directories)'"
        case .words(let words): " \(option) '\(words.joined(separator: " "))'"
        }
    }

    private static func fishQuoted(_ text: String) -> String { "'\(escaped(text, ["\\", "'"]))'" }

    // MARK: Texts

    /// The values of the operands; nil if no value can be proposed.
    private static func operandValues(of command: CommandSpec) -> Values? {
        for operand in command.operands {
            switch Values(of: CommandSpec.name(of: operand)) {
            case .none: continue
            case let values: return values
            }
        }
        return nil
    }

    /// Returns a text in single quotation marks of bash and zsh.
    private static func quoted(_ text: String) -> String {
        "'\(text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
    }

    private static func escaped(_ text: String, _ special: Set<Character>) -> String {
        text.reduce(into: "") { result, character in
            if special.contains(character) { result.append("\\") }
            result.append(character)
        }
    }
}
