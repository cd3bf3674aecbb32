import Synchronization
import Testing

@testable import Martlet

@Suite("Sends beyond the bound of unaccepted messages", .timeLimit(.minutes(10)))
struct BackpressureTests {
    private var narrow: Client.Configuration {
        var configuration = Client.Configuration.hasty
        configuration.maxPendingMessages = 4
        return configuration
    }

    private func waitingCount(_ room: Room) -> Int {
        room.core.state.withLock { $0.sends.count }
    }

    /// A task whose send waits behind all earlier sends.
    private func waitingSend(_ text: String, in room: Room) async -> Task<MessageHandle, any Error> {
        let before = waitingCount(room)
        let task = Task { try await room.send(text) }
        await until { waitingCount(room) == before + 1 }
        return task
    }

    @Test func `sends beyond the bound wait in the order of the calls, and continue after acceptances`() async throws {
        try await withBarredRelay { relay, proxy in
            try await withClient("alice", at: proxy.endpoint, configuration: narrow) { alice in
                let hers = try await alice.open(room: "lobby", options: .offline)
                for number in 1...4 { try await hers.send("\(number)") }
                var waiting: [Task<MessageHandle, any Error>] = []
                for number in 5...12 { waiting.append(await waitingSend("\(number)", in: hers)) }
                await proxy.admit()
                var offsets: [UInt64] = []
                for task in waiting { offsets.append(try await task.value.accepted()) }
                #expect(offsets == Array(5...12))
                try await withClient("bob", at: relay) { bob in
                    let his = try await bob.open(room: "lobby")
                    let texts = try await his.messages.first(12).map(\.text)
                    #expect(texts == (1...12).map { "\($0)" })
                }
            }
        }
    }

    @Test func `sends beyond the bound of bytes wait, and a small one does not overtake a large one`() async throws {
        var configuration = Client.Configuration.hasty
        configuration.maxPendingByteCount = 1000
        try await withBarredRelay { relay, proxy in
            try await withClient("alice", at: proxy.endpoint, configuration: configuration) { alice in
                let hers = try await alice.open(room: "lobby", options: .offline)
                try await hers.send(String(repeating: "a", count: 600))
                let large = await waitingSend(String(repeating: "b", count: 600), in: hers)
                let small = await waitingSend("c", in: hers)
                await proxy.admit()
                #expect(try await large.value.accepted() == 2)
                #expect(try await small.value.accepted() == 3)
                await #expect(throws: MartletError.messageTooLarge(byteCount: 1007, limit: 1000)) {
                    try await hers.send(String(repeating: "d", count: 1001))
                }
            }
        }
    }

    @Test func `a cancelled waiting send is not queued, and the sends behind it continue`() async throws {
        try await withBarredRelay { relay, proxy in
            try await withClient("alice", at: proxy.endpoint, configuration: narrow) { alice in
                let hers = try await alice.open(room: "lobby", options: .offline)
                for number in 1...4 { try await hers.send("\(number)") }
                let cancelled = await waitingSend("cancelled", in: hers)
                let kept = await waitingSend("5", in: hers)
                cancelled.cancel()
                await #expect(throws: CancellationError.self) { try await cancelled.value }
                await proxy.admit()
                #expect(try await kept.value.accepted() == 5)
                try await withClient("bob", at: relay) { bob in
                    let his = try await bob.open(room: "lobby")
                    try await his.send("last")
                    let texts = try await his.messages.first(5).map(\.text)
                    #expect(texts == (1...5).map { "\($0)" })
                }
            }
        }
    }

    @Test func `a send by a cancelled task is not queued`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let hers = try await alice.open(room: "lobby")
                let task = Task {
                    await until { Task.isCancelled }
                    return try await hers.send("never")
                }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                let next = try await hers.send("first")
                #expect(try await next.accepted() == 1)
            }
        }
    }

    @Test func `stop fails waiting sends with stopped`() async throws {
        var configuration = narrow
        configuration.flushTimeout = .zero
        try await withBarredRelay { _, proxy in
            try await withClient("alice", at: proxy.endpoint, configuration: configuration) { alice in
                let hers = try await alice.open(room: "lobby", options: .offline)
                for number in 1...4 { try await hers.send("\(number)") }
                let waiting = await waitingSend("5", in: hers)
                await alice.stop()
                await #expect(throws: MartletError.stopped) { try await waiting.value }
                await #expect(throws: MartletError.stopped) { try await hers.send("6") }
            }
        }
    }

    @Test func `close fails waiting sends with roomClosed`() async throws {
        // The messages wait between two attempts. With those in the early frames of an attempt, the outcome is unknown.
        var configuration = narrow
        configuration.reconnect.base = .seconds(3600)
        configuration.reconnect.cap = .seconds(3600)
        configuration.reconnect.peerClosedBase = .seconds(3600)
        try await withBarredRelay { _, proxy in
            try await withClient("alice", at: proxy.endpoint, configuration: configuration) { alice in
                try await alice.status.first(until: { if case .waiting = $0.phase { true } else { false } })
                let hers = try await alice.open(room: "lobby", options: .offline)
                var queued: [MessageHandle] = []
                for number in 1...4 { queued.append(try await hers.send("\(number)")) }
                let waiting = await waitingSend("5", in: hers)
                await hers.close()
                await #expect(throws: MartletError.roomClosed(nil, room: "lobby")) { try await waiting.value }
                await #expect(throws: MartletError.roomClosed(nil, room: "lobby")) { try await hers.send("6") }
                #expect(queued.map(\.state) == Array(repeating: .failed(.closed), count: 4))
                await #expect(throws: MartletError.notAccepted(.closed)) { try await queued[0].accepted() }
            }
        }
    }

    @Test func `10,000 sends with a bound of four are accepted in order`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay, configuration: narrow) { alice in
                let hers = try await alice.open(room: "lobby")
                var last: MessageHandle?
                for number in 1...10_000 { last = try await hers.send("\(number)") }
                #expect(try await last?.accepted() == 10_000)
            }
        }
    }
}
