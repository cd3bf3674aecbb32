/// A job of a writer.
package struct Job<Context: DatabaseContext>: Sendable {
    /// Changes the database, and returns the call of the completion.
    package let run: @Sendable (Context) throws -> @Sendable () -> Void
    /// Calls the completion with an error.
    package let fail: @Sendable (any Error) -> Void
}

extension Job {
    package init<Value: Sendable>(
        _ body: @escaping @Sendable (Context) throws -> Value,
        _ completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        run = { context in
            let value = try body(context)
            return { completion(.success(value)) }
        }
        fail = { completion(.failure($0)) }
    }
}

/// The transaction of a group of jobs; see `DatabaseWriter`.
///
/// | attempt | savepoints | after an error of a job |
/// |---|---|---|
/// | first | none: each would copy the pages that its job changes | if the job has changed nothing, it alone fails; otherwise the second attempt follows |
/// | second | one for each job | the changes of the job are rolled back |
///
/// A job is run in each attempt. Jobs that arrive during the first one join the transaction before its commit.
struct GroupCommit<Context: DatabaseContext> {
    /// The number of jobs of a transaction beyond which no further ones join it.
    static var maxJobCount: Int { 1024 }

    /// A job has thrown an error after changes.
    private struct NeedsSavepoints: Error {}

    private let begin: Statement
    private let save: Statement
    private let release: Statement
    private let commit: Statement

    init(_ database: Database) throws(DatabaseError) {
        begin = try database.prepare("BEGIN IMMEDIATE")
        save = try database.prepare("SAVEPOINT job")
        release = try database.prepare("RELEASE job")
        commit = try database.prepare("COMMIT")
    }

    /// Performs and commits jobs, and calls their completions.
    ///
    /// - Parameter joining: Takes the jobs that have arrived meanwhile.
    func commit(_ first: [Job<Context>], _ context: Context, joining: () -> [Job<Context>]) {
        var jobs = first
        do {
            let completions = try perform(&jobs, context, joining)
            for completion in completions { completion() }
        } catch {
            rollBack(context)
            for job in jobs { job.fail(error) }
        }
    }

    private func perform(
        _ jobs: inout [Job<Context>], _ context: Context, _ joining: () -> [Job<Context>]
    ) throws -> [@Sendable () -> Void] {
        do {
            try begin.run()
            var completions = try perform(jobs, context, inSavepoints: false)
            while jobs.count < Self.maxJobCount {
                let joined = joining()
                if joined.isEmpty { break }
                jobs += joined
                completions += try perform(joined, context, inSavepoints: false)
            }
            try commit(context)
            return completions
        } catch is NeedsSavepoints {
            rollBack(context)
            try begin.run()
            let completions = try perform(jobs, context, inSavepoints: true)
            try commit(context)
            return completions
        }
    }

    private func commit(_ context: Context) throws {
        try context.willCommit()
        try commit.run()
        context.committed()
    }

    /// Performs jobs, and returns the calls of their completions.
    private func perform(
        _ jobs: [Job<Context>], _ context: Context, inSavepoints: Bool
    ) throws -> [@Sendable () -> Void] {
        var completions: [@Sendable () -> Void] = []
        completions.reserveCapacity(jobs.count)
        for job in jobs {
            if inSavepoints { try save.run() }
            let changeCount = context.database.changeCount
            do {
                let completion = try job.run(context)
                if inSavepoints { try release.run() }
                completions.append(completion)
            } catch {
                // Some errors, such as a full disk, can end the whole transaction.
                guard context.database.isInTransaction else { throw error }
                if inSavepoints {
                    try context.database.execute("ROLLBACK TO job; RELEASE job")
                } else if context.database.changeCount != changeCount {
                    throw NeedsSavepoints()
                }
                context.rolledBack()
                completions.append { job.fail(error) }
            }
        }
        return completions
    }

    private func rollBack(_ context: Context) {
        if context.database.isInTransaction { try? context.database.execute("ROLLBACK") }
        context.rolledBack()
    }
}
