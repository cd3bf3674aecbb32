import Martlet
import MartletRelay
import MartletTransport
import Testing

/// W-1, Specs/hostile.md row 25.
///
/// This version has no TLS. A client that requires TLS fails with a reason, and sends no byte without encryption.
/// not a byte goes out in the clear.
@Suite("TLS is unavailable", .timeLimit(.minutes(10)))
struct UnavailableTLSTests {
    @Test func `an address that requires TLS throws tlsUnavailable without a connection`() async throws {
        try await withListener { port, accepted in
            for endpoint in ["martlets://127.0.0.1:\(port)", "127.0.0.1:\(port)"] {
                #expect(throws: MartletError.tlsUnavailable) {
                    try Client(to: endpoint, as: .anonymous("alice"))
                }
            }
            #expect(throws: MartletError.tlsUnavailable) {
                try Client(
                    to: ["martlet://127.0.0.1:\(port)", "martlets://127.0.0.1:\(port)"], as: .anonymous("alice"))
            }
            #expect(accepted.value == 0)
        }
    }

    @Test func `a redirect to martlets:// fails the attempt with tlsFailure without a connection`() async throws {
        try await withListener { port, accepted in
            let relay = Relay(
                configuration: try Relay.Configuration(port: 0), store: InMemoryStore(), authenticator: .allowAll)
            let first = try relay.start()[0].port
            // The long wait before the next attempt keeps the failure in the status.
            var configuration = Client.Configuration()
            configuration.reconnect.base = .seconds(86_400)
            configuration.reconnect.cap = .seconds(86_400)
            let client = try Client(
                to: "martlet://127.0.0.1:\(first)", as: .anonymous("alice"), configuration: configuration)
            try await client.start()
            _ = try await client.open(room: "lobby")
            await relay.drain(within: .seconds(60), retryAfter: .zero, redirect: "martlets://127.0.0.1:\(port)")
            var failure: ConnectionFailure?
            for await status in client.status where status.lastFailure == .tlsFailure {
                failure = status.lastFailure
                break
            }
            #expect(failure == .tlsFailure)
            #expect(accepted.value == 0)
            await client.stop()
            await relay.shutdown()
        }
    }

    /// Listens on a port and counts accepted connections.
    private func withListener(_ body: (UInt16, Counted) async throws -> Void) async throws {
        let loop = try EventLoop(name: "eavesdropper")
        let accepted = Counted()
        let listener = try TCPListener.bind(to: SocketAddress(.loopbackV4, port: 0), on: loop) { connection in
            accepted.count()
            connection.abort()
        }
        try await body(listener.port, accepted)
        await listener.closeAndWait()
        await loop.shutdown()
    }
}
