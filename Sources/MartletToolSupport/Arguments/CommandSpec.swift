/// A subcommand: its table of options, its help and its action.
package struct CommandSpec: Sendable {
    /// The name on the command line.
    package var name: String
    /// One line for the list of commands.
    package var summary: String
    /// The names of the operands in the help, separated by blanks, those that may be missing in brackets; nil if the
    /// command has none.
    package var operand: String?
    /// The options that the command accepts beside `--help`.
    package var options: [OptionSpec]
    /// Paragraphs of the help below the options.
    package var notes: [String] = []
    /// The exit codes of the command.
    package var exitCodes: [ExitMeaning]
    /// The action.
    package var run: @Sendable (ParsedArguments) async throws -> ExitCode

    package init(
        name: String, summary: String, operand: String? = nil, options: [OptionSpec], notes: [String] = [],
        exitCodes: [ExitMeaning], run: @escaping @Sendable (ParsedArguments) async throws -> ExitCode
    ) {
        self.name = name
        self.summary = summary
        self.operand = operand
        self.options = options
        self.notes = notes
        self.exitCodes = exitCodes
        self.run = run
    }

    /// The names of the operands, those that may be missing in brackets.
    package var operands: [Substring] { operand?.split(separator: " ") ?? [] }

    /// The name of an operand without brackets.
    static func name(of operand: Substring) -> String { operand.filter { $0 != "[" && $0 != "]" } }

    /// Returns the row with a long name; nil if there is none.
    package func option(named name: some StringProtocol) -> OptionSpec? {
        options.first { $0.name == name }
    }

    /// Returns the name of the option that resembles a wrong name; nil if none does.
    func suggestion(for name: String) -> String? {
        let best = options.map { (name: $0.name, distance: editDistance(name, $0.name)) }
            .min { $0.distance < $1.distance }
        return best.flatMap { $0.distance <= max(1, name.count / 3) ? $0.name : nil }
    }
}

/// A row in a command's table of exit codes.
package struct ExitMeaning: Sendable {
    package var code: ExitCode
    package var meaning: String

    package init(_ code: ExitCode, _ meaning: String) {
        self.code = code
        self.meaning = meaning
    }
}

/// The options and operands of a command line.
package struct ParsedArguments: Sendable {
    /// The values of the options by their long names, in order.
    package var values: [String: [any Sendable]] = [:]
    /// The words that are no options.
    package var operands: [String] = []

    /// The value of an option: the given one, otherwise the default, otherwise nil.
    package subscript<Value>(_ option: Option<Value>) -> Value? {
        values[option.spec.name]?.last as? Value ?? option.fallback
    }

    /// Returns all given values of an option, in order.
    package func all<Value>(_ option: Option<Value>) -> [Value] {
        (values[option.spec.name] ?? []).compactMap { $0 as? Value }
    }

    /// Returns whether a flag was given.
    package func has(_ flag: Option<Bool>) -> Bool { self[flag] == true }
}
