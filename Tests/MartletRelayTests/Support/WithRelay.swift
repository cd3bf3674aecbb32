import MartletProtocol
import MartletRelay
import MartletTransport
import MartletWire

/// Runs a relay on a port of its own for as long as `body` takes.
func withRelay(
    _ engine: RelayConfiguration = .patient, store: any RoomStore = InMemoryStore(),
    authenticator: any Authenticator = .allowAll, requestHandler: (any RequestHandler)? = nil,
    onEvent: @escaping @Sendable (RelayEvent) -> Void = { _ in },
    _ body: (Relay, UInt16) async throws -> Void
) async throws {
    var configuration = try Relay.Configuration(port: 0)
    configuration.engine = engine
    let relay = Relay(
        configuration: configuration, store: store, authenticator: authenticator, requestHandler: requestHandler,
        onEvent: onEvent)
    let port = try relay.start()[0].port
    do {
        try await body(relay, port)
    } catch {
        await relay.shutdown()
        throw error
    }
    await relay.shutdown()
}

extension RelayConfiguration {
    /// For tests that are not about deadlines: a machine that is busy with all other tests lets no peer down.
    static var patient: RelayConfiguration {
        var configuration = RelayConfiguration()
        configuration.handshakeTimeout = .seconds(600)
        configuration.authTimeout = .seconds(600)
        configuration.slowConsumerTimeout = .seconds(600)
        return configuration
    }
}

extension SessionID {
    static let first = SessionID(rawValue: 1)
    static let second = SessionID(rawValue: 3)
}
