import MartletLink
import MartletNATS
import MartletPostgres
import MartletToolSupport
import MartletTransport
import MartletWire

/// `martlet doctor`: checks a relay from the outside.
enum DoctorCommand {
    private static let timeout = Option.duration(
        "timeout", "S", in: .seconds, fallback: .seconds(5), isZeroAllowed: false, help: "the timeout of each step")
    private static let json = Option.flag("json", help: "write each line as a JSON object")

    static let spec = CommandSpec(
        name: "doctor",
        summary: "Check a relay from the outside, step by step.",
        operand: "[ADDRESS]",
        options: [ClientOptions.account.spec, ClientOptions.token.spec, PasswordInput.option.spec, ProxyArguments.spec]
            + TLSArguments.clientSpecs + [
                timeout.spec, json.spec,
            ] + BusArguments.serverSpecs,
        notes: [
            """
            ADDRESS is that of a client's --to: martlets:// or no scheme for TLS, martlet:// for a connection without \
            TLS, wss:// and ws:// for a WebSocket. The default is \(ClientOptions.target.fallback ?? ""). Each line \
            has a mark (ok, warn or FAIL), a check, the findings and, after a warning or a failure, advice. The first \
            FAIL ends the command.
            """,
            """
            The checks are: address; route, whether the connection is direct, through a proxy, or by a WebSocket on \
            port 443, and why, if there is a choice; for a direct connection name, its addresses, and connect, to \
            each of them; tls and certificate; welcome, the answer to the account, with the features and limits in \
            effect; ping, five round trips; clock, the difference between the clocks of the relay and of this \
            machine; resumption of the TLS session by a second connection. The checks publish nothing and enter no \
            room. If no relay answers on a route, the checks begin again with the other routes. All checks together \
            take at most twelve times --timeout, and seven times for each further route.
            """,
            """
            If ADDRESS is the URI of a database, postgres://USER@HOST/NAME, the only check is database: whether it is \
            reachable, and fit for the rooms of a relay. If ADDRESS is the URL of a server of NATS, nats://HOST or \
            tls://HOST, it is bus: whether the server is reachable, and permits the subject. Both change nothing.
            """,
            """
            The clocks are compared if the relay reports its time. A wrong clock of this machine also appears as a \
            certificate that has expired or is not valid yet.
            """,
            """
            The objects of --json have the members check, mark (ok, warn, fail), found and advice, error for a \
            failure, and members with the values of the check. Times are in milliseconds, limits in bytes.
            """,
        ],
        exitCodes: [
            ExitMeaning(.success, "no check failed; there may be warnings"),
            ExitMeaning(.noHost, "the name has no address"),
            ExitMeaning(
                .unavailable,
                "no address answers, the relay refuses clients for now, or the database or server of NATS is not "
                    + "reachable or not fit"
            ),
            ExitMeaning(.protocolError, "TLS or the certificate failed, or the server is no compatible relay"),
            ExitMeaning(.noPermission, "the relay refused the account or its token"),
            ExitMeaning(.inputOutput, "writing failed"),
        ]
    ) { try await run($0) }

    private static func run(_ arguments: ParsedArguments) async throws -> ExitCode {
        let isJSON = arguments.has(json)
        return try await check(arguments) { line in try Output.print(isJSON ? line.json.text : line.text) }
    }

    /// Checks the relay in the arguments, and reports each line when it is known.
    static func check(_ arguments: ParsedArguments, _ show: (DoctorLine) throws -> Void) async throws -> ExitCode {
        let address = arguments.operands.first ?? arguments[ClientOptions.target] ?? ""
        if PostgresStore.isURI(address) {
            return try await check(.database, "reachable, and fit for rooms", show) {
                try await PostgresStore.check(address)
            }
        }
        if NATSBus.isURL(address) {
            return try await check(.bus, "reachable, and fit for a bus", show) {
                try await NATSBus.check(address, configuration: BusArguments.configuration(arguments))
            }
        }
        let signIn = try signIn(arguments)
        let hello = try hello(arguments)
        let proxies = ProxySelector(try ProxyArguments.proxies(arguments))
        var (report, line) = DoctorReport.begin(
            address, secret: signIn.secret, allowsPlaintext: TLSArguments.allowsPlaintext(arguments))
        let tls = try report.endpoint?.security == .tls ? tlsClient(arguments) : nil
        try show(line)
        let faults = report.endpoint.map(proxies.faults) ?? []
        for fault in ProxySelector(.automatic).faults where !faults.contains(fault) {
            try show(DoctorReport.unusedProxy(fault))
        }
        if let fault = faults.first {
            try show(report.refuse(fault))
            return .usage
        }
        // As for a client (C-127).
        let usesWebSocket = signIn.secret != .password && !TLSArguments.hasCertificate(arguments)
        let plan = report.endpoint.map { RoutePlan(to: [$0], proxies: proxies, usesWebSocket: usesWebSocket) }
        if let plan, plan.hasChoice { report.chooseRoute() }
        let run = DoctorRun(
            tls: tls, hello: hello, signIn: signIn, plan: plan, timeout: arguments[timeout] ?? .seconds(5))
        return try await run.run(report, show)
    }

    private static func check(
        _ check: DoctorLine.Check, _ found: String, _ show: (DoctorLine) throws -> Void, _ body: () async throws -> Void
    ) async throws -> ExitCode {
        do { try await body() } catch {
            try show(DoctorLine(check: check, mark: .fail, found: "\(error)"))
            return .unavailable
        }
        try show(DoctorLine(check: check, mark: .ok, found: found))
        return .success
    }

    /// The hello of a device that no other client uses, so that no link is replaced.
    private static func hello(_ arguments: ParsedArguments) throws(UsageError) -> Hello {
        let name = ClientOptions.accountName(arguments)
        guard let account = AccountName(name) else {
            throw UsageError(message: "'\(name)' is not a valid name of an account")
        }
        return Hello(
            spokenVersions: Features.all.spokenVersions, features: .all,
            device: DeviceID(rawValue: .random(in: 1 ... .max)), account: account,
            agent: "\(MartletTool.program.title) doctor")
    }

    private static func signIn(_ arguments: ParsedArguments) throws -> DoctorSignIn {
        if let password = try ClientOptions.password(arguments) { return .password(password) }
        guard let token = ClientOptions.tokenText(arguments) else { return .token(nil) }
        guard let credential = Credential(token) else {
            throw UsageError(message: "the token has more than \(Credential.maxByteCount) bytes")
        }
        return .token(credential)
    }

    private static func tlsClient(_ arguments: ParsedArguments) throws(UsageError) -> TLSClient {
        let options = try TLSArguments.client(arguments)
        do { return try TLSClient(options) } catch { throw UsageError(message: "\(error)") }
    }
}
