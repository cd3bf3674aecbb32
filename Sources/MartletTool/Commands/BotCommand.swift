import Martlet
import MartletToolSupport

/// `martlet bot`: a bot that replies to commands in a room, and to the same commands as requests.
enum BotCommand {
    private static let specs = ClientOptions.specs + [ClientOptions.timeout.spec, ClientOptions.outbox.spec]

    static let spec = CommandSpec(
        name: "bot",
        summary: "Run a bot that replies to /echo, /roll, /time and /help in a room.",
        options: specs,
        notes: [
            "The bot also answers requests whose method is the name of a command without its slash. It replies to new "
                + "messages only; with --outbox it replies once to each unhandled command, including commands that "
                + "were sent while it was not running."
        ],
        exitCodes: [ExitMeaning(.success, "the room has ended")] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let outbox = ClientOptions.outbox(arguments)
        let monitor = TransferMonitor(.none)
        let client = try ClientOptions.client(arguments, agent: "bot", outbox: outbox, monitor: monitor)
        let options = Room.Options(from: outbox == nil ? .latest(count: 0) : .stored)
        do {
            try await withClient(client) { client in
                ClientOptions.reportRecovery(of: outbox)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await monitor.watch(client, timeout: arguments[ClientOptions.timeout]) }
                    group.addTask { try await serve(client, arguments[ClientOptions.room] ?? "", options) }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        } catch is CancellationError {
            return .interrupted
        } catch let error as MartletError {
            throw CommandError(error)
        }
        return .success
    }

    private static func serve(_ client: Client, _ name: String, _ options: Room.Options) async throws {
        let room = try await client.open(room: name, options: options)
        Output.report("bot: \(SafeText.line(client.account.text)) replies in \(SafeText.line(room.name.text))")
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await answerCommands(in: room, as: client.account) }
            group.addTask { try await answerRequests(in: room) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static func answerCommands(in room: Room, as account: AccountName) async throws {
        var random = SystemRandomNumberGenerator()
        for try await delivery in room.deliveries {
            let message = delivery.message
            var replies: [OutgoingMessage] = []
            if message.sender != account, let text = message.text,
                let answer = BotReply.answer(to: text, time: ClockText.now(), using: &random)
            {
                replies.append(try OutgoingMessage(text: answer))
            }
            // The cursor and the reply are stored together, so that no command is lost or answered twice.
            try await delivery.done(sending: replies)
            room.markRead(upTo: message.cursor)
        }
    }

    private static func answerRequests(in room: Room) async throws {
        var random = SystemRandomNumberGenerator()
        for await request in room.requests {
            let answer = BotReply.answer(
                to: request.method, argument: request.text ?? "", time: ClockText.now(), using: &random)
            if let answer {
                try request.respond(text: answer)
            } else {
                request.fail(.unknownMethod)
            }
        }
        try Task.checkCancellation()
    }
}
