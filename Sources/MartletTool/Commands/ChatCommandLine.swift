import Foundation
import Martlet

/// `martlet chat`: a room on a terminal, or its lines through a pipe.
enum ChatCommandLine {
    private static let history = Option.count(
        "history", in: 0...10_000, fallback: 100, help: "how many earlier messages are shown")

    static let spec = CommandSpec(
        name: "chat",
        summary: "Talk in a room: on a terminal, with who is there, who types and what was read.",
        options: ClientOptions.specs + [history.spec],
        notes: [
            ChatCommand.overview,
            "When input or output is no terminal, lines are sent and messages are printed as 'sender: text'.",
        ],
        exitCodes: [ExitMeaning(.success, "you left")] + ClientOptions.exitCodes
    ) { try await run($0) }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let client = try ClientOptions.client(arguments, agent: "chat")
        let options = Room.Options(from: .latest(count: arguments[history] ?? 0), waitsForRelay: false)
        let isTerminal = Terminal.isTerminal(STDIN_FILENO) && Terminal.isTerminal(STDOUT_FILENO) && Terminal.isCapable
        do {
            return try await withClient(client) { client in
                let room = try await client.open(room: arguments[ClientOptions.room] ?? "", options: options)
                if isTerminal { return try await ChatTerminal.run(client, room) }
                return try await Interruptions.cancel { try await ChatPipe.run(client, room) }
            }
        } catch let error as MartletError {
            throw CommandError(error)
        }
    }
}
