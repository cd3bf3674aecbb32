import Foundation
import Testing

@testable import Martlet
@testable import MartletSQLite

@Suite("An outbox in a file")
struct SQLiteOutboxTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("outbox")
    }

    private func opened(_ options: SQLiteOutbox.Options = .init()) async throws -> (SQLiteOutbox, Entries) {
        let outbox = SQLiteOutbox(path: path, options: options)
        return (outbox, Entries(device: try await outbox.open().device))
    }

    // C-74
    @Test func `an accepted message → its outcome, up to the maximum number`() async throws {
        var options = SQLiteOutbox.Options()
        options.maxOutcomeCount = 2
        let (outbox, entries) = try await opened(options)
        try await outbox.commit(
            entries.transaction {
                $0.appended = (1...3).map { entries.entry($0) }
                $0.outcomes = (1...3).map { entries.outcome($0, .accepted(offset: $0 + 10)) }
            })
        await outbox.close()
        let next = SQLiteOutbox(path: path, options: options)
        let outcomes = try await next.open().outcomes
        #expect(outcomes == [entries.outcome(2, .accepted(offset: 12)), entries.outcome(3, .accepted(offset: 13))])
        await next.close()
    }

    @Test func `an outcome older than its lifetime → removed by the next start`() async throws {
        let (outbox, entries) = try await opened()
        try await outbox.commit(
            entries.transaction {
                $0.appended = [entries.entry(1), entries.entry(2)]
                $0.outcomes = [entries.outcome(1, .accepted(offset: 1))]
            })
        await outbox.close()
        try Database(path: path).execute("UPDATE message SET settled_at = 1 WHERE state = 2")
        let next = SQLiteOutbox(path: path)
        let state = try await next.open()
        #expect(state.outcomes == [] && state.pending.map(\.id.counter) == [2])
        await next.close()
    }

    // C-78
    @Test func `more messages or bytes than the quota → outboxFull, nothing is stored; an outcome makes room`()
        async throws
    {
        var options = SQLiteOutbox.Options()
        options.maxMessageCount = 2
        options.maxByteCount = 30
        let (outbox, entries) = try await opened(options)
        try await outbox.commit(entries.transaction { $0.appended = [entries.entry(1)] })
        await #expect(throws: MartletError.outboxFull(limit: .messages(2))) {
            try await outbox.commit(
                entries.transaction { $0.appended = [entries.entry(2), entries.entry(3)] })
        }
        await #expect(throws: MartletError.outboxFull(limit: .bytes(30))) {
            try await outbox.commit(
                entries.transaction { $0.appended = [entries.entry(4, String(repeating: "a", count: 30))] })
        }
        try await outbox.commit(entries.transaction { $0.appended = [entries.entry(5)] })
        try await outbox.commit(entries.transaction { $0.outcomes = [entries.outcome(1, .accepted(offset: 1))] })
        try await outbox.commit(entries.transaction { $0.appended = [entries.entry(6)] })
        #expect(try await outbox.open().pending.map(\.id.counter) == [5, 6])
        await outbox.close()
    }

    @Test func `a second outbox with the same file → locked; after the end of the first → it opens`() async throws {
        let (outbox, _) = try await opened()
        let second = SQLiteOutbox(path: path)
        await #expect(throws: DatabaseError.locked(path: path)) { try await second.open() }
        await outbox.close()
        _ = try await second.open()
        await second.close()
    }

    @Test func `the file of another application → otherFormat, and it is not changed`() async throws {
        let database = try Database(path: path)
        try database.execute("CREATE TABLE a (i); PRAGMA user_version=1")
        let outbox = SQLiteOutbox(path: path)
        await #expect(throws: DatabaseError.otherFormat(path: path)) { try await outbox.open() }
        #expect(try database.prepare("SELECT count(*) FROM sqlite_master").firstInt64() == 1)
    }

    @Test func `a file that is no database → set aside, a new outbox`() async throws {
        try Data(repeating: 7, count: 5000).write(to: URL(fileURLWithPath: path))
        let outbox = SQLiteOutbox(path: path)
        let state = try await outbox.open()
        #expect(state.pending == [] && state.nextCounter > OutboxFile.skippedCount)
        let recovery = try #require(outbox.recovery)
        #expect(recovery.messageCount == 0 && !recovery.keepsIdentity)
        #expect(recovery.path.hasPrefix(path + ".corrupt-"))
        #expect(FileManager.default.contents(atPath: recovery.path)?.count == 5000)
        await outbox.close()
    }

    @Test func `a damaged page of messages → set aside, the other messages are kept under their IDs`() async throws {
        let (outbox, entries) = try await opened()
        let text = String(repeating: "a", count: 500)
        try await outbox.commit(
            entries.transaction { transaction in
                transaction.appended = (1...200).map { entries.entry($0, text, isInFlight: true) }
                transaction.cursors = ["a": RoomCursor(offset: 9)]
            })
        await outbox.close()
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let length = try handle.seekToEnd()
        try handle.seek(toOffset: length / 4096 / 2 * 4096)
        try handle.write(contentsOf: Data(repeating: 0xA5, count: 4096))
        try handle.close()
        let next = SQLiteOutbox(path: path)
        let state = try await next.open()
        let recovery = try #require(next.recovery)
        #expect(state.device == entries.device && recovery.keepsIdentity)
        #expect(state.nextCounter > OutboxFile.skippedCount)
        #expect(state.cursors == ["a": RoomCursor(offset: 9)])
        let counters = state.pending.map(\.id.counter)
        #expect(counters.count > 100 && counters.count < 200 && counters == counters.sorted())
        #expect(counters.first == 1 && counters.last == 200 && recovery.messageCount == counters.count)
        #expect(state.pending.allSatisfy { $0.content.text == text })
        await next.close()
    }

    @Test func `an operation on an outbox that is not open → closed`() async throws {
        let outbox = SQLiteOutbox(path: path)
        await #expect(throws: DatabaseError.closed) { try await outbox.commit(OutboxTransaction()) }
    }
}
