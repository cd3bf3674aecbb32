/// A job of a writer.
struct Job<Context: DatabaseContext>: Sendable {
    /// Changes the database, and returns the call of the completion.
    let run: @Sendable (Context) throws -> @Sendable () -> Void
    /// Calls the completion with an error.
    let fail: @Sendable (any Error) -> Void
}

/// The transaction of a group of jobs; see `DatabaseWriter`.
///
/// | attempt | savepoints | after an error of a job |
/// |---|---|---|
/// | first | none: each would copy the pages that its job changes | if the job has changed nothing, it alone fails; otherwise the second attempt follows |
/// | second | one for each job | the changes of the job are rolled back |
struct GroupCommit<Context: DatabaseContext> {
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

    func commit(_ jobs: [Job<Context>], _ context: Context) {
        do {
            let completions = try perform(jobs, context)
            for completion in completions { completion() }
        } catch {
            rollBack(context)
            for job in jobs { job.fail(error) }
        }
    }

    private func perform(_ jobs: [Job<Context>], _ context: Context) throws -> [@Sendable () -> Void] {
        do {
            return try perform(jobs, context, inSavepoints: false)
        } catch is NeedsSavepoints {
            rollBack(context)
            return try perform(jobs, context, inSavepoints: true)
        }
    }

    /// Performs and commits the jobs, and returns the calls of their completions.
    private func perform(
        _ jobs: [Job<Context>], _ context: Context, inSavepoints: Bool
    ) throws -> [@Sendable () -> Void] {
        var completions: [@Sendable () -> Void] = []
        completions.reserveCapacity(jobs.count)
        try begin.run()
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
        try commit.run()
        return completions
    }

    private func rollBack(_ context: Context) {
        if context.database.isInTransaction { try? context.database.execute("ROLLBACK") }
        context.rolledBack()
    }
}
