import Dispatch
import Foundation

/// The command line tool: finds the command, applies its table to the other words, runs it and leaves with its code.
@main
struct MartletTool {
    // Not asynchronous: the executor and Dispatch trap when they have no descriptors.
    static func main() {
        Descriptors.occupyStandard()
        do { try Descriptors.checkLimit() } catch {
            Output.report("martlet: \(error.message)")
            exit(error.code.rawValue)
        }
        Task {
            let code = await run(Array(CommandLine.arguments.dropFirst()))
            exit(code.rawValue)
        }
        dispatchMain()
    }

    /// Does what the words ask for.
    static func run(_ words: [String]) async -> ExitCode {
        guard let name = words.first else {
            Output.report(HelpText.text(for: CommandTable.commands))
            return .usage
        }
        do {
            switch name {
            case "--help", "-h", "help":
                try Output.print(HelpText.text(for: CommandTable.commands).trimmingCharacters(in: .newlines))
                return .success
            case "--version":
                try Output.print(CommandTable.program)
                return .success
            default:
                return try await run(name, Array(words.dropFirst()))
            }
        } catch let error as CommandError {
            if !error.message.isEmpty { Output.report("martlet: \(error.message)") }
            return error.code
        } catch {
            Output.report("martlet: \(error)")
            return .failure
        }
    }

    private static func run(_ name: String, _ words: [String]) async throws -> ExitCode {
        guard let command = CommandTable.command(named: name) else {
            Output.report("martlet: there is no command '\(SafeText.line(name))'\nTry 'martlet --help'.")
            return .usage
        }
        do {
            var parser = ArgumentParser(for: command)
            switch try parser.parse(words) {
            case .help:
                try Output.print(HelpText.text(for: command).trimmingCharacters(in: .newlines))
                return .success
            case .run(let arguments):
                return try await command.run(arguments)
            }
        } catch let error as UsageError {
            Output.report("martlet \(name): \(SafeText.line(error.message))\nTry 'martlet \(name) --help'.")
            return .usage
        }
    }
}
