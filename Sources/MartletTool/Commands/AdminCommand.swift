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
            case relay = "RELAY"
        }

        let method: AdministrationMethod
        /// The operands of each form, of different numbers.
        var forms: [[Operand]] = [[]]

        /// The name on the command line.
        var name: String { String(method.rawValue.dropFirst(AdministrationMethod.prefix.count)) }

        /// The forms on the command line.
        var usage: String {
            forms.map { ([name] + $0.map(\.rawValue)).joined(separator: " ") }.joined(separator: " or ")
        }
    }

    static let actions: [Action] = [
        Action(method: .status), Action(method: .links), Action(method: .accounts), Action(method: .rooms),
        Action(method: .room, forms: [[.room]]), Action(method: .kick, forms: [[.account], [.room, .account]]),
        Action(method: .ban, forms: [[.room, .account]]), Action(method: .unban, forms: [[.room, .account]]),
        Action(method: .mute, forms: [[.room, .account, .seconds]]),
        Action(method: .unmute, forms: [[.room, .account]]), Action(method: .revoke, forms: [[.account]]),
        Action(method: .announce, forms: [[.text], [.text, .room]]), Action(method: .relays),
        Action(method: .drain, forms: [[], [.relay]]),
        Action(method: .retention, forms: [[.room]]),
        Action(method: .erase, forms: [[.account], [.room, .account]]), Action(method: .export, forms: [[.room]]),
    ]

    /// The duration for which a request waits for its response.
    static let maxWait = Duration.seconds(60)

    private static let json = Option.flag("json", help: "write each item as one JSON object in a line")
    private static let messages = Option.count(
        "messages", in: 1...1_000_000_000_000, help: "retention: maximum number of messages of the room")
    private static let days = Option.count("days", in: 1...36_500, help: "retention: maximum age of a message, in days")
    private static let bytes = Option.count(
        "bytes", in: 1...1_000_000_000_000_000, help: "retention: maximum size of the messages of the room, in bytes")
    private static let none = Option.flag("none", help: "retention: remove the bounds of the room")
    private static let limit = Option.count(
        "limit", in: 1...1_000_000_000, help: "maximum number of items or messages [all]")

    static let spec = CommandSpec(
        name: "admin",
        summary: "Administer a relay: list its links, accounts and rooms, remove accounts, announce, drain, erase.",
        operand: "ACTION [FIRST] [SECOND] [THIRD]",
        options: ClientOptions.specsWithoutRoom + [
            ClientOptions.timeout.spec, json.spec, limit.spec, messages.spec, days.spec, bytes.spec, none.spec,
        ],
        notes: [
            "ACTION is one of: \(actions.map(\.usage).joined(separator: ", ")).",
            """
            The relay performs an action if --rooms of 'martlet serve' has a line such as "allow administer in \
            \(RoomName.administration.text) to account root" for --account. ban, unban, mute and unmute require a \
            relay with --room-roles, and so do announce and erase, in which the relay publishes.
            """,
            """
            links and accounts list those that are connected, rooms all rooms of the store by name. announce without \
            ROOM publishes in all rooms in memory. kick without ROOM ends the connections of an account, which may \
            connect again; revoke ends them for good if the relay also refuses the credential (--revoked). drain ends \
            the relay, or the one of its bus with the name RELAY, as the signal TERM does. export writes the \
            messages of a room.
            """,
            """
            retention sets bounds of the room in place of those of the relay, tighter or looser: --messages, --days \
            and --bytes, of which a missing one is that of the relay, or --none. erase deletes all messages and \
            attachments of an account in a room, or without ROOM in all rooms of the store, for all members. It works \
            in steps, and can be repeated after an interruption.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "the relay has performed the action"),
            ExitMeaning(.failure, "the relay refused the action, or its answer was not valid"),
            ExitMeaning(.inputOutput, "writing failed"),
        ] + ClientOptions.exitCodes
    ) { arguments in try await Interruptions.cancel { try await run(arguments) } }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let (action, query) = try request(arguments)
        let (isJSON, limit) = (arguments.has(json), arguments[limit])
        return try await connected(arguments, agent: "admin") { client in
            try await perform(action, query, limit: limit, isJSON: isJSON, client)
        }
    }

    /// Performs requests to a relay.
    static func connected(
        _ arguments: ParsedArguments, agent: String, _ body: @escaping @Sendable (Client) async throws -> Void
    ) async throws -> ExitCode {
        let monitor = TransferMonitor(.none)
        let client = try ClientOptions.client(arguments, agent: agent, monitor: monitor)
        do {
            try await withClient(client) { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await monitor.watch(client, timeout: arguments[ClientOptions.timeout]) }
                    group.addTask { try await body(client) }
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
    static func parse(
        _ operands: [String], _ bounds: RoomRetention = RoomRetention()
    ) throws(UsageError) -> (Action, AdministrationQuery) {
        guard let action = actions.first(where: { $0.name == operands.first }) else {
            throw UsageError(message: "the first operand is one of \(actions.map(\.name).joined(separator: ", "))")
        }
        let values = operands.dropFirst()
        guard let expected = action.forms.first(where: { $0.count == values.count }) else {
            throw UsageError(message: "the form is \(action.usage)")
        }
        var (room, account, duration, text, relay): (RoomName?, AccountName?, Duration?, String?, String?)
        for (operand, value) in zip(expected, values) {
            switch operand {
            case .room: room = try name(value)
            case .account: account = try name(value)
            case .text:
                guard !value.isEmpty else { throw UsageError(message: "TEXT is empty") }
                text = value
            case .relay: relay = value
            case .seconds:
                guard let seconds = UInt32(value), seconds > 0 else {
                    throw UsageError(message: "SECONDS is a number from 1 to \(UInt32.max)")
                }
                duration = .seconds(Int64(seconds))
            }
        }
        let query = AdministrationQuery(
            room: room, account: account, duration: duration, text: text, maxAge: bounds.maxAge,
            maxCount: bounds.maxCount, maxByteCount: bounds.maxByteCount, name: relay)
        return (action, query)
    }

    /// Returns the action of the arguments, and its request with the bounds of `retention`.
    static func request(_ arguments: ParsedArguments) throws(UsageError) -> (Action, AdministrationQuery) {
        let bounds = RoomRetention(
            maxAge: arguments[days].map { UInt64($0) * 86_400_000 }, maxCount: arguments[messages].map { UInt64($0) },
            maxByteCount: arguments[bytes].map { UInt64($0) })
        let (action, query) = try parse(arguments.operands, bounds)
        let hasBounds = bounds != RoomRetention()
        if action.method == .retention {
            guard hasBounds != arguments.has(none) else {
                throw UsageError(message: "retention takes bounds, --messages, --days or --bytes, or --none")
            }
        } else if hasBounds || arguments.has(none) {
            throw UsageError(message: "--messages, --days, --bytes and --none are options of retention")
        }
        return (action, query)
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
        var (shown, changed, changedInRoom) = (0, 0, 0)
        let erasesAll = action.method == .erase && query.room == nil
        while true {
            let size = limit.map { UInt16(clamping: max($0 - shown, 1)) }
            query = query.at(next: query.next, nextRoom: query.nextRoom, limit: size)
            let answer = try await client.request(action.method.rawValue, content: query.encode(), timeout: maxWait)
            let content = answer.content ?? []
            switch action.method {
            case .status, .room: return try Output.print(try line(of: content, isJSON: isJSON))
            case .kick, .ban, .unban, .mute, .unmute, .revoke, .retention, .drain: return
            case .links, .accounts, .rooms, .relays, .announce, .erase, .export: break
            }
            let page = try AdministrationPage(parsing: content.rawBytes)
            for item in page.items + page.messages { try Output.print(try line(of: item, isJSON: isJSON)) }
            shown += page.items.count + page.messages.count
            changed += Int(page.count ?? 0)
            changedInRoom += Int(page.count ?? 0)
            if erasesAll, page.next == nil, changedInRoom > 0, let room = page.nextRoom {
                try Output.print(line(of: changedInRoom, in: room, isJSON: isJSON))
                changedInRoom = 0
            }
            let isContinued = page.next != nil || page.nextRoom != nil
            guard isContinued, page.next != query.next || page.nextRoom != query.nextRoom,
                limit.map({ shown < $0 }) ?? true
            else { break }
            query = query.at(next: page.next, nextRoom: page.nextRoom, limit: nil)
        }
        guard action.method == .announce || action.method == .erase else { return }
        try Output.print(line(of: changed, in: nil, isJSON: isJSON))
    }

    /// The number of changed rooms or messages as a line.
    private static func line(of count: Int, in room: RoomName?, isJSON: Bool) -> String {
        let name = room.map { [JSONLine.Member("room", .string($0.text))] } ?? []
        let object = JSONLine.object(name + [.init("count", .count(count))])
        if isJSON { return object.text }
        return (room.map { "room \(JSONLine.string($0.text).text)  " } ?? "") + "count \(count)"
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
