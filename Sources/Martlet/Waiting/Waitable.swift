import Synchronization

/// An object with changes for which tasks wait. A task checks the state of the object, and waits if it has not changed.
/// A change wakes the waiting tasks, which check the state again.
///
/// A continuation has one owner, the object to which it was passed. The object removes it under its lock and resumes it
/// after the lock is released.
protocol Waitable: AnyObject, Sendable {
    /// The state that a task waits for, and the version of it that the task has seen.
    associatedtype Key: Sendable

    /// Stores a waiter; false if the state has changed since the task checked it.
    func add(_ waiter: Waiter, for key: Key) -> Bool
    /// Removes a waiter; nil if it was woken.
    func remove(_ waiter: UInt64) -> Waiter?
}

/// A waiting task.
struct Waiter: Sendable {
    let id: UInt64
    let continuation: CheckedContinuation<Void, Never>

    func wake() {
        continuation.resume()
    }
}

private let waiterCount = Atomic<UInt64>(0)

extension Waitable {
    /// Returns when the state may have changed, or when the task is cancelled.
    nonisolated(nonsending) func wait(for key: Key) async {
        let id = waiterCount.wrappingAdd(1, ordering: .relaxed).newValue
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = Waiter(id: id, continuation: continuation)
                guard add(waiter, for: key) else { return waiter.wake() }
                // The task was cancelled before the waiter was stored, so the cancellation handler found none.
                if Task.isCancelled { remove(id)?.wake() }
            }
        } onCancel: {
            remove(id)?.wake()
        }
    }
}
