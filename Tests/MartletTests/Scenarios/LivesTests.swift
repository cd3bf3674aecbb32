import Testing

@testable import Martlet
@testable import MartletTransport

@Suite("What lives leave behind", .timeLimit(.minutes(10)))
struct LivesTests {
    /// What a client was made of: its driver, connections and timers refer to its life.
    private struct Remains {
        weak var life: ClientLife?
        weak var core: RoomCore?
        weak var witness: Counted?

        var isGone: Bool { life == nil && core == nil && witness == nil }
    }

    @Test func `many clients that come, are cut off and go leave nothing in memory and nothing on their loop`()
        async throws
    {
        let loop = try EventLoop(name: "lives")
        let outbox = InMemoryOutbox()
        var remains: [Remains] = []
        try await withRelay { relay in
            try await withProxy(to: relay) { proxy in
                for _ in 1...50 { remains.append(try await live(through: proxy, outbox, on: loop)) }
            }
        }
        await until { remains.allSatisfy(\.isGone) }
        #expect(await loop.answer { !loop.hasSources && loop.nextDeadline == .max })
        #expect(outbox.open().pending.isEmpty)
        await loop.shutdown()
    }

    @Test func `connections that were cut leave nothing with a client that goes on`() async throws {
        let loop = try EventLoop(name: "cuts")
        try await withRelay { relay in
            try await withProxy(to: relay) { proxy in
                let client = try Client(
                    to: proxy.endpoint, as: .token(account: "alice", "token"), configuration: .hasty, on: loop)
                // As its life begins it, but kept here.
                let driver = ClientDriver(client.life, InMemoryOutbox().open())
                client.life.mailbox.open(for: driver)
                loop.execute { driver.start() }
                let room = try await client.open(room: "lobby")
                for number in 1...20 {
                    await proxy.cut()
                    try await client.status.first(until: { $0.isOnline && $0.reconnects >= number })
                    _ = try await room.send("\(number)").accepted()
                }
                #expect(await loop.answer { driver.connections.transports.count } == 1)
                #expect(
                    await loop.answer { driver.connections.dial == nil && driver.connections.credentialTask == nil })
                let end = Promise<Void>()
                client.life.mailbox.post(.stop(end))
                try await end.value()
                #expect(await loop.answer { driver.connections.transports.isEmpty && driver.rooms.entries.isEmpty })
            }
        }
        await loop.shutdown()
    }

    /// A client comes, says something, is cut off, says something on its next connection, and goes.
    private func live(
        through proxy: CuttableProxy, _ outbox: InMemoryOutbox, on loop: EventLoop
    ) async throws -> Remains {
        let witness = Counted()
        let credentials = Credentials.account("alice") { "token \(witness.count())" }
        let client = try Client(
            to: proxy.endpoint, as: credentials, outbox: outbox, configuration: .hasty, on: loop)
        try await client.start()
        let room = try await client.open(room: "lobby", options: Room.Options(echo: true))
        let reader = Task { try await room.messages.first(2).count }
        _ = try await room.send("before").accepted()
        await proxy.cut()
        try await client.status.first(until: { $0.isOnline && $0.reconnects > 0 })
        _ = try await room.send("after").accepted()
        #expect(try await reader.value == 2)
        await client.stop()
        return Remains(life: client.life, core: room.core, witness: witness)
    }
}

extension EventLoop {
    /// What `question` answers on the loop.
    fileprivate func answer<Answer: Sendable>(_ question: @escaping @Sendable () -> Answer) async -> Answer {
        await withCheckedContinuation { continuation in
            execute { continuation.resume(returning: question()) }
        }
    }
}
