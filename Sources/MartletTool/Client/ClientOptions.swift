import Martlet
import MartletSQLite
import MartletToolSupport
import MartletTransport
import MartletWire

/// The options of all commands that are clients.
enum ClientOptions {
    static let target = Option.text(
        "to", "URL", fallback: "martlet://127.0.0.1:7227",
        help: "the relay; martlets:// or no scheme for TLS, martlet:// for a connection without TLS to this machine; "
            + "wss:// and ws:// for a WebSocket")
    static let room = Option.text("room", short: "r", "NAME", fallback: "lobby", help: "the room")
    static let account = Option.text(
        "account", short: "a", "NAME", help: "the account [the user name on this machine]")
    static let token = Option.text(
        "token", "TOKEN", help: "the credential; the variable MARTLET_TOKEN hides it from other users")
    static let multipath = Option.flag(
        "multipath", help: "use multipath TCP if both machines support it")
    static let maxWait = Option.duration(
        "max-wait", "S", in: .seconds, isZeroAllowed: false,
        help: "wait at most S seconds before an attempt to reconnect [24 s; 12 s after the relay has ended]")
    static let timeout = Option.duration(
        "timeout", "S", in: .seconds, isZeroAllowed: false,
        help: "end after S seconds without a connection [never]")

    private static let recordings = Option.text(
        "recordings", "DIR",
        help: "write flight recordings into DIR: after a fault of the connection, and on the signal USR1")

    static let outbox = Option.text(
        "outbox", "FILE", help: "keep unaccepted messages in FILE; the next start with FILE sends them")

    static let specs =
        [
            target.spec, room.spec, account.spec, token.spec, PasswordInput.option.spec, multipath.spec, maxWait.spec,
            recordings.spec, ProxyArguments.spec,
        ] + TLSArguments.clientSpecs

    /// The options of commands that are not for one room.
    static let specsWithoutRoom = specs.filter { $0.name != room.spec.name }

    /// The exit codes of all commands that are clients.
    static let exitCodes = [
        ExitMeaning(.unavailable, "no connection for longer than --timeout, or permanently refused by the relay"),
        ExitMeaning(.noPermission, "the relay refused the account, its token or the room"),
        ExitMeaning(.interrupted, "interrupted"), ExitMeaning(.terminated, "terminated by a signal"),
    ]

    /// Returns the client for the options. An invalid name of the room is a usage error.
    static func client(
        _ arguments: ParsedArguments, agent: String, flushTimeout: Duration? = nil, outbox: SQLiteOutbox? = nil,
        earlier: EarlierMessages? = nil, monitor: TransferMonitor? = nil, telemetry: Telemetry.Configuration? = nil
    ) throws -> Client {
        _ = try roomName(arguments)
        var configuration = Client.Configuration()
        configuration.flushTimeout = flushTimeout ?? configuration.flushTimeout
        configuration.usesMultipath = arguments.has(multipath)
        configuration.proxies = try ProxyArguments.checkedProxies(arguments, for: arguments[target] ?? "")
        if let wait = arguments[maxWait] { configuration.reconnect.limitWaits(to: wait) }
        configuration.tls = try TLSArguments.client(arguments)
        configuration.allowsPlaintext = TLSArguments.allowsPlaintext(arguments)
        configuration.telemetry = telemetry
        configuration.agent = "\(MartletTool.program.title) \(agent)"
        let reports = earlier ?? outbox.map { EarlierMessages(path: $0.path) }
        configuration.logger = { event in
            reports?.note(event)
            monitor?.note(event)
        }
        let folder = arguments[recordings] ?? Environment["MARTLET_RECORDINGS"]
        if let folder { try OutputFolder.check(folder, "the recordings") }
        configuration.recordingFolder = folder
        let credentials = try credentials(arguments)
        let client: Client
        do {
            let endpoint = arguments[target] ?? ""
            client =
                if let outbox {
                    try Client(to: endpoint, as: credentials, outbox: outbox, configuration: configuration)
                } else { try Client(to: endpoint, as: credentials, configuration: configuration) }
        } catch {
            throw UsageError(message: "\(error)")
        }
        if let folder { writeRecordings(of: client, to: folder) }
        return client
    }

    /// Writes the recording of a client on each signal USR1, into one file of the process.
    private static func writeRecordings(of client: Client, to folder: String) {
        let signals = Interruptions.stream(of: [SIGUSR1])
        Task { [weak client] in
            for await _ in signals {
                guard let recording = await client?.flightRecording else { return }
                let path = "\(folder)/martlet-\(getpid()).flight"
                let descriptor = Descriptors.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
                guard descriptor >= 0 else {
                    Output.report(SafeText.line("martlet: cannot write \(path)"))
                    continue
                }
                defer { close(descriptor) }
                do throws(CommandError) { try Output.write(recording, to: descriptor) } catch {
                    Output.report("martlet: \(error.message)")
                }
            }
        }
    }

    /// Returns the outbox in the options; nil if there is none.
    static func outbox(_ arguments: ParsedArguments) -> SQLiteOutbox? {
        arguments[outbox].map { SQLiteOutbox(path: $0) }
    }

    /// Reports a damaged file that the start of the client has set aside.
    static func reportRecovery(of outbox: SQLiteOutbox?) {
        guard let outbox, let recovery = outbox.recovery else { return }
        let effect = recovery.keepsIdentity ? "messages were kept" : "messages were kept as failed ones"
        Output.report(
            SafeText.line(
                "martlet: \(outbox.path) was damaged and is now \(recovery.path); \(recovery.messageCount) \(effect)"))
    }

    /// Returns the room in the options. An invalid name is a usage error.
    static func roomName(_ arguments: ParsedArguments) throws(UsageError) -> RoomName {
        let text = arguments[room] ?? ""
        guard let name = RoomName(text) else { throw UsageError(message: "\(MartletError.invalidName(text))") }
        return name
    }

    /// Returns the account in the options, or the name of the user on this machine.
    static func accountName(_ arguments: ParsedArguments) -> String {
        arguments[account] ?? Environment["USER"] ?? "unknown"
    }

    /// Returns the token in the options or in the environment; nil if there is none.
    static func tokenText(_ arguments: ParsedArguments) -> String? {
        arguments[token] ?? Environment["MARTLET_TOKEN"]
    }

    /// Returns the password in the file of the options; nil if there is none. A token beside it is a usage error.
    static func password(_ arguments: ParsedArguments) throws -> String? {
        guard let password = try PasswordInput.readFile(arguments) else { return nil }
        guard arguments[token] == nil else {
            throw UsageError(message: "'--token' and '--password-file' exclude each other")
        }
        return password
    }

    private static func credentials(_ arguments: ParsedArguments) throws -> Credentials {
        let name = accountName(arguments)
        if let password = try password(arguments) { return .password(account: name, password) }
        return tokenText(arguments).map { .token(account: name, $0) } ?? .anonymous(name)
    }
}

extension ReconnectPolicy.Configuration {
    /// Reduces each ceiling of a wait to a duration.
    fileprivate mutating func limitWaits(to duration: Duration) {
        (base, peerClosedBase, cap) = (min(base, duration), min(peerClosedBase, duration), min(cap, duration))
    }
}

extension CommandError {
    /// Creates the error of a command from an error of the client.
    init(_ error: MartletError) {
        let code: ExitCode =
            switch error.code {
            case .gaveUp: error.stopReason.map(Self.code) ?? .unavailable
            case .roomClosed where error.errorCode == .roomForbidden || error.errorCode == .forbidden: .noPermission
            case .roomClosed, .stopped, .connectionLost: .unavailable
            case .invalidEndpoint, .invalidName, .plaintextNotAllowed, .invalidTLS: .usage
            default: .failure
            }
        self.init(code, "\(error)")
    }

    /// Creates the error of a command whose client has stopped.
    init(givingUp reason: StopReason, explanation: String) {
        self.init(Self.code(for: reason), SafeText.line(explanation))
    }

    private static func code(for reason: StopReason) -> ExitCode {
        switch reason {
        case .unauthenticated, .forbidden, .revoked: .noPermission
        default: .unavailable
        }
    }
}
