import Martlet
import MartletDecode
import MartletToolSupport
import MartletWire

/// `martlet admin`: the administration of a relay over the protocol.
enum AdminCommand {
    /// An action: its method and the operands behind it.
    struct Action: Sendable {
        /// An operand, which is a field of the request.
        enum Operand: String, Sendable {
            case room = "ROOM"
            case account = "ACCOUNT"
            case seconds = "SECONDS"
            case text = "TEXT"
        }

        let method: AdministrationMethod
        var operands: [Operand] = []
        /// An operand that may be missing.
        var option: Operand?

        /// The name on the command line.
        var name: String { String(method.rawValue.dropFirst(AdministrationMethod.prefix.count)) }

        /// The form on the command line.
        var usage: String {
            ([name] + operands.map(\.rawValue) + (option.map { ["[\($0.rawValue)]"] } ?? [])).joined(separator: " ")
        }
    }

    static let actions: [Action] = [
        Action(method: .status), Action(method: .links), Action(method: .accounts), Action(method: .rooms),
        Action(method: .room, operands: [.room]), Action(method: .kick, operands: [.room, .account]),
        Action(method: .ban, operands: [.room, .account]), Action(method: .unban, operands: [.room, .account]),
        Action(method: .mute, operands: [.room, .account, .seconds]),
        Action(method: .unmute, operands: [.room, .account]), Action(method: .revoke, operands: [.account]),
        Action(method: .announce, operands: [.text], option: .room), Action(method: .drain),
        Action(method: .erase, operands: [.room, .account]), Action(method: .export, operands: [.room]),
    ]

    /// The duration for which a request waits for its response.
    private static let maxWait = Duration.seconds(60)

    private static let json = Option.flag("json", help: "write each item as one JSON object in a line")
    private static let limit = Option.count(
        "limit", in: 1...1_000_000_000, help: "maximum number of items or messages [all]")

    static let spec = CommandSpec(
        name: "admin",
        summary: "Administer a relay: list its links, accounts and rooms, remove accounts, announce, drain, erase.",
        operand: "ACTION FIRST SECOND THIRD",
        options: ClientOptions.specsWithoutRoom + [
            ClientOptions.timeout.spec, json.spec, limit.spec,
        ],
        notes: [
            "ACTION is one of: \(actions.map(\.usage).joined(separator: ", ")).",
            """
            The relay performs an action if --rooms of 'martlet serve' has a line such as "allow administer in \
            \(RoomName.administration.text) to account root" for --account. ban, unban, mute and unmute require a \
            relay with --room-roles, and so do announce and erase, in which the relay publishes.
            """,
            """
            links and accounts list those that are connected, rooms those in memory. announce without ROOM publishes \
            in all rooms in memory. revoke ends the connections of an account; the relay also has to refuse its \
            credential (--revoked). drain ends the relay as the signal TERM does. erase deletes all messages of an \
            account in a room for all members, in steps: it can be repeated after an interruption. export writes the \
            messages of a room.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the relay has performed the action"),
            ExitMeaning(.failure, "the relay refused the action, or its answer was not valid"),
            ExitMeaning(.inputOutput, "writing failed"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let (action, query) = try parse(arguments.operands)
        let monitor = TransferMonitor(.none)
        let client = try ClientOptions.client(arguments, agent: "admin", monitor: monitor)
        let (isJSON, limit) = (arguments.has(json), arguments[limit])
        do {
            try await withClient(client) { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await monitor.watch(client, timeout: arguments[ClientOptions.timeout]) }
                    group.addTask { try await perform(action, query, limit: limit, isJSON: isJSON, client) }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        } catch is CancellationError {
            return .interrupted
        } catch let error as MartletError where error.errorCode == .forbidden {
            throw CommandError(.noPermission, "\(error)")
        } catch let error as MartletError {
            throw CommandError(error)
        }
        return .success
    }

    /// Returns the action of the operands, and its request.
    static func parse(_ operands: [String]) throws(UsageError) -> (Action, AdministrationQuery) {
        guard let action = actions.first(where: { $0.name == operands.first }) else {
            throw UsageError(message: "the first operand is one of \(actions.map(\.name).joined(separator: ", "))")
        }
        let values = operands.dropFirst()
        let expected = action.operands + (action.option.map { [$0] } ?? [])
        guard (action.operands.count...expected.count).contains(values.count) else {
            throw UsageError(message: "the form is \(action.usage)")
        }
        var (room, account, duration, text): (RoomName?, AccountName?, Duration?, String?)
        for (operand, value) in zip(expected, values) {
            switch operand {
            case .room: room = try name(value)
            case .account: account = try name(value)
            case .text:
                guard !value.isEmpty else { throw UsageError(message: "TEXT is empty") }
                text = value
            case .seconds:
                guard let seconds = UInt32(value), seconds > 0 else {
                    throw UsageError(message: "SECONDS is a number from 1 to \(UInt32.max)")
                }
                duration = .seconds(Int64(seconds))
            }
        }
        return (action, AdministrationQuery(room: room, account: account, duration: duration, text: text))
    }

    private static func name<Name: WireName>(_ text: String) throws(UsageError) -> Name {
        guard let name = Name(text) else { throw UsageError(message: "\(MartletError.invalidName(text))") }
        return name
    }

    /// Sends the request, and repeats it for each further page or step.
    private static func perform(
        _ action: Action, _ query: AdministrationQuery, limit: Int?, isJSON: Bool, _ client: Client
    ) async throws {
        var query = query
        var (shown, changed) = (0, 0)
        while true {
            let size = limit.map { UInt16(clamping: max($0 - shown, 1)) }
            query = AdministrationQuery(
                room: query.room, account: query.account, duration: query.duration, text: query.text, next: query.next,
                limit: size)
            let answer = try await client.request(action.method.rawValue, content: query.encode(), timeout: maxWait)
            let content = answer.content ?? []
            switch action.method {
            case .status, .room: return try Output.print(try line(of: content, isJSON: isJSON))
            case .kick, .ban, .unban, .mute, .unmute, .revoke, .drain: return
            case .links, .accounts, .rooms, .announce, .erase, .export: break
            }
            let page = try AdministrationPage(parsing: content.rawBytes)
            for item in page.items + page.messages { try Output.print(try line(of: item, isJSON: isJSON)) }
            shown += page.items.count + page.messages.count
            changed += Int(page.count ?? 0)
            guard let next = page.next, next != query.next, limit.map({ shown < $0 }) ?? true else { break }
            query = AdministrationQuery(
                room: query.room, account: query.account, duration: query.duration, text: query.text, next: next)
        }
        guard action.method == .announce || action.method == .erase else { return }
        let count = JSONLine.object([.init("count", .count(changed))])
        try Output.print(isJSON ? count.text : "count \(changed)")
    }

    /// An item or a message as a line: the names of its fields and their values.
    static func line(of fields: [UInt8], isJSON: Bool) throws(CommandError) -> String {
        guard let tree = try? FieldTree(parsing: fields) else {
            throw CommandError(.failure, "the answer of the relay is not valid")
        }
        if isJSON { return tree.object.text }
        return tree.fields.compactMap { field in field.value.map { "\(field.name) \($0.text)" } }
            .joined(separator: "  ")
    }
}

extension FieldTree {
    /// The fields as an object, with a nested object for each container.
    fileprivate var object: JSONLine {
        var rest = fields[...]
        return Self.object(&rest, depth: 0)
    }

    private static func object(_ rest: inout ArraySlice<Field>, depth: Int) -> JSONLine {
        var members: [JSONLine.Member] = []
        while let field = rest.first, field.depth == depth {
            rest.removeFirst()
            members.append(.init(field.name, field.value?.json ?? object(&rest, depth: depth + 1)))
        }
        return .object(members)
    }
}
