import Dispatch
import MartletTransport

/// The jobs that wait for a writer's thread.
///
/// | state | left by |
/// |---|---|
/// | open | `close` |
/// | closing: waiting jobs are still performed, new ones refused | `ended` |
/// | ended: the connection is closed | nothing |
final class JobQueue<Context: DatabaseContext>: Sendable {
    private struct State {
        var jobs: [Job<Context>] = []
        /// Whether the thread waits for the semaphore.
        var isWaiting = false
        var isClosed = false
        var hasEnded = false
        var closers: [@Sendable () -> Void] = []
    }

    private let maxCount: Int
    private let state = Guarded(State())
    private let semaphore = DispatchSemaphore(value: 0)

    init(maxCount: Int) {
        self.maxCount = maxCount
    }

    /// Appends jobs, which are taken together. Returns the error if they are refused.
    func append(_ jobs: [Job<Context>]) -> DatabaseError? {
        let (refusal, wakes) = state.withLock { state -> (DatabaseError?, Bool) in
            if state.isClosed { return (.closed, false) }
            if state.jobs.count + jobs.count > maxCount { return (.queueFull(limit: maxCount), false) }
            state.jobs += jobs
            defer { state.isWaiting = false }
            return (nil, state.isWaiting)
        }
        if wakes { semaphore.signal() }
        return refusal
    }

    /// Takes the jobs that wait at this moment.
    func takeWaiting() -> [Job<Context>] {
        state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
    }

    /// Waits for jobs, and takes all of them; nil after `close`, when none is left.
    func take() -> [Job<Context>]? {
        while true {
            let (jobs, isClosed) = state.withLock { state -> ([Job<Context>], Bool) in
                let jobs = state.jobs
                state.jobs = []
                state.isWaiting = jobs.isEmpty && !state.isClosed
                return (jobs, state.isClosed)
            }
            if !jobs.isEmpty { return jobs }
            if isClosed { return nil }
            semaphore.wait()
        }
    }

    /// Refuses further jobs. `completion` is called when the connection is closed.
    func close(_ completion: (@Sendable () -> Void)? = nil) {
        let (wakes, hasEnded) = state.withLock { state -> (Bool, Bool) in
            state.isClosed = true
            if !state.hasEnded, let completion { state.closers.append(completion) }
            defer { state.isWaiting = false }
            return (state.isWaiting, state.hasEnded)
        }
        if wakes { semaphore.signal() }
        if hasEnded { completion?() }
    }

    /// Reports that the connection is closed, or was never opened.
    func ended() {
        let (closers, jobs) = state.withLock { state -> ([@Sendable () -> Void], [Job<Context>]) in
            state.isClosed = true
            state.hasEnded = true
            defer {
                state.closers = []
                state.jobs = []
            }
            return (state.closers, state.jobs)
        }
        for job in jobs { job.fail(DatabaseError.closed) }
        for closer in closers { closer() }
    }
}
