import Martlet
import MartletToolSupport

/// `martlet rooms`: the rooms of an account, and its membership records.
enum RoomsCommand {
    private enum Action: String, CaseIterable {
        case list, join, leave, decline, invite, read

        /// The operands behind the action.
        var operands: [String] {
            switch self {
            case .list: []
            case .join, .leave, .decline: ["a room"]
            case .invite: ["a room", "an account"]
            case .read: ["a room", "an offset"]
            }
        }
    }

    /// The duration for which an action waits for the relay without --timeout.
    static let maxWait = Duration.seconds(3600)

    private static let json = Option.flag("json", help: "write each room as one JSON object in a line")
    private static let watch = Option.flag("watch", short: "w", help: "write each change too, until interrupted")

    static let spec = CommandSpec(
        name: "rooms",
        summary: "List the rooms of an account, or join, leave, decline, invite to or mark a room.",
        operand: "[ACTION] [ROOM] [ACCOUNT|OFFSET]",
        options: ClientOptions.specsWithoutRoom + [
            ClientOptions.timeout.spec, json.spec, watch.spec,
        ],
        notes: [
            """
            ACTION is list, join, leave, decline, invite or read; without ACTION the rooms are listed. A line has the \
            name of a room, its last offset, the number of unread messages, and the last message. An account remains \
            in a room that it has joined, even while it is not connected.
            """,
            "'martlet rooms invite ROOM ACCOUNT' invites an account, which then joins or declines.",
            "'martlet rooms read ROOM OFFSET' marks the messages of a joined room up to OFFSET as read.",
        ],
        exitCodes: [
            ExitMeaning(.success, "the rooms are listed, or the relay has performed the action"),
            ExitMeaning(.failure, "the relay refused the action, or keeps no membership records"),
            ExitMeaning(.inputOutput, "writing failed"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let (action, operands) = try action(arguments)
        let monitor = TransferMonitor(.none)
        let client = try ClientOptions.client(arguments, agent: "rooms", monitor: monitor)
        do {
            try await withClient(client) { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await monitor.watch(client, timeout: arguments[ClientOptions.timeout]) }
                    group.addTask { try await perform(action, operands, arguments, client) }
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

    private static func action(_ arguments: ParsedArguments) throws(UsageError) -> (Action, [String]) {
        guard let word = arguments.operands.first else { return (.list, []) }
        guard let action = Action(rawValue: word) else {
            throw UsageError(message: "the first operand is list, join, leave, decline, invite or read")
        }
        let operands = Array(arguments.operands.dropFirst())
        guard operands.count == action.operands.count else {
            let wanted = action.operands.isEmpty ? "no operand" : action.operands.joined(separator: " and ")
            throw UsageError(message: "'\(action.rawValue)' takes \(wanted)")
        }
        if action == .read, UInt64(operands[1]) == nil {
            throw UsageError(message: "the offset is a number from 0 to \(UInt64.max)")
        }
        return (action, operands)
    }

    private static func perform(
        _ action: Action, _ operands: [String], _ arguments: ParsedArguments, _ client: Client
    ) async throws {
        let timeout = arguments[ClientOptions.timeout] ?? maxWait
        switch action {
        case .list: try await list(arguments, client)
        case .join: try await client.join(room: operands[0], timeout: timeout)
        case .leave: try await client.leave(room: operands[0], timeout: timeout)
        case .decline: try await client.decline(room: operands[0], timeout: timeout)
        case .invite:
            let (room, account) = (try roomName(operands[0]), try accountName(operands[1]))
            try await client.invite(account, to: room, timeout: timeout)
        case .read:
            let cursor = RoomCursor(offset: UInt64(operands[1]) ?? 0)
            try await client.markRead(upTo: cursor, in: try roomName(operands[0]), timeout: timeout)
        }
    }

    private static func list(_ arguments: ParsedArguments, _ client: Client) async throws {
        let isJSON = arguments.has(json)
        for room in try await client.rooms() { try Output.print(line(of: room, isJSON: isJSON)) }
        guard arguments.has(watch) else { return }
        var isFirst = true
        for await update in client.roomUpdates {
            switch update {
            case .list(let rooms):
                if !isFirst { for room in rooms { try Output.print(line(of: room, isJSON: isJSON)) } }
                isFirst = false
            case .changed(let room): try Output.print(line(of: room, isJSON: isJSON))
            case .removed(let name):
                let removed = JSONLine.object([.init("room", .string(name.text)), .init("membership", .string("none"))])
                try Output.print(isJSON ? removed.text : "\(SafeText.line(name.text))  left")
            }
        }
    }

    /// A room as a line.
    static func line(of room: RoomSummary, isJSON: Bool) -> String {
        isJSON ? object(of: room).text : text(of: room)
    }

    private static func text(of room: RoomSummary) -> String {
        var parts = [SafeText.line(room.name.text)]
        if case .invited(let inviter) = room.membership {
            parts.append("invited" + (inviter.map { " by \(SafeText.line($0.text))" } ?? ""))
        }
        parts.append("\(room.lastOffset)")
        let isMore = room.unreadCount == RoomSummary.maxUnreadCount
        if room.unreadCount > 0 { parts.append("\(room.unreadCount)\(isMore ? " or more" : "") unread") }
        if let message = room.lastMessage {
            let kind = message.content.isErased ? "deleted" : message.kind.typeName  // M-37
            let text = message.text.map { SafeText.line($0) } ?? "[\(kind)]"
            parts.append("\(SafeText.line(message.sender.text)): \(text)\(room.isLastMessageShortened ? "…" : "")")
        }
        return parts.joined(separator: "  ")
    }

    private static func object(of room: RoomSummary) -> JSONLine {
        var members: [JSONLine.Member] = [
            .init("room", .string(room.name.text)), .init("membership", .string(room.isJoined ? "joined" : "invited")),
        ]
        switch room.membership {
        case .joined(let inviter?), .invited(let inviter?): members.append(.init("inviter", .string(inviter.text)))
        case .joined(nil), .invited(nil): break
        }
        members += [
            .init("changedAt", .count(room.changedAt)), .init("firstOffset", .count(room.firstOffset)),
            .init("lastOffset", .count(room.lastOffset)), .init("deliveredUpTo", .count(room.deliveredUpTo)),
            .init("readUpTo", .count(room.readUpTo)), .init("unread", .count(room.unreadCount)),
        ]
        if let message = room.lastMessage {
            members += [
                .init("sender", .string(message.sender.text)), .init("acceptedAt", .count(message.acceptedAt)),
                .init("kind", .count(message.kind.rawValue)), .init("type", .string(message.kind.typeName)),
            ]
            if let text = message.text { members.append(.init("text", .string(text))) }
            if room.isLastMessageShortened { members.append(.init("isShortened", .bool(true))) }
        }
        return .object(members)
    }
}
