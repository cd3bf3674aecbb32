import MartletAdmin
import MartletRelay
import MartletToolSupport
import MartletTransport

/// The options of `serve` about the port for metrics and the status page.
enum AdminArguments {
    private static let address = ListenAddress.option(
        "admin", help: "serve the status page, metrics and health over HTTP at this address")
    private static let tokenFile = Option.text(
        "admin-token", "FILE", help: "require the token in the first line of FILE for metrics and events of --admin"
    ).changing(.atReload)
    private static let clientAuthority = Option.text(
        "admin-client-ca", "FILE", help: "accept clients of --admin with a certificate of an authority in FILE")

    private static let cards = Option<RoomName>(
        "cards", "ROOM", expectation: "the name of a room", help: "show the status cards of this room with --admin",
        parse: RoomName.init
    ).repeating

    static let specs = [address.spec, tokenFile.spec, clientAuthority.spec, cards.spec]

    static let notes = [
        """
        --admin answers GET / (the status page), /metrics (OpenMetrics, for Prometheus), /events, /health/live and \
        /health/ready. It changes nothing. On an address that is not a loopback address it uses TLS with --certificate \
        and --key, and requires --admin-token or --admin-client-ca; a request has the token as Authorization: Bearer. \
        The signal HUP reads the token and the certificates again. Guides/metrics.md lists the metrics.
        """,
        """
        --cards shows the cards of 'martlet card' in up to 8 rooms to everyone who may read the events of --admin, \
        also to those who may not enter the rooms.
        """,
    ]

    /// The port; nil without the option and without sockets of the service manager.
    static func server(
        _ arguments: ParsedArguments, of relay: Relay, _ alerts: AlertMonitor, on sockets: [TCPListener.Socket]
    ) throws -> AdminServer? {
        try configuration(arguments, sockets).map { AdminServer(relay, configuration: $0, alerts: alerts) }
    }

    /// The configuration of the port, with the contents of its files. The sockets take the place of the option's
    /// address.
    private static func configuration(
        _ arguments: ParsedArguments, _ sockets: [TCPListener.Socket] = []
    ) throws -> AdminServer.Configuration? {
        let addresses = sockets.isEmpty ? [arguments[address]].compactMap(\.self) : sockets.map(\.localAddress)
        guard !addresses.isEmpty else {
            for option in [tokenFile.spec, clientAuthority.spec, cards.spec]
            where arguments.values[option.name] != nil {
                throw UsageError(message: "'--\(option.name)' requires '--admin'")
            }
            return nil
        }
        let isLoopback = addresses.allSatisfy(\.ip.isLoopback)
        var configuration = AdminServer.Configuration(addresses: addresses)
        configuration.sockets = sockets
        configuration.token = try token(arguments)
        configuration.cardRooms = arguments.all(cards)
        guard configuration.cardRooms.count <= AdminServer.maxCardRoomCount else {
            throw UsageError(message: "'--cards' is given more than \(AdminServer.maxCardRoomCount) times")
        }
        if !isLoopback || arguments[clientAuthority] != nil {
            guard var tls = try TLSArguments.server(arguments) else {
                throw UsageError(message: "'--admin' on this address requires '--certificate' and '--key'")
            }
            tls.ticketKeyFile = nil
            tls.clientCertificates = arguments[clientAuthority].map { .optional(trustFile: $0) } ?? .ignored
            configuration.tls = tls
        }
        guard isLoopback || configuration.token != nil || arguments[clientAuthority] != nil else {
            throw UsageError(message: "'--admin' on this address requires '--admin-token' or '--admin-client-ca'")
        }
        return configuration
    }

    /// Checks the options and all files that they name.
    static func check(_ arguments: ParsedArguments) throws {
        guard let tls = try configuration(arguments)?.tls else { return }
        if let fault = try TLSServer(tls).certificateFault { throw fault }
    }

    /// Reads the files of the port again. Returns the closure that applies them.
    static func prepareReload(of server: AdminServer?, _ arguments: ParsedArguments) throws -> () -> Void {
        guard let server else { return {} }
        return try server.prepareReload(token: try token(arguments))
    }

    private static func token(_ arguments: ParsedArguments) throws(CommandError) -> String? {
        guard let path = arguments[tokenFile] else { return nil }
        let line = try InputFile.read(path, "the token").prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        let token = String(decoding: line, as: UTF8.self)
        return token
    }
}
