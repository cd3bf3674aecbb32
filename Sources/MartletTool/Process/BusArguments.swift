import MartletNATS
import MartletPostgres
import MartletRelay
import MartletToolSupport

/// The options of `serve` about the bus between the relays of a database.
enum BusArguments {
    private static let bus = Option.text(
        "bus", "BUS",
        help: "with --shared: what carries presence, typing, receipts and requests between relays: postgres, none, or "
            + "the URL nats://HOST or tls://HOST of a server of NATS [postgres]")
    private static let subject = Option.text(
        "bus-subject", "SUBJECT", help: "with NATS: the subject of the relays that share a database [martlet.bus]")
    private static let credentials = Option.text(
        "bus-credentials", "FILE", help: "with NATS: authenticate with the JWT and seed in FILE")
    private static let authorities = Option.text(
        "bus-trust", "FILE", help: "with NATS: check the server's certificate by those in FILE [those of the system]")

    static let specs = [bus.spec] + serverSpecs
    /// The options about a server of NATS.
    static let serverSpecs = [subject.spec, credentials.spec, authorities.spec]

    static let notes = [
        """
        The URL of --bus may have USER:PASSWORD@ or TOKEN@ before the host, best in the file of --config, and several \
        URLs are separated by commas. All relays of a database have the same --bus and --bus-subject. A bus that is \
        away delays presence and receipts, and the log states it (busLost, busRecovered); messages arrive by the \
        database.
        """
    ]

    private enum Choice {
        case none, database
        case nats(String, NATSBus.Configuration)
    }

    private static func choice(_ arguments: ParsedArguments) throws(UsageError) -> Choice {
        let name = arguments[bus] ?? "postgres"
        guard name != "postgres", name != "none" else {
            for option in serverSpecs where arguments.values[option.name] != nil {
                throw UsageError(message: "'--\(option.name)' requires the URL of a server of NATS as '--bus'")
            }
            return name == "none" ? .none : .database
        }
        let configuration = configuration(arguments)
        do throws(NATSError) {
            try NATSBus.checkURL(name, configuration: configuration)
        } catch .invalidURL {
            throw UsageError(message: "'--bus': \"\(name)\" is not postgres, none, or a URL nats://HOST or tls://HOST")
        } catch {
            throw UsageError(message: "'--bus-subject': \(error)")
        }
        return .nats(name, configuration)
    }

    /// The configuration of a bus over NATS.
    static func configuration(_ arguments: ParsedArguments) -> NATSBus.Configuration {
        var configuration = NATSBus.Configuration()
        configuration.subject = arguments[subject] ?? configuration.subject
        configuration.credentials = arguments[credentials]
        configuration.authorities = arguments[authorities]
        return configuration
    }

    /// Refuses the options without a shared store, and values that are not valid.
    static func checkUsage(_ arguments: ParsedArguments, isShared: Bool) throws(UsageError) {
        for option in specs where !isShared && arguments.values[option.name] != nil {
            throw UsageError(message: "'--\(option.name)' requires '--shared'")
        }
        _ = try choice(arguments)
    }

    /// Checks that the files can be read. libnats would refuse each connection without a file, and try again for ever.
    private static func checkFiles(_ configuration: NATSBus.Configuration) throws(CommandError) {
        for (path, what) in [
            (configuration.credentials, "the credentials of the bus"),
            (configuration.authorities, "the certificates of the bus"),
        ] {
            if let path { _ = try InputFile.read(path, what) }
        }
    }

    /// Checks that a server of NATS is reachable and fit. The database is checked as a store.
    static func check(_ arguments: ParsedArguments) async throws {
        if case .nats(let url, let configuration) = try choice(arguments) {
            try checkFiles(configuration)
            try await NATSBus.check(url, configuration: configuration)
        }
    }

    /// The bus of the relays that share a store; nil for none, and without a shared store.
    static func make(
        _ arguments: ParsedArguments, _ store: (any RoomStore)?, onEvent: @escaping @Sendable (NATSEvent) -> Void
    ) async throws -> (any RelayBus)? {
        guard let store = store as? any DatabaseStore, store.features.contains(.shared) else { return nil }
        switch try choice(arguments) {
        case .none: return nil
        case .database: return store.bus
        case .nats(let url, let configuration):
            try checkFiles(configuration)
            do { return try await NATSBus(url, configuration: configuration, onEvent: onEvent) } catch {
                throw CommandError(.cannotCreate, "\(error)")
            }
        }
    }
}
