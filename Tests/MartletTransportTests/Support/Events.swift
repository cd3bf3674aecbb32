@testable import MartletTransport

/// Events that one test awaits in order.
final class Events<Event: Sendable>: Sendable {
    private struct State: Sendable {
        var events: [Event] = []
        var isFinished = false
        var waiter: CheckedContinuation<Event?, Never>?
    }

    private let state = Guarded(State())

    func send(_ event: Event) {
        let waiter = state.withLock { state in
            if state.waiter == nil { state.events.append(event) }
            return state.waiter.take()
        }
        waiter?.resume(returning: event)
    }

    func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            return state.waiter.take()
        }
        waiter?.resume(returning: nil)
    }

    var isEmpty: Bool { state.withLock { $0.events.isEmpty } }

    /// The next event; nil after the end.
    func next() async -> Event? {
        await withCheckedContinuation { continuation in
            let ready: Event?? = state.withLock { state in
                if !state.events.isEmpty { return .some(state.events.removeFirst()) }
                if state.isFinished { return .some(nil) }
                precondition(state.waiter == nil, "one test awaits")
                state.waiter = continuation
                return .none
            }
            if let ready { continuation.resume(returning: ready) }
        }
    }
}
