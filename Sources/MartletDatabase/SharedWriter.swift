/// The part of a writer on a thread that it shares with others.
///
/// | state | owns | ends |
/// |---|---|---|
/// | idle | the context | a job or `close` requests a step |
/// | a step is requested | the context, jobs | `step` |
/// | ended | nothing | |
final class SharedWriter<Context: DatabaseContext>: @unchecked Sendable {  // the context is used on its thread only
    let thread: WriterThread
    private(set) var queue: DatabaseJobs<Context>!
    private var context: Context?
    private var group: GroupCommit<Context>?

    init(maxJobCount: Int, on thread: WriterThread) {
        self.thread = thread
        // A released writer has requested its last step before.
        queue = DatabaseJobs(maxCount: maxJobCount) { [weak self] in
            if let self { self.thread.perform { self.step() } }
        }
    }

    /// Creates the context. The first step follows.
    func start(_ open: () throws -> Context) throws {
        do {
            let context = try open()
            group = try GroupCommit(context.database)
            self.context = context
            step()
        } catch {
            queue.ended()
            throw error
        }
    }

    /// Performs one transaction, so that the writers of a thread take turns.
    private func step() {
        guard context != nil else { return }
        guard let jobs = queue.takeOrWait() else {
            // The connection is closed here.
            group = nil
            context = nil
            return queue.ended()
        }
        guard !jobs.isEmpty, let context, let group else { return }
        group.commit(jobs, context) { queue.takeWaiting() }
        thread.perform { self.step() }
    }
}
