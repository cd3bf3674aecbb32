import Martlet
import MartletToolSupport

/// `martlet fetch`: downloads an attachment of a room.
enum FetchCommand {
    private static let offset = Option.number(
        "offset", "OFFSET", help: "the attachment of the message with this offset [the newest one]")
    private static let path = Option.text(
        "output", short: "o", "PATH", help: "the output file, which is replaced if it exists; PATH….part is continued")

    static let spec = CommandSpec(
        name: "fetch",
        summary: "Download an attachment of a room to a file.",
        options: ClientOptions.specs + [offset.spec, path.spec, ClientOptions.timeout.spec],
        notes: [
            """
            'martlet send --file' sends attachments, and 'martlet history --json' shows their offsets. \
            Without --offset the newest attachment among the last 1,000 messages is downloaded.
            """,
            """
            The next command with the same PATH continues a download that was interrupted. The file receives its name \
            when all bytes have arrived and match the digest of the attachment.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the file was written"),
            ExitMeaning(.failure, "there is no such attachment, or the relay refused it"),
            ExitMeaning(.inputOutput, "the file cannot be written"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        guard let path = arguments[path] else { throw UsageError(message: "'--output' is missing") }
        try await AttachmentTransfer.run(arguments, agent: "fetch") { room in
            let attachment = try await attachment(arguments, in: room)
            try await room.download(attachment, to: path).value()
        }
        return .success
    }

    /// The attachment of the message with the given offset, or the newest one.
    private static func attachment(_ arguments: ParsedArguments, in room: Room) async throws -> Attachment {
        let place = arguments[offset]
        let cursor = place.map { RoomCursor(offset: $0 &+ 1) }
        var page = try await room.messages(before: cursor, limit: place == nil ? 256 : 1)
        for _ in 0..<4 {
            for message in page.messages.reversed() where place == nil || message.offset == place {
                if case .attachment(let attachment)? = try? MessageBody(message.content) { return attachment }
            }
            guard place == nil, let next = page.next else { break }
            page = try await room.messages(before: next, limit: 256)
        }
        throw CommandError(.failure, "there is no such attachment")
    }
}
