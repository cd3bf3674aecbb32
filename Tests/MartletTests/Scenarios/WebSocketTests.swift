import Martlet
import MartletLink
import MartletRelay
import MartletToolTestSupport
import MartletTransport
import Testing

/// Clients and relays over WebSockets.
@Suite("A client over a WebSocket", .timeLimit(.minutes(10)))
struct WebSocketTests {
    private let certificates = TestCertificates.shared

    private func relay(
        isSecure: Bool = false, authenticator: any Authenticator = .allowAll,
        _ change: (inout Relay.Configuration) -> Void = { _ in }
    ) throws -> (relay: Relay, port: UInt16) {
        var configuration = try Relay.Configuration(port: 0)
        configuration.engine = .patient
        configuration.limits = .unlimited
        if isSecure { configuration.tls = TLSServerOptions(identity: certificates.server) }
        change(&configuration)
        let relay = Relay(
            configuration: configuration, store: InMemoryStore(), authenticator: authenticator, policy: .allowAll)
        return (relay, try relay.start()[0].port)
    }

    private func client(to address: String, _ name: String) throws -> Client {
        var configuration = Client.Configuration.hasty
        configuration.tls.trust = .file(certificates.authority.certificateFile)
        return try Client(to: address, as: .anonymous(name), configuration: configuration)
    }

    // C-117, C-118, C-124
    @Test(
        "clients with and without a WebSocket in one room -> each message to each, on one loop and on several",
        arguments: [false, true], [1, 3])
    func mixed(isSecure: Bool, loopCount: Int) async throws {
        let (relay, port) = try relay(isSecure: isSecure) { $0.loopCount = loopCount }
        let addresses =
            isSecure
            ? ["wss://localhost:\(port)", "localhost:\(port)", "wss://127.0.0.1:\(port)/martlet?x=1"]
            : ["ws://localhost:\(port)", "martlet://127.0.0.1:\(port)", "ws://127.0.0.1:\(port)/martlet"]
        var clients: [Client] = []
        var rooms: [Room] = []
        for (index, address) in addresses.enumerated() {
            let client = try client(to: address, "user-\(index)")
            try await client.start()
            clients.append(client)
            let options = Room.Options(includesOwnMessages: true)
            rooms.append(try await client.open(room: "lobby", options: options))
        }
        let long = String(repeating: "0123456789", count: 20_000)
        var sent: [String] = []
        for (index, room) in rooms.enumerated() {
            for text in ["short \(index)", "\(index)" + long] {
                _ = try await room.send(text).accepted()
                sent.append(text)
            }
        }
        for room in rooms {
            let texts = try await room.messages.first(sent.count).map(\.text)
            #expect(texts == sent)
        }
        for client in clients { await client.stop() }
        await relay.shutdown()
    }

    // C-117, C-123
    @Test("a connection that is cut repeatedly -> all messages once and in order, and resumes")
    func cut() async throws {
        let count = 400
        try await withRelay { relay in
            try await withProxy(to: relay) { proxy in
                let address = "ws" + proxy.endpoint.dropFirst("martlet".count)
                try await withClient("bob", at: address, configuration: .hasty) { bob in
                    let his = try await bob.open(room: "lobby")
                    try await withClient("alice", at: address, configuration: .hasty) { alice in
                        let hers = try await alice.open(room: "lobby")
                        async let texts = his.messages.first(count).map(\.text)
                        for number in 1...count {
                            try await hers.send("\(number)")
                            if number % 100 == 50 { await proxy.cut() }
                        }
                        #expect(try await texts == (1...count).map { "\($0)" })
                        try await alice.status.first(until: { $0.isOnline && $0.resumes > 0 })
                    }
                }
            }
        }
    }

    // C-58, C-124
    @Test("a redirect to a WebSocket, and from one to a connection without -> online at the target")
    func redirected() async throws {
        let (home, homePort) = try relay()
        for (from, to) in [("martlet", "ws://127.0.0.1:\(homePort)"), ("ws", "martlet://127.0.0.1:\(homePort)")] {
            let (relay, port) = try relay(authenticator: Redirecting(target: to))
            try await withClient("alice", at: "\(from)://127.0.0.1:\(port)", configuration: .hasty) { alice in
                let lobby = try await alice.open(room: from)
                #expect(try await lobby.send("hello").accepted() == 1)
            }
            await relay.shutdown()
        }
        await home.shutdown()
    }

    // C-119
    @Test("another path -> the failure has the status of HTTP, and the relay reports it")
    func refused() async throws {
        let events = Guarded<[WebSocketError]>([])
        try await withRelay(
            onEvent: { event in
                if case .webSocketFailed(let error, peer: _?) = event { events.withLock { $0.append(error) } }
            },
            { relay in
                let address = "ws" + relay.dropFirst("martlet".count) + "/other"
                var configuration = Client.Configuration()
                configuration.reconnect.base = .seconds(3600)
                configuration.reconnect.cap = .seconds(3600)
                try await withClient("alice", at: address, configuration: configuration) { alice in
                    let found = try await alice.status.first(until: { $0.lastFailure != nil })
                    #expect(found?.lastFailure == .unreachable)
                    #expect(found?.explanation.contains("404") == true)
                }
            })
        #expect(events.withLock { $0 } == [.refused(status: 404)])
    }

    // C-124
    @Test("ws:// to another machine -> plaintextNotAllowed, unless it is permitted")
    func plaintext() throws {
        #expect(throws: MartletError.self) { try Client(to: "ws://192.0.2.1", as: .anonymous("alice")) }
        var configuration = Client.Configuration()
        configuration.allowsPlaintext = true
        _ = try Client(to: "ws://192.0.2.1", as: .anonymous("alice"), configuration: configuration)
    }
}

private struct Redirecting: Authenticator {
    let target: String

    func authenticate(_ request: AuthenticationRequest) async throws -> Identity {
        throw AuthenticationFailure.redirected(to: target)
    }
}
