import MartletTransport

/// The state of a writer's thread: its connection, and the statements prepared on it.
package protocol DatabaseContext: AnyObject, SendableMetatype {
    var database: Database { get }

    /// Adds changes to the transaction before its commit.
    func willCommit() throws

    /// Reports that a transaction was committed.
    func committed()

    /// Reports that the changes of a job, or of all jobs of a group, were rolled back.
    func rolledBack()
}

extension DatabaseContext {
    package func willCommit() throws {}

    package func committed() {}

    package func rolledBack() {}

    /// Performs `body` in one transaction, which an error of `body` or of the commit rolls back.
    package func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try database.transaction(body) } catch {
            rolledBack()
            throw error
        }
    }
}

/// One thread that writes to a database. All waiting jobs are performed in one transaction, in order. Jobs that arrive
/// before its commit join it, so that all of them share one sync (group commit).
///
/// | outcome | effect |
/// |---|---|
/// | the transaction is committed | the completions are called, after the commit |
/// | a job throws | its changes are rolled back, and its completion receives the error; the others are not affected |
/// | the transaction or its commit fails | all its jobs are rolled back, and receive the error |
///
/// Completions are called on the thread. They return at once.
package final class DatabaseWriter<Context: DatabaseContext>: Sendable {
    private let queue: DatabaseJobs<Context>
    /// The writer's part on a shared thread; nil if it has a thread of its own.
    private let shared: SharedWriter<Context>?

    /// Starts the thread, on which `open` creates the context.
    ///
    /// - Parameter maxJobCount: The number of waiting jobs beyond which further ones fail with `queueFull`.
    /// - Throws: The error of `open`.
    package init(maxJobCount: Int, open: @escaping @Sendable () throws -> Context) async throws {
        let queue = DatabaseJobs<Context>(maxCount: maxJobCount)
        self.queue = queue
        shared = nil
        try await withCheckedThrowingContinuation { (started: CheckedContinuation<Void, any Error>) in
            let failure = startThread(named: "martlet-sqlite") {
                do {
                    let context = try open()
                    let group = try GroupCommit<Context>(context.database)
                    started.resume()
                    while let jobs = queue.take() {
                        group.commit(jobs, context) { queue.takeWaiting() }
                    }
                } catch {
                    queue.close()
                    started.resume(throwing: error)
                }
                // The connection is closed here.
                queue.ended()
            }
            if let failure { started.resume(throwing: failure) }
        }
    }

    /// Creates a writer on a thread that it shares with others, on which `open` creates the context.
    ///
    /// - Parameter maxJobCount: The number of waiting jobs beyond which further ones fail with `queueFull`.
    /// - Throws: The error of `open`, or of the start of the thread.
    package convenience init(
        sharedWithMaxJobCount maxJobCount: Int, open: @escaping @Sendable () throws -> Context
    ) async throws {
        try await self.init(maxJobCount: maxJobCount, on: try WriterThread.next(), open: open)
    }

    /// Creates a writer that performs its jobs on the threads of the callers, for virtual time.
    package convenience init(inlineWithMaxJobCount maxJobCount: Int, open: @escaping @Sendable () throws -> Context)
        async throws
    {
        try await self.init(maxJobCount: maxJobCount, on: WriterThread(isInline: true), open: open)
    }

    private init(
        maxJobCount: Int, on thread: WriterThread, open: @escaping @Sendable () throws -> Context
    ) async throws {
        let shared = SharedWriter<Context>(maxJobCount: maxJobCount, on: thread)
        self.shared = shared
        queue = shared.queue
        try await withCheckedThrowingContinuation { (started: CheckedContinuation<Void, any Error>) in
            shared.thread.perform { started.resume(with: Result { try shared.start(open) }) }
        }
    }

    deinit {
        queue.close()
    }

    /// Queues a job. Its completion is called after the commit, or with an error.
    package func submit<Value: Sendable>(
        _ body: @escaping @Sendable (Context) throws -> Value,
        _ completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        submit([Job(body, completion)])
    }

    /// Queues jobs that are performed in one transaction, unless one of them fails.
    package func submit(_ jobs: [Job<Context>]) {
        guard let refusal = queue.append(jobs) else { return }
        for job in jobs { job.fail(refusal) }
    }

    /// Queues a job and waits until it is committed.
    nonisolated(nonsending) package func perform<Value: Sendable>(
        _ body: @escaping @Sendable (Context) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            submit(body) { continuation.resume(with: $0) }
        }
    }

    /// Performs the queued jobs, and closes the connection. Later jobs fail with `closed`.
    nonisolated(nonsending) package func close() async {
        await withCheckedContinuation { continuation in
            queue.close { continuation.resume() }
        }
    }
}
