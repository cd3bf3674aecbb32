import Testing

@testable import Martlet
@testable import MartletTransport

@Suite("Release of resources", .timeLimit(.minutes(10)))
struct LifecycleTests {
    /// Weak references to the parts of a client. Its driver, connections and timers refer to its `ClientLife`.
    private struct Remains {
        weak var life: ClientLife?
        weak var core: RoomCore?
        weak var witness: Counted?

        var isGone: Bool { life == nil && core == nil && witness == nil }
    }

    @Test func `50 clients with cut connections leave no objects in memory, and no sources or timers on the loop`()
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

    @Test func `a client has one transport and no pending attempts after 20 cut connections`() async throws {
        let loop = try EventLoop(name: "cuts")
        try await withRelay { relay in
            try await withProxy(to: relay) { proxy in
                let client = try Client(
                    to: proxy.endpoint, as: .token(account: "alice", "token"), configuration: .hasty, on: loop)
                // `ClientLife` creates the driver in the same way. The test keeps a reference to it.
                let driver = ClientDriver(client.life, InMemoryOutbox().open())
                client.life.mailbox.open(for: driver)
                loop.execute { driver.start() }
                let room = try await client.open(room: "lobby")
                for number in 1...20 {
                    await proxy.cut()
                    try await client.status.first(until: { $0.isOnline && $0.reconnects >= number })
                    _ = try await room.send("\(number)").accepted()
                }
                #expect(await loop.answer { driver.connector.heldCount } == 1)
                let end = Promise<Void>()
                client.life.mailbox.post(.stop(end))
                try await end.value()
                #expect(await loop.answer { driver.connector.heldCount == 0 && driver.rooms.entries.isEmpty })
            }
        }
        await loop.shutdown()
    }

    /// Starts a client that sends a message, loses its connection, sends another message, and stops.
    private func live(
        through proxy: CuttableProxy, _ outbox: InMemoryOutbox, on loop: EventLoop
    ) async throws -> Remains {
        let witness = Counted()
        let credentials = Credentials.account("alice") { "token \(witness.count())" }
        let client = try Client(
            to: proxy.endpoint, as: credentials, outbox: outbox, configuration: .hasty, on: loop)
        try await client.start()
        let room = try await client.open(room: "lobby", options: Room.Options(includesOwnMessages: true))
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
    /// Evaluates a closure on the loop.
    fileprivate func answer<Answer: Sendable>(_ body: @escaping @Sendable () -> Answer) async -> Answer {
        await withCheckedContinuation { continuation in
            execute { continuation.resume(returning: body()) }
        }
    }
}
