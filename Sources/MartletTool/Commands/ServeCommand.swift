import CMartletSystem
import MartletAdmin
import MartletLink
import MartletPostgres
import MartletRelay
import MartletRelaySQLite
import MartletS3
import MartletTelemetry
import MartletToolSupport
import MartletTransport
import MartletWebSocket
import MartletWebhook

/// `martlet serve`: a relay.
enum ServeCommand {
    private static let listen = ListenAddress.option(fallback: "127.0.0.1:7227").repeating
    private static let history = Option.count(
        "history", in: 1...100_000_000, fallback: 100_000, help: "maximum number of messages of a room")
    private static let historyBytes = Option.byteCount(
        "history-bytes", help: "maximum bytes of the messages of a room [64M]")
    private static let historyAge = Option.count(
        "history-age", in: 1...100_000, help: "with --store: maximum age of a message, in days [any]")
    private static let store = Option.text(
        "store", "DIR",
        help: "keep rooms in the directory DIR, which is created, or in a database of PostgreSQL, if DIR "
            + "is its URI postgres://USER@HOST/NAME, or in several, each with a name, NAME=postgres://... [in memory]"
    ).repeating
    private static let shared = Option.flag(
        "shared", help: "with a database: other relays use its rooms, too, each with this option")
    private static let name = Option<String>(
        "name", "NAME", expectation: "a name of 1 to 256 bytes",
        help: "with --shared: name of this relay among those of the database [that of the machine, with the port]"
    ) { (1...256).contains($0.utf8.count) ? $0 : nil }
    private static let memory = Option.byteCount(
        "memory", atLeast: 32 << 20,
        help: "memory of the relay: half for messages, half for links and connections [1G]")
    private static let drain = Option.duration(
        "drain", "S", in: .seconds, fallback: .seconds(5), help: "duration in which clients can leave at the end"
    ).changing(.atReload)
    private static let multipath = Option.flag("multipath", help: "use multipath TCP if this machine supports it")
    private static let loops = Option.count(
        "loops", in: 1...64, fallback: 1, help: "number of threads for accounts and rooms")
    private static let spin = Option.duration(
        "spin", "MS", in: .milliseconds, fallback: .microseconds(50),
        help: "maximum duration of polling without sleeping")
    private static let maxConnections = Option.count(
        "max-connections-per-address", in: 0...1_000_000, fallback: 256,
        help: "maximum number of connections of an IPv4 address or an IPv6 network of 64 bits; 0 for any number")
    private static let proxies = network(
        "proxy-protocol",
        help: "require the header of the PROXY protocol, version 1 or 2, from this proxy; its clients have the address "
            + "that the header states")
    private static let unlimitedPeers = network(
        "unlimited-address", help: "apply no limits of addresses to this one, for example to that of an office")
    private static let webPath = Option<String>(
        "web-path", "PATH", expectation: "the path of a URL",
        help: "accept WebSockets at this path [\(Endpoint.defaultWebSocketPath)]"
    ) { WebSocketOptions.isPath($0) ? $0 : nil }
    private static let webOrigins = Option<String>(
        "web-origin", "ORIGIN", expectation: "* or a scheme and a host in ASCII, such as https://chat.example.com",
        help: "accept WebSockets of pages of this origin too; * for all [that of the host]"
    ) { WebSocketOptions.isOrigin($0) ? $0 : nil }.repeating
    private static let webProxies = network(
        "web-proxy",
        help: "take the address of a client of HTTP from the field X-Forwarded-For of this proxy")
    private static let web = Option.text(
        "web", "DIR", help: "answer requests of HTTP at other paths with the files of the directory DIR, to everyone"
    ).changing(.valueAtReload)
    private static let accountRate = Option.count(
        "account-rate", in: 1...1_000_000,
        help: "messages a second that an account may publish, after ten times as many [any number]")
    private static let roomRate = Option.count(
        "room-rate", in: 1...1_000_000,
        help: "messages a second that all members of a room may publish, after ten times as many [any number]")
    private static let roomRoles = Option.flag(
        "room-roles", help: "keep roles of rooms: the creator of a room owns it, and moderators can remove accounts")
    private static let ignoreRoomRoles = Option.flag(
        "ignore-room-roles", help: "serve a store that has roles, and ignore them: every account may enter every room")
    private static let roomsPerAccount = Option.count(
        "rooms-per-account", in: 0...1_000_000, fallback: 256,
        help: "maximum number of rooms that an account creates, with --room-roles")
    private static let audit = Option.text(
        "audit", "FILE", help: "append sign-ins, refusals and revocations to FILE as JSON objects")
    private static let quiet = Option.flag(
        "quiet", short: "q", help: "write errors only; the same as --log-level error"
    ).changing(.atReload)
    private static let logLevel = Option<RelayLog.Level>.choice(
        "log-level", fallback: .info, help: "least severe events of the log; debug has a line for each connection"
    ).changing(.atReload)
    private static let check = Option.flag(
        "check", help: "check the options and all files that they name, and start no relay"
    ).changing(.notInFile)
    private static let config = Option.text(
        "config", "FILE", help: "read further options from the JSON object in FILE; those given here take precedence"
    ).changing(.notInFile)
    private static let json = Option.flag("json", help: "write the log as JSON objects to standard output")

    static let spec = CommandSpec(
        name: "serve",
        summary: "Run a relay, which keeps rooms and delivers their messages.",
        options: [
            config.spec, listen.spec, store.spec, shared.spec, name.spec, history.spec, historyBytes.spec,
            historyAge.spec,
            memory.spec,
            drain.spec,
            multipath.spec, loops.spec, spin.spec, maxConnections.spec, proxies.spec, unlimitedPeers.spec,
            webPath.spec, webOrigins.spec, webProxies.spec, web.spec,
            accountRate.spec, roomRate.spec,
            roomRoles.spec, ignoreRoomRoles.spec, roomsPerAccount.spec, audit.spec, quiet.spec, logLevel.spec,
            json.spec, check.spec,
        ] + BusArguments.specs + AttachmentArguments.specs + RelayAccess.specs + TLSArguments.serverSpecs
            + PushArguments.specs
            + TelemetryArguments.specs + AdminArguments.specs + AlertArguments.specs,
        notes: [
            """
            Without --store messages are kept in memory, the oldest are removed first, and all are lost at \
            the end of the process. With --store a message is accepted when it is synced to the disk, and \
            a restarted relay has all rooms; `martlet store` checks, exports and copies the directory. \
            Beyond --memory the relay ends suspended links, then drops the backlog of the slowest clients, \
            and finally refuses new messages and links. An interrupt or a request to terminate notifies and \
            disconnects all clients; a second one ends the process at once. The log never blocks the relay: \
            if its reader is too slow, lines are dropped and their number is logged.
            """,
            """
            Half of --max-connections-per-address may be unauthenticated at a time. After failed authentications an \
            account is refused for up to 60 s at their address; after failures under many names accounts that have not \
            signed in there in the last day wait. Behind a proxy all clients have the address of the proxy, unless it \
            states theirs and --proxy-protocol or --web-proxy names it. \
            --audit never blocks the relay either: records that cannot be written are lost, and the log states \
            their number once a minute. The signal HUP opens the file again, for example after a rename.
            """,
            """
            With --room-roles the account "server" is reserved for the relay. An account with the \
            permission administer in --rooms is an owner of the rooms, and may publish as "server". Roles are kept in \
            memory beside the messages, and are lost at the end of the process.
            """,
            """
            The object in the file of --config has a member for each option, without the dashes: true for a flag, \
            otherwise the text that is given here or a number, and an array for an option that is repeated. The signal \
            HUP reads the file again. The log states the options whose changes require a restart (restartRequired).
            """,
            """
            As a service of systemd, the relay reports its state and answers the watchdog. Inherited sockets replace \
            --listen, and one with the name admin replaces --admin. Guides/operations.md describes units.
            """,
            """
            The URI of --store is one of libpq: options such as sslmode=verify-full follow a question mark, the \
            password can also be in the variable PGPASSWORD or a password file, and options=-csearch_path%3DNAME names \
            another schema than martlet. While the database is away, messages wait, and the log states it \
            (databaseLost, databaseRecovered); they are refused after ten minutes, and when the relay ends \
            (databaseAbandoned).
            """,
            """
            With --store NAME=URI several times, each room is in one of the databases, by a hash of the names. The \
            names and their number are fixed from the first start on, and a database that was used with others is \
            refused; `martlet store copy --to` spreads existing rooms. Guides/postgres.md describes it.
            """,
            """
            --web answers GET and HEAD on the addresses of --listen with the files of DIR, for example with a chat \
            page and its client, at all paths but that of --web-path; index.html stands for its folder. The files are \
            read at the start and after the signal HUP, at most \(WebFolder.maxByteCount >> 20) MiB in \
            \(WebFolder.maxEntryCount) files and folders. Names that begin with a dot and symbolic links below DIR are \
            left out. Pages run scripts of these files only, and connect to their own host only.
            """,
            "--listen may be repeated. [::] includes IPv4 unless 0.0.0.0 is given with the same port.",
            """
            The signal HUP reads all files again: first all are checked, and then all are applied, or none of them if \
            one has a fault, which the log states. 'martlet serve --check' with the same options makes the same check \
            beforehand. The signal USR1 opens the file of --audit only; USR2 has no effect.
            """,
            """
            Without --certificate and --key there is no TLS, and the relay listens on loopback addresses only, unless \
            --plaintext is given. The signal HUP reads the certificate, its key, the ticket keys and --client-ca \
            again; existing connections are not affected. `martlet dev-cert` makes certificates for development.
            """,
        ] + BusArguments.notes + AttachmentArguments.notes + PushArguments.notes + TelemetryArguments.notes
            + AdminArguments.notes
            + AlertArguments.notes + RelayAccess.notes + [
                TokensFile.overview
            ],
        exitCodes: [
            ExitMeaning(.success, "the relay was interrupted or terminated by a signal, or --check has found no fault"),
            ExitMeaning(.failure, "--check has found a fault, which standard error states"),
            ExitMeaning(
                .noInput,
                "a file of options, accounts, keys, rules or certificates, or the directory of --web, cannot be read; "
                    + "standard error states file and line or member"),
            ExitMeaning(.cannotCreate, "the relay cannot listen on an address, or open the file of --audit"),
            ExitMeaning(.interrupted, "interrupted again before the relay had ended"),
            ExitMeaning(.terminated, "terminated again by a signal before the relay had ended"),
        ]
    ) { given in
        if given.has(check) { return try await checkFiles(given) }
        var isJSON = given.has(json)
        do {
            let arguments = try complete(given)
            isJSON = arguments.has(json)
            return try await run(arguments, given)
        } catch let error as CommandError where isJSON {
            try Output.print(RelayLog.json(RelayLog.Entry(event: .startFailed(error))))
            throw CommandError(error.code, "")
        }
    }

    /// The options of a command line with those of its configuration file.
    private static func complete(_ given: ParsedArguments) throws -> ParsedArguments {
        let arguments = try given[config].map { try ConfigurationFile.complete(given, from: $0, for: spec) } ?? given
        try checkCompanions(arguments)
        return arguments
    }

    /// Refuses options that have no effect without the option that they depend on.
    private static func checkCompanions(_ arguments: ParsedArguments) throws(UsageError) {
        let pairs = [
            (historyAge.spec, store.spec), (ignoreRoomRoles.spec, store.spec), (roomsPerAccount.spec, roomRoles.spec),
            (name.spec, shared.spec),
        ]
        for (option, companion) in pairs
        where arguments.values[option.name] != nil && arguments.values[companion.name] == nil {
            throw UsageError(message: "'--\(option.name)' requires '--\(companion.name)'")
        }
        let place = try place(arguments)
        let hasDatabase = place != nil && place?.directory == nil
        if arguments.has(shared), !hasDatabase {
            throw UsageError(message: "'--shared' requires a database as '--store'")
        }
        try AttachmentArguments.checkUsage(
            arguments, hasDatabase: hasDatabase, isShared: arguments.has(shared), name: arguments[name])
        try BusArguments.checkUsage(arguments, isShared: arguments.has(shared))
    }

    /// Checks all files that a start or a reload reads, and the database.
    private static func checkFiles(_ given: ParsedArguments) async throws -> ExitCode {
        do {
            let arguments = try complete(given)
            _ = try RelayAccess(arguments)
            _ = try PushArguments.webhook(arguments)
            if let path = arguments[audit] { try AuditLog.check(path: path) }
            _ = try webFolder(arguments)
            try AdminArguments.check(arguments)
            try TelemetryArguments.check(arguments)
            _ = try AlertArguments.rules(arguments)
            _ = try AlertArguments.actions(arguments)
            try await place(arguments)?.check()
            try await BusArguments.check(arguments)
            try await AttachmentArguments.check(arguments)
            if let options = try TLSArguments.server(arguments), let fault = try TLSServer(options).certificateFault {
                throw fault
            }
        } catch let error as UsageError {
            throw error
        } catch {
            throw CommandError(.failure, "\(error)")
        }
        return .success
    }

    private static func level(_ arguments: ParsedArguments) -> RelayLog.Level {
        arguments.has(quiet) ? .error : arguments[logLevel] ?? .info
    }

    private static func run(_ arguments: ParsedArguments, _ given: ParsedArguments) async throws -> ExitCode {
        let isJSON = arguments.has(json)
        let level = Guarded(level(arguments))
        for number in [SIGUSR1, SIGUSR2] { _ = signal(number, SIG_IGN) }
        // The reader of the log may end before the relay.
        _ = signal(SIGPIPE, SIG_IGN)
        Descriptors.raiseLimit()
        // One heap for each loop, and one for the other threads.
        martlet_heap_share(Int32((arguments[loops] ?? 1) + 1))
        let line = isJSON ? RelayLog.json : SystemdService.readsStandardError ? RelayLog.journal : RelayLog.text
        let log = LineLog<RelayLog.Entry>(to: isJSON ? STDOUT_FILENO : STDERR_FILENO) { entry in
            line(entry)
        } dropped: { count in
            line(RelayLog.Entry(event: .dropped(count)))
        }
        let note: @Sendable (RelayLog.Event) -> Void = { event in
            guard event.level <= level.withLock({ $0 }) else { return }
            let isSecondary = if case .audited(let record) = event { record.isRefusal } else { false }
            log.add(RelayLog.Entry(event: event), isSecondary: isSecondary)
        }
        let groups = Guarded(LogGroups())
        let inherited = try SystemdService.sockets()
        let sockets = inherited.filter { $0.name != "admin" }.map(\.socket)
        let access = try RelayAccess(arguments)
        let webhook = try PushArguments.webhook(arguments)
        let webFolder = try webFolder(arguments)
        let telemetry = try TelemetryArguments.exporter(arguments) { event in
            let now = Instant(nanoseconds: EventLoop.clock)
            for event in groups.withLock({ $0.add(event, now: now) }) { note(event) }
        }
        let audit = try arguments[audit].map { try AuditLog(path: $0) { note(.auditLost($0)) } }
        let store: (any RoomStore)?
        do {
            store = try await durableStore(arguments, note)
        } catch {
            throw CommandError(.cannotCreate, "\(error)")
        }
        try await checkRoles(of: store, arguments)
        let directory = try place(arguments)?.directory
        let disk = AttachmentArguments.disk(arguments, directory: directory)
        let attachments = try await AttachmentArguments.store(
            arguments, directory: directory, disk, sharedBy: arguments.has(shared) ? arguments[name] ?? "" : nil)
        let bus = try await BusArguments.make(arguments, store) { note(.bus($0)) }
        let relay = try relay(
            arguments, sockets, access, store, attachments, disk, webhook, webFolder, telemetry, bus
        ) { event in
            let now = Instant(nanoseconds: EventLoop.clock)
            for event in groups.withLock({ $0.add(event, now: now) }) { note(event) }
            if let audit, let record = AuditRecord(event) { audit.add(.relay(record)) }
            // The process ends as by the signal of an operator.
            if case .note(.administered(let record), _) = event, record.isDrain { _ = kill(getpid(), SIGTERM) }
            if case .drainRequested = event { _ = kill(getpid(), SIGTERM) }
        }
        let actions = AlertActions(try AlertArguments.actions(arguments)) { note(.alertActionFailed($0, $1)) }
        let alerts = AlertMonitor(relay, rules: try AlertArguments.rules(arguments)) { change in
            note(.alert(change))
            actions.perform(change)
        }
        let admin = try AdminArguments.server(
            arguments, of: relay, alerts, on: inherited.filter { $0.name == "admin" }.map(\.socket))
        let addresses: [SocketAddress]
        do {
            addresses = try relay.start()
            try admin?.start()
        } catch RelayError.invalidTLS(let error) {
            throw CommandError(.noInput, "\(error)")
        } catch {
            throw CommandError(.cannotCreate, "\(error)")
        }
        // A script may send a signal as soon as the relay listens.
        let signals = Interruptions.stream(of: audit == nil ? [SIGHUP] : [SIGHUP, SIGUSR1])
        audit?.add(.started(addresses))
        for (requested, address) in zip(Self.addresses(arguments, sockets), addresses) {
            // A program needs the port at any level.
            if isJSON { log.add(RelayLog.Entry(event: .listening(address))) } else { note(.listening(address)) }
            if !isJSON, requested.port == 0 { try Output.print("\(address.port)") }
        }
        for address in admin?.addresses ?? [] { note(.adminListening(address)) }
        let reload = RelayReload(
            relay, access, audit, webhook, webFolder, admin, alerts, attachments as? S3AttachmentStore, arguments)
        let reloads = Task {
            for await signal in signals {
                guard signal.number == SIGHUP else {
                    note(.reopened(failure(of: { try audit?.reopen() })))
                    continue
                }
                SystemdService.notify(.reloading)
                let (failure, atStart) = await reload.perform { try complete(given) }
                level.withLock { $0 = Self.level(reload.arguments) }
                note(.reloaded(failure))
                audit?.add(.reloaded(failure))
                if !atStart.isEmpty { note(.restartRequired(atStart)) }
                SystemdService.notify(.ready)
            }
        }
        defer { reloads.cancel() }
        MeasuredHeap.keepTrimmedIfAsked()
        SystemdService.notify(.ready)
        SystemdService.keepAlive { _ = await relay.statistics }
        // Neither the drain nor the shutdown can be cancelled, and both wait for calls of the store.
        await Interruptions.run(after: Interruptions.stream(of: [SIGINT, SIGTERM])) {
            SystemdService.notify(.stopping)
            let database = store as? any DatabaseStore
            // Messages that wait for a database that is away were not acknowledged: their clients still have them.
            _ = await relay.drain(within: reload.arguments[drain] ?? .zero) { await database?.endWaiting() }
            let statistics = await relay.statistics
            await database?.endWaiting()
            await relay.shutdown()
            alerts.stop()
            await actions.finish()
            await admin?.shutdown()
            await telemetry?.shutdown()
            await close(store)
            for event in groups.withLock({ $0.finish() }) { note(event) }
            note(.ended(statistics))
            audit?.add(.ended)
            await audit?.finish()
            await log.finish()
        }
        return .success
    }

    private static func failure(of body: () throws -> Void) -> String? {
        do { try body() } catch { return "\(error)" }
        return nil
    }

    /// The addresses of the relay. Sockets of the service manager take the place of --listen.
    private static func addresses(_ arguments: ParsedArguments, _ sockets: [TCPListener.Socket]) -> [SocketAddress] {
        guard sockets.isEmpty else { return sockets.map(\.localAddress) }
        let given = arguments.all(listen)
        return given.isEmpty ? [arguments[listen]].compactMap { $0 } : given
    }

    private static func relay(
        _ arguments: ParsedArguments, _ sockets: [TCPListener.Socket], _ access: RelayAccess,
        _ diskStore: (any RoomStore)?, _ attachments: (any AttachmentStore)?, _ disk: DiskSpace?, _ webhook: Webhook?,
        _ webFolder: WebFolder?, _ telemetry: InfluxExporter?, _ bus: (any RelayBus)?,
        onEvent: @escaping @Sendable (RelayEvent) -> Void
    ) throws -> Relay {
        let shares = MemoryShares(of: arguments[memory] ?? 1 << 30, storesInMemory: diskStore == nil)
        var configuration = Relay.Configuration(addresses: addresses(arguments, sockets))
        configuration.sockets = sockets
        configuration.name = name(arguments, configuration.addresses)
        configuration.loopCount = arguments[loops] ?? configuration.loopCount
        configuration.engine.memoryBudget = shares.engine
        configuration.spinLimit = arguments[spin] ?? configuration.spinLimit
        configuration.connection.usesMultipath = arguments.has(multipath)
        let maxConnections = arguments[maxConnections] ?? configuration.limits.maxConnections
        configuration.limits.maxConnections = maxConnections > 0 ? maxConnections : .max
        configuration.limits.maxHandshakes = maxConnections > 0 ? max(maxConnections / 2, 1) : .max
        if maxConnections == 0 { configuration.limits.maxTotalHandshakes = .max }
        configuration.proxies = arguments.all(proxies)
        configuration.unlimitedPeers = arguments.all(unlimitedPeers)
        var webSockets = WebSocketOptions()
        webSockets.path = arguments[webPath] ?? webSockets.path
        webSockets.origins = arguments.all(webOrigins)
        webSockets.forwarders = arguments.all(webProxies)
        webSockets.files = webFolder
        configuration.webSockets = webSockets
        configuration.engine.accountRate = arguments[accountRate].map { Self.rate($0) }
        configuration.engine.roomRate = arguments[roomRate].map { Self.rate($0) }
        if arguments.has(roomRoles) {
            var roles = RoomRolesConfiguration()
            roles.maxRoomsPerAccount = arguments[roomsPerAccount] ?? roles.maxRoomsPerAccount
            configuration.engine.roomRoles = roles
        }
        configuration.disk = disk
        PushArguments.apply(arguments, to: &configuration)
        configuration.tls = try TLSArguments.server(arguments)
        configuration.allowsPlaintext = TLSArguments.allowsPlaintext(arguments)
        return Relay(
            configuration: configuration, store: diskStore ?? memoryStore(arguments, shares),
            authenticator: access.authenticator, policy: access.policy, telemetry: telemetry, attachments: attachments,
            onUndelivered: webhook, bus: bus, onEvent: onEvent)
    }

    /// The name of the relay on its bus. Relays that listen on all addresses of their machines have the same address.
    private static func name(_ arguments: ParsedArguments, _ addresses: [SocketAddress]) -> String? {
        if let given = arguments[name] { return given }
        guard arguments.has(shared), let address = addresses.first, address.port != 0 else { return nil }
        var bytes = [CChar](repeating: 0, count: 256)
        guard unsafe gethostname(&bytes, bytes.count - 1) == 0 else { return nil }
        let host = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(host):\(address.port)"
    }

    /// An option whose values are addresses or networks.
    private static func network(_ name: String, help: String) -> Option<IPNetwork> {
        Option(
            name, "ADDRESS[/BITS]", expectation: "an IP address, with or without a number of bits", help: help,
            parse: IPNetwork.init
        ).repeating
    }

    /// The files of `--web`; nil without this option.
    static func webFolder(_ arguments: ParsedArguments) throws(CommandError) -> WebFolder? {
        guard let path = arguments[web] else { return nil }
        do throws(WebFolderError) { return try WebFolder(path) } catch { throw CommandError(.noInput, "\(error)") }
    }

    /// A rate with a burst of ten seconds.
    private static func rate(_ messagesPerSecond: Int) -> MessageRate {
        var rate = MessageRate()
        (rate.messagesPerSecond, rate.messageBurst) = (messagesPerSecond, 10 * messagesPerSecond)
        return rate
    }

    private static func memoryStore(_ arguments: ParsedArguments, _ shares: MemoryShares) -> InMemoryStore {
        var bounds = InMemoryStore.Bounds()
        bounds.maxMessagesPerRoom = arguments[history] ?? bounds.maxMessagesPerRoom
        bounds.maxByteCount = shares.store
        bounds.maxByteCountPerRoom = min(arguments[historyBytes] ?? 64 << 20, bounds.maxByteCount / 2)
        if arguments.has(roomRoles) {
            // The roles take an eighth of the memory for messages.
            bounds.maxRoleByteCount = bounds.maxByteCount / 8
            bounds.maxByteCount -= bounds.maxRoleByteCount
        }
        return InMemoryStore(bounds: bounds)
    }

    /// The place of `--store`; nil without this option.
    private static func place(_ arguments: ParsedArguments) throws(UsageError) -> StorePlace? {
        let given = arguments.all(store)
        return given.isEmpty ? nil : try StorePlace(given, of: "--store")
    }

    /// The store of `--store`; nil without this option.
    private static func durableStore(
        _ arguments: ParsedArguments, _ note: @escaping @Sendable (RelayLog.Event) -> Void
    ) async throws -> (any RoomStore)? {
        let maxAge = arguments[historyAge].map { $0 * 24 * 3600 * 1000 }
        var configuration = PostgresStore.Configuration()
        configuration.retention.maxMessagesPerRoom = arguments[history] ?? configuration.retention.maxMessagesPerRoom
        configuration.retention.maxByteCountPerRoom =
            arguments[historyBytes] ?? configuration.retention.maxByteCountPerRoom
        configuration.retention.maxAge = maxAge
        configuration.isShared = arguments.has(shared)
        let directory: String
        switch try place(arguments) {
        case nil: return nil
        case .directory(let path): directory = path
        case .database(let uri):
            return try await .postgres(uri, configuration: configuration) { note(.database($0, nil)) }
        case .databases(let databases):
            return try await PostgresShards(databases, configuration: configuration) { note(.database($1, $0)) }
        }
        var retention = StoreRetention()
        retention.maxMessagesPerRoom = arguments[history] ?? retention.maxMessagesPerRoom
        retention.maxByteCountPerRoom = arguments[historyBytes] ?? retention.maxByteCountPerRoom
        retention.maxAge = maxAge
        return try await .sqlite(at: directory, retention: retention) { note(.store($0)) }
    }

    private static func close(_ store: (any RoomStore)?) async {
        await (store as? SQLiteStore)?.close()
        await (store as? any DatabaseStore)?.close()
    }

    /// Refuses to serve a store with roles without these roles, unless the arguments permit it.
    static func checkRoles(of store: (any RoomStore)?, _ arguments: ParsedArguments) async throws {
        guard !arguments.has(roomRoles), !arguments.has(ignoreRoomRoles) else { return }
        let hasRoles: Bool?
        do {
            hasRoles =
                if let file = store as? SQLiteStore {
                    try await file.hasRoles()
                } else {
                    try await (store as? any DatabaseStore)?.hasRoles()
                }
        } catch { throw CommandError(.cannotCreate, "\(error)") }
        guard hasRoles == true else { return }
        await close(store)
        throw UsageError(
            message: "the store has roles of rooms: use --room-roles, or --ignore-room-roles to open them to everyone")
    }
}
