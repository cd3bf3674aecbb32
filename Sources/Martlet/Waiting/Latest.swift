import MartletTransport

/// A variable that any number of observers read. An observer receives the latest value and can miss earlier ones.
final class Latest<Value: Sendable & Equatable>: Waitable {
    private struct State {
        var value: Value
        var version: UInt64 = 1
        var isOver = false
        var waiters: [Waiter] = []
    }

    private let state: Guarded<State>

    init(_ value: Value) {
        state = Guarded(State(value: value))
    }

    var value: Value { state.withLock { $0.value } }

    /// Returns the value if the observer has not received it. A new observer has version 0.
    func next(after version: inout UInt64) -> Value? {
        state.withLock { state in
            guard state.version != version else { return nil }
            version = state.version
            return state.value
        }
    }

    var isOver: Bool { state.withLock { $0.isOver } }

    func set(_ value: Value) {
        change { state in
            guard state.value != value else { return false }
            state.value = value
            state.version += 1
            return true
        }
    }

    /// Declares the current value the last one.
    func finish() {
        change { state in
            state.isOver = true
            return true
        }
    }

    private func change(_ change: (inout State) -> Bool) {
        let woken = state.withLock { state -> [Waiter] in
            guard change(&state) else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in woken { waiter.wake() }
    }

    func add(_ waiter: Waiter, for seen: UInt64) -> Bool {
        state.withLock { state in
            guard state.version == seen, !state.isOver else { return false }
            state.waiters.append(waiter)
            return true
        }
    }

    func remove(_ waiter: UInt64) -> Waiter? {
        state.withLock { state in
            state.waiters.firstIndex { $0.id == waiter }.map { state.waiters.remove(at: $0) }
        }
    }
}
