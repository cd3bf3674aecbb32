import MartletLink
import MartletRelay
import MartletTransport
import MartletWire
import Testing

extension RelayConfiguration {
    /// A configuration whose timeouts do not expire on a busy machine.
    static var withoutTimeouts: RelayConfiguration {
        var configuration = RelayConfiguration()
        configuration.link.handshakeTimeout = .seconds(3600)
        configuration.link.authTimeout = .seconds(3600)
        configuration.link.frameTimeout = .seconds(3600)
        configuration.link.slowConsumerTimeout = .seconds(3600)
        return configuration
    }
}

/// Runs a relay on a free port during `body`.
///
/// A test that counts connections needs a host of its own: clients of other tests can try a port of 127.0.0.1 again
/// after its relay has ended.
func withRelay(
    _ engine: RelayConfiguration = .withoutTimeouts, host: String = "127.0.0.1", limits: PeerLimits = .unlimited,
    loopCount: Int = 1, proxies: [IPNetwork] = [],
    webSockets: WebSocketOptions? = WebSocketOptions(),
    connection: TCPOptions = TCPOptions(), touchInterval: Duration = .seconds(3600),
    store: any RoomStore = InMemoryStore(), attachments: (any AttachmentStore)? = nil,
    authenticator: any Authenticator = .allowAll, policy: any RoomPolicy = .allowAll,
    requestHandler: (any RequestHandler)? = nil, onUndelivered: (any UndeliveredHandler)? = nil,
    disk: DiskSpace? = nil, onEvent: @escaping @Sendable (RelayEvent) -> Void = { _ in },
    _ body: (Relay, UInt16) async throws -> Void
) async throws {
    var configuration = try Relay.Configuration(port: 0)
    configuration.addresses = [SocketAddress(try #require(IPAddress(host)), port: 0)]
    configuration.engine = engine
    configuration.limits = limits
    configuration.loopCount = loopCount
    configuration.proxies = proxies
    configuration.webSockets = webSockets
    configuration.connection = connection
    configuration.touchInterval = touchInterval
    configuration.disk = disk
    let relay = Relay(
        configuration: configuration, store: store, authenticator: authenticator, policy: policy,
        requestHandler: requestHandler, attachments: attachments, onUndelivered: onUndelivered, onEvent: onEvent)
    let port = try relay.start()[0].port
    do {
        try await body(relay, port)
    } catch {
        await relay.shutdown()
        throw error
    }
    await relay.shutdown()
}
