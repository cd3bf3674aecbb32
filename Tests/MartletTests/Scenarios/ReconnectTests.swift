import Martlet
import MartletLink
import MartletRelay
import Testing

@Suite("Reconnection", .timeLimit(.minutes(10)))
struct ReconnectTests {
    @Test func `all messages arrive once and in order over a connection that is cut repeatedly`() async throws {
        let count = 1000
        try await withRelay { relay in
            try await withProxy(to: relay) { proxy in
                try await withClient("bob", at: proxy.endpoint, configuration: .hasty) { bob in
                    let his = try await bob.open(room: "lobby")
                    try await withClient("alice", at: proxy.endpoint, configuration: .hasty) { alice in
                        let hers = try await alice.open(room: "lobby")
                        async let texts = his.messages.first(count).map(\.text)
                        for number in 1...count {
                            try await hers.send("\(number)")
                            if number % 200 == 100 { await proxy.cut() }
                        }
                        #expect(try await texts == (1...count).map { "\($0)" })
                        try await alice.status.first(until: { $0.isOnline && $0.reconnects > 0 })
                        try await bob.status.first(until: { $0.isOnline && $0.reconnects > 0 })
                    }
                }
            }
        }
    }

    @Test func `a cut connection is resumed, and the status has the failure`() async throws {
        try await withRelay { relay in
            try await withProxy(to: relay) { proxy in
                try await withClient("alice", at: proxy.endpoint, configuration: .hasty) { alice in
                    let lobby = try await alice.open(room: "lobby")
                    #expect(try await lobby.send("before").accepted() == 1)
                    #expect(alice.currentStatus.epoch == 1)
                    await proxy.cut()
                    let found = try await alice.status.first(until: { $0.isOnline && $0.reconnects == 1 })
                    let status = try #require(found)
                    #expect(status.resumes == 1)
                    #expect(status.epoch == 2)
                    #expect(status.explanation.hasPrefix("online"))
                    #expect(try await lobby.send("after").accepted() == 2)
                }
            }
        }
    }

    @Test func `without a relay the status has the failure and the next attempt, and retryNow starts one at once`()
        async throws
    {
        try await withBarredRelay { _, proxy in
            var configuration = Client.Configuration()
            configuration.reconnect.base = .seconds(3600)
            configuration.reconnect.cap = .seconds(3600)
            try await withClient("alice", at: proxy.endpoint, configuration: configuration) { alice in
                let found = try await alice.status.first(until: { if case .waiting = $0.phase { true } else { false } })
                let waiting = try #require(found)
                #expect(waiting.phase == .waiting(.backoff(attempt: 1)))
                #expect(waiting.lastFailure == .unreachable)
                #expect(waiting.nextAttempt != nil)
                #expect(waiting.explanation.hasPrefix("offline, waiting after failed attempt 1"))
                await proxy.admit()
                alice.retryNow()
                let online = try await alice.status.first(until: { $0.isOnline })
                #expect(online?.lastFailure == nil)
            }
        }
    }

    //
    @Test func `each message arrives once at a relay that was restarted with its store and without its links`()
        async throws
    {
        let store = InMemoryStore()
        let alice: Client
        let lobby: Room
        var configuration = try Relay.Configuration(port: 0)
        #if os(Linux)
            // No client of this machine connects meanwhile, so that the free port is not assigned.
            configuration.addresses = [try #require(SocketAddress("127.0.0.5:0"))]
        #endif
        configuration.engine = .patient
        let first = Relay(configuration: configuration, store: store, authenticator: .allowAll, policy: .allowAll)
        let address = try first.start()[0]
        alice = try Client(to: "martlet://\(address)", as: .anonymous("alice"), configuration: .hasty)
        try await alice.start()
        lobby = try await alice.open(room: "lobby", options: Room.Options(includesOwnMessages: true))
        for number in 1...10 { try await lobby.send("\(number)") }
        let before = try await lobby.messages.first(10).map(\.text)
        await first.shutdown()
        for number in 11...20 { try await lobby.send("\(number)") }
        configuration.addresses = [address]
        let second = Relay(configuration: configuration, store: store, authenticator: .allowAll, policy: .allowAll)
        try second.start()
        let after = try await lobby.messages.first(10).map(\.text)
        #expect(before + after == (1...20).map { "\($0)" })
        await alice.stop()
        await second.shutdown()
    }

    // C-58
    @Test func `a redirected client connects to the target`() async throws {
        try await withRelay { home in
            try await withRelay(authenticator: Redirecting(target: home)) { relay in
                try await withClient("alice", at: relay, configuration: .hasty) { alice in
                    let lobby = try await alice.open(room: "lobby")
                    #expect(try await lobby.send("hello").accepted() == 1)
                }
                try await withClient("bob", at: home) { bob in
                    let lobby = try await bob.open(room: "lobby")
                    let texts = try await lobby.messages.first(1).map(\.text)
                    #expect(texts == ["hello"])
                }
            }
        }
    }
}

private struct Redirecting: Authenticator {
    let target: String

    func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
        throw AuthenticationFailure.redirected(to: target)
    }
}
