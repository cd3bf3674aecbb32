import Martlet
import Synchronization

/// An outbox in memory whose grouped transactions a test performs.
final class GroupingTestOutbox: GroupingOutbox {
    /// A call of `commit(parts:completion:)`.
    struct Call: Sendable {
        let part: @Sendable (Int) -> OutboxTransaction?
        let complete: @Sendable ((any Error)?) -> Void
    }

    private let stored = InMemoryOutbox()
    private let calls: AsyncStream<Call>
    private let added: AsyncStream<Call>.Continuation
    private let alone = Mutex<[OutboxTransaction]>([])

    init() { (calls, added) = AsyncStream.makeStream() }

    /// The transactions that were stored alone.
    var committed: [OutboxTransaction] { alone.withLock { $0 } }

    /// The next call.
    func next() async -> Call? {
        for await call in calls { return call }
        return nil
    }

    func commit(
        parts part: @escaping @Sendable (Int) -> OutboxTransaction?,
        completion: @escaping @Sendable ((any Error)?) -> Void
    ) {
        added.yield(Call(part: part, complete: completion))
    }

    func open() async throws -> OutboxState { stored.open() }

    func commit(_ transaction: OutboxTransaction) async throws {
        if transaction.appended.contains(where: { $0.content.text == "refused" }) {
            throw MartletError.outboxFull(limit: .messages(0))
        }
        alone.withLock { $0.append(transaction) }
        stored.commit(transaction)
    }

    func deadLetters(in room: RoomName) async throws -> [DeadLetter] { stored.deadLetters(in: room) }
}
