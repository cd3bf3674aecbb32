import Dispatch
import MartletTransport

/// The jobs that wait for a writer's thread, its own or a shared one.
///
/// | state | left by |
/// |---|---|
/// | open | `close` |
/// | closing: waiting jobs are still performed, new ones refused | `ended` |
/// | ended: the connection is closed | nothing |
package final class DatabaseJobs<Context: DatabaseContext>: Sendable {
    private struct State {
        var jobs: [Job<Context>] = []
        /// Whether the thread waits for the semaphore, or has no step of the writer to perform.
        var isWaiting = false
        var isClosed = false
        var hasEnded = false
        var closers: [@Sendable () -> Void] = []
    }

    private let maxCount: Int
    private let state = Guarded(State())
    private let semaphore = DispatchSemaphore(value: 0)

    /// Requests a step of the writer from a shared thread; nil if the writer has a thread of its own.
    private let requestStep: (@Sendable () -> Void)?

    package init(maxCount: Int, requestStep: (@Sendable () -> Void)? = nil) {
        self.maxCount = maxCount
        self.requestStep = requestStep
    }

    private func wake() {
        if let requestStep { requestStep() } else { semaphore.signal() }
    }

    /// Appends jobs, which are taken together. Returns the error if they are refused.
    package func append(_ jobs: [Job<Context>]) -> DatabaseError? {
        let (refusal, wakes) = state.withLock { state -> (DatabaseError?, Bool) in
            if state.isClosed { return (.closed, false) }
            if state.jobs.count + jobs.count > maxCount { return (.queueFull(limit: maxCount), false) }
            state.jobs += jobs
            defer { state.isWaiting = false }
            return (nil, state.isWaiting)
        }
        if wakes { wake() }
        return refusal
    }

    /// Takes the jobs that wait at this moment.
    package func takeWaiting() -> [Job<Context>] {
        state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
    }

    /// Waits for jobs, and takes all of them; nil after `close`, when none is left.
    package func take() -> [Job<Context>]? {
        while true {
            guard let jobs = takeOrWait() else { return nil }
            if !jobs.isEmpty { return jobs }
            semaphore.wait()
        }
    }

    /// Takes all jobs; nil after `close`, when none is left. Without jobs, the next one wakes the thread.
    package func takeOrWait() -> [Job<Context>]? {
        state.withLock { state in
            defer { state.jobs = [] }
            state.isWaiting = state.jobs.isEmpty && !state.isClosed
            return state.jobs.isEmpty && state.isClosed ? nil : state.jobs
        }
    }

    /// Refuses further jobs. `completion` is called when the connection is closed.
    package func close(_ completion: (@Sendable () -> Void)? = nil) {
        let (wakes, hasEnded) = state.withLock { state -> (Bool, Bool) in
            state.isClosed = true
            if !state.hasEnded, let completion { state.closers.append(completion) }
            defer { state.isWaiting = false }
            return (state.isWaiting, state.hasEnded)
        }
        if wakes { wake() }
        if hasEnded { completion?() }
    }

    /// Reports that the connection is closed, or was never opened.
    package func ended() {
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
