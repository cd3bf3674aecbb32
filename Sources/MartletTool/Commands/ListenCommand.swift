import Martlet
import MartletToolSupport

/// `martlet listen`: writes the messages of a room as lines.
enum ListenCommand {
    /// The start of the messages.
    enum Begin: Equatable, Sendable {
        case start, latest
        case cursor(UInt64)

        init?(_ text: String) {
            switch text {
            case "start": self = .start
            case "latest": self = .latest
            default:
                guard let offset = UInt64(text) else { return nil }
                self = .cursor(offset)
            }
        }
    }

    private static let from = Option<Begin>(
        "from", "start|latest|OFFSET", fallback: .latest, shown: "latest",
        expectation: "start, latest or the offset of a message",
        help: "start with the first kept message, with new messages, or after an offset"
    ) { Begin($0) }
    private static let cursorFile = Option.text(
        "cursor-file", "FILE", help: "store the position of the written lines in FILE, and continue from it")
    private static let count = Option.count("count", short: "n", in: 1...Int.max, help: "end after N messages")
    private static let untilIdle = Option.duration(
        "until-idle", "S", in: .seconds, isZeroAllowed: false,
        help: "end after S seconds with a connection and without a message")
    private static let untilEOF = Option.flag("until-eof", help: "end at the end of standard input")
    private static let json = Option.flag("json", help: "write each message as one JSON object in a line")

    static let spec = CommandSpec(
        name: "listen",
        summary: "Write each message of a room once, in order, as a line.",
        options: ClientOptions.specs + [
            from.spec, cursorFile.spec, count.spec, untilIdle.spec, untilEOF.spec, ClientOptions.outbox.spec,
            ClientOptions.timeout.spec, ProgressStyle.option.spec, json.spec,
        ],
        notes: [
            """
            With --cursor-file a new listener continues where the previous one ended or was killed, and --from applies \
            to the first run only. One listener at a time can use FILE, for one room; for another room the command \
            ends with exit code 64 and does not change FILE. The cursor is written after each batch of lines and is \
            durable. If the output is appended to a file (>> FILE), no line is repeated after a kill; through a pipe \
            the last lines may be repeated.
            """,
            """
            If the offset in --from is beyond the last message of the room, a message on standard error reports this, \
            and new messages are written. The exit code is not affected.
            """,
            """
            --until-idle measures the time with a connection and without a message. Time without a connection is not \
            counted, and each message resets the time to zero, as does a reader of the output that does not take the \
            lines.
            """,
            """
            The lines are the log: the texts and the lines of 'martlet send', unchanged. Other messages, such as \
            replies, edits, deletions and reactions, are written with --json only, which has the 'type' of each \
            message, the identity of the message that it refers to as 'target', and the times when the relay took it \
            and when it was received, 'time' and 'receivedAt', in milliseconds since 1970.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "all received messages were written"),
            ExitMeaning(.failure, "the relay no longer kept some messages, listed on standard error"),
            ExitMeaning(
                .logReplaced,
                "the relay had lost messages, as standard error reports; those in their place were written"
            ),
            ExitMeaning(.noInput, "the cursor file contains no cursor"),
            ExitMeaning(.cannotCreate, "the cursor file cannot be written, or another listener uses it"),
            ExitMeaning(.inputOutput, "writing failed"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let outbox = ClientOptions.outbox(arguments)
        let monitor = TransferMonitor(arguments[ProgressStyle.option] ?? .auto, totalCount: arguments[count])
        let client = try ClientOptions.client(arguments, agent: "listen", outbox: outbox, monitor: monitor)
        let room = try ClientOptions.roomName(arguments)
        let file = try arguments[cursorFile].map { path throws(CommandError) in
            try CursorFile(path: path, room: room)
        }
        let listening = Listening(
            begin: StartingPoint(arguments[from] ?? .latest, kept: file?.cursor?.room),
            count: arguments[count],
            idleTime: arguments[untilIdle], endsWithInput: arguments.has(untilEOF), isJSON: arguments.has(json))
        var failure: (any Error)?
        var report = TransferReport()
        do {
            try await withClient(client) { client in
                ClientOptions.reportRecovery(of: outbox)
                do {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        group.addTask { try await monitor.watch(client, timeout: arguments[ClientOptions.timeout]) }
                        group.addTask {
                            let output = LineOutput(to: STDOUT_FILENO, cursorFile: file)
                            try await listening.run(client, room.text, output, monitor)
                        }
                        defer { group.cancelAll() }
                        try await group.next()
                    }
                } catch { failure = error }
                report = await monitor.finish(client)
            }
        } catch { failure = failure ?? error }
        switch failure {
        case nil: break
        case is CancellationError: return .interrupted
        case let error as MartletError: throw CommandError(error)
        case let error?: throw error
        }
        if report.replacedLogs > 0 { throw CommandError(.logReplaced, "the relay had lost messages of the room") }
        if report.missed > 0 { throw CommandError(.failure, "\(report.missed) messages are no longer kept") }
        return .success
    }
}
