import Martlet
import MartletToolSupport
import MartletTransport

/// `martlet history`: writes earlier messages of a room as lines.
enum HistoryCommand {
    private static let before = Option.number(
        "before", "OFFSET", help: "the newest messages before the one with this offset")
    private static let after = Option.number(
        "after", "OFFSET", help: "the oldest messages after the one with this offset")
    private static let since = Option.duration(
        "since", "S", in: .seconds, isZeroAllowed: false,
        help: "the oldest messages of the last S seconds")
    private static let limit = Option.count(
        "limit", short: "n", in: 1...10_000, fallback: 50, help: "write at most N messages")
    private static let json = Option.flag("json", help: "write each message as one JSON object in a line")
    private static let raw = Option.flag(
        "raw", help: "write the log: edits, deletions and reactions as messages, without their effects")

    /// The maximum number of messages behind a page that are read for changes of its messages.
    static let maxLaterCount = 100_000

    static let spec = CommandSpec(
        name: "history",
        summary: "Write earlier messages of a room, oldest first.",
        options: ClientOptions.specs + [
            before.spec, after.spec, since.spec, limit.spec, ClientOptions.timeout.spec, json.spec, raw.spec,
        ],
        notes: [
            "Without --before, --after and --since the newest messages of the room are written.",
            "If there are more messages, standard error states the option that continues.",
            """
            A line has the offset, the account and the text of a message. Control characters, newlines included, are \
            escaped with a backslash. A label in brackets before the text contains 'edited', 'deleted', reactions and \
            their numbers, the message that is replied to, or the kind of a message that is not a text. A backslash \
            precedes a text that begins with a bracket.
            """,
            """
            Each message is written in its current state: with the text of the latest edit and the current reactions, \
            and without a text if it was deleted. Edits, deletions and reactions are written as separate messages with \
            --raw only. A deletion of another account's message has no effect.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the messages were written"),
            ExitMeaning(.failure, "the relay refused the request, or its answer was not valid"),
            ExitMeaning(.inputOutput, "writing failed"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    /// The messages to write.
    enum Place: Equatable, Sendable {
        case before(UInt64?)
        case after(UInt64)
        /// Messages from a time in milliseconds since 1970.
        case from(UInt64)
    }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let place = try place(arguments)
        do {
            try await RoomTask.run(arguments, agent: "history") { _, room in
                let found = try await read(place, arguments[limit] ?? 50, in: room)
                let lines = try await lines(
                    of: found.messages, at: place, in: room, isRaw: arguments.has(raw), isJSON: arguments.has(json))
                try Output.write(lines, to: STDOUT_FILENO)
                if let next = found.next {
                    let option = if case .before = place { "--before" } else { "--after" }
                    Output.report("martlet: there are more messages; \(option) \(next.offset) continues")
                }
            }
        } catch is CancellationError {
            return .interrupted
        } catch let error as MartletError {
            throw CommandError(error)
        }
        return .success
    }

    private static func place(_ arguments: ParsedArguments) throws(UsageError) -> Place {
        let names = [arguments[before] != nil, arguments[after] != nil, arguments[since] != nil]
        guard names.count(where: \.self) <= 1 else {
            throw UsageError(message: "'--before', '--after' and '--since' exclude each other")
        }
        if let offset = arguments[after] { return .after(offset) }
        if let duration = arguments[since] {
            let now = EventLoop.wallClock
            let (seconds, attoseconds) = duration.components
            let age = UInt64(clamping: seconds) * 1000 + UInt64(clamping: attoseconds / 1_000_000_000_000_000)
            return .from(now - min(now, age))
        }
        return .before(arguments[before])
    }

    /// Reads pages until they have a number of messages, or the log has no more. The second value is the cursor of the
    /// next page.
    static func read(
        _ place: Place, _ limit: Int, in room: Room
    ) async throws -> (messages: [RoomMessage], next: RoomCursor?) {
        var messages: [RoomMessage] = []
        var next: RoomCursor?
        repeat {
            let count = limit - messages.count
            let page: Room.Page
            switch (place, next) {
            case (.before(let offset), nil):
                page = try await room.messages(before: offset.map { RoomCursor(offset: $0) }, limit: count)
            case (.after(let offset), nil):
                page = try await room.messages(after: RoomCursor(offset: offset), limit: count)
            case (.from(let time), nil): page = try await room.messages(acceptedFrom: time, limit: count)
            case (.before, let cursor?): page = try await room.messages(before: cursor, limit: count)
            case (_, let cursor?): page = try await room.messages(after: cursor, limit: count)
            }
            if case .before = place { messages = page.messages + messages } else { messages += page.messages }
            next = page.next
        } while next != nil && messages.count < limit
        return (messages, next)
    }

    /// Returns the lines of messages of the log.
    static func lines(
        of log: [RoomMessage], at place: Place, in room: Room, isRaw: Bool, isJSON: Bool
    ) async throws -> [UInt8] {
        let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
        var current = CurrentMessages(log)
        if !isRaw, let last = log.last, place != .before(nil) {
            try await applyLater(than: last.cursor, to: &current, in: room)
        }
        return (isRaw ? log : current.messages).flatMap { message in
            let effects = isRaw ? MessageEffects() : current.effects(on: message)
            if isJSON { return ReceivedLine.json(message, effects) }
            let line = ReceivedLine.history(message, effects) { current.name(of: $0) }
            return Array("\(isTerminal ? SafeText.line(line) : line)\n".utf8)
        }
    }

    /// Applies the changes in the log behind a message.
    private static func applyLater(
        than last: RoomCursor, to current: inout CurrentMessages, in room: Room
    ) async throws {
        var next: RoomCursor? = last
        var count = 0
        while let cursor = next {
            guard count < maxLaterCount else {
                Output.report("martlet: edits, deletions and reactions after offset \(cursor.offset) are not applied")
                return
            }
            let page = try await room.messages(after: cursor, limit: 256)
            for message in page.messages { current.apply(message) }
            count += page.messages.count
            next = page.next
        }
    }
}
