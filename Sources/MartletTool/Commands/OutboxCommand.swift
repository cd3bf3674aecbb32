import Martlet
import MartletDatabase
import MartletDecode
import MartletLink
import MartletSQLite
import MartletToolSupport
import MartletWire

/// `martlet outbox`: the messages in a file of `--outbox`.
enum OutboxCommand {
    private static let json = Option.flag("json", help: "print each message as a JSON object in a line")
    private static let discard = Option.flag("discard", help: "remove the failed messages after they are printed")

    static let spec = CommandSpec(
        name: "outbox",
        summary: "List the messages in a file of --outbox that have no outcome or have failed.",
        operand: "FILE",
        options: [json.spec, discard.spec],
        notes: [
            """
            A pending message is sent by the next command with the file. A failed one is not sent again. Each is \
            printed with its room, its counter and its text; a failed one with the reason.
            """
        ],
        exitCodes: [
            ExitMeaning(.success, "the messages were printed"),
            ExitMeaning(.noInput, "there is no such file, another process uses it, or it cannot be read"),
        ]
    ) { try await run($0) }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        guard let path = arguments.operands.first, arguments.operands.count == 1 else {
            throw UsageError(message: "the operand is the FILE of an outbox")
        }
        guard unsafe access(path, F_OK) == 0 else {
            throw CommandError(.noInput, "\(path) does not exist")
        }
        let isJSON = arguments.has(json)
        let outbox = SQLiteOutbox(path: path)
        do {
            let state = try await outbox.open()
            ClientOptions.reportRecovery(of: outbox)
            for entry in state.pending {
                try Output.print(line(entry.id, entry.room, entry.content, failure: nil, isJSON: isJSON))
            }
            var failed = OutboxTransaction()
            for room in Set(state.outcomes.map(\.room)).sorted() {
                for letter in try await outbox.deadLetters(in: room) {
                    try Output.print(
                        line(letter.id, letter.room, letter.content, failure: letter.failure, isJSON: isJSON))
                    failed.discarded.append(letter.id)
                }
            }
            if arguments.has(discard), !failed.discarded.isEmpty { try await outbox.commit(failed) }
            await outbox.close()
        } catch let error as DatabaseError {
            await outbox.close()
            throw CommandError(.noInput, "\(error)")
        }
        return .success
    }

    /// The line of a message, which is pending unless it has a failure.
    static func line(
        _ id: MessageID, _ room: RoomName, _ content: MessageContent, failure: SendFailure?, isJSON: Bool
    ) -> String {
        let state = failure == nil ? "pending" : "failed"
        let reason = failure.map { "\(MartletError.notAccepted($0))" }
        guard isJSON else {
            let text = content.text ?? "\(content.byteCount) bytes of kind \(content.kind.rawValue)"
            return SafeText.line("\(state) \(room) \(id.counter): \(text)\(reason.map { " (\($0))" } ?? "")")
        }
        var members: [JSONLine.Member] = [
            .init("state", .string(state)), .init("room", .string(room.text)), .init("sender", .string(id.sender.text)),
            .init("device", .string(String(id.device.rawValue, radix: 16))), .init("counter", .count(id.counter)),
            .init("kind", .count(content.kind.rawValue)),
        ]
        if let text = content.text { members.append(.init("text", .string(text))) }
        if let failure { members.append(.init("failure", .string(failure.key))) }
        if let reason { members.append(.init("reason", .string(reason))) }
        return JSONLine.object(members).text
    }
}
