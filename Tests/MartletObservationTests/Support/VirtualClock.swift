import Synchronization

@testable import MartletObservation

/// A clock whose time passes when the test advances it.
final class VirtualClock: ModelClock {
    private struct Waiter {
        let id: UInt64
        let time: Duration
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var now = Duration.zero
        var waiters: [Waiter] = []
        var nextID: UInt64 = 0
        var observers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    var now: Duration { state.withLock { $0.now } }

    func wait(until time: Duration) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let woken = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                    guard state.now < time, !Task.isCancelled else { return [continuation] }
                    state.waiters.append(Waiter(id: id, time: time, continuation: continuation))
                    defer { state.observers = [] }
                    return state.observers
                }
                for continuation in woken { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume()
        }
        try Task.checkCancellation()
    }

    func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now += duration
            let due = state.waiters.filter { $0.time <= state.now }
            state.waiters.removeAll { $0.time <= state.now }
            return due
        }
        for waiter in woken { waiter.continuation.resume() }
    }

    /// Returns when a task waits for the clock.
    func whenWaiting() async {
        await withCheckedContinuation { continuation in
            let isWaiting = state.withLock { state in
                if state.waiters.isEmpty { state.observers.append(continuation) }
                return !state.waiters.isEmpty
            }
            if isWaiting { continuation.resume() }
        }
    }
}

/// A clock with which no model waits: each reading is an interval after the last one.
final class FastClock: ModelClock {
    private let state = Mutex(Duration.zero)

    var now: Duration {
        state.withLock { now in
            now += UpdateGate.minInterval
            return now
        }
    }

    func wait(until time: Duration) async throws {}
}
