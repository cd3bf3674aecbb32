import MartletTestKit
import Synchronization
import Testing

@testable import Martlet

@Suite("Cancellation of each call", .timeLimit(.minutes(10)))
struct CancellationTests {
    /// Cancels a task after it has begun to wait.
    private func cancel<Value: Sendable>(
        _ task: Task<Value, any Error>, when isWaiting: () async -> Bool
    ) async {
        await until(isWaiting)
        task.cancel()
    }

    @Test func `a cancelled start cancels the opening of the outbox, and the client can be started again`() async throws
    {
        let outbox = HangingOutbox()
        let client = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("alice"), outbox: outbox)
        let start = Task { try await client.start() }
        await cancel(start) { outbox.opens == 1 }
        await #expect(throws: CancellationError.self) { try await start.value }
        await #expect(throws: MartletError.notStarted) { try await client.open(room: "lobby") }
        let again = Task { try await client.start() }
        await cancel(again) { outbox.opens == 2 }
        await #expect(throws: CancellationError.self) { try await again.value }
        await client.stop()
        await #expect(throws: MartletError.stopped) { try await client.start() }
    }

    @Test func `one of two concurrent starts succeeds when the other one is cancelled`() async throws {
        let outbox = StalledOutbox(stallsOpening: true, obeys: true)
        let client = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("alice"), outbox: outbox)
        let first = Task { try await client.start() }
        await until { client.life.startingCount == 1 }
        let second = Task { try await client.start() }
        await until { client.life.startingCount == 2 }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        outbox.release()
        try await second.value
        await client.stop()
    }

    @Test func `a cancelled message has failed when the call returns`() async throws {
        try await withClient("alice", at: "martlet://127.0.0.1:1", configuration: impatient) { alice in
            let lobby = try await alice.open(room: "lobby", options: .offline)
            for number in 1...100 {
                let handle = try await lobby.send("line \(number)")
                #expect(await handle.cancel())
                #expect(handle.state == .failed(.cancelled))
            }
        }
    }

    @Test func `a cancelled open closes the room`() async throws {
        try await withBarredRelay { _, proxy in
            try await withClient("alice", at: proxy.endpoint, configuration: .hasty) { alice in
                let open = Task { try await alice.open(room: "lobby") }
                open.cancel()
                await #expect(throws: CancellationError.self) { try await open.value }
                let again = Task { try await alice.open(room: "lobby") }
                await proxy.admit()
                let lobby = try await again.value
                #expect(try await lobby.send("hello").accepted() == 1)
            }
        }
    }

    @Test func `open without a connection for its timeout → deadlineExceeded, the room is closed`() throws {
        let world = TestWorld()
        try world.run { () -> Void in
            let alice = try await world.device("alice").start()
            await #expect(throws: MartletError.deadlineExceeded) {
                try await alice.open(room: "lobby", options: Room.Options(timeout: .seconds(3)))
            }
            #expect(world.time == .seconds(3))
            try world.startRelay()
            _ = try await alice.open(room: "lobby", options: Room.Options(timeout: .seconds(100)))
            try await world.sleep(for: .seconds(200))
            await #expect(throws: MartletError.roomAlreadyOpen("lobby")) { try await alice.open(room: "lobby") }
        }
    }

    @Test func `open succeeds as soon as a cancelled open of the same room has thrown`() async throws {
        try await withClient("alice", at: "martlet://127.0.0.1:1", configuration: impatient) { alice in
            for number in 1...200 {
                let open = Task { try await alice.open(room: "lobby") }
                for _ in 0..<number % 8 { await Task.yield() }
                open.cancel()
                await #expect(throws: CancellationError.self) { try await open.value }
                let lobby = try await alice.open(room: "lobby", options: .offline)
                await lobby.close()
            }
        }
    }

    @Test func `messages of an earlier client are sent after a cancelled open of their room`() async throws {
        let outbox = InMemoryOutbox()
        let entry = OutboxEntry(
            id: MessageID(sender: AccountName("alice"), device: outbox.open().device, counter: 1), room: "lobby",
            content: try OutgoingMessage(text: "hello").content)
        var transaction = OutboxTransaction()
        transaction.appended = [entry]
        outbox.commit(transaction)
        try await withBarredRelay { relay, proxy in
            try await withClient("alice", at: proxy.endpoint, outbox: outbox, configuration: .hasty) { alice in
                for options in [Room.Options(), Room.Options(from: .start, includesOwnMessages: true)] {
                    let open = Task { try await alice.open(room: "lobby", options: options) }
                    open.cancel()
                    await #expect(throws: CancellationError.self) { try await open.value }
                }
                #expect(outbox.open().pending == [entry])
                await proxy.admit()
                try await withClient("bob", at: relay) { bob in
                    let texts = try await bob.open(room: "lobby").messages.first(1).map(\.text)
                    #expect(texts == ["hello"])
                }
            }
        }
    }

    private var impatient: Client.Configuration {
        var configuration = Client.Configuration.hasty
        configuration.flushTimeout = .zero
        return configuration
    }

    @Test func `a message remains queued after a cancelled wait for its acceptance`() async throws {
        try await withBarredRelay { _, proxy in
            try await withClient("alice", at: proxy.endpoint, configuration: .hasty) { alice in
                let lobby = try await alice.open(room: "lobby", options: .offline)
                let handle = try await lobby.send("hello")
                let accepted = Task { try await handle.accepted() }
                await cancel(accepted) { lobby.core.state.withLock { !$0.waiters.observers.isEmpty } }
                await #expect(throws: CancellationError.self) { try await accepted.value }
                #expect(handle.state == .queued)
                await proxy.admit()
                #expect(try await handle.accepted() == 1)
            }
        }
    }

    @Test func `a cancelled send of a large message, before a small one that has room → the small one is queued`()
        throws
    {
        let world = TestWorld()
        let texts = try world.run(timeLimit: .seconds(60)) {
            let device = world.device("alice")
            device.configuration.maxPendingByteCount = 1000
            let alice = try await device.start()
            let lobby = try await alice.open(room: "lobby", options: .offline)
            try await lobby.send(String(repeating: "a", count: 600))
            let large = world.startTask { _ = try? await lobby.send(String(repeating: "b", count: 600)) }
            try await world.sleep(for: .seconds(1))
            let small = world.startTask { _ = try? await lobby.send("small") }
            try await world.sleep(for: .seconds(1))
            #expect(lobby.pending.count == 1)
            large.cancel()
            await small.value
            return lobby.pending.map { $0.content?.text }
        }
        #expect(texts.count == 2 && texts.last == "small")
    }

    @Test func `a cancelled iteration over messages throws, and the next iteration misses none`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let lobby = try await alice.open(room: "lobby", options: Room.Options(includesOwnMessages: true))
                let iteration = Task { try await lobby.messages.first(1) }
                await cancel(iteration) { lobby.core.state.withLock { !$0.waiters.readers.isEmpty } }
                await #expect(throws: CancellationError.self) { try await iteration.value }
                try await lobby.send("hello")
                let texts = try await lobby.messages.first(1).map(\.text)
                #expect(texts == ["hello"])
            }
        }
    }

    @Test func `sequences that do not throw end by cancellation`() async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let lobby = try await alice.open(room: "lobby")
                let handle = try await lobby.send("hello")
                let iterations = [
                    Task { for await _ in lobby.events {} },
                    Task { for await _ in lobby.requests {} },
                    Task { for await _ in alice.status {} },
                    Task { for await _ in handle.states {} },
                ]
                for iteration in iterations {
                    iteration.cancel()
                    await iteration.value
                }
            }
        }
    }

    @Test func `close, cancel, metrics and stop complete in a cancelled task`() async throws {
        try await withRelay { relay in
            let alice = try Client(to: relay, as: .anonymous("alice"))
            try await alice.start()
            let lobby = try await alice.open(room: "lobby")
            let handle = try await lobby.send("hello")
            _ = try await handle.accepted()
            let task = Task {
                await until { Task.isCancelled }
                let wasCancelled = await handle.cancel()
                let metrics = await alice.metrics
                await lobby.close()
                await alice.stop()
                return (wasCancelled, metrics["martlet_client_frames_sent"] ?? 0)
            }
            task.cancel()
            let (wasCancelled, framesSent) = await task.value
            #expect(!wasCancelled)
            #expect(framesSent > 0)
            await #expect(throws: MartletError.roomClosed(nil, room: "lobby")) { try await lobby.send("too late") }
            #expect(alice.currentStatus.phase == .stopped(nil))
        }
    }

    @Test func `withClient flushes and stops the client of a cancelled body`() async throws {
        try await withRelay { relay in
            let outbox = InMemoryOutbox()
            let sent = Counted()
            let task = Task {
                try await withClient("alice", at: relay, outbox: outbox) { alice in
                    let lobby = try await alice.open(room: "lobby")
                    for number in 1...100 { try await lobby.send("\(number)") }
                    sent.count()
                    for try await _ in lobby.messages {}
                }
            }
            await until { sent.value == 1 }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(outbox.open().pending.isEmpty)
        }
    }
}

/// An outbox whose `open` ends only by cancellation.
private final class HangingOutbox: Outbox {
    private let opened = Counted()

    var opens: Int { opened.value }

    func open() async throws -> OutboxState {
        opened.count()
        for await _ in AsyncStream<Never>.makeStream().stream {}
        throw CancellationError()
    }

    func commit(_ transaction: OutboxTransaction) async throws {}
    func deadLetters(in room: RoomName) async throws -> [DeadLetter] { [] }
}
