import Dispatch
import MartletFaultVFS
import MartletTransport
import Testing

@testable import MartletDatabase

@Suite("The thread that writes to a database")
struct DatabaseWriterTests {
    private final class Context: DatabaseContext {
        let database: Database
        let insert: Statement

        init(_ database: Database) throws {
            self.database = database
            try database.execute("CREATE TABLE IF NOT EXISTS a (i INTEGER PRIMARY KEY)")
            insert = try database.prepare("INSERT INTO a VALUES (?)")
        }

        func insert(_ value: Int64) throws {
            insert.bind(1, value)
            try insert.run()
        }

        func values() throws -> String? {
            try database.prepare("SELECT group_concat(i) FROM (SELECT i FROM a ORDER BY i)").firstText()
        }
    }

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func writer(_ disk: FaultyDisk? = nil, maxJobCount: Int = 100) async throws -> DatabaseWriter<Context> {
        try await DatabaseWriter(maxJobCount: maxJobCount) { [path = folder.file("a.db"), name = disk?.name] in
            var options = Database.Options()
            options.vfs = name
            return try Context(Database(path: path, options: options))
        }
    }

    /// Blocks the thread with a job until `release` is signalled. The job is run again with those that join it.
    private func block(_ writer: DatabaseWriter<Context>) async -> DispatchSemaphore {
        let release = DispatchSemaphore(value: 0)
        let isFirst = Guarded<Void?>(())
        await withCheckedContinuation { blocked in
            writer.submit({ _ in
                guard isFirst.withLock({ $0.take() }) != nil else { return }
                blocked.resume()
                release.wait()
            }) { _ in }
        }
        return release
    }

    /// The results of insertions that are queued together.
    private func submit(
        _ values: [Int64], to writer: DatabaseWriter<Context>
    ) async -> [Result<Void, any Error>] {
        await withCheckedContinuation { done in
            let results = Guarded<[Result<Void, any Error>]>([])
            writer.submit(
                values.map { value in
                    Job({ try $0.insert(value) }) { result in
                        let all = results.withLock { results in
                            results.append(result)
                            return results
                        }
                        if all.count == values.count { done.resume(returning: all) }
                    }
                })
        }
    }

    /// The outcomes of jobs that are performed in one transaction. The writer is then closed.
    private func group(
        _ writer: DatabaseWriter<Context>, _ jobs: [@Sendable (Context) throws -> Void]
    ) async -> [DatabaseError?] {
        let release = await block(writer)
        let outcomes = SharedOutcomes()
        for job in jobs {
            writer.submit(job) { result in
                if case .failure(let error) = result {
                    outcomes.append(error as? DatabaseError)
                } else {
                    outcomes.append(nil)
                }
            }
        }
        release.signal()
        await writer.close()
        return outcomes.list
    }

    private final class SharedOutcomes: Sendable {
        private let outcomes = Guarded<[DatabaseError?]>([])

        func append(_ error: DatabaseError?) { outcomes.withLock { $0.append(error) } }

        var list: [DatabaseError?] { outcomes.withLock { $0 } }
    }

    @Test func `a job that throws → its changes only are rolled back`() async throws {
        let writer = try await writer()
        let outcomes = await group(
            writer,
            [
                { try $0.insert(1) },
                {
                    try $0.insert(2)
                    try $0.insert(2)
                },
                { try $0.insert(3) },
            ])
        #expect(outcomes[0] == nil && outcomes[2] == nil)
        let isConstraint = if case .constraint? = outcomes[1] { true } else { false }
        #expect(isConstraint)
        let next = try await self.writer()
        #expect(try await next.perform { try $0.values() } == "1,3")
        await next.close()
    }

    @Test func `a commit that fails → an error for each job, and the next is committed`() async throws {
        let disk = try FaultyDisk()
        let writer = try await writer(disk)
        disk.fail(disk.callCount + 1, count: 1000, fault_enospc)
        await #expect(throws: DatabaseError.full(path: folder.file("a.db"))) {
            try await writer.perform { try $0.insert(1) }
        }
        disk.fail(0, count: 0, fault_none)
        try await writer.perform { try $0.insert(2) }
        #expect(try await writer.perform { try $0.values() } == "2")
        await writer.close()
    }

    @Test func `a job that arrives during a transaction → joins it before its commit`() async throws {
        let writer = try await writer()
        let runs = SharedOutcomes()
        let joined = Guarded<[Result<Void, any Error>]>([])
        try await writer.perform { context in
            runs.append(nil)
            try context.insert(1)
            guard runs.list.count == 1 else { return }
            // The error of a job with changes rolls the transaction back, and its jobs are run again.
            writer.submit({ context in
                try context.insert(2)
                throw DatabaseError.constraint("joined")
            }) { result in joined.withLock { $0.append(result) } }
        }
        #expect(runs.list.count == 2)
        #expect(try await writer.perform { try $0.values() } == "1")
        #expect(joined.withLock { $0.count } == 1)
        await writer.close()
    }

    @Test func `jobs that are queued together → their results in order, after one that fails, too`() async throws {
        let writer = try await writer()
        let results = await submit([1, 2, 2, 3], to: writer)
        #expect(results.map { (try? $0.get()) != nil } == [true, true, false, true])
        #expect(try await writer.perform { try $0.values() } == "1,2,3")
        await writer.close()
    }

    @Test func `jobs that exceed the queue together → queueFull for all of them`() async throws {
        let writer = try await writer(maxJobCount: 2)
        let release = await block(writer)
        let results = await submit([1, 2, 3], to: writer)
        release.signal()
        let refusals = results.map { result -> DatabaseError? in
            if case .failure(let error) = result { error as? DatabaseError } else { nil }
        }
        #expect(refusals == Array(repeating: .queueFull(limit: 2), count: 3))
        await writer.close()
    }

    @Test func `more jobs than the queue holds → queueFull for those`() async throws {
        let writer = try await writer(maxJobCount: 2)
        let outcomes = await group(writer, [{ try $0.insert(1) }, { try $0.insert(2) }, { try $0.insert(3) }])
        #expect(outcomes == [.queueFull(limit: 2), nil, nil])
    }

    @Test func `a job after close → closed; the jobs before are committed`() async throws {
        let writer = try await writer()
        try await writer.perform { try $0.insert(1) }
        await writer.close()
        await #expect(throws: DatabaseError.closed) { try await writer.perform { try $0.insert(2) } }
        let next = try await self.writer()
        #expect(try await next.perform { try $0.values() } == "1")
        await next.close()
    }

    @Test func `a context that cannot be opened → its error`() async throws {
        await #expect(throws: DatabaseError.closed) {
            _ = try await DatabaseWriter<Context>(maxJobCount: 1) { throw DatabaseError.closed }
        }
    }
}
