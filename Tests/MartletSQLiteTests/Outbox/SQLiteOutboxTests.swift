import Foundation
import MartletFaultVFS
import Testing

@testable import Martlet
@testable import MartletDatabase
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

    // W-31
    @Test func `rooms with canonically equivalent names → separate messages, cursors and dead letters`() async throws {
        let (composed, decomposed): (RoomName, RoomName) = ("caf\u{E9}", "cafe\u{301}")
        let (outbox, entries) = try await opened()
        try await outbox.commit(
            entries.transaction {
                $0.appended = [entries.entry(1, in: composed), entries.entry(2, in: decomposed)]
                $0.appended.append(entries.entry(3, in: decomposed))
                $0.outcomes = [entries.outcome(3, .failed(.expired), in: decomposed)]
                $0.cursors = [composed: RoomCursor(offset: 1), decomposed: RoomCursor(offset: 2)]
            })
        #expect(try await outbox.deadLetters(in: composed) == [])
        #expect(try await outbox.deadLetters(in: decomposed).map(\.id.counter) == [3])
        await outbox.close()
        let next = SQLiteOutbox(path: path)
        let state = try await next.open()
        #expect(state.pending.map(\.room) == [composed, decomposed])
        #expect(state.cursors == [composed: RoomCursor(offset: 1), decomposed: RoomCursor(offset: 2)])
        await next.close()
    }

    /// The words that a file of the folder contains.
    private func remains(of words: [String]) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).flatMap { name in
            let bytes = try Data(contentsOf: URL(fileURLWithPath: folder.file(name)))
            return words.filter { bytes.range(of: Data($0.utf8)) != nil }.map { "\(name): \($0)" }
        }
    }

    // C-74
    @Test func `accepted, cancelled, changed and discarded messages → their texts are in no file, while open`()
        async throws
    {
        let (outbox, entries) = try await opened()
        let texts = (1...4).map { "secret text \($0) " + String(repeating: "x", count: 3000) }
        let words = (1...4).map { "secret text \($0)" }
        try await outbox.commit(
            entries.transaction { transaction in
                transaction.appended = (1...4).map { entries.entry($0, texts[Int($0) - 1]) }
                transaction.appended += (5...40).map { entries.entry($0, String(repeating: "y", count: 3000)) }
            })
        #expect(try remains(of: words).count >= 4)
        try await outbox.commit(
            entries.transaction {
                $0.outcomes = [
                    entries.outcome(1, .accepted(offset: 1)), entries.outcome(2, .failed(.cancelled)),
                    entries.outcome(4, .failed(.expired)),
                ]
                $0.edits = [OutboxEdit(id: entries.id(3), room: "a", content: MessageContent(text: "changed"))]
            })
        try await outbox.commit(entries.transaction { $0.discarded = [entries.id(4)] })
        #expect(await outbox.truncateLog())
        #expect(try remains(of: words) == [])
        await outbox.close()
        #expect(try remains(of: words) == [])
    }

    // C-74
    @Test(.timeLimit(.minutes(10))) func `a removed text → the log is truncated later`() async throws {
        var options = SQLiteOutbox.Options()
        options.truncationDelay = .zero
        let (outbox, entries) = try await opened(options)
        let (attempts, attempt) = AsyncStream.makeStream(of: Void.self)
        outbox.truncation.start {
            let isDone = await outbox.truncateLog()
            attempt.yield()
            return isDone
        }
        var iterator = attempts.makeAsyncIterator()
        await iterator.next()
        try await outbox.commit(entries.transaction { $0.appended = [entries.entry(1, "secret text")] })
        #expect(try !remains(of: ["secret text"]).isEmpty)
        try await outbox.commit(entries.transaction { $0.outcomes = [entries.outcome(1, .failed(.cancelled))] })
        // The attempts of the opening and of this test may overlap, so that one more follows.
        while try !remains(of: ["secret text"]).isEmpty { await iterator.next() }
        await outbox.close()
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

    // C-74
    @Test func `an accepted message → its outcome, and its content is removed from the file`() async throws {
        let (outbox, entries) = try await opened()
        try await outbox.commit(entries.transaction { $0.appended = [entries.entry(1, "secret"), entries.entry(2)] })
        try await outbox.commit(
            entries.transaction { $0.outcomes = [entries.outcome(1, .accepted(offset: 9))] })
        await outbox.close()
        let lengths = try Database(path: path).prepare("SELECT total(length(content)) FROM message WHERE counter = 1")
        #expect(try lengths.firstInt64() == 0)
    }

    // C-80
    @Test func `a message that is marked twice → the time of the first mark`() async throws {
        let (outbox, entries) = try await opened()
        try await outbox.commit(entries.transaction { $0.appended = [entries.entry(1)] })
        for time in [5, 9] as [UInt64] {
            try await outbox.commit(
                entries.transaction {
                    $0.inFlight = ["a": [entries.id(1)]]
                    $0.inFlightAt = time
                })
        }
        #expect(try await outbox.open().pending.map(\.inFlightSince) == [5])
        await outbox.close()
    }

    // C-78, C-79
    @Test func `a transaction that fails → the quota, the counters and the cursors are those before`() async throws {
        let disk = try FaultyDisk()
        var options = SQLiteOutbox.Options()
        options.maxMessageCount = 2
        options.maxCursorCount = 2
        options.vfs = disk.name
        let (outbox, entries) = try await opened(options)
        try await outbox.commit(
            entries.transaction {
                $0.appended = [entries.entry(1)]
                $0.cursors = ["x": RoomCursor(offset: 3)]
            })
        let next = OutboxTables.reservedCount + 2
        // The second transaction reserves counters, and fails in its commit.
        disk.fail(disk.callCount + 1, count: 1_000_000, fault_enospc)
        await #expect(throws: DatabaseError.full(path: path)) {
            try await outbox.commit(
                entries.transaction {
                    $0.appended = [entries.entry(next)]
                    $0.cursors = ["y": RoomCursor(offset: 3)]
                })
        }
        disk.fail(0, count: 0, fault_none)
        #expect(try await outbox.open().cursors.keys.sorted() == ["x"])
        try await outbox.commit(
            entries.transaction {
                $0.appended = [entries.entry(next)]
                $0.cursors = ["y": RoomCursor(offset: 3)]
            })
        await #expect(throws: MartletError.outboxFull(limit: .messages(2))) {
            try await outbox.commit(entries.transaction { $0.appended = [entries.entry(next + 1)] })
        }
        let state = try await outbox.open()
        #expect(state.pending.map(\.id.counter) == [1, next] && state.cursors.keys.sorted() == ["x", "y"])
        #expect(state.nextCounter > next)
        await outbox.close()
        let reopened = SQLiteOutbox(path: path, options: options)
        #expect(try await reopened.open().nextCounter > next)
        await reopened.close()
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
        // More bytes than the quota, one message after another.
        for counter in UInt64(6)...20 {
            try await outbox.commit(
                entries.transaction { $0.outcomes = [entries.outcome(counter, .accepted(offset: counter))] })
            try await outbox.commit(entries.transaction { $0.appended = [entries.entry(counter + 1)] })
        }
        #expect(try await outbox.open().pending.map(\.id.counter) == [5, 21])
        await outbox.close()
    }

    // C-77
    @Test func `a message that replaces an unknown dead letter → unknownDeadLetter, nothing is stored`() async throws {
        let (outbox, entries) = try await opened()
        await #expect(throws: MartletError.unknownDeadLetter) {
            try await outbox.commit(
                entries.transaction {
                    $0.appended = [entries.entry(2), entries.entry(3)]
                    $0.replaced = [entries.id(3): entries.id(1)]
                })
        }
        #expect(try await outbox.open().pending == [])
        await outbox.close()
    }

    // C-84, Specs/hostile.md row 72
    @Test func `cursors beyond the maximum → the least recently used of rooms without pending messages are removed`()
        async throws
    {
        var options = SQLiteOutbox.Options()
        options.maxCursorCount = 4
        let (outbox, entries) = try await opened(options)
        try await outbox.commit(entries.transaction { $0.appended = [entries.entry(1, in: "1")] })
        for (offset, room) in (["1", "2", "3", "4", "2", "5"] as [RoomName]).enumerated() {
            try await outbox.commit(
                entries.transaction { $0.cursors = [room: RoomCursor(offset: UInt64(offset + 1))] })
        }
        #expect(try await outbox.open().cursors.keys.sorted() == ["1", "2", "4", "5"])
        await outbox.close()
    }

    // C-84, Specs/hostile.md row 72
    @Test func `dead letters beyond the maximum of bytes → the oldest are removed, and the newest remains`()
        async throws
    {
        var options = SQLiteOutbox.Options()
        options.maxDeadLetterByteCount = 150
        let (outbox, entries) = try await opened(options)
        func fail(_ counter: UInt64, byteCount: Int) async throws -> [UInt64] {
            try await outbox.commit(
                entries.transaction {
                    $0.appended = [entries.entry(counter, String(repeating: "a", count: byteCount))]
                    $0.outcomes = [entries.outcome(counter, .failed(.closed))]
                })
            return try await outbox.deadLetters(in: "a").map(\.id.counter)
        }
        #expect(try await fail(1, byteCount: 60) == [1])
        #expect(try await fail(2, byteCount: 60) == [1, 2])
        #expect(try await fail(3, byteCount: 60) == [2, 3])
        #expect(try await fail(4, byteCount: 200) == [4])
        await outbox.close()
    }

    //
    @Test func `an outbox whose connection is still open → locked`() throws {
        let file = OutboxFile(path: path, options: .init())
        var tables: OutboxTables? = try file.open()
        var statement = try tables?.database.prepare("SELECT 1")
        tables = nil
        #expect(throws: DatabaseError.locked(path: path)) { try file.open() }
        #expect(try statement?.firstInt64() == 1)
        statement = nil
        #expect(throws: Never.self) { try file.open() }
    }

    @Test func `a file of the first version → its messages, in flight since now`() async throws {
        let (outbox, entries) = try await opened()
        try await outbox.commit(entries.transaction { $0.appended = [entries.entry(1, inFlightSince: 7)] })
        await outbox.close()
        try Database(path: path).execute(
            """
            ALTER TABLE message DROP COLUMN in_flight_at; ALTER TABLE message DROP COLUMN device;
            ALTER TABLE message DROP COLUMN file;
            ALTER TABLE cursor DROP COLUMN used; DROP TABLE owner; DROP TABLE points;
            PRAGMA user_version=1
            """)
        let next = SQLiteOutbox(path: path)
        let since = try #require(try await next.open().pending.first?.inFlightSince)
        #expect(since > 7)
        let other = AccountName("other")
        await #expect(throws: MartletError.outboxOfAnotherAccount("alice")) { try await next.claim(for: other) }
        await next.close()
    }

    // C-115
    @Test func `batches of points → the latest content of each after a restart, in the order of their IDs`()
        async throws
    {
        let (outbox, entries) = try await opened()
        func points(_ id: UInt64, _ count: Int) -> OutboxPoints {
            OutboxPoints(id: id, content: [UInt8](repeating: UInt8(id), count: count), count: count)
        }
        try await outbox.commit(entries.transaction { $0.keptPoints = [points(10, 1), points(9, 2), points(11, 3)] })
        try await outbox.commit(
            entries.transaction {
                $0.keptPoints = [points(10, 4), points(12, 5)]
                $0.removedPoints = [11, 12, 99]
            })
        await outbox.close()
        let next = SQLiteOutbox(path: path)
        #expect(try await next.open().points == [points(9, 2), points(10, 4)])
        await next.close()
        try Database(path: path).execute("DROP TABLE points; PRAGMA user_version=5")
        #expect(try await next.open().points.isEmpty)
        await next.close()
    }

    #if os(Linux)
        // C-106
        @Test func `a hundred outboxes with messages in one process → four threads at most, two descriptors of each`()
            async throws
        {
            let outboxes = (0..<100).map { SQLiteOutbox(path: folder.file("outbox \($0)")) }
            for outbox in outboxes {
                let entries = Entries(device: try await outbox.open().device)
                try await outbox.commit(entries.transaction { $0.appended = [entries.entry(1)] })
            }
            let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { thread in
                (try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)) == "martlet-outbox\n"
            }
            #expect((1...WriterThread.maxCount).contains(threads))
            let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { descriptor in
                let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
                return file?.hasPrefix(folder.path) == true
            }
            // That of the locks of the folder is the last one.
            #expect(descriptors == 2 * outboxes.count + 1)
            for outbox in outboxes {
                #expect(try await outbox.open().pending.count == 1)
                await outbox.close()
            }
        }
    #endif

    @Test func `a second outbox with the same file → locked; after the end of the first → it opens`() async throws {
        let (outbox, _) = try await opened()
        let second = SQLiteOutbox(path: path)
        await #expect(throws: DatabaseError.locked(path: path)) { try await second.open() }
        await outbox.close()
        _ = try await second.open()
        await second.close()
    }

    // C-106
    @Test func `a file that another program reads → locked while it is open, and not to be read while in use`()
        async throws
    {
        let (outbox, _) = try await opened()
        #expect(throws: DatabaseError.locked(path: path)) { try read() }
        await outbox.close()
        let database = try Database(path: path)
        _ = try database.schemaVersion()
        await #expect(throws: DatabaseError.locked(path: path)) { try await outbox.open() }
        withExtendedLifetime(database) {}
    }

    private func read() throws {
        var options = Database.Options()
        options.isReadOnly = true
        options.busyTimeout = .zero
        _ = try Database(path: path, options: options).schemaVersion()
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
                transaction.appended = (1...200).map { entries.entry($0, text, inFlightSince: 7) }
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
