import MartletAuthentication
import MartletRelay
import MartletToolSupport
import MartletWire

/// `martlet user`: the accounts of a password file.
enum UserCommand {
    private enum Action: String {
        case add, remove, list
    }

    private static let file = Option.text("file", short: "f", "FILE", help: "the password file of the relay; required")

    static let spec = CommandSpec(
        name: "user",
        summary: "Add an account to the password file of a relay, change its password, remove it, or list all.",
        operand: "ACTION [NAME]",
        options: [file.spec, PasswordInput.option.spec],
        notes: [
            """
            ACTION is add, remove or list. 'martlet user add NAME' creates the file if necessary, adds the account, or \
            changes the password of an existing one. Without --password-file the command prompts for the password at \
            a terminal, or reads the first line of standard input.
            """,
            """
            Commands that change the file at the same time wait for each other, for up to 10 s. A symbolic link is \
            kept, and its target is changed. A relay refuses a file without an account.
            """,
            """
            The file contains no passwords, but keys from which passwords can be guessed. Only the user of the relay \
            should be able to read the file. The signal HUP makes 'martlet serve --passwords FILE' read it again.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the file is changed, or the accounts are listed"),
            ExitMeaning(.failure, "there is no such account"),
            ExitMeaning(.dataError, "the password is not valid"),
            ExitMeaning(.noInput, "a file cannot be read, or is not a password file"),
            ExitMeaning(.cannotCreate, "the file cannot be written"),
            ExitMeaning(.interrupted, "interrupted"),
        ]
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        guard let word = arguments.operands.first, let action = Action(rawValue: word) else {
            throw UsageError(message: "the first operand is add, remove or list")
        }
        guard let path = arguments[file] else { throw UsageError(message: "'--file' is required") }
        switch action {
        case .list:
            guard arguments.operands.count == 1 else { throw UsageError(message: "'list' takes no name") }
            for name in try PasswordFile.read(path).names { try Output.print(SafeText.line(name)) }
        case .add:
            let name = try name(arguments)
            // The file is checked before the prompt for the password.
            let file = try PasswordFile.readIfExists(path)
            if let warning = warning(about: name, among: file?.names ?? []) { Output.report("martlet: \(warning)") }
            let password = try await PasswordInput.read(arguments, prompt: "password of \(SafeText.line(name.text))")
            try await add(name, password, to: path)
        case .remove:
            let name = try name(arguments)
            // A missing file is an error, and is not created.
            _ = try PasswordFile.read(path)
            try await PasswordFile.change(path) { file throws(CommandError) in
                do { try file.remove(name.text) } catch {
                    throw CommandError(.failure, "\(path) has no account \(SafeText.line(name.text))")
                }
            }
        }
        return .success
    }

    private static func name(_ arguments: ParsedArguments) throws(UsageError) -> AccountName {
        guard arguments.operands.count == 2 else { throw UsageError(message: "the second operand is an account") }
        guard let name = AccountName(arguments.operands[1]) else {
            throw UsageError(message: "\"\(SafeText.line(arguments.operands[1]))\" is not a valid name of an account")
        }
        guard !name.text.hasPrefix("#") else {
            throw UsageError(message: "a name in a password file does not begin with '#', which begins a comment")
        }
        return name
    }

    /// The reason why a user may not reach the account by typing its name, whose bytes are compared (W-31); nil if
    /// there is none.
    static func warning(about name: AccountName, among names: [String]) -> String? {
        let accounts = names.compactMap { AccountName($0) }
        if accounts.contains(where: { $0 != name && $0.text == name.text }) {
            return "the file has another account with a canonically equivalent name"
        }
        return name.text.isNormalFormC ? nil : "the name is not in normal form C, in which most keyboards type it"
    }

    private static func add(_ name: AccountName, _ password: String, to path: String) async throws {
        try await PasswordFile.change(path) { file throws(CommandError) in try add(name, password, to: &file, path) }
    }

    private static func add(
        _ name: AccountName, _ password: String, to file: inout PasswordFile, _ path: String
    ) throws(CommandError) {
        do {
            if file.record(of: name.text) == nil {
                try file.add(name.text, password: password)
            } else {
                try file.replace(name.text, password: password)
            }
        } catch is SCRAMError {
            throw CommandError(.dataError, "a password has 1 to 1024 bytes and no control characters")
        } catch {
            throw CommandError(.dataError, "\(path): \(error)")
        }
    }
}
