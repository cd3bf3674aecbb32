import Dispatch
import MartletTransport

/// The threads that the writers of outboxes share, so that a process with many accounts needs few threads (C-106).
///
/// A writer is assigned to one thread, which performs the steps of its writers in the order of their calls. The threads
/// are started for the first writers, and never end.
final class WriterThread: Sendable {
    /// The number of threads.
    static let maxCount = 4

    private struct Pool {
        var threads: [WriterThread] = []
        var assignedCount = 0
    }

    private struct State {
        var steps: [@Sendable () -> Void] = []
        var isWaiting = false
    }

    private static let pool = Guarded(Pool())

    private let state = Guarded(State())
    private let semaphore = DispatchSemaphore(value: 0)

    private init() {}

    /// The thread of the next writer.
    ///
    /// - Throws: The error of the system if the first threads cannot be started.
    static func next() throws -> WriterThread {
        try pool.withLock { (pool) throws -> WriterThread in
            defer { pool.assignedCount += 1 }
            if pool.threads.count < maxCount {
                let thread = WriterThread()
                let failure = startThread(named: "martlet-outbox") { while true { thread.performSteps() } }
                if let failure, pool.threads.isEmpty { throw failure }
                if failure == nil { pool.threads.append(thread) }
            }
            return pool.threads[pool.assignedCount % pool.threads.count]
        }
    }

    /// Performs a step on the thread, after the earlier ones.
    func perform(_ step: @escaping @Sendable () -> Void) {
        let wakes = state.withLock { state in
            state.steps.append(step)
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if wakes { semaphore.signal() }
    }

    private func performSteps() {
        let steps = state.withLock { state in
            defer { state.steps = [] }
            state.isWaiting = state.steps.isEmpty
            return state.steps
        }
        if steps.isEmpty { semaphore.wait() }
        for step in steps { step() }
    }
}
