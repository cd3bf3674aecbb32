import Dispatch

/// A thread that performs blocking calls for files, one after another in their order. It starts with the first job, and
/// ends with the object when all jobs are done.
package final class FileThread: Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var isRunning = false
        var isWaiting = false
        var isClosed = false
    }

    private final class Queue: Sendable {
        let state = Guarded(State())
        let semaphore = DispatchSemaphore(value: 0)

        func run() {
            while true {
                let (jobs, isClosed) = state.withLock { state -> ([@Sendable () -> Void], Bool) in
                    let jobs = state.jobs
                    state.jobs = []
                    state.isWaiting = jobs.isEmpty && !state.isClosed
                    return (jobs, state.isClosed)
                }
                for job in jobs { job() }
                guard jobs.isEmpty else { continue }
                if isClosed { return }
                semaphore.wait()
            }
        }
    }

    /// A call, which is released before its result is delivered. A resource that it retains, such as the lock of a
    /// folder, then ends with the references of the caller.
    private final class Call<Value>: Sendable {
        private struct State {
            var body: (@Sendable () throws -> Value)?
        }

        private let state: Guarded<State>

        init(_ body: @escaping @Sendable () throws -> Value) { state = Guarded(State(body: body)) }

        func result() -> Result<Value, any Error> {
            let body = state.withLock { $0.body.take()! }
            return Result { try body() }
        }
    }

    private let queue = Queue()
    private let name: String

    /// Creates a thread that has not started.
    package init(named name: String) {
        self.name = name
    }

    deinit {
        let wakes = queue.state.withLock { state -> Bool in
            state.isClosed = true
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if wakes { queue.semaphore.signal() }
    }

    /// Queues a job. It is performed on the caller's thread if the system has no thread left.
    package func execute(_ job: @escaping @Sendable () -> Void) {
        let (starts, wakes) = queue.state.withLock { state -> (Bool, Bool) in
            state.jobs.append(job)
            defer {
                state.isRunning = true
                state.isWaiting = false
            }
            return (!state.isRunning, state.isWaiting)
        }
        if wakes { queue.semaphore.signal() }
        guard starts else { return }
        guard startThread(named: name, { [queue] in queue.run() }) != nil else { return }
        let jobs = queue.state.withLock { state -> [@Sendable () -> Void] in
            defer { state.jobs = [] }
            state.isRunning = false
            return state.jobs
        }
        for job in jobs { job() }
    }

    /// Performs a call and waits for its result.
    nonisolated(nonsending) package func perform<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        let call = Call(body)
        return try await withCheckedThrowingContinuation { continuation in
            execute { continuation.resume(with: call.result()) }
        }
    }
}
