import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletPostgres

/// Stores of several relays on one database.
@Suite(.enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(10)))
struct SharedDatabaseTests {
    private let uri: String
    private let server: PostgresServer

    init() async throws {
        server = try await PostgresServer.common()
        uri = try await server.database()
    }

    private func store(isShared: Bool = true) async throws -> PostgresStore {
        try await .patient(uri, isShared: isShared)
    }

    private func sql(_ statement: String) async throws -> String {
        try await server.sql("SET search_path = martlet; " + statement, in: uri)
    }

    private func isRolesChanged(_ error: any Error) -> Bool {
        if case .rolesChanged? = error as? RoomStoreError { true } else { false }
    }

    @Test func `one of two stores does not share the database → the later one is refused`() async throws {
        for (first, second) in [(false, false), (false, true), (true, false)] {
            let open = try await store(isShared: first)
            await #expect(throws: PostgresError.inUse) { try await store(isShared: second) }
            await open.close()
        }
        for store in [try await store(), try await store()] { await store.close() }
    }

    //
    @Test func `changes → the revisions that differ, and a room without a log if the database has none`()
        async throws
    {
        let (first, second) = (try await store(), try await store())
        let log = try await first.load(.lobby).log
        _ = try await first.load(.attic)
        let attic = RoomRevision(room: .attic, log: try await second.load(.attic).log, lastOffset: 0)
        let known = [RoomRevision(room: .lobby, log: log, lastOffset: 0), attic]
        #expect(try await second.changes(since: known).isEmpty)
        _ = try await first.append(entries(1...3), to: .lobby)
        #expect(
            try await second.changes(since: known) == [RoomRevision(room: .lobby, log: log, lastOffset: 3)])
        _ = try await sql("DELETE FROM rooms WHERE name = 'attic'")
        #expect(try await second.changes(since: [attic]) == [RoomRevision(room: .attic, log: nil, lastOffset: 0)])
        #expect(try await second.changes(since: []).isEmpty)
        for store in [first, second] { await store.close() }
    }

    //
    @Test func `an append while the messages of a fold are read → the fold has it, and the room is not damaged`()
        async throws
    {
        let store = try await store()
        let log = try #require(try await store.load(.lobby).log)
        _ = try await store.append(entries(1...3), to: .lobby)
        let loop = try EventLoop(name: "locks")
        let (holder, reader) = (connection(on: loop), connection(on: loop))
        #expect(await holder.ready())
        #expect(await reader.ready())
        let lock = PostgresStatement("lock", "LOCK TABLE batches IN ACCESS EXCLUSIVE MODE")
        _ = try await holder.run([PostgresQuery(PostgresStatements.begin), PostgresQuery(lock)])
        async let fold = PostgresReader.fold(.lobby, reader)
        let waiting = """
            SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
            """
        while !Task.isCancelled, try await sql(waiting) == "0" { await Task.yield() }
        let append = NumberedAppend(
            append: RoomAppend(room: .lobby, entries: entries(4...4)),
            room: KnownRoom(id: try #require(Int64(try await sql("SELECT id FROM rooms"))), log: log), number: 1,
            reply: RoomStoreReply { _ in })
        let query = WriteGroup.query(
            appending: [append], writer: [UInt8](repeating: 0, count: 16), earliestTime: 0)
        _ = try await holder.run([query, PostgresQuery(PostgresStatements.commit)])
        #expect(try await fold?.row.lastOffset == 4)
        for connection in [holder, reader] { await connection.close() }
        await store.close()
        await loop.shutdown()
    }

    private func connection(on loop: EventLoop) -> PostgresConnection {
        PostgresConnection(
            to: uri, on: loop, PostgresMachine.Deadlines(),
            prepareSession: { connection throws(PostgresError) in
                try await PostgresSchema.prepare(connection, creates: false)
            }, onFailure: { _ in })
    }

    //
    @Test func `roles that another store has changed → neither roles nor messages by the former ones are stored`()
        async throws
    {
        let (first, second) = (try await store(), try await store())
        _ = try await first.load(.lobby)
        let creation = RoomCreation(account: AccountName("alice"), maxRoomCount: 5)
        try await first.saveRoles([1], of: .lobby, creation: creation)
        let snapshot = try await second.load(.lobby)
        #expect(snapshot.roles == [1] && snapshot.rolesVersion == 1)
        #expect(try await second.append(entries(1...1), to: .lobby, rolesVersion: 1) == 1)
        try await first.saveRoles([2], of: .lobby, replacing: 1, creation: nil)
        await #expect {
            try await second.append(entries(2...2), to: .lobby, rolesVersion: 1)
        } throws: { isRolesChanged($0) }
        await #expect {
            try await second.saveRoles([3], of: .lobby, replacing: 1, creation: nil)
        } throws: { isRolesChanged($0) }
        let changed = try await second.load(.lobby)
        #expect(changed.roles == [2] && changed.rolesVersion == 2 && changed.lastOffset == 1)
        try await second.saveRoles([3], of: .lobby, replacing: 2, creation: nil)
        #expect(try await second.append(entries(2...2), to: .lobby, rolesVersion: 3) == 1)
        let revision = RoomRevision(room: .lobby, log: snapshot.log, lastOffset: 1, rolesVersion: 2)
        #expect(try await first.changes(since: [revision]).map(\.rolesVersion) == [3])
        for store in [first, second] { await store.close() }
    }

    //
    @Test func `a room that was removed and is used again → the version of its roles remains`() async throws {
        let store = try await store()
        _ = try await store.load(.lobby)
        try await store.saveRoles([1], of: .lobby, creation: nil)
        _ = try await sql("DELETE FROM rooms")
        #expect(try await store.load(.lobby).rolesVersion == 1)
        #expect(try await store.append(entries(1...1), to: .lobby, rolesVersion: 1) == 1)
        await store.close()
    }

    //
    @Test func `a store appends or changes roles → the other one reports it`() async throws {
        let (first, second) = (try await store(), try await store())
        let log = try await first.load(.lobby).log
        let (reports, continuation) = AsyncStream<RoomRevision>.makeStream()
        second.observe { for revision in $0 { continuation.yield(revision) } }
        // The session may begin to listen after the store has opened.
        let listening = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        while try await server.sql(listening + " AND query = 'SET synchronous_commit = off'", in: uri) != "2" {}
        var iterator = reports.makeAsyncIterator()
        _ = try await first.append(entries(1...2), to: .lobby)
        #expect(await iterator.next() == RoomRevision(room: .lobby, log: log, lastOffset: 2))
        try await first.saveRoles([1], of: .lobby, creation: nil)
        #expect(await iterator.next()?.rolesVersion == 1)
        for store in [first, second] { await store.close() }
    }

    @Test func `a report as a text → the same revision, and any other text is ignored`() throws {
        let room = RoomName("a room with spaces")
        let revision = RoomRevision(room: room, log: LogID(rawValue: .max), lastOffset: 7, rolesVersion: 3)
        #expect(RevisionReports.revision(in: RevisionReports.text(of: revision)) == revision)
        for text in ["", "1 2 3", "1 2 3 ", "x 2 3 lobby", "1 -2 3 lobby", "1 \(UInt64.max) 3 lobby"] {
            #expect(RevisionReports.revision(in: text) == nil)
        }
    }

    @Test func `more reports than a statement or the bound → the newest of each room, and no more than the bound`()
        throws
    {
        var reports = RevisionReports()
        for number in 0...RevisionReports.maxCount {
            for end in 1...2 as ClosedRange<UInt64> {
                reports.add(RoomRevision(room: try #require(RoomName("room\(number)")), log: nil, lastOffset: end))
            }
        }
        var taken: [RoomRevision] = []
        while !reports.isEmpty { taken += reports.take() }
        #expect(taken.count == RevisionReports.maxCount && taken.allSatisfy { $0.lastOffset == 2 })
    }
}
