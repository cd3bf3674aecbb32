import Martlet
import MartletLink
import MartletRelay
import MartletTransport
import MartletWire

extension RelayConfiguration {
    /// A relay whose timeouts are too long to expire on a busy machine.
    static var patient: RelayConfiguration {
        var configuration = RelayConfiguration()
        configuration.link.handshakeTimeout = .seconds(3600)
        configuration.link.authTimeout = .seconds(3600)
        configuration.link.frameTimeout = .seconds(3600)
        configuration.link.slowConsumerTimeout = .seconds(3600)
        return configuration
    }
}

/// Runs a relay on a free port while `body` runs. The argument of `body` is its address.
func withRelay(
    _ engine: RelayConfiguration = .patient, port: UInt16 = 0, store: any RoomStore = InMemoryStore(),
    authenticator: any Authenticator = .allowAll, policy: any RoomPolicy = .allowAll,
    requestHandler: (any RequestHandler)? = nil, telemetry: (any TelemetrySink)? = nil,
    attachments: (any AttachmentStore)? = nil,
    onEvent: @escaping @Sendable (RelayEvent) -> Void = { _ in }, _ body: (String) async throws -> Void
) async throws {
    var configuration = try Relay.Configuration(port: port)
    configuration.engine = engine
    configuration.limits = .unlimited
    let relay = Relay(
        configuration: configuration, store: store, authenticator: authenticator, policy: policy,
        requestHandler: requestHandler, telemetry: telemetry, attachments: attachments, onEvent: onEvent)
    let address = try relay.start()[0]
    do {
        try await body("martlet://\(address)")
    } catch {
        await relay.shutdown()
        throw error
    }
    await relay.shutdown()
}
