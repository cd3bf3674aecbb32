import Martlet
import MartletToolSupport
import MartletWire

/// `martlet room`: an operation on a room, for scripts.
enum ModerateCommand {
    private static let json = Option.flag("json", help: "write the result as JSON objects in lines")

    static let spec = CommandSpec(
        name: "room",
        summary: "Remove, ban, mute or invite an account of a room, set its role, or announce a text.",
        operand: "ROOM ACTION [ACCOUNT|TEXT] [VALUE]",
        options: ClientOptions.specsWithoutRoom + [
            ClientOptions.timeout.spec, json.spec,
        ],
        notes: [
            """
            ACTION is kick, ban, unban, unmute or invite with ACCOUNT; mute with ACCOUNT and SECONDS; role with \
            ACCOUNT and none, reader, member, moderator or owner; access with open, inviteOnly or closed; close, \
            which is access closed; announce with TEXT; or roles, which lists roles, bans and mutes. The relay \
            performs an action if the role of --account permits it, and its room has roles. The command enters the \
            room, which creates it if there is none.
            """
        ],
        exitCodes: [
            ExitMeaning(.success, "the relay has performed the action"),
            ExitMeaning(.failure, "the relay refused the action, or its rooms have no roles"),
            ExitMeaning(.inputOutput, "writing failed"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let (room, command, operation) = try parse(arguments.operands)
        let monitor = TransferMonitor(.none)
        let client = try ClientOptions.client(arguments, agent: "room", monitor: monitor)
        let isJSON = arguments.has(json)
        do {
            try await withClient(client) { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await monitor.watch(client, timeout: arguments[ClientOptions.timeout]) }
                    group.addTask {
                        // No message of the room is read.
                        let options = Room.Options(from: .latest(count: 0))
                        let room = try await client.open(room: room.text, options: options)
                        for line in try await perform(operation, command, in: room, isJSON: isJSON) {
                            try Output.print(line)
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

    /// Returns the room and the operation of the operands.
    static func parse(
        _ operands: [String]
    ) throws(UsageError) -> (room: RoomName, command: RoomCommand, operation: RoomOperation) {
        guard operands.count > 1 else { throw UsageError(message: "the operands ROOM and ACTION are required") }
        guard let room = RoomName(operands[0]) else {
            throw UsageError(message: "\(MartletError.invalidName(operands[0]))")
        }
        guard let command = RoomCommand(rawValue: operands[1]) else {
            let names = RoomCommand.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError(message: "the second operand is one of \(names)")
        }
        guard let operation = command.operation(Array(operands.dropFirst(2))) else {
            throw UsageError(message: "the form is ROOM \(command.usage.dropFirst())")
        }
        return (room, command, operation)
    }

    /// Performs an operation, and returns the lines of its result.
    private static func perform(
        _ operation: RoomOperation, _ command: RoomCommand, in room: Room, isJSON: Bool
    ) async throws -> [String] {
        guard case .listRoles = operation else {
            _ = try await room.request(operation.method.rawValue, content: operation.content)
            return isJSON ? [json(of: operation, command, in: room.name)] : []
        }
        var lines: [String] = []
        var last: AccountName?
        while true {
            let operation = RoomOperation.listRoles(after: last)
            let answer = try await room.request(operation.method.rawValue, content: operation.content)
            let roster = try RoomRoster(parsing: answer.content ?? [])
            let isFirst = last == nil
            lines += isJSON ? json(of: roster, isFirst: isFirst) : text(of: roster, isFirst: isFirst)
            guard roster.isPartial, let next = roster.standings.last?.account, next != last else { return lines }
            last = next
        }
    }

    /// Returns the result of an operation that has no content.
    static func json(of operation: RoomOperation, _ command: RoomCommand, in room: RoomName) -> String {
        JSONLine.object(
            [.init("room", .string(room.text)), .init("operation", .string(command.rawValue))]
                + (operation.target.map { [.init("account", .string($0.text))] } ?? [])
        ).text
    }

    private static func text(of roster: RoomRoster, isFirst: Bool) -> [String] {
        ((isFirst ? [roster.head] : []) + roster.rows).map { SafeText.line($0) }
    }

    /// Returns the lines of a page of roles: the room and the own role before the first page, then the accounts.
    static func json(of roster: RoomRoster, isFirst: Bool) -> [String] {
        let head = JSONLine.object([
            .init("ownRole", .string("\(roster.ownRole)")), .init("access", .string("\(roster.access)")),
        ])
        return (isFirst ? [head.text] : [])
            + roster.standings.map { standing in
                JSONLine.object(
                    [.init("account", .string(standing.account.text))]
                        + (standing.role.map { [.init("role", .string("\($0)"))] } ?? [])
                        + (standing.isBanned ? [.init("isBanned", .bool(true))] : [])
                        + (standing.mutedUntil > 0 ? [.init("mutedUntil", .count(standing.mutedUntil))] : [])
                ).text
            }
    }
}
