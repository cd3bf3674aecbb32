import Martlet
import MartletToolSupport

/// `martlet card`: publishes a status card.
enum CardCommand {
    private static let id = Option.text("id", "ID", help: "the name of the card among those of the account")
    private static let title = Option.text("title", "TEXT", help: "the name of the source for people [ID]")
    private static let status = Option<CardStatus>(
        "status", "STATUS", fallback: .ok, shown: "ok", expectation: "ok, running, warning, failed, unknown or removed",
        help: "ok, running, warning, failed or unknown; removed hides the card"
    ) { text in CardStatus.allCases.first { $0.name == text } }
    private static let detail = Option.text(
        "detail", "KEY=VALUE", help: "a property that the card shows; may be repeated"
    ).repeating
    private static let time = Option.number(
        "time", "MS", help: "the time of the status in milliseconds since 1970 [that of the message]")
    private static let url = Option.text("url", "URL", help: "a page about the status, http:// or https://")

    static let spec = CommandSpec(
        name: "card",
        summary: "Publish a status card, such as that of a build, in a room.",
        options: ClientOptions.specs + [
            id.spec, title.spec, status.spec, detail.spec, time.spec, url.spec, ClientOptions.timeout.spec,
        ],
        notes: [
            """
            A card replaces the earlier one of the same account with the same ID. 'martlet cards' and the status page \
            of 'martlet serve --admin --cards' show the cards of a room.
            """,
            """
            A card has at most 16 details, with keys of 64 and values of 256 bytes, a title of 256 bytes and a URL of \
            1,024. They are lines without control characters.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the card was accepted"), ExitMeaning(.failure, "the card was refused"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let card = try card(arguments)
        do {
            try await RoomTask.run(arguments, agent: "card") { _, room in
                _ = try await room.send(.card(card)).accepted()
            }
        } catch is CancellationError {
            throw CommandError(.interrupted, "interrupted")
        } catch let error as MartletError {
            throw CommandError(error)
        }
        return .success
    }

    /// The card of the options. A value out of its bounds is a usage error, which names the option.
    static func card(_ arguments: ParsedArguments) throws(UsageError) -> StatusCard {
        guard let text = arguments[id] else { throw UsageError(message: "'--id' is missing") }
        guard let name = CardID(text) else { throw UsageError(message: "'--id' is not a name: \(SafeText.line(text))") }
        var details: [StatusCard.Detail] = []
        for text in arguments.all(detail) {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let detail = try? StatusCard.Detail(String(parts[0]), String(parts[1])) else {
                throw UsageError(
                    message: "'--detail' requires KEY=VALUE, lines of 1 to \(StatusCard.Detail.maxKeyByteCount) and at "
                        + "most \(StatusCard.Detail.maxValueByteCount) bytes: \(SafeText.line(text))")
            }
            details.append(detail)
        }
        do throws(WireError) {
            return try StatusCard(
                id: name, title: arguments[title] ?? text, status: arguments[status] ?? .ok, details: details,
                time: arguments[time], url: arguments[url])
        } catch {
            switch error {
            case .tooManyTLVs:
                throw UsageError(message: "'--detail' is given more than \(StatusCard.maxDetailCount) times")
            case .invalidValue(.url): throw UsageError(message: "'--url' is not a URL of http or https")
            case .invalidValue(.statusTime): throw UsageError(message: "'--time' is beyond the year 9999")
            default: throw UsageError(message: "'--title' is not a line of 1 to \(StatusCard.maxTitleByteCount) bytes")
            }
        }
    }
}
