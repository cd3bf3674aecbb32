import Martlet
import Synchronization

/// A durable outbox in memory that records its transactions, and that can refuse new messages and the removal of dead
/// letters.
final class TransactionOutbox: Outbox {
    private let stored = InMemoryOutbox()
    private let recorded = Mutex<[OutboxTransaction]>([])
    private let refuses = Mutex(false)

    var transactions: [OutboxTransaction] { recorded.withLock { $0 } }

    func refuse(_ isRefusing: Bool) {
        refuses.withLock { $0 = isRefusing }
    }

    func open() async throws -> OutboxState { stored.open() }

    func commit(_ transaction: OutboxTransaction) async throws {
        let isRefused = !(transaction.appended.isEmpty && transaction.discarded.isEmpty) && refuses.withLock { $0 }
        if isRefused { throw MartletError.outboxFull(limit: .messages(0)) }
        recorded.withLock { $0.append(transaction) }
        stored.commit(transaction)
    }

    func deadLetters(in room: RoomName) async throws -> [DeadLetter] { stored.deadLetters(in: room) }
}
