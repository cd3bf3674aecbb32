import Synchronization

/// Something that tasks wait for by looking at it again: whoever changes it wakes them, they look, and wait again if
/// need be.
///
/// A continuation has one owner, the object it was given to, which takes it out under its lock and resumes it after.
protocol Waitable: AnyObject, Sendable {
    /// What is waited for, and what the waiter has seen of it.
    associatedtype Key: Sendable

    /// Keeps a waiter, unless there is something new for it: then false.
    func add(_ waiter: Waiter, for key: Key) -> Bool
    /// Takes a waiter out; nil when it was woken.
    func remove(_ waiter: UInt64) -> Waiter?
}

/// A task that waits.
struct Waiter: Sendable {
    let id: UInt64
    let continuation: CheckedContinuation<Void, Never>

    func wake() {
        continuation.resume()
    }
}

private let waiterCount = Atomic<UInt64>(0)

extension Waitable {
    /// Returns when there may be something new, or when the task is cancelled.
    nonisolated(nonsending) func wait(for key: Key) async {
        let id = waiterCount.wrappingAdd(1, ordering: .relaxed).newValue
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waiter = Waiter(id: id, continuation: continuation)
                guard add(waiter, for: key) else { return waiter.wake() }
                // Cancelled before it was kept: the handler found nothing.
                if Task.isCancelled { remove(id)?.wake() }
            }
        } onCancel: {
            remove(id)?.wake()
        }
    }
}
