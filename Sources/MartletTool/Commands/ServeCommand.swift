import CMartletSystem
import Foundation
import MartletProtocol
import MartletRelay
import MartletToolSupport
import MartletTransport

/// `martlet serve`: a relay.
enum ServeCommand {
    private static let listen = ListenAddress.option(fallback: "127.0.0.1:7227").repeating
    private static let tokens = Option.text(
        "tokens", "FILE", help: "let in the accounts in FILE: an account and its token on each line")
    private static let allowAll = Option.flag("allow-all", help: "let in everybody as whoever they say they are")
    private static let history = Option.count(
        "history", in: 1...100_000_000, fallback: 100_000, help: "how many messages are kept of each room")
    private static let historyBytes = Option.byteCount(
        "history-bytes", help: "how many bytes of messages are kept of each room [64M]")
    private static let memory = Option.byteCount(
        "memory", atLeast: 32 << 20,
        help: "how much memory the relay takes: half of it for messages, the rest for who is there [1G]")
    private static let drain = Option.duration(
        "drain", "S", in: .seconds, fallback: .seconds(5), help: "how long clients are given to leave at the end")
    private static let multipath = Option.flag("multipath", help: "take multipath TCP where this machine has it")
    private static let loops = Option.count(
        "loops", in: 1...64, fallback: 1, help: "how many threads to spread accounts and rooms over")
    private static let spin = Option.duration(
        "spin", "MS", in: .milliseconds, fallback: .microseconds(50),
        help: "the longest time to poll without sleeping while messages follow closely")
    private static let quiet = Option.flag("quiet", short: "q", help: "no log")
    private static let json = Option.flag("json", help: "log JSON objects, one a line, on standard output")

    static let spec = CommandSpec(
        name: "serve",
        summary: "A relay: keeps rooms and passes messages on.",
        options: [
            listen.spec, tokens.spec, allowAll.spec, history.spec, historyBytes.spec, memory.spec, drain.spec,
            multipath.spec, loops.spec, spin.spec, quiet.spec, json.spec,
        ],
        notes: [
            """
            One of --tokens and --allow-all is needed. Messages are kept in memory, the oldest giving way to new ones; \
            they end with the process. Beyond --memory suspended links end, then what waits for the slowest is let \
            go, and at last new messages and links are refused. When it is interrupted or asked to terminate, it \
            sends its clients away; a second time, it leaves at once. The log never makes it wait: lines that are not \
            read in time are dropped, and their number is logged.
            """,
            "--listen may be given several times. [::] takes IPv4 as well, unless 0.0.0.0 is given with the same port.",
            TokensFile.overview,
        ],
        exitCodes: [
            ExitMeaning(.success, "it was interrupted or asked to terminate"),
            ExitMeaning(.noInput, "the tokens cannot be read, which standard error tells with file and line"),
            ExitMeaning(.cannotCreate, "an address cannot be listened on"),
        ]
    ) { try await run($0) }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let isJSON = arguments.has(json)
        let isQuiet = arguments.has(quiet)
        // The log's reader may go away.
        _ = signal(SIGPIPE, SIG_IGN)
        Descriptors.raiseLimit()
        // One heap for each loop, and one for everything else.
        martlet_heap_share(Int32((arguments[loops] ?? 1) + 1))
        let log = LineLog<RelayLog.Entry>(to: isJSON ? STDOUT_FILENO : STDERR_FILENO) { entry in
            isJSON ? RelayLog.json(entry) : RelayLog.text(entry)
        } dropped: { count in
            let entry = RelayLog.Entry(event: .dropped(count))
            return isJSON ? RelayLog.json(entry) : RelayLog.text(entry)
        }
        let relay = try relay(arguments) { if !isQuiet { log.add(RelayLog.Entry(event: .relay($0))) } }
        let addresses: [SocketAddress]
        do {
            addresses = try relay.start()
        } catch {
            throw CommandError(.cannotCreate, "\(error)")
        }
        for (asked, address) in zip(Self.addresses(arguments), addresses) {
            if isJSON || !isQuiet { log.add(RelayLog.Entry(event: .listening(address))) }
            if !isJSON, asked.port == 0 { try Output.print("\(address.port)") }
        }
        MeasuredHeap.keepTrimmedIfAsked()
        await end(relay, arguments)
        let statistics = await relay.statistics
        await relay.shutdown()
        if isJSON, !isQuiet { log.add(RelayLog.Entry(event: .ended(statistics))) }
        await log.finish()
        return .success
    }

    private static func addresses(_ arguments: ParsedArguments) -> [SocketAddress] {
        let given = arguments.all(listen)
        return given.isEmpty ? [arguments[listen]].compactMap { $0 } : given
    }

    private static func relay(
        _ arguments: ParsedArguments, onEvent: @escaping @Sendable (RelayEvent) -> Void
    ) throws -> Relay {
        let authenticator: any Authenticator
        switch (arguments[tokens], arguments.has(allowAll)) {
        case (let path?, false): authenticator = TokenAuthenticator(try TokensFile.read(path))
        case (nil, true): authenticator = .allowAll
        default: throw UsageError(message: "one of '--tokens FILE' and '--allow-all' is needed")
        }
        var bounds = InMemoryStore.Bounds()
        bounds.maxMessagesPerRoom = arguments[history] ?? bounds.maxMessagesPerRoom
        // An eighth is left to the program itself, and to what the allocator adds.
        let budget = arguments[memory] ?? 1 << 30
        bounds.maxByteCount = budget / 2
        bounds.maxByteCountPerRoom = min(arguments[historyBytes] ?? 64 << 20, bounds.maxByteCount / 2)
        var configuration = Relay.Configuration(addresses: addresses(arguments))
        configuration.loopCount = arguments[loops] ?? configuration.loopCount
        configuration.engine.memoryBudget = budget / 8 * 3
        configuration.spinLimit = arguments[spin] ?? configuration.spinLimit
        configuration.connection.usesMultipath = arguments.has(multipath)
        return Relay(
            configuration: configuration, store: InMemoryStore(bounds: bounds), authenticator: authenticator,
            onEvent: onEvent)
    }

    /// Waits for the signal, then drains; another signal cuts that short.
    private static func end(_ relay: Relay, _ arguments: ParsedArguments) async {
        var signals = Interruptions.stream(of: [SIGINT, SIGTERM]).makeAsyncIterator()
        _ = await signals.next()
        let limit = arguments[drain] ?? .zero
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await relay.drain(within: limit) }
            group.addTask { _ = await Interruptions.wait() }
            await group.next()
            group.cancelAll()
        }
    }
}
