/// A subcommand: its table of options, what its help says, and what it does.
struct CommandSpec: Sendable {
    /// The word on the command line.
    var name: String
    /// One line for the list of commands.
    var summary: String
    /// What stands for the operand in the help; `nil` when the command takes none.
    var operand: String?
    /// What the command accepts besides `--help`.
    var options: [OptionSpec]
    /// Paragraphs of the help that stand below the options.
    var notes: [String] = []
    /// How the command can end.
    var exitCodes: [ExitMeaning]
    /// Does it.
    var run: @Sendable (ParsedArguments) async throws -> ExitCode

    /// The row of the table with that long name.
    func option(named name: some StringProtocol) -> OptionSpec? {
        options.first { $0.name == name }
    }
}

/// One row of a command's table of exit codes.
struct ExitMeaning: Sendable {
    var code: ExitCode
    var meaning: String

    init(_ code: ExitCode, _ meaning: String) {
        self.code = code
        self.meaning = meaning
    }
}

/// What a command line said, after the table was applied to it.
struct ParsedArguments: Sendable {
    /// The option's values by its long name, in order.
    var values: [String: [any Sendable]] = [:]
    /// What is not an option.
    var operands: [String] = []

    /// The option's value: the one given, else the one that holds without it, else `nil`.
    subscript<Value>(_ option: Option<Value>) -> Value? {
        values[option.spec.name]?.last as? Value ?? option.fallback
    }

    /// Every value that was given for the option, in order.
    func all<Value>(_ option: Option<Value>) -> [Value] {
        (values[option.spec.name] ?? []).compactMap { $0 as? Value }
    }

    /// Whether the flag was given.
    func has(_ flag: Option<Bool>) -> Bool { self[flag] == true }
}
