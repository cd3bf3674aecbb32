import Foundation
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

    static let spec = CommandSpec(
        name: "history",
        summary: "Write earlier messages of a room, oldest first.",
        options: ClientOptions.specs + [
            before.spec, after.spec, since.spec, limit.spec, ClientOptions.timeout.spec, json.spec,
        ],
        notes: [
            "Without --before, --after and --since the newest messages of the room are written.",
            "If there are more messages, standard error has the option that continues.",
            "Messages that are neither text nor lines of 'martlet send' are written with --json only.",
        ],
        exitCodes: [
            ExitMeaning(.success, "the messages were written"),
            ExitMeaning(.failure, "the relay refused the request, or answered it with something else"),
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
        let client = try ClientOptions.client(arguments, agent: "history")
        let name = try ClientOptions.roomName(arguments)
        let monitor = TransferMonitor(.none)
        do {
            try await withClient(client) { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await monitor.watch(client, timeout: arguments[ClientOptions.timeout]) }
                    group.addTask {
                        let room = try await client.open(
                            room: name.text, options: Room.Options(from: .latest(count: 0)))
                        let found = try await read(place, arguments[limit] ?? 50, in: room)
                        try write(found.messages, isJSON: arguments.has(json))
                        if let next = found.next {
                            let option = if case .before = place { "--before" } else { "--after" }
                            Output.report("martlet: there are more messages; \(option) \(next.offset) continues")
                        }
                    }
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

    private static func write(_ messages: [RoomMessage], isJSON: Bool) throws {
        let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
        let bytes = messages.flatMap {
            isJSON ? ReceivedLine.json($0) : ReceivedLine.text($0, isTerminal: isTerminal)
        }
        try Output.write(bytes, to: STDOUT_FILENO)
    }
}
