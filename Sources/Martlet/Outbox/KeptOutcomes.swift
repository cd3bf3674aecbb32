import MartletTransport

/// The outcomes of messages in rooms that the application has not opened, for a list of its rooms. They are kept until
/// the application receives the room, and bounded by the quota of the outbox.
final class KeptOutcomes: Sendable {
    private struct State {
        var outcomes: [OutboxOutcome] = []
        var subscribers: [AsyncStream<[OutboxOutcome]>.Continuation] = []
        var isOver = false
    }

    private let state = Guarded(State())

    func add(_ outcomes: [OutboxOutcome]) {
        guard !outcomes.isEmpty else { return }
        let subscribers = state.withLock { state in
            state.outcomes += outcomes
            return state.subscribers
        }
        for subscriber in subscribers { subscriber.yield(outcomes) }
    }

    /// Discards the outcomes of a room that the application has received.
    func discard(where isOfRoom: (OutboxOutcome) -> Bool) {
        state.withLock { $0.outcomes.removeAll(where: isOfRoom) }
    }

    /// Ends all sequences.
    func finish() {
        let subscribers = state.withLock { state in
            state.isOver = true
            return state.subscribers
        }
        for subscriber in subscribers { subscriber.finish() }
    }

    /// The kept outcomes, followed by new ones.
    func updates() -> AsyncStream<[OutboxOutcome]> {
        let (updates, subscriber) = AsyncStream.makeStream(of: [OutboxOutcome].self)
        state.withLock { state in
            if !state.outcomes.isEmpty { subscriber.yield(state.outcomes) }
            if state.isOver { subscriber.finish() } else { state.subscribers.append(subscriber) }
        }
        return updates
    }
}

extension Client {
    /// The outcomes of messages in rooms that the application has not opened, until the client has stopped.
    package var keptOutcomes: AsyncStream<[OutboxOutcome]> { life.keptOutcomes.updates() }
}
