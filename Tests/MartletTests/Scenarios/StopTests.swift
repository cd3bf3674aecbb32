import MartletRelay
import Synchronization
import Testing

@testable import Martlet

@Suite("End of a client", .timeLimit(.minutes(10)))
struct StopTests {
    @Test func `stop returns after the relay has accepted the queued messages`() async throws {
        try await withRelay { relay in
            let alice = try Client(to: relay, as: .anonymous("alice"), configuration: .patient)
            try await alice.start()
            let lobby = try await alice.open(room: "lobby")
            var handles: [MessageHandle] = []
            for number in 1...1000 { handles.append(try await lobby.send("\(number)")) }
            await alice.stop()
            #expect(handles.allSatisfy { if case .accepted = $0.state { true } else { false } })
        }
    }

    @Test func `stop without a relay returns after flushTimeout, and the outbox keeps the messages`() async throws {
        let outbox = InMemoryOutbox()
        var configuration = Client.Configuration.hasty
        configuration.flushTimeout = .milliseconds(20)
        try await withBarredRelay { _, proxy in
            let alice = try Client(
                to: proxy.endpoint, as: .anonymous("alice"), outbox: outbox, configuration: configuration)
            try await alice.start()
            let lobby = try await alice.open(room: "lobby", options: .offline)
            let handle = try await lobby.send("hello")
            await alice.stop()
            #expect(outbox.open().pending.map(\.id) == [handle.id])
            await #expect(throws: MartletError.stopped) { try await handle.accepted() }
            #expect(handle.state == .queued)
        }
    }

    @Test func `stop ends all pending calls and iterations`() async throws {
        try await withRelay { relay in
            let alice = try Client(to: relay, as: .anonymous("alice"))
            try await alice.start()
            let lobby = try await alice.open(room: "lobby")
            let bob = try Client(to: relay, as: .anonymous("bob"))
            try await bob.start()
            let his = try await bob.open(room: "lobby")
            let handle = try await lobby.send("hello")
            _ = try await handle.accepted()
            let messages = Task { try await lobby.messages.first(1).count }
            let iterations = [
                Task { for await _ in lobby.events {} },
                Task { for await _ in lobby.requests {} },
                Task { for await _ in alice.status {} },
                Task { for await _ in handle.states {} },
            ]
            let request = Task { try await lobby.request("wait", to: "bob", timeout: .seconds(3600)) }
            await until { his.core.state.withLock { !$0.requests.isEmpty } }
            await until { lobby.core.state.withLock { !$0.waiters.readers.isEmpty } }
            await alice.stop()
            #expect(try await messages.value == 0)
            for iteration in iterations { await iteration.value }
            await #expect(throws: MartletError.stopped) { try await request.value }
            await #expect(throws: MartletError.stopped) { try await alice.open(room: "other") }
            await #expect(throws: MartletError.stopped) { try await lobby.send("too late") }
            #expect(await !handle.cancel())
            #expect(alice.currentStatus.explanation == "stopped")
            #expect(try #require(await alice.metrics["martlet_client_frames_sent"]) > 0)
            await bob.stop()
        }
    }

    @Test(arguments: [false, true])
    func `stop fails a send that waits for a stalled outbox, not the one that it stores`(
        isCancelled: Bool
    ) async throws {
        let outbox = StalledOutbox()
        defer { outbox.release() }
        let alice = try Client(
            to: "martlet://127.0.0.1:1", as: .anonymous("alice"), outbox: outbox, configuration: impatient)
        try await alice.start()
        let lobby = try await alice.open(room: "lobby", options: .offline)
        let sends = [Task { try await lobby.send("one") }, Task { try await lobby.send("two") }]
        await until { outbox.callCount == 1 }
        if isCancelled { for send in sends { send.cancel() } }
        await alice.stop()
        outbox.release()
        var storedCount = 0
        for send in sends where (try? await send.value) != nil { storedCount += 1 }
        #expect(storedCount == 1)
    }

    // C-83
    @Test func `stop without a flush → returns after the outcomes that have arrived are stored`() async throws {
        let outbox = GatedOutbox()
        try await withBarredRelay { _, proxy in
            let alice = try Client(
                to: proxy.endpoint, as: .anonymous("alice"), outbox: outbox, configuration: impatient)
            try await alice.start()
            let lobby = try await alice.open(room: "lobby", options: .offline)
            let handles = [try await lobby.send("one"), try await lobby.send("two")]
            await proxy.admit()
            for handle in handles { _ = try await handle.accepted() }
            await until { outbox.waitingCount.value == 1 }
            let stop = Task {
                await alice.stop()
                return outbox.stored.open().pending.count
            }
            try await alice.status.first(until: { $0.phase == .stopped(nil) })
            outbox.release()
            #expect(await stop.value == 0)
        }
    }

    // C-108
    @Test func `the release of a client whose outbox stores a send → the send returns with it`() async throws {
        let outbox = StalledOutbox()
        defer { outbox.release() }
        var alice: Client? = try Client(
            to: "martlet://127.0.0.1:1", as: .anonymous("alice"), outbox: outbox, configuration: impatient)
        try await alice?.start()
        let core = try #require(try await alice?.open(room: "lobby", options: .offline)).core
        let send = Task { try await core.send(try OutgoingMessage("one")) }
        await until { outbox.callCount == 1 }
        alice = nil
        outbox.release()
        #expect(try await send.value.content?.text == "one")
    }

    // C-108
    @Test func `stop with a stalled outbox, which returns later → the send returns too`() async throws {
        let outbox = StalledOutbox()
        weak var core: RoomCore?
        do {
            let alice = try Client(
                to: "martlet://127.0.0.1:1", as: .anonymous("alice"), outbox: outbox, configuration: impatient)
            try await alice.start()
            let room = try await alice.open(room: "lobby", options: .offline)
            core = room.core
            let send = Task { try await room.send("one") }
            await until { outbox.callCount == 1 }
            await alice.stop()
            outbox.release()
            _ = try await send.value
        }
        await until { core == nil }
    }

    @Test func `stop while the outbox opens fails start with stopped`() async throws {
        let outbox = StalledOutbox(stallsOpening: true)
        let alice = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("alice"), outbox: outbox)
        let starts = [Task { try await alice.start() }, Task { try await alice.start() }]
        await until { outbox.callCount == 1 }
        await alice.stop()
        for start in starts { await #expect(throws: MartletError.stopped) { try await start.value } }
        outbox.release()
        await #expect(throws: MartletError.stopped) { try await alice.open(room: "lobby") }
    }

    @Test func `stop while the outbox opens → the outbox is closed once, after it has opened`() async throws {
        let outbox = StalledOutbox(stallsOpening: true)
        let alice = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("alice"), outbox: outbox)
        let start = Task { try await alice.start() }
        await until { outbox.callCount == 1 }
        await alice.stop()
        await #expect(throws: MartletError.stopped) { try await start.value }
        #expect(outbox.closeCount == 0)
        outbox.release()
        await until { outbox.closeCount == 1 }
        await alice.stop()
        #expect(outbox.closeCount == 1)
    }

    @Test func `stop of a running client → returns after the outbox was closed, which happens once`() async throws {
        let outbox = StalledOutbox(stallsClosing: true)
        let alice = try Client(
            to: "martlet://127.0.0.1:1", as: .anonymous("alice"), outbox: outbox, configuration: impatient)
        try await alice.start()
        let stop = Task {
            await alice.stop()
            return outbox.closeCount
        }
        try await alice.status.first(until: { $0.phase == .stopped(nil) })
        await until { outbox.callCount == 1 }
        outbox.release()
        #expect(await stop.value == 1)
        await alice.stop()
        #expect(outbox.closeCount == 1)
    }

    @Test func `the shutdown of its loop stops a client and ends its pending calls`() async throws {
        let loop = try EventLoop(name: "stopped")
        let outbox = InMemoryOutbox()
        let alice = try Client(
            to: "martlet://127.0.0.1:1", as: .anonymous("alice"), outbox: outbox, configuration: .patient, on: loop)
        try await alice.start()
        let lobby = try await alice.open(room: "lobby", options: .offline)
        let handle = try await lobby.send("hello")
        let open = Task { try await alice.open(room: "other") }
        let status = Task { for await _ in alice.status {} }
        _ = await alice.metrics
        await loop.shutdown()
        await #expect(throws: MartletError.stopped) { try await open.value }
        await status.value
        await alice.stop()
        await #expect(throws: MartletError.stopped) { try await handle.accepted() }
        await #expect(throws: MartletError.stopped) { try await alice.open(room: "third") }
        #expect(outbox.open().pending.map(\.id) == [handle.id])
        #expect(alice.currentStatus.phase == .stopped(nil))
    }

    @Test func `start on a loop after its shutdown throws stopped`() async throws {
        let loop = try EventLoop(name: "stopped")
        await loop.shutdown()
        let alice = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("alice"), on: loop)
        await #expect(throws: MartletError.stopped) { try await alice.start() }
        for await _ in alice.status {}
        await alice.stop()
        await #expect(throws: MartletError.stopped) { try await alice.open(room: "lobby") }
    }

    @Test func `the release of a client that was not started ends its status sequence`() async throws {
        var alice: Client? = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("alice"))
        let status = try #require(alice?.status)
        alice = nil
        var last: Client.Status?
        for await next in status { last = next }
        #expect(last?.phase == .stopped(nil))
    }

    private var impatient: Client.Configuration {
        var configuration = Client.Configuration.hasty
        configuration.flushTimeout = .zero
        return configuration
    }

    @Test func `stop fails a pending open with stopped`() async throws {
        try await withBarredRelay { _, proxy in
            let alice = try Client(to: proxy.endpoint, as: .anonymous("alice"), configuration: .hasty)
            try await alice.start()
            let open = Task { try await alice.open(room: "lobby") }
            // The call of `open` can precede or follow that of `metrics`. It fails in both cases.
            _ = await alice.metrics
            await alice.stop()
            await #expect(throws: MartletError.stopped) { try await open.value }
        }
    }

    @Test func `concurrent stops, a second stop and a stop before start return`() async throws {
        try await withRelay { relay in
            let alice = try Client(to: relay, as: .anonymous("alice"))
            try await alice.start()
            try await alice.start()
            _ = try await alice.open(room: "lobby")
            async let one: Void = alice.stop()
            async let other: Void = alice.stop()
            _ = await (one, other)
            await alice.stop()
            let never = try Client(to: relay, as: .anonymous("bob"))
            await never.stop()
            await #expect(throws: MartletError.stopped) { try await never.start() }
            #expect(never.currentStatus.phase == .stopped(nil))
        }
    }

    @Test func `a stopped client leaves no objects in memory`() async throws {
        try await withRelay { relay in
            weak var core: RoomCore?
            weak var mailbox: Mailbox?
            do {
                let alice = try Client(to: relay, as: .anonymous("alice"))
                try await alice.start()
                let lobby = try await alice.open(room: "lobby")
                try await lobby.send("hello")
                core = lobby.core
                mailbox = alice.life.mailbox
                await alice.stop()
            }
            await until { core == nil && mailbox == nil }
        }
    }

    @Test func `the release of the last reference to a client ends its link`() async throws {
        try await withRelay { relay in
            try await withClient("bob", at: relay) { bob in
                let his = try await bob.open(room: "lobby")
                var events = his.events.makeAsyncIterator()
                do {
                    let alice = try Client(to: relay, as: .anonymous("alice"))
                    try await alice.start()
                    _ = try await alice.open(room: "lobby")
                }
                while let event = await events.next() {
                    if case .presence(_, let presence) = event, presence != .online { break }
                }
            }
        }
    }
}

/// An outbox that stores outcomes after it is released.
private final class GatedOutbox: Outbox {
    let stored = InMemoryOutbox()
    let waitingCount = Counted()
    private let released = AsyncStream<Never>.makeStream()

    func release() { released.continuation.finish() }

    func open() async throws -> OutboxState { stored.open() }

    func commit(_ transaction: OutboxTransaction) async throws {
        if !transaction.outcomes.isEmpty {
            waitingCount.count()
            let gate = Task { [stream = released.stream] in for await _ in stream {} }
            await gate.value
        }
        stored.commit(transaction)
    }

    func deadLetters(in room: RoomName) async throws -> [DeadLetter] { stored.deadLetters(in: room) }
}
