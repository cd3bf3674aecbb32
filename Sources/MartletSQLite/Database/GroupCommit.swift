/// A job of a writer.
struct Job<Context: DatabaseContext>: Sendable {
    /// Changes the database, and returns the call of the completion.
    let run: @Sendable (Context) throws -> @Sendable () -> Void
    /// Calls the completion with an error.
    let fail: @Sendable (any Error) -> Void
}

/// The transaction of a group of jobs; see `DatabaseWriter`.
struct GroupCommit<Context: DatabaseContext> {
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
            if context.database.isInTransaction { try? context.database.execute("ROLLBACK") }
            context.rolledBack()
            for job in jobs { job.fail(error) }
        }
    }

    /// Performs and commits the jobs, and returns the calls of their completions.
    private func perform(_ jobs: [Job<Context>], _ context: Context) throws -> [@Sendable () -> Void] {
        var completions: [@Sendable () -> Void] = []
        completions.reserveCapacity(jobs.count)
        try begin.run()
        for job in jobs {
            try save.run()
            do {
                let completion = try job.run(context)
                try release.run()
                completions.append(completion)
            } catch {
                // Some errors, such as a full disk, can end the whole transaction.
                guard context.database.isInTransaction else { throw error }
                try context.database.execute("ROLLBACK TO job; RELEASE job")
                context.rolledBack()
                completions.append { job.fail(error) }
            }
        }
        try commit.run()
        return completions
    }
}
