import MartletLink
import MartletTransport
import MartletWire
import Testing

@testable import Martlet

@Suite("Acknowledgements of a driver", .timeLimit(.minutes(10)))
struct ClientDriverDeliveriesTests {
    /// All steps are in one turn of the loop, so that no other event admits the acknowledgements.
    @Test func `a cancelled acknowledgement whose replies waited for space → the one behind it is stored`()
        async throws
    {
        let loop = try EventLoop(name: "deliveries")
        let outbox = InMemoryOutbox()
        var configuration = Client.Configuration.patient
        configuration.maxPendingMessages = 1
        let client = try Client(
            to: "martlet://127.0.0.1:1", as: .anonymous("bob"), outbox: outbox, configuration: configuration, on: loop)
        let driver = ClientDriver(client.life, outbox.open())
        client.life.mailbox.open(for: driver)
        let opened = Promise<RoomCore>()
        client.life.mailbox.post(.open(RoomName("lobby"), .offline, opened))
        loop.execute { driver.start() }
        let core = try await opened.value()
        let pending = try OutgoingMessage(text: "waits for the relay")
        let reply = try OutgoingMessage(text: "reply")
        let first = Acknowledgement(cursor: RoomCursor(offset: 1), replies: [reply], promise: Promise())
        let second = Acknowledgement(cursor: RoomCursor(offset: 2), replies: [], promise: Promise())
        let waitingCounts: [Int?] = await withCheckedContinuation { continuation in
            loop.execute {
                core.state.withLock { _ = $0.append(pending) }
                driver.takeChanges(of: core)
                driver.acknowledge(first, in: core)
                driver.acknowledge(second, in: core)
                let before = driver.rooms[core.id]?.waitingAcknowledgements.count
                driver.abandonAcknowledgement(first.promise, in: core)
                continuation.resume(returning: [before, driver.rooms[core.id]?.waitingAcknowledgements.count])
            }
        }
        #expect(waitingCounts == [2, 0])
        // A call that still waits throws `stopped`.
        await loop.shutdown()
        await #expect(throws: CancellationError.self) { try await first.promise.value() }
        #expect(try await second.promise.value().isEmpty)
        #expect(outbox.open().cursors.mapValues(\.offset) == ["lobby": 2])
    }
}
