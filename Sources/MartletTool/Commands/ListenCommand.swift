import Foundation
import Martlet
import MartletToolSupport

/// `martlet listen`: messages in, lines out.
enum ListenCommand {
    /// Where to begin.
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
        help: "where to begin: at the first message that is kept, with what is new, or after that offset"
    ) { Begin($0) }
    private static let cursorFile = Option.text(
        "cursor-file", "FILE", help: "remember in FILE how far lines are written, and go on from there next time")
    private static let count = Option.count("count", short: "n", in: 1...Int.max, help: "end after N messages")
    private static let untilIdle = Option.duration(
        "until-idle", "S", in: .seconds, isZeroAllowed: false,
        help: "end after S seconds online without a message; time offline is not counted")
    private static let untilEOF = Option.flag("until-eof", help: "end when standard input does")
    private static let json = Option.flag("json", help: "write each message as a JSON object in a line")

    static let spec = CommandSpec(
        name: "listen",
        summary: "Write each message of a room as a line, in order, once.",
        options: ClientOptions.specs + [
            from.spec, cursorFile.spec, count.spec, untilIdle.spec, untilEOF.spec, ClientOptions.timeout.spec,
            ProgressStyle.option.spec, json.spec,
        ],
        notes: [
            """
            With --cursor-file a listener that ended, or was killed, goes on where it stopped, and --from counts only \
            the first time. One listener at a time can use FILE, for one room; with another room the command ends with \
            exit code 64 and leaves FILE alone. The cursor is written behind the lines, and is on the disk with each \
            batch of them. When the output is a file that is appended to (>> FILE), even a kill between the two \
            repeats nothing; through a pipe it may repeat the last lines.
            """,
            """
            When the room has fewer messages than the offset in --from, standard error says so, and what is new is \
            written. That is no error.
            """,
            """
            --until-idle adds up the time in which there was a connection and no message came. A lost connection stops \
            the count, the next one goes on with it, and each message sets it to zero.
            """,
            "Messages that are no text and no lines of 'martlet send' appear with --json only.",
        ],
        exitCodes: [
            ExitMeaning(.success, "everything that came was written"),
            ExitMeaning(.failure, "the relay no longer had some messages, which standard error tells"),
            ExitMeaning(
                .logReplaced,
                "the relay had lost the room's messages, which standard error tells; all that it has now was written"),
            ExitMeaning(.noInput, "the cursor's file holds something else"),
            ExitMeaning(.cannotCreate, "the cursor's file cannot be written, or another listener has it"),
            ExitMeaning(.inputOutput, "writing failed"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let client = try ClientOptions.client(arguments, agent: "listen")
        let room = try ClientOptions.roomName(arguments)
        let file = try arguments[cursorFile].map { path throws(CommandError) in
            try CursorFile(path: path, room: room)
        }
        let monitor = TransferMonitor(arguments[ProgressStyle.option] ?? .auto, totalCount: arguments[count])
        let listening = Listening(
            begin: StartingPoint(arguments[from] ?? .latest, kept: file?.cursor?.room),
            count: arguments[count],
            idleTime: arguments[untilIdle], endsWithInput: arguments.has(untilEOF), isJSON: arguments.has(json))
        var failure: (any Error)?
        var report = TransferReport()
        do {
            try await withClient(client) { client in
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
        if report.replacedLogs > 0 { throw CommandError(.logReplaced, "the room's log began anew") }
        if report.missed > 0 { throw CommandError(.failure, "\(report.missed) messages were no longer there") }
        return .success
    }
}
