import Martlet
import MartletTestKit
import Synchronization

/// An outbox in memory whose calls take 20 ms of virtual time.
final class SlowOutbox: Outbox {
    private let base = InMemoryOutbox()
    private let world: TestWorld
    /// The number of transactions after which no other one ends.
    private let answers: Int
    private let begun = Mutex(0)

    init(_ world: TestWorld, answers: Int = .max) {
        self.world = world
        self.answers = answers
    }

    private func pause() async {
        try? await world.sleep(for: .milliseconds(20))
    }

    func open() async throws -> OutboxState {
        await pause()
        return base.open()
    }

    func commit(_ transaction: OutboxTransaction) async throws {
        let number = begun.withLock { count in
            count += 1
            return count
        }
        if number > answers { try await world.sleep(for: .seconds(1_000_000)) }
        await pause()
        base.commit(transaction)
    }

    func deadLetters(in room: RoomName) async throws -> [DeadLetter] {
        await pause()
        return base.deadLetters(in: room)
    }
}
