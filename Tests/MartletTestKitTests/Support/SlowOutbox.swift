import Martlet
import MartletTestKit

/// An outbox in memory whose calls take 20 ms of virtual time.
final class SlowOutbox: Outbox {
    private let base = InMemoryOutbox()
    private let world: TestWorld

    init(_ world: TestWorld) {
        self.world = world
    }

    private func pause() async {
        try? await world.sleep(for: .milliseconds(20))
    }

    func open() async throws -> OutboxState {
        await pause()
        return base.open()
    }

    func commit(_ transaction: OutboxTransaction) async throws {
        await pause()
        base.commit(transaction)
    }

    func deadLetters(in room: String) async throws -> [DeadLetter] {
        await pause()
        return base.deadLetters(in: room)
    }
}
