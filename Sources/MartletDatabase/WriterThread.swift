import Dispatch
import MartletTransport

/// The threads that the writers of outboxes share, so that a process with many accounts needs few threads (C-106).
///
/// A writer is assigned to one thread, which performs the steps of its writers in the order of their calls. The threads
/// are started for the first writers, and never end.
final class WriterThread: Sendable {
    /// The maximum number of threads that write the outboxes in files of a process.
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

    /// Whether the steps are performed on the threads of the callers, for virtual time.
    private let isInline: Bool
    private let state: Guarded<State>
    private let semaphore = DispatchSemaphore(value: 0)

    init(isInline: Bool = false) {
        self.isInline = isInline
        state = Guarded(State(isWaiting: isInline))
    }

    /// The thread of the next writer.
    ///
    /// - Throws: The error of the system if the first threads cannot be started.
    static func next() throws -> WriterThread {
        try pool.withLock { (pool) throws -> WriterThread in
            defer { pool.assignedCount += 1 }
            if pool.threads.count < maxCount {
                let thread = WriterThread()
                let failure = startThread(named: "martlet-outbox") { thread.run() }
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
        guard wakes else { return }
        guard isInline else { return _ = semaphore.signal() }
        while performSteps() {}
    }

    private func run() {
        while true {
            if !performSteps() { semaphore.wait() }
        }
    }

    /// Returns whether there were steps.
    private func performSteps() -> Bool {
        let steps = state.withLock { state in
            defer { state.steps = [] }
            state.isWaiting = state.steps.isEmpty
            return state.steps
        }
        for step in steps { step() }
        return !steps.isEmpty
    }
}
