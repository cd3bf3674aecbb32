import MartletLink
import MartletTransport
import MartletWire
import Synchronization
import Testing

@testable import Martlet

/// A message is handled when the next one is requested. A later client continues after the handled messages.
@Suite("Handled messages", .timeLimit(.minutes(10)))
struct HandledTests {
    private struct Failure: Error {}

    /// Creates a room with the given number of messages, at the offsets from 1.
    private func withHistory(_ count: Int, _ body: (String) async throws -> Void) async throws {
        try await withRelay { relay in
            try await withClient("alice", at: relay) { alice in
                let lobby = try await alice.open(room: "lobby")
                for number in 1...count { try await lobby.send("\(number)") }
            }
            try await body(relay)
        }
    }

    private func offsets(_ outbox: InMemoryOutbox) -> [RoomName: UInt64] {
        outbox.open().cursors.mapValues(\.offset)
    }

    /// The offsets that the next client with this outbox receives, up to the last one.
    private func next(_ outbox: InMemoryOutbox, at relay: String, upTo last: UInt64) async throws -> [UInt64] {
        try await withClient("bob", at: relay, outbox: outbox) { bob in
            let lobby = try await bob.open(room: "lobby")
            var offsets: [UInt64] = []
            for try await message in lobby.messages {
                offsets.append(message.offset)
                if message.offset == last { break }
            }
            return offsets
        }
    }

    @Test func `498 of 500 messages are handled while the 499th is processed, and the outbox has their cursor`()
        async throws
    {
        try await withHistory(500) { relay in
            let outbox = InMemoryOutbox()
            let bob = try Client(to: relay, as: .anonymous("bob"), outbox: outbox, configuration: .patient)
            try await bob.start()
            let lobby = try await bob.open(room: "lobby")
            await until { lobby.core.state.withLock { $0.inbox.items.count } == 500 }
            for try await message in lobby.messages where message.offset == 499 {
                await until { offsets(outbox) == ["lobby": 498] }
                await bob.stop()
            }
            #expect(offsets(outbox) == ["lobby": 498])
            #expect(try await next(outbox, at: relay, upTo: 500) == [499, 500])
        }
    }

    @Test(arguments: [false, true])
    func `the message at which a loop was left is delivered to the next client`(throwing: Bool) async throws {
        try await withHistory(3) { relay in
            let outbox = InMemoryOutbox()
            try await withClient("bob", at: relay, outbox: outbox) { bob in
                let lobby = try await bob.open(room: "lobby")
                do {
                    for try await message in lobby.messages where message.offset == 2 {
                        if throwing { throw Failure() }
                        break
                    }
                } catch is Failure {}
            }
            #expect(offsets(outbox) == ["lobby": 1])
            #expect(try await next(outbox, at: relay, upTo: 3) == [2, 3])
        }
    }

    @Test func `the message at which a body was cancelled is delivered to the next client`() async throws {
        try await withHistory(3) { relay in
            let outbox = InMemoryOutbox()
            let inHand = Counted()
            try await withClient("bob", at: relay, outbox: outbox) { bob in
                let lobby = try await bob.open(room: "lobby")
                let reader = Task {
                    for try await message in lobby.messages where message.offset == 2 {
                        inHand.count()
                        await until { Task.isCancelled }
                        try await lobby.send("answer")
                    }
                }
                await until { inHand.value == 1 }
                reader.cancel()
                await #expect(throws: CancellationError.self) { try await reader.value }
            }
            #expect(try await next(outbox, at: relay, upTo: 3) == [2, 3])
        }
    }

    @Test func `a later iteration continues after the last message, which is then handled`() async throws {
        try await withHistory(3) { relay in
            let outbox = InMemoryOutbox()
            try await withClient("bob", at: relay, outbox: outbox) { bob in
                let lobby = try await bob.open(room: "lobby")
                let first = try await lobby.messages.first(2).map(\.offset)
                #expect(first == [1, 2])
                let second = try await lobby.messages.first(1).map(\.offset)
                #expect(second == [3])
            }
            #expect(offsets(outbox) == ["lobby": 2])
        }
    }

    @Test func `all delivered messages are handled while the application waits for the next one`() async throws {
        try await withHistory(3) { relay in
            let outbox = InMemoryOutbox()
            try await withClient("bob", at: relay, outbox: outbox) { bob in
                let lobby = try await bob.open(room: "lobby")
                let reader = Task { for try await _ in lobby.messages {} }
                await until { offsets(outbox) == ["lobby": 3] }
                reader.cancel()
                _ = await reader.result
            }
        }
    }

    /// All steps are in one turn of the loop, so that the timer that polls the marks cannot fire between them.
    @Test func `the cursor of a message handled after its room was closed is stored by a shutdown of the loop`()
        async throws
    {
        let loop = try EventLoop(name: "handled")
        let outbox = InMemoryOutbox()
        let client = try Client(to: "martlet://127.0.0.1:1", as: .anonymous("bob"), outbox: outbox, on: loop)
        let driver = ClientDriver(client.life, outbox.open())
        client.life.mailbox.open(for: driver)
        let opened = Promise<RoomCore>()
        client.life.mailbox.post(.open(RoomName("lobby"), .offline, opened))
        loop.execute { driver.start() }
        let core = try await opened.value()
        await withCheckedContinuation { continuation in
            loop.execute {
                // The first raise notifies the loop. The timer polls the second one.
                core.handled(upTo: RoomCursor(offset: 1))
                driver.takeChanges(of: core)
                driver.close(core, Promise())
                core.handled(upTo: RoomCursor(offset: 2))
                driver.loopWillStop()
                continuation.resume()
            }
        }
        #expect(offsets(outbox) == ["lobby": 2])
        await loop.shutdown()
    }
}
