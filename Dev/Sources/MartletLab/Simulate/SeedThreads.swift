import Foundation

/// A task executor with a thread for each job. Runs of seeds compute for minutes without a suspension, and would occupy
/// all threads of the default executor, so that no task could process a signal.
final class SeedThreads: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
