import Martlet
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletPostgres

/// Rooms that are spread over the databases b and c: attic is in b, lobby in c.
@Suite(.enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(10)))
struct PostgresShardsTests {
    private let server: PostgresServer
    private let databases: [String: String]
    private let alice = AccountName("alice")

    init() async throws {
        server = try await PostgresServer.common()
        databases = ["b": try await server.database(), "c": try await server.database()]
    }

    private func names(in database: String) async throws -> String {
        let names = "SELECT string_agg(convert_from(name, 'UTF8'), ' ' ORDER BY name) FROM martlet.rooms"
        return try await server.sql(names, in: databases[database])
    }

    //
    @Test func `rooms and records → in the database of the room, and lists of both in their order`() async throws {
        let store = try await PostgresShards.patient(databases)
        let rooms: [RoomName] = ["attic", "lobby", "room 0", "room 1", "room 2", "room 3"]
        for (index, room) in rooms.enumerated() {
            _ = try await store.load(room)
            _ = try await store.append(entries(1...UInt64(index + 1)), to: room)
            let joined = MembershipRecord(isJoined: true, changedAt: 1)
            #expect(try await store.saveMemberships([alice: joined], of: room) == [])
        }
        let shards = try RoomShards(["b", "c"])
        for (place, name) in ["b", "c"].enumerated() {
            let own = rooms.filter { shards.place(of: $0) == place }
            #expect(try await names(in: name) == own.map(\.text).joined(separator: " ") && own.count > 1)
        }
        //
        let all = try await store.memberships(of: alice, .page(after: nil, maxCount: 10))
        #expect(all.map(\.room) == rooms && all.map(\.entry.lastOffset) == [1, 2, 3, 4, 5, 6])
        let page = try await store.memberships(of: alice, .page(after: "attic", maxCount: 3))
        #expect(page.map(\.room) == Array(rooms[1...3]))
        #expect(try await store.memberships(of: alice, .names).map(\.room) == rooms)
        let some = Dictionary(uniqueKeysWithValues: rooms[..<4].map { ($0, AccountProgress(delivered: 1, read: 1)) })
        #expect(try await store.memberships(of: alice, .rooms(some)).map(\.entry.read) == [1, 1, 1, 1])
        #expect(try await store.memberships(of: alice, .rooms([:])).isEmpty)
        try await store.call { .touch(rooms, $0) }
        try await store.call { .touch([], $0) }
        #expect(try await store.hasRoles() == false)
        try await store.saveRoles([1], of: .lobby, creation: nil)
        #expect(try await store.hasRoles())
        await store.close()
    }

    //
    @Test func `another relay has appended in both databases → changes and reports name both rooms`() async throws {
        let other = try await PostgresShards.patient(databases)
        var known: [RoomRevision] = []
        for room in [RoomName.lobby, .attic] {
            known.append(RoomRevision(room: room, log: try await other.load(room).log, lastOffset: 0))
            _ = try await other.append(entries(1...2), to: room)
        }
        let store = try await PostgresShards.patient(databases)
        let (reports, continuation) = AsyncStream<[RoomRevision]>.makeStream()
        store.observe { continuation.yield($0) }
        var iterator = reports.makeAsyncIterator()
        let first = try await store.changes(since: known)
        let second = try #require(await iterator.next())
        #expect(Set((first + second).map(\.room)) == [.lobby, .attic] && (first + second).map(\.lastOffset) == [2, 2])
        #expect(try await store.changes(since: []).isEmpty)
        for store in [store, other] { await store.close() }
    }

    //
    @Test func `datagrams of the bus → over the database with the first name`() async throws {
        let stores = [try await PostgresShards.patient(databases), try await .patient(databases)]
        let listening = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND query = 'SET synchronous_commit = off' AND state = 'idle'
            """
        while !Task.isCancelled, try await server.sql(listening, in: databases["b"]) != "2" { await Task.yield() }
        let (datagrams, continuation) = AsyncStream<[UInt8]>.makeStream()
        stores[1].bus.start { continuation.yield($0) }
        var iterator = datagrams.makeAsyncIterator()
        stores[0].bus.send([[1, 2]])
        #expect(await iterator.next() == [1, 2])
        for store in stores { await store.close() }
    }

    //
    @Test func `the key of the bus → that of the database with the first name`() async throws {
        let store = try await PostgresShards.patient(databases)
        let key = try #require(store.beginBus()).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let select = "SELECT encode(key, 'hex') FROM martlet.bus"
        #expect(try await server.sql(select, in: databases["b"]) == key)
        #expect(try await server.sql(select, in: databases["c"]) != key)
        await store.close()
    }

    // MARK: Names

    private func expectRefused(
        _ databases: [String: String], _ database: String, found: String?, given: String?
    ) async throws {
        try await expectRefused(databases, database, .wrongShard(found: found, given: given))
    }

    private func expectRefused(
        _ databases: [String: String], _ database: String, _ expected: PostgresError
    ) async throws {
        for open in [
            { @Sendable in _ = try await PostgresShards.patient(databases) },
            { @Sendable in try await PostgresShards.patientCheck(databases) },
        ] {
            await #expect {
                try await open()
            } throws: {
                guard let failure = $0 as? PostgresShards.Failure else { return false }
                return failure.database == database && failure.cause as? PostgresError == expected
            }
        }
    }

    //
    @Test func `databases with other names than at first → refused by the start and the check, and nothing is changed`()
        async throws
    {
        let (b, c) = (try #require(databases["b"]), try #require(databases["c"]))
        try await PostgresShards.check(databases.map { ($0.key, $0.value) })
        #expect(try await server.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'martlet'", in: b) == "0")
        // Empty databases keep their names from the first start on.
        await (try await PostgresShards.patient(databases)).close()
        try await PostgresShards.check(databases.map { ($0.key, $0.value) })
        let further = try await server.database()
        try await expectRefused(["b": c, "c": b], "b", found: "c of b,c", given: "b of b,c")
        try await expectRefused(["b": b, "c": b], "c", found: "b of b,c", given: "c of b,c")
        try await expectRefused(["b": b], "b", found: "b of b,c", given: "b of b")
        try await expectRefused(["b": b, "c": c, "d": further], "b", found: "b of b,c", given: "b of b,c,d")
        let alone = PostgresError.wrongShard(found: "c of b,c", given: nil)
        await #expect(throws: alone) { try await PostgresStore.patient(c) }
        await #expect(throws: alone) { try await PostgresStore.check(c, isAlone: true) }
        try await PostgresStore.check(c)
        await (try await PostgresShards.patient(databases)).close()
        #expect(try await server.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'martlet'", in: further) == "0")
    }

    //
    @Test func `a database with rooms that are not spread → refused, and it is still that store`() async throws {
        let single = try #require(databases["b"])
        let store = try await PostgresStore.patient(single)
        _ = try await store.load(.attic)
        try await expectRefused(databases, "b", found: nil, given: "b of b,c")
        await store.close()
        try await expectRefused(databases, "b", found: nil, given: "b of b,c")
        await (try await PostgresStore.patient(single)).close()
    }

    //
    @Test func `an empty database beside ones that were used → refused, and it is not changed`() async throws {
        let (b, c) = (try #require(databases["b"]), try #require(databases["c"]))
        let empty = try await server.database()
        let store = try await PostgresShards.patient(databases)
        // The first database is claimed last, so this was no start that was interrupted.
        try await expectRefused(["b": b, "c": empty], "c", .unclaimed(given: "c of b,c"))
        _ = try await store.load(.lobby)
        try await expectRefused(["b": b, "c": empty], "c", .unclaimed(given: "c of b,c"))
        try await expectRefused(["b": empty, "c": c], "b", .unclaimed(given: "b of b,c"))
        await store.close()
        try await expectRefused(["b": empty, "c": c], "b", .unclaimed(given: "b of b,c"))
        #expect(try await server.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'martlet'", in: empty) == "0")
    }

    //
    @Test func `a database of a different installation with the same names → refused`() async throws {
        let others = ["b": try await server.database(), "c": try await server.database()]
        for databases in [databases, others] { await (try await PostgresShards.patient(databases)).close() }
        let mixed = ["b": try #require(databases["b"]), "c": try #require(others["c"])]
        try await expectRefused(mixed, "c", .otherInstallation(given: "c of b,c"))
    }

    //
    @Test func `a first start that was interrupted before the first database → a later start claims it`() async throws {
        let identity = "SELECT installation FROM martlet.shard"
        await (try await PostgresShards.patient(databases)).close()
        let installation = try await server.sql(identity, in: databases["c"])
        try await server.sql("DELETE FROM martlet.shard", in: databases["b"])
        await (try await PostgresShards.patient(databases)).close()
        #expect(try await server.sql(identity, in: databases["b"]) == installation && !installation.isEmpty)
        #expect(try await server.sql(identity, in: databases["c"]) == installation)
    }

    //
    @Test func `first starts at the same time, with equal names and with exchanged ones → both, and at most one`()
        async throws
    {
        async let first = PostgresShards.patient(databases)
        async let second = PostgresShards.patient(databases)
        for store in [try await first, try await second] { await store.close() }
        let (b, c) = (try await server.database(), try await server.database())
        func start(_ databases: [String: String]) async -> PostgresShards? {
            try? await PostgresShards.patient(databases)
        }
        async let straight = start(["b": b, "c": c])
        async let exchanged = start(["b": c, "c": b])
        let opened = [await straight, await exchanged].compactMap { $0 }
        #expect(opened.count <= 1)
        for store in opened { await store.close() }
        // The way out of databases without rooms.
        for uri in [b, c] { try await server.sql("DROP SCHEMA martlet CASCADE", in: uri) }
        await (try await PostgresShards.patient(["b": c, "c": b])).close()
    }

    //
    @Test func `an open database without a place → refused to stores with a place, and to sources of copies`()
        async throws
    {
        let uri = try #require(databases["b"])
        await (try await PostgresStore.patient(uri)).close()
        let place = ShardPlace("b", in: try RoomShards(["b", "c"]), of: "1")
        var configuration = PostgresStore.Configuration.patient()
        configuration.place = place
        let expected = PostgresError.unclaimed(given: "b of b,c")
        await #expect(throws: expected) { try await PostgresStore(uri, configuration: configuration) }
        await #expect(throws: expected) { try await PostgresTransferSource(uri, as: place) }
        let all = databases.map { ($0.key, $0.value) }
        await #expect(throws: PostgresShards.Failure.self) { try await ShardsTransferSource(all) }
        try await PostgresShards.check(all)
    }

    //
    @Test func `a database that cannot be opened → an error with its name, the others are closed and still copies`()
        async throws
    {
        let (b, c) = (try #require(databases["b"]), try #require(databases["c"]))
        await #expect {
            try await PostgresShards.patient(["b": b, "c": "postgres://nobody@/none?host=/nowhere"])
        } throws: {
            guard let failure = $0 as? PostgresShards.Failure, failure.database == "c" else { return false }
            return if case .unavailable? = failure.cause as? PostgresError { true } else { false }
        }
        await (try await PostgresShards.patient(databases)).close()
        try await server.sql("INSERT INTO martlet.copy VALUES (1, 'a source', 1)", in: b)
        try await server.sql("INSERT INTO martlet.copy VALUES (1, 'a source', 0)", in: c)
        await #expect {
            try await PostgresShards.patient(databases)
        } throws: {
            guard let failure = $0 as? PostgresShards.Failure, failure.database == "c" else { return false }
            return failure.cause as? StoreTransferError == .incomplete(source: "a source")
        }
        #expect(try await server.sql("SELECT is_complete FROM martlet.copy", in: b) == "1")
        let sessions = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'martlet'
            """
        for uri in [b, c] {
            while !Task.isCancelled, try await server.sql(sessions, in: uri) != "0" { await Task.yield() }
        }
        try await server.sql("UPDATE martlet.copy SET is_complete = 1", in: c)
        await (try await PostgresShards.patient(databases)).close()
        for uri in [b, c] { #expect(try await server.sql("SELECT count(*) FROM martlet.copy", in: uri) == "0") }
    }

    //
    @Test(arguments: ["own", "installation"])
    func `a database that becomes a different one while the store is open → its calls wait, as if it were away`(
        column: String
    ) async throws {
        let store = try await PostgresShards.patient(databases)
        _ = try await store.load(.attic)
        _ = try await store.load(.lobby)
        let name = try await server.sql("SELECT current_database()", in: databases["b"])
        func sessions() async throws -> Int {
            let count = "SELECT sessions FROM pg_stat_database WHERE datname = '\(name)'"
            return try #require(Int(try await server.sql(count)))
        }
        let kept = try await server.sql("SELECT \(column) FROM martlet.shard", in: databases["b"])
        try await server.sql("UPDATE martlet.shard SET \(column) = 'c'", in: databases["b"])
        let before = try await sessions()
        try await server.sql(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'martlet' AND datname = '\(name)'
            """)
        async let appended = store.append(entries(1...1), to: .attic)
        // The store has five connections, which are refused again and again.
        while !Task.isCancelled, try await sessions() < before + 12 { await Task.yield() }
        #expect(try await store.append(entries(1...1), to: .lobby) == 1)
        // The connection to other relays checks the place, too.
        let listening = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND query = 'SET synchronous_commit = off'
            """
        #expect(try await server.sql(listening, in: databases["b"]) == "0")
        try await server.sql("UPDATE martlet.shard SET \(column) = '\(kept)'", in: databases["b"])
        #expect(try await appended == 1)
        await store.close()
    }

    // MARK: One database away

    //
    @Test func `one of two databases is away → rooms of the other go on, and those of the first when it is back`()
        async throws
    {
        let outage = try await PostgresServer(settings: ["fsync=off"])
        let databases = ["b": try await outage.database(), "c": try #require(self.databases["c"])]
        let (events, continuation) = AsyncStream<String>.makeStream()
        let store = try await PostgresShards.patient(databases) { name, event in
            if case .lost = event { continuation.yield("lost \(name)") }
            if case .recovered = event { continuation.yield("recovered \(name)") }
        }
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: store, authenticator: .allowAll,
            policy: .allowAll)
        let address = try relay.start()[0]
        try await withClient(try Client(to: "martlet://\(address)", as: .anonymous("alice"))) { client in
            let (attic, lobby) = (try await client.open(room: "attic"), try await client.open(room: "lobby"))
            _ = try await attic.send("1").accepted()
            try await outage.stop()
            var iterator = events.makeAsyncIterator()
            #expect(await iterator.next() == "lost b")
            let waiting = try await attic.send("2")
            for number in 1...5 as ClosedRange<UInt64> {
                #expect(try await lobby.send("\(number)").accepted() == number)
            }
            try await outage.start()
            #expect(try await waiting.accepted() == 2)
            #expect(await iterator.next() == "recovered b")
        }
        await relay.shutdown()
        await store.close()
    }

    //
    @Test func `changes while one of two databases is away → the answer of the other, and a report when it is back`()
        async throws
    {
        let outage = try await PostgresServer(settings: ["fsync=off"])
        let databases = ["b": try await outage.database(), "c": try #require(self.databases["c"])]
        let store = try await PostgresShards.patient(databases)
        let known = [
            RoomRevision(room: .attic, log: try await store.load(.attic).log, lastOffset: 0),
            RoomRevision(room: .lobby, log: try await store.load(.lobby).log, lastOffset: 0),
        ]
        for room in [RoomName.attic, .lobby] { _ = try await store.append(entries(1...3), to: room) }
        let (reports, continuation) = AsyncStream<[RoomRevision]>.makeStream()
        store.observe { continuation.yield($0) }
        try await outage.stop()
        #expect(try await store.changes(since: known).map(\.room) == [.lobby])
        // A call for rooms whose databases may all be away is answered at once: a relay has one at a time. The
        // calls that wait for a database are bounded.
        let answers = Guarded(0)
        for _ in 1..<PostgresShards.maxCheckCount {
            store.perform([.changes(since: [known[0]], RoomStoreReply { _ in answers.withLock { $0 += 1 } })])
        }
        #expect(answers.withLock { $0 } == PostgresShards.maxCheckCount - 1)
        #expect(try await store.changes(since: [known[0]]).isEmpty)
        // Only the other database is asked, whose answer is a report then.
        var iterator = reports.makeAsyncIterator()
        #expect(try await store.changes(since: known).isEmpty)
        #expect(await iterator.next()?.map(\.room) == [.lobby])
        async let listed = store.memberships(of: alice, .names)
        try await outage.start()
        for _ in 0..<PostgresShards.maxCheckCount { #expect(await iterator.next()?.map(\.room) == [.attic]) }
        #expect(try await listed.isEmpty)
        #expect(try await store.changes(since: [known[0]]).isEmpty)
        #expect(await iterator.next()?.map(\.lastOffset) == [3])
        await store.close()
    }

    //
    @Test func `changes while calls of one of two databases fail at once → the answer of the other`() async throws {
        let outage = try await PostgresServer(settings: ["fsync=off"])
        let databases = ["b": try await outage.database(), "c": try #require(self.databases["c"])]
        var configuration = PostgresStore.Configuration.patient()
        configuration.maxWait = .zero
        let (events, continuation) = AsyncStream<String>.makeStream()
        let store = try await PostgresShards(databases.map { ($0.key, $0.value) }, configuration: configuration) {
            if case .lost = $1 { continuation.yield($0) }
        }
        let known = [
            RoomRevision(room: .attic, log: try await store.load(.attic).log, lastOffset: 0),
            RoomRevision(room: .lobby, log: try await store.load(.lobby).log, lastOffset: 0),
        ]
        _ = try await store.append(entries(1...3), to: .lobby)
        try await outage.stop()
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next() == "b")
        await #expect(throws: (any Error).self) { try await store.append(entries(1...1), to: .attic) }
        #expect(try await store.changes(since: known).map(\.room) == [.lobby])
        await store.close()
    }
}
