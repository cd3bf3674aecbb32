/// What other threads have for a loop to do: the only state of a loop that is shared.
///
/// The consumer says when it may be asleep, so that a producer wakes it only then: one wake for any number of jobs. The
/// queue has no bound of its own, since an executor may not refuse a job; who produces must bound what it hands over.
final class JobQueue: Sendable {
    enum Job: Sendable {
        case job(UnownedJob)
        case work(@Sendable () -> Void)
    }

    /// What a producer has to do after a push.
    enum AfterPush {
        case nothing
        case wake
        /// The consumer is gone for good: somebody must run what is left.
        case revive
    }

    private enum Consumer: Sendable {
        case awake
        case asleep
        case stopped
    }

    private struct State: Sendable {
        var jobs: [Job] = []
        var consumer = Consumer.awake
    }

    private let state = Guarded(State())

    func push(_ job: Job) -> AfterPush {
        state.withLock { state in
            state.jobs.append(job)
            defer { state.consumer = .awake }
            return switch state.consumer {
            case .awake: .nothing
            case .asleep: .wake
            case .stopped: .revive
            }
        }
    }

    func markAwake() {
        state.withLock { $0.consumer = .awake }
    }

    /// All there is, leaving the empty `spare` in its place so that its storage is used again.
    func take(leaving spare: [Job]) -> [Job] {
        state.withLock { state in
            let jobs = state.jobs
            state.jobs = spare
            return jobs
        }
    }

    /// True when nothing is queued; from then on a push asks for a wake.
    func fallAsleep() -> Bool {
        leave(as: .asleep)
    }

    /// True when nothing is queued; from then on a push asks for a revival.
    func stop() -> Bool {
        leave(as: .stopped)
    }

    private func leave(as consumer: Consumer) -> Bool {
        state.withLock { state in
            guard state.jobs.isEmpty else { return false }
            state.consumer = consumer
            return true
        }
    }
}
