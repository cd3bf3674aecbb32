import MartletTransport

/// One thread that reads from a database with a connection of its own. Each job sees one state of the database.
/// Completions are called on the thread. They return at once.
package final class DatabaseReader<Context: DatabaseContext>: Sendable {
    /// A connection that the callers use, one at a time.
    private final class Inline: @unchecked Sendable {
        var context: Context?

        init(_ context: Context) {
            self.context = context
        }
    }

    private let queue: DatabaseJobs<Context>
    private let inline: Inline?

    /// Creates a reader that performs its jobs on the thread of the callers, for virtual time.
    package init(inline context: Context) {
        queue = DatabaseJobs(maxCount: 0)
        inline = Inline(context)
    }

    /// Starts the thread, on which `open` creates the context.
    package init(maxJobCount: Int, open: @escaping @Sendable () throws -> Context) async throws {
        let queue = DatabaseJobs<Context>(maxCount: maxJobCount)
        self.queue = queue
        inline = nil
        try await withCheckedThrowingContinuation { (started: CheckedContinuation<Void, any Error>) in
            let failure = startThread(named: "martlet-read") {
                do {
                    let context = try open()
                    started.resume()
                    while let jobs = queue.take() {
                        for job in jobs { Self.perform(job, context) }
                    }
                } catch {
                    queue.close()
                    started.resume(throwing: error)
                }
                queue.ended()
            }
            if let failure { started.resume(throwing: failure) }
        }
    }

    deinit {
        queue.close()
    }

    private static func perform(_ job: Job<Context>, _ context: Context) {
        do {
            try context.database.execute("BEGIN")
            let completion = try job.run(context)
            try context.database.execute("COMMIT")
            completion()
        } catch {
            if context.database.isInTransaction { try? context.database.execute("ROLLBACK") }
            job.fail(error)
        }
    }

    /// Queues a job.
    package func submit<Value: Sendable>(
        _ body: @escaping @Sendable (Context) throws -> Value,
        _ completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        let job = Job<Context>(body, completion)
        if let context = inline?.context {
            Self.perform(job, context)
        } else if let refusal = queue.append([job]) {
            job.fail(refusal)
        }
    }

    /// Queues a job and waits until it is done.
    nonisolated(nonsending) package func perform<Value: Sendable>(
        _ body: @escaping @Sendable (Context) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            submit(body) { continuation.resume(with: $0) }
        }
    }

    /// Performs the queued jobs, and closes the connection. Later jobs fail with `closed`.
    nonisolated(nonsending) package func close() async {
        guard inline == nil else { return inline!.context = nil }
        await withCheckedContinuation { continuation in
            queue.close { continuation.resume() }
        }
    }
}
