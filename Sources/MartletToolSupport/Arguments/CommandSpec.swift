/// A subcommand: its table of options, its help and its action.
package struct CommandSpec: Sendable {
    /// The word on the command line.
    package var name: String
    /// One line for the list of commands.
    package var summary: String
    /// The name of the operand in the help; `nil` when the command takes none.
    package var operand: String?
    /// The options that the command accepts besides `--help`.
    package var options: [OptionSpec]
    /// Paragraphs of the help that stand below the options.
    package var notes: [String] = []
    /// How the command can end.
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

    /// The row of the table with that long name.
    package func option(named name: some StringProtocol) -> OptionSpec? {
        options.first { $0.name == name }
    }
}

/// One row of a command's table of exit codes.
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
    /// The option's values by its long name, in order.
    package var values: [String: [any Sendable]] = [:]
    /// What is not an option.
    package var operands: [String] = []

    /// The option's value: the one given, else the one that holds without it, else `nil`.
    package subscript<Value>(_ option: Option<Value>) -> Value? {
        values[option.spec.name]?.last as? Value ?? option.fallback
    }

    /// Every value that was given for the option, in order.
    package func all<Value>(_ option: Option<Value>) -> [Value] {
        (values[option.spec.name] ?? []).compactMap { $0 as? Value }
    }

    /// Whether the flag was given.
    package func has(_ flag: Option<Bool>) -> Bool { self[flag] == true }
}
