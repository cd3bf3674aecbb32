import MartletToolSupport

/// `martlet man` and `martlet completions`: the manual pages and the completions of the program, for its installation.
enum ReferenceCommands {
    private static let directory = Option.text("directory", "DIR", help: "write all pages to files in DIR")

    static let manual: CommandSpec = CommandSpec(
        name: "man",
        summary: "Write the manual page of the program or of a command.",
        operand: "[COMMAND]", options: [directory.spec],
        notes: ["'martlet man serve | man -l -' shows a page."],
        exitCodes: [
            ExitMeaning(.success, "the page was written"), ExitMeaning(.cannotCreate, "a page could not be created"),
        ]
    ) { arguments in
        let program = MartletTool.program
        if let directory = arguments[directory] {
            try write(ManualPage.text(for: program), to: "\(directory)/\(program.name).1")
            for command in program.commands {
                let name = "\(program.name)-\(command.name).1"
                try write(ManualPage.text(for: command, of: program), to: "\(directory)/\(name)")
            }
            return .success
        }
        guard let name = arguments.operands.first else {
            try Output.print(String(ManualPage.text(for: program).dropLast()))
            return .success
        }
        guard let command = program.command(named: name) else { throw UsageError(message: "unknown command '\(name)'") }
        try Output.print(String(ManualPage.text(for: command, of: program).dropLast()))
        return .success
    }

    static let completions: CommandSpec = CommandSpec(
        name: "completions",
        summary: "Write the completion of command lines for a shell: bash, zsh or fish.",
        operand: "SHELL", options: [],
        notes: [
            """
            'source <(martlet completions bash)' activates it. zsh reads it from a file _martlet in a folder of \
            $fpath, and fish from ~/.config/fish/completions/martlet.fish.
            """
        ],
        exitCodes: [ExitMeaning(.success, "the completion was written")]
    ) { arguments in
        guard let shell = arguments.operands.first.flatMap(Completions.init) else {
            throw UsageError(message: "the shell is one of bash, zsh, fish")
        }
        try Output.print(String(shell.text(for: MartletTool.program).dropLast()))
        return .success
    }

    private static func write(_ text: String, to path: String) throws(CommandError) {
        let descriptor = Descriptors.open(path, O_WRONLY | O_CREAT | O_TRUNC)
        guard descriptor >= 0 else { throw CommandError.system(.cannotCreate, "cannot create \(path)") }
        defer { close(descriptor) }
        try Output.write(Array(text.utf8), to: descriptor)
    }
}
