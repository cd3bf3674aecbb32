import Martlet
import MartletLink
import MartletRelay
import MartletTestKit
import Testing

/// The detail of the first failure of a client.
private func firstDetail(of client: Client) async -> String? {
    for await status in client.status where status.lastFailure != nil { return status.detail }
    return nil
}

@Suite("Failures of attempts to connect")
struct AttemptFailureTests {
    private let world = TestWorld()

    /// The detail of the first failure of a client whose credential `token` returns.
    private func detail(
        handshakeTimeout: Duration = .seconds(60),
        token: @escaping @Sendable (TestWorld, TestDevice) async throws -> String
    ) throws -> String? {
        try world.run { [world] in
            try world.startRelay { $0.engine.link.handshakeTimeout = handshakeTimeout }
            let alice = world.device("alice")
            // The device retains its credentials.
            alice.credentials = .account(
                "alice",
                token: { [weak world, weak alice] in
                    guard let world, let alice else { throw CancellationError() }
                    return try await token(world, alice)
                })
            let client = try await alice.start()
            return await firstDetail(of: client)
        }
    }

    @Test("a path that is blocked → the detail names the connection")
    func connection() throws {
        let detail = try world.run { [world] in
            try world.startRelay()
            let alice = world.device("alice")
            alice.blackHole()
            let client = try await alice.start()
            return await firstDetail(of: client)
        }
        #expect(detail == "no connection within 15.0 seconds")
    }

    @Test("a credential that takes an hour → the detail names the credential")
    func credential() throws {
        let detail = try detail { world, _ in
            try await world.sleep(for: .seconds(3600))
            return "late"
        }
        #expect(detail == "no credential within 10.0 seconds")
    }

    @Test("a credential that takes longer than the relay waits → the detail says so")
    func lateCredential() throws {
        let detail = try detail(handshakeTimeout: .seconds(5)) { world, _ in
            try await world.sleep(for: .seconds(3600))
            return "late"
        }
        #expect(detail == "the peer ended the connection before the credential was available")
    }

    @Test("a path that is blocked before the hello → the detail names the hello")
    func hello() throws {
        let detail = try detail { world, alice in
            try await world.sleep(for: .seconds(3))
            alice.blackHole()
            return "token"
        }
        #expect(detail == "no answer to the hello within 10.0 seconds")
    }

    @Test("a connection that ends before a frame of the relay → the detail advises TLS")
    func endByPeer() throws {
        let detail = try detail { world, alice in
            try await world.sleep(for: .seconds(3))
            alice.cut()
            return "token"
        }
        #expect(detail == "the peer ended the connection before its first frame; it may require TLS")
    }
}
