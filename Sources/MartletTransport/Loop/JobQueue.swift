/// The jobs that other threads submit to a loop: the only shared state of a loop.
///
/// The consumer announces that it may sleep, so one wake-up covers any number of jobs. The queue has no bound, because
/// an executor may not refuse a job; the producers bound their submissions.
final class JobQueue: Sendable {
    enum Job: Sendable {
        case job(UnownedJob)
        case work(@Sendable () -> Void)
    }

    /// The duty of a producer after a push.
    enum AfterPush {
        case nothing
        case wake
        /// The consumer has stopped; another thread must run the remaining jobs.
        case restart
    }

    private enum Consumer: Sendable {
        case running
        case sleeping
        case stopped
    }

    private struct State: Sendable {
        var jobs: [Job] = []
        var consumer = Consumer.running
    }

    private let state = Guarded(State())

    func push(_ job: Job) -> AfterPush {
        state.withLock { state in
            state.jobs.append(job)
            defer { state.consumer = .running }
            return switch state.consumer {
            case .running: .nothing
            case .sleeping: .wake
            case .stopped: .restart
            }
        }
    }

    func markRunning() {
        state.withLock { $0.consumer = .running }
    }

    /// Removes all jobs. The empty array `storage` replaces theirs, so that its allocation is reused.
    func takeAll(reusing storage: [Job]) -> [Job] {
        state.withLock { state in
            let jobs = state.jobs
            state.jobs = storage
            return jobs
        }
    }

    /// Marks the consumer as sleeping, so that the next push returns `.wake`; false when the queue is not empty.
    func prepareToSleep() -> Bool {
        mark(.sleeping)
    }

    /// Marks the consumer as stopped, so that the next push returns `.restart`; false when the queue is not empty.
    func stop() -> Bool {
        mark(.stopped)
    }

    private func mark(_ consumer: Consumer) -> Bool {
        state.withLock { state in
            guard state.jobs.isEmpty else { return false }
            state.consumer = consumer
            return true
        }
    }
}
