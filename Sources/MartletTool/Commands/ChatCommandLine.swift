import Martlet
import MartletSQLite
import MartletToolSupport

/// `martlet chat`: a conversation in a room, on a terminal or through pipes.
enum ChatCommandLine {
    /// The maximum duration at the end in which the last messages are accepted.
    private static let flushTimeout = Duration.seconds(2)
    private static let history = Option.count(
        "history", in: 0...10_000, fallback: 100, help: "number of earlier messages to show")
    private static let literal = Option.flag(
        "literal", help: "without a terminal, send lines that begin with a slash unchanged")

    static let spec = CommandSpec(
        name: "chat",
        summary: "Chat in a room. A terminal shows members, typing and the delivery of messages.",
        options: ClientOptions.specs + [
            history.spec, literal.spec, ClientOptions.outbox.spec, ClientOptions.timeout.spec,
        ],
        notes: [
            ChatCommand.overview,
            """
            If input or output is not a terminal, or TERM is dumb, there are no commands: a line that begins with a \
            slash is not sent and the exit code is 1; a line that begins with two is sent with one of them. \
            'martlet room' performs operations on a room. Each message is printed as one line, 'sender: text', with \
            the escapes \\\\ for a backslash, \\n and \\r for newlines, \\u{XXXX} for other control characters and \
            changes of the writing direction, and \\: for a colon in the sender's name. A message that is not a plain \
            text begins with a label in brackets: 'edit of message 12 of ada "hello"', 'deletion of', 'reaction "+1" \
            to', 'reply to', an event or an attachment. A backslash precedes a text that begins with a bracket. A \
            deletion by another account has no effect and is not shown.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the chat ended, and all messages were accepted"),
            ExitMeaning(
                .failure,
                "unaccepted messages, refused lines, or failed messages of an earlier command, listed on standard error"
            ),
        ] + ClientOptions.exitCodes + [ExitMeaning(.hungUp, "the terminal was closed")]
    ) { try await run($0) }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let isTerminal = Terminal.isTerminal(STDIN_FILENO) && Terminal.isTerminal(STDOUT_FILENO) && Terminal.isCapable
        let sentLines = SentLines()
        defer { for line in SentLines.report(sentLines.unsent) { Output.report(line) } }
        let code: ExitCode
        if isTerminal {
            code = try await run(arguments, sentLines, ChatTerminal.run)
        } else {
            code = try await Interruptions.cancel {
                try await run(arguments, sentLines, ChatPipe(isLiteral: arguments.has(literal)).run)
            }
        }
        return code == .success && !sentLines.unsent.isEmpty ? .failure : code
    }

    private static func run(
        _ arguments: ParsedArguments, _ sentLines: SentLines,
        _ chat: (Client, Room, SentLines, Duration?) async throws -> ExitCode
    ) async throws -> ExitCode {
        let outbox = ClientOptions.outbox(arguments)
        let earlier = outbox.map { EarlierMessages(path: $0.path) }
        let client = try ClientOptions.client(
            arguments, agent: "chat", flushTimeout: flushTimeout, outbox: outbox, earlier: earlier)
        let options = Room.Options(from: .latest(count: arguments[history] ?? 0), waitsForRelay: false)
        do {
            let code = try await withClient(client) { client in
                ClientOptions.reportRecovery(of: outbox)
                await EarlierMessages.reportFailures(in: outbox)
                let room = try await client.open(room: arguments[ClientOptions.room] ?? "", options: options)
                let refusing = room.refusingRequests()
                defer { refusing.cancel() }
                return try await chat(client, room, sentLines, arguments[ClientOptions.timeout])
            }
            return earlier?.exitCode(code) ?? code
        } catch let error as MartletError {
            throw CommandError(error)
        }
    }
}
