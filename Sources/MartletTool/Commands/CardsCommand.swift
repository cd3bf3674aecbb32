import Martlet
import MartletToolSupport

/// `martlet cards`: shows the status cards of a room.
enum CardsCommand {
    private static let follow = Option.flag(
        "follow", short: "f", help: "write the cards oldest state first, and then each new state")
    private static let moderators = Option<AccountName>(
        "moderator", "ACCOUNT", fallback: AccountName("server"), shown: "server",
        expectation: "the name of an account", help: "accept that ACCOUNT deletes cards of others",
        parse: AccountName.init
    ).repeating
    private static let json = Option.flag("json", help: "write each card as one JSON object in a line")

    static let spec = CommandSpec(
        name: "cards",
        summary: "Show the status cards of a room, newest state first.",
        options: ClientOptions.specs + [follow.spec, moderators.spec, ClientOptions.timeout.spec, json.spec],
        notes: [
            """
            Every source, a build or a server, has the same card: its status and title, its name, account and time, \
            its details and its page. 'martlet card' publishes one. The cards are those of all messages that the relay \
            keeps, at most 1,024.
            """,
            """
            With --json a card has the members account, offset, id, title, status, details, time and, if it has one, \
            url. With --follow a card that is not shown any more is written with the status removed.
            """,
            """
            A card that its account or a --moderator has deleted is not shown. The default is the account in whose \
            name a relay with --room-roles deletes messages, for example by 'martlet admin erase'.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the cards were written"),
            ExitMeaning(.failure, "the relay refused the request"), ExitMeaning(.inputOutput, "writing failed"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        do {
            try await RoomTask.run(arguments, agent: "cards", from: .start) { _, room in
                let given = arguments.all(moderators)
                let accounts = Set(given.isEmpty ? [arguments[moderators]].compactMap(\.self) : given)
                try await show(room, accounts, follows: arguments.has(follow), isJSON: arguments.has(json))
            }
        } catch is CancellationError {
            return .interrupted
        } catch let error as MartletError {
            throw CommandError(error)
        }
        return .success
    }

    /// Reads the log of the room up to its end, writes the cards, and follows it.
    private static func show(
        _ room: Room, _ moderators: Set<AccountName>, follows: Bool, isJSON: Bool
    ) async throws {
        let isTerminal = Terminal.isTerminal(STDOUT_FILENO)
        func write(_ changes: [CardBoard.Change]) throws {
            let lines = changes.flatMap { isJSON ? CardLines.json($0) : CardLines.text($0, isTerminal: isTerminal) }
            try Output.write(lines, to: STDOUT_FILENO)
        }
        var board = CardBoard()
        var position: UInt64 = 0
        var items = room.items.makeAsyncIterator()
        while position < room.lastOffset, let item = try await items.next() {
            _ = board.apply(item, isModerator: moderators.contains)
            position = item.endOffset
        }
        let cards = follows ? board.cards.reversed() : board.cards
        try write(cards.map { .shown($0) })
        while follows, let item = try await items.next() {
            try write(board.apply(item, isModerator: moderators.contains))
        }
    }
}
