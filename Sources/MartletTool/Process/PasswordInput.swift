import MartletToolSupport

/// The password for a command: the first line of a file, a hidden line of the terminal, or the first line of standard
/// input.
enum PasswordInput {
    static let option = Option.text(
        "password-file", "FILE", help: "the password is the first line of FILE")

    /// The maximum number of bytes of a line.
    static let maxLineByteCount = 4096

    /// Returns the password in the file of the option; nil without the option.
    static func readFile(_ arguments: ParsedArguments) throws(CommandError) -> String? {
        guard let path = arguments[option] else { return nil }
        return try line(InputFile.read(path, "the password"))
    }

    /// Returns the password in the file of the option, or the password that the user enters. On a terminal, the user
    /// enters it twice.
    static func read(_ arguments: ParsedArguments, prompt: String) async throws -> String {
        if let password = try readFile(arguments) { return password }
        guard Terminal.isTerminal(STDIN_FILENO), let mode = RawMode(STDIN_FILENO) else {
            return try await read(StandardInput())
        }
        mode.hideInput()
        defer { mode.restore() }
        let input = StandardInput()
        try Output.write(Array("\(prompt): ".utf8), to: STDERR_FILENO)
        let password = try await read(input)
        try Output.write(Array("again: ".utf8), to: STDERR_FILENO)
        guard try await read(input) == password else { throw CommandError(.dataError, "the passwords differ") }
        return password
    }

    /// Returns the next line of the input.
    static func read(_ input: StandardInput) async throws -> String {
        var bytes: [UInt8] = []
        while !bytes.contains(UInt8(ascii: "\n")), bytes.count <= maxLineByteCount {
            let next = try await input.next()
            if next.isEmpty { break }
            bytes += next
        }
        return try line(bytes)
    }

    /// Returns the first line of these bytes.
    static func line(_ bytes: [UInt8]) throws(CommandError) -> String {
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") }
        guard line.count <= maxLineByteCount, let text = String(validating: line, as: UTF8.self) else {
            throw CommandError(.dataError, "the password is not a line of UTF-8")
        }
        return text
    }
}
