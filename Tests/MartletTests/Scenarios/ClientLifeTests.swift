import Martlet
import MartletRelay
import Synchronization
import Testing

@Suite("Life of a client", .timeLimit(.minutes(10)))
struct ClientLifeTests {
    @Test func `run starts the client and returns when it is stopped`() async throws {
        try await withRelay { relay in
            let client = try Client(to: relay, as: .anonymous("ada"))
            let running = Task { try await client.run() }
            await client.status.first { $0.isOnline }
            await client.stop()
            try await running.value
        }
    }

    @Test func `the cancellation of run stops the client after its messages are accepted`() async throws {
        try await withRelay { relay in
            let client = try Client(to: relay, as: .anonymous("ada"), configuration: .patient)
            try await client.start()
            let running = Task { try await client.run() }
            let lobby = try await client.open(room: "lobby")
            let handle = try await lobby.send("hello")
            running.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
            #expect(client.currentStatus.phase == .stopped(nil))
            guard case .accepted? = handle.state else {
                Issue.record("the message is \(String(describing: handle.state))")
                return
            }
        }
    }

    @Test func `run throws gaveUp when the client has stopped retrying`() async throws {
        var configuration = Client.Configuration.hasty
        configuration.reconnect.maxAttemptCount = 1
        let client = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("ada"), configuration: configuration)
        await #expect(throws: MartletError.gaveUp(.attemptLimit)) { try await client.run() }
    }

    @Test func `a room keeps its client, and an iteration keeps both`() async throws {
        try await withRelay { relay in
            func room() async throws -> Room {
                let client = try Client(to: relay, as: .anonymous("ada"))
                try await client.start()
                return try await client.open(room: "lobby")
            }
            let lobby = try await room()
            _ = try await lobby.send("one").accepted()
            func reading() async throws -> Task<[RoomMessage], any Error> {
                let messages = try await room().messages
                return Task { try await messages.first(2) }
            }
            let reader = try await reading()
            _ = try await lobby.send("two").accepted()
            #expect(try await reader.value.map(\.text) == ["one", "two"])
        }
    }

    @Test func `the logger receives the status, the opening and the end of a room, without contents`() async throws {
        let events = Mutex<[Client.LogEvent]>([])
        try await withRelay { relay in
            var configuration = Client.Configuration.patient
            configuration.logger = { event in events.withLock { $0.append(event) } }
            try await withClient("ada", at: relay, configuration: configuration) { client in
                let lobby = try await client.open(room: "lobby")
                _ = try await lobby.send("a secret").accepted()
                await lobby.close()
                _ = await client.metrics
            }
        }
        let names = events.withLock { $0.map(\.name) }
        #expect(names.contains("status.online") && names.contains("room.opened"))
        #expect(events.withLock { $0.allSatisfy { "\($0.account)" == "ada" && !$0.message.contains("secret") } })
    }
}

extension AsyncSequence where Failure == Never {
    /// Waits for the first element that matches.
    fileprivate func first(_ matches: (Element) -> Bool) async {
        for await element in self where matches(element) { return }
    }
}
