import CMartletSystem
import Dispatch

/// A command-line program: its name, its version and its commands.
package struct CommandLineProgram: Sendable {
    /// The version of the package. The changelog and the README state the same version.
    package static let version = "0.1.0"

    /// The name on the command line.
    package var name: String
    /// One sentence for the list of commands.
    package var summary: String
    /// The commands, in the order of the help.
    package var commands: [CommandSpec]

    /// Creates a program of the package's version.
    package init(name: String, summary: String, commands: [CommandSpec]) {
        self.name = name
        self.summary = summary
        self.commands = commands
    }

    /// The name and the version, as printed by `--version` and sent by clients as their agent.
    package var title: String { "\(name) \(Self.version)" }

    /// Returns the command with a name; nil if there is none.
    package func command(named name: String) -> CommandSpec? { commands.first { $0.name == name } }

    /// Runs the command in the arguments of the process, and exits with its code.
    // Not asynchronous: the executor and Dispatch trap without standard descriptors.
    package func main() -> Never {
        Descriptors.occupyStandard()
        do throws(CommandError) {
            try Descriptors.checkProcessFiles()
            try Descriptors.checkLimit()
        } catch {
            report(error)
            exit(error.code.rawValue)
        }
        let words = Self.arguments
        guard words.indices.allSatisfy({ Self.isUTF8(Self.bytes[$0]) || isPath(at: $0, of: words) }) else {
            Output.report("\(name): an argument is not UTF-8")
            exit(ExitCode.usage.rawValue)
        }
        Task {
            let code = await run(words)
            exit(code.rawValue)
        }
        dispatchMain()
    }

    /// The arguments of the process without its name. Bytes that are not UTF-8 are replaced by U+FFFD.
    static var arguments: [String] { bytes.map { String(decoding: $0, as: UTF8.self) } }

    /// The bytes of the arguments. `CommandLine.arguments` is empty if a library has changed the environment before
    /// main.
    private static let bytes: [[UInt8]] = {
        let count = martlet_argument_count()
        return (1..<max(count > 0 ? count : CommandLine.argc, 1)).map { index in
            let word = unsafe count > 0 ? martlet_argument(index) : UnsafePointer(CommandLine.unsafeArgv[Int(index)])
            return unsafe word.map { unsafe Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } ?? []
        }
    }()

    private static func isUTF8(_ bytes: [UInt8]) -> Bool { String(validating: bytes, as: UTF8.self) != nil }

    /// Whether an argument is the value of an option whose value can have any bytes.
    private func isPath(at index: Int, of words: [String]) -> Bool {
        words.first.flatMap(command(named:))?.options.contains { option in
            let name = "--\(option.name)"
            return option.acceptsAnyBytes && (words[index - 1] == name || words[index].hasPrefix("\(name)="))
        } == true
    }

    /// The bytes of a path in the arguments that is not UTF-8, and is `text` with replaced bytes; nil if there is none.
    package static func path(_ text: String) -> [UInt8]? {
        for word in bytes where !isUTF8(word) {
            let value = word.starts(with: "--".utf8) ? Array(word.drop { $0 != UInt8(ascii: "=") }.dropFirst()) : word
            if String(decoding: value, as: UTF8.self) == text { return value }
        }
        return nil
    }

    /// Runs a command and returns its exit code. Messages are written to standard error.
    package func run(_ words: [String]) async -> ExitCode {
        guard let first = words.first else {
            Output.report(HelpText.text(for: self))
            return .usage
        }
        do {
            switch first {
            case "help" where words.count > 1:
                return await run(Array(words.dropFirst()) + ["--help"])
            case "--help", "-h", "help":
                try Output.print(String(HelpText.text(for: self).dropLast()))
                return .success
            case "--version":
                try Output.print(title)
                return .success
            default:
                return try await run(first, Array(words.dropFirst()))
            }
        } catch let error as CommandError {
            if !error.message.isEmpty { report(error) }
            return error.code
        } catch {
            Output.report("\(name): \(SafeText.line("\(error)"))")
            return .failure
        }
    }

    /// Reports an error, whose message can contain texts of others.
    private func report(_ error: CommandError) {
        Output.report("\(name): \(SafeText.lines(error.message).joined(separator: "\n"))")
    }

    private func run(_ word: String, _ words: [String]) async throws -> ExitCode {
        guard let command = command(named: word) else {
            Output.report("\(name): unknown command '\(SafeText.line(word))'\nTry '\(name) --help'.")
            return .usage
        }
        do {
            var parser = ArgumentParser(for: command)
            switch try parser.parse(words) {
            case .help:
                try Output.print(String(HelpText.text(for: command, of: name).dropLast()))
                return .success
            case .run(let arguments):
                return try await command.run(arguments)
            }
        } catch let error as UsageError {
            Output.report("\(name) \(word): \(SafeText.line(error.message))\nTry '\(name) \(word) --help'.")
            return .usage
        }
    }
}
