import Martlet
import MartletRelay
import MartletTransport
import Testing

@Suite("Credentials", .timeLimit(.minutes(10)))
struct CredentialTests {
    private func authenticator() throws -> TokenAuthenticator {
        try #require(TokenAuthenticator(["alice": "secret"]))
    }

    // C-12
    @Test func `the token provider is called for each connection attempt`() async throws {
        let calls = Counted()
        try await withRelay(authenticator: try authenticator()) { relay in
            try await withProxy(to: relay) { proxy in
                let alice = try Client(
                    to: proxy.endpoint,
                    as: .account(
                        "alice",
                        token: {
                            calls.count()
                            return "secret"
                        }), configuration: .hasty)
                try await withClient(alice) { alice in
                    _ = try await alice.open(room: "lobby")
                    #expect(calls.value == 1)
                    await proxy.cut()
                    try await alice.status.first(until: { $0.isOnline && $0.reconnects == 1 })
                    #expect(calls.value >= 2)
                }
            }
        }
    }

    @Test func `a provider that throws → credentialUnavailable with its error`() async throws {
        struct KeychainLocked: Error {}
        try await withRelay(authenticator: try authenticator()) { relay in
            let alice = try Client(
                to: relay, as: .account("alice", token: { throw KeychainLocked() }), configuration: .hasty)
            try await withClient(alice) { alice in
                let failed = try await alice.status.first(until: { $0.lastFailure != nil })
                #expect(failed?.lastFailure == .credentialUnavailable)
                #expect(failed?.detail == "no credential: KeychainLocked()")
            }
        }
    }

    @Test func `a wrong token ends retrying, and retryNow starts a new attempt`() async throws {
        let token = Guarded("wrong")
        try await withRelay(authenticator: try authenticator()) { relay in
            let alice = try Client(
                to: relay, as: .account("alice", token: { token.withLock { $0 } }), configuration: .hasty)
            try await withClient(alice) { alice in
                await #expect(throws: MartletError.gaveUp(.unauthenticated)) { try await alice.open(room: "lobby") }
                #expect(alice.currentStatus.phase == .stopped(.unauthenticated))
                let options = Room.Options(includesOwnMessages: true, waitsForRelay: false)
                let lobby = try await alice.open(room: "lobby", options: options)
                try await lobby.send("hello")
                await #expect(throws: MartletError.gaveUp(.unauthenticated)) { try await lobby.messages.first(1) }
                await #expect(throws: MartletError.gaveUp(.unauthenticated)) { try await lobby.request("roll") }
                token.withLock { $0 = "secret" }
                alice.retryNow()
                try await alice.status.first(until: { $0.isOnline })
                let texts = try await lobby.messages.first(1).map(\.text)
                #expect(texts == ["hello"])
            }
        }
    }

    @Test func `open right after retryNow waits for the attempt`() async throws {
        try await withRelay(authenticator: try authenticator()) { relay in
            for _ in 0..<20 {
                let token = Guarded("wrong")
                let alice = try Client(
                    to: relay, as: .account("alice", token: { token.withLock { $0 } }), configuration: .hasty)
                try await withClient(alice) { alice in
                    try await alice.status.first(until: { $0.phase == .stopped(.unauthenticated) })
                    token.withLock { $0 = "secret" }
                    alice.retryNow()
                    _ = try await alice.open(room: "lobby")
                }
            }
        }
    }

    @Test func `an error of the token provider is in the status, and the next attempt calls the provider again`()
        async throws
    {
        struct NoNetwork: Error, CustomStringConvertible {
            var description: String { "the login server is down" }
        }
        let calls = Counted()
        try await withRelay(authenticator: try authenticator()) { relay in
            let alice = try Client(
                to: relay,
                as: .account(
                    "alice",
                    token: {
                        if calls.count() < 3 { throw NoNetwork() }
                        return "secret"
                    }), configuration: .hasty)
            var details: [String] = []
            try await alice.start()
            for await status in alice.status {
                if let detail = status.detail { details.append(detail) }
                if status.isOnline { break }
            }
            await alice.stop()
            #expect(details.contains { $0.contains("the login server is down") })
        }
    }

    @Test func `a refusal after an error of the token provider -> the status has the code, and not the error`()
        async throws
    {
        struct NoNetwork: Error {}
        let calls = Counted()
        try await withRelay(authenticator: try authenticator()) { relay in
            let alice = try Client(
                to: relay,
                as: .account(
                    "alice",
                    token: {
                        if calls.count() == 1 { throw NoNetwork() }
                        return "wrong"
                    }), configuration: .hasty)
            try await withClient(alice) { alice in
                let status = try await alice.status.first(until: { $0.phase == .stopped(.unauthenticated) })
                #expect(status?.lastCode == .unauthenticated && status?.detail == nil)
            }
        }
    }

    @Test func `stop cancels a pending call of the token provider`() async throws {
        let started = Counted()
        let cancelled = Counted()
        try await withRelay { relay in
            let alice = try Client(
                to: relay,
                as: .account(
                    "alice",
                    token: {
                        started.count()
                        for await _ in AsyncStream<Never>.makeStream().stream {}
                        cancelled.count()
                        throw CancellationError()
                    }))
            try await alice.start()
            await until { started.value == 1 }
            await alice.stop()
            await until { cancelled.value == 1 }
        }
    }

    @Test func `a revoked credential stops the client, and its messages fail with the reason`() async throws {
        var configuration = try Relay.Configuration(port: 0)
        configuration.engine = .patient
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        let address = try relay.start()[0]
        try await withClient("alice", at: "martlet://\(address)") { alice in
            let lobby = try await alice.open(room: "lobby")
            await relay.revoke(alice.account)
            await #expect(throws: MartletError.gaveUp(.revoked)) { try await lobby.messages.first(1) }
        }
        await relay.shutdown()
    }

    @Test func `a revoked credential fails a pending request with the reason`() async throws {
        var configuration = try Relay.Configuration(port: 0)
        configuration.engine = .patient
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: .allowAll, policy: .allowAll)
        let address = try relay.start()[0]
        try await withClient("bob", at: "martlet://\(address)") { bob in
            let its = try await bob.open(room: "lobby")
            try await withClient("alice", at: "martlet://\(address)") { alice in
                let lobby = try await alice.open(room: "lobby")
                let answer = Task { try await lobby.request("wait", to: "bob", timeout: .seconds(3600)) }
                for await request in its.requests {
                    await relay.revoke(alice.account)
                    await #expect(throws: MartletError.gaveUp(.revoked)) { try await answer.value }
                    try request.respond(text: "too late")
                    break
                }
            }
        }
        await relay.shutdown()
    }

    @Test func `the end of retrying fails a pending wait for acceptance with gaveUp`() async throws {
        var configuration = Client.Configuration.hasty
        configuration.reconnect.maxAttemptCount = 1
        let alice = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("alice"), configuration: configuration)
        try await withClient(alice) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            let handle = try await lobby.send("hello")
            await #expect(throws: MartletError.gaveUp(.attemptLimit)) { try await handle.accepted() }
            #expect(handle.state == .queued)
        }
    }
}
