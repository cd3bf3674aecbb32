import MartletLink
import MartletWire
import Testing

@testable import Martlet

@Suite struct OutboxUseTests {
    //
    @Test func `a client on the outbox of one that runs → outboxFailed, and a start after the end of that one`()
        async throws
    {
        let outbox = InMemoryOutbox()
        let (first, second) = try (client(outbox), client(outbox))
        try await first.start()
        await #expect(throws: MartletError.outboxFailed("another client uses the outbox")) { try await second.start() }
        await first.stop()
        try await second.start()
        await second.stop()
    }

    //
    @Test func `a client that starts after the release of another client of its outbox waits and reuses no counter`()
        async throws
    {
        try await withRelay { address in
            let outbox = InMemoryOutbox()
            let first = try await send("first", on: outbox, to: address)
            let second = try await send("second", on: outbox, to: address)
            #expect(first.counter == 1 && second.counter == 2)
            let last = try client(outbox, to: address)
            try await last.start()
            let room = try await last.open(room: "lobby")
            #expect(try await room.send("third").accepted() > 0)
            #expect(try await room.messages(before: nil).messages.map(\.text) == ["first", "second", "third"])
            await last.stop()
        }
    }

    private func client(_ outbox: InMemoryOutbox, to address: String = "martlet://127.0.0.1:1") throws -> Client {
        try Client(to: address, as: .anonymous("ada"), outbox: outbox)
    }

    /// Sends a message, and releases the client without a stop.
    private func send(_ text: String, on outbox: InMemoryOutbox, to address: String) async throws -> MessageID {
        let client = try client(outbox, to: address)
        try await client.start()
        return try await client.open(room: "lobby").send(text).id
    }

    @Test func `a use that ends passes the outbox to the first that waits, and others fail`() async throws {
        let outbox = InMemoryOutbox()
        let use = try await OutboxUse.begin(outbox)
        use.willEnd()
        let waiting = (1...2).map { _ in Task { try await OutboxUse.begin(outbox) } }
        while !Task.isCancelled, OutboxUse.waitingCount(for: outbox) < 2 { await Task.yield() }
        use.end()
        var uses: [OutboxUse] = []
        var failures: [MartletError] = []
        for task in waiting {
            do { uses.append(try await task.value) } catch let error as MartletError { failures.append(error) }
        }
        #expect(uses.count == 1 && failures == [.outboxFailed("another client uses the outbox")])
        await #expect(throws: MartletError.self) { try await OutboxUse.begin(outbox) }
        uses[0].end()
        // The end of a use that has ended has no effect on the next one.
        let next = try await OutboxUse.begin(outbox)
        use.end()
        use.willEnd()
        await #expect(throws: MartletError.self) { try await OutboxUse.begin(outbox) }
        next.end()
    }

    @Test func `a wait that is cancelled → CancellationError, and the outbox is unused after the end`() async throws {
        let outbox = InMemoryOutbox()
        let use = try await OutboxUse.begin(outbox)
        use.willEnd()
        let task = Task { try await OutboxUse.begin(outbox) }
        while !Task.isCancelled, OutboxUse.waitingCount(for: outbox) < 1 { await Task.yield() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        use.end()
        try await OutboxUse.begin(outbox).end()
    }
}
