import Martlet
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletPostgres

/// A database that ends, restarts, or does not answer.
@Suite(.enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(10)))
struct PostgresOutageTests {
    private let alice = AccountName("alice")

    /// The number of connections of stores whose statements wait, for a reason.
    private func waiting(_ server: PostgresServer, _ event: String) async throws -> Int {
        let statement = """
            SELECT count(*) FROM pg_stat_activity WHERE application_name = 'martlet' AND wait_event = '\(event)'
            """
        return Int(try await server.sql(statement)) ?? 0
    }

    private func terminate(_ server: PostgresServer) async throws {
        try await server.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'martlet'")
    }

    /// Lets commits wait for a standby that does not exist, after they have become durable.
    private func holdCommits(_ server: PostgresServer) async throws {
        try await set("synchronous_standby_names", to: "nobody", server)
        // The checkpointer enables the wait. It reads its settings before a checkpoint.
        try await server.sql("CHECKPOINT")
    }

    private func releaseCommits(_ server: PostgresServer) async throws {
        try await server.sql("ALTER SYSTEM RESET synchronous_standby_names")
        try await server.sql("SELECT pg_reload_conf()")
    }

    /// Changes a setting. Every process of the server has the signal to read it before a new session shows it.
    private func set(_ setting: String, to value: String, _ server: PostgresServer) async throws {
        try await server.sql("ALTER SYSTEM SET \(setting) = '\(value)'")
        try await server.sql("SELECT pg_reload_conf()")
        while !Task.isCancelled, try await server.sql("SHOW \(setting)") != value { await Task.yield() }
    }

    @Test func `the answer to a committed append is lost → success, and the messages are stored once`() async throws {
        let server = try await PostgresServer(settings: ["fsync=off"])
        let store = try await PostgresStore.patient(server.database())
        _ = (try await store.load(.lobby), try await store.load(.attic))
        try await holdCommits(server)
        async let first = store.append(entries(1...2), to: .lobby)
        async let second = store.append(entries(1...3), to: .attic)
        while !Task.isCancelled, try await waiting(server, "SyncRep") == 0 { await Task.yield() }
        try await terminate(server)
        try await releaseCommits(server)
        #expect(try await (first, second) == (1, 1))
        #expect(try await store.append(entries(3...3), to: .lobby) == 1)
        #expect(try await store.read(.all, of: .lobby).offsets == [1, 2, 3])
        #expect(try await store.read(.all, of: .attic).offsets == [1, 2, 3])
        await store.close()
    }

    //
    @Test func `the answer to a created room is lost → success`() async throws {
        let server = try await PostgresServer(settings: ["fsync=off"])
        let store = try await PostgresStore.patient(server.database())
        try await holdCommits(server)
        let creation = RoomCreation(account: alice, maxRoomCount: 1)
        async let saved: Void = store.saveRoles([1], of: .lobby, creation: creation)
        while !Task.isCancelled, try await waiting(server, "SyncRep") == 0 { await Task.yield() }
        try await terminate(server)
        try await releaseCommits(server)
        try await saved
        await #expect { try await store.saveRoles([1], of: .lobby, creation: creation) } throws: {
            "\($0)" == "roomHasRoles"
        }
        await store.close()
    }

    @Test func `connections that are ended again and again during appends → each message once, and none refused`()
        async throws
    {
        let server = try await PostgresServer.common()
        let uri = try await server.database()
        let store = try await PostgresStore.patient(uri)
        let count: UInt64 = 150
        try await withThrowingTaskGroup(of: Void.self) { group in
            for room in [RoomName.lobby, .attic] {
                group.addTask {
                    _ = try await store.load(room)
                    for offset in 1...count { _ = try await store.append(entries(offset...offset), to: room) }
                }
            }
            group.addTask {
                for _ in 0..<15 {
                    try await server.sql(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE application_name = 'martlet' AND datname = current_database()
                        """, in: uri)
                }
            }
            try await group.waitForAll()
        }
        for room in [RoomName.lobby, .attic] {
            #expect(try await store.read(.all, of: room).offsets == Array(1...count))
        }
        await store.close()
    }

    @Test func `a restart of the database during appends and reads → calls wait, and the events name the outage`()
        async throws
    {
        let server = try await PostgresServer(settings: ["fsync=off"])
        let events = Guarded<[String]>([])
        let store = try await PostgresStore.patient(server.database()) { note($0, events) }
        _ = try await store.load(.lobby)
        _ = try await store.append(entries(1...1), to: .lobby)
        try await server.stop()
        async let appended = store.append(entries(2...2), to: .lobby)
        async let history = store.read(.all, of: .lobby)
        async let loaded = store.load(.attic)
        while !Task.isCancelled, events.withLock({ $0.isEmpty }) { await Task.yield() }
        try await server.start()
        #expect(try await appended == 1)
        #expect(try await history.offsets.first == 1)
        #expect(try await loaded.lastOffset == 0)
        #expect(try await store.append(entries(3...3), to: .lobby) == 1)
        #expect(events.withLock { $0 } == ["lost", "recovered"])
        await store.close()
    }

    @Test func `an idle store whose database restarts → the events name it without a call`() async throws {
        let server = try await PostgresServer(settings: ["fsync=off"])
        let events = Guarded<[String]>([])
        let store = try await PostgresStore.patient(server.database()) { note($0, events) }
        try await server.stop()
        while !Task.isCancelled, events.withLock({ $0 }) != ["lost"] { await Task.yield() }
        try await server.start()
        while !Task.isCancelled, events.withLock({ $0 }) != ["lost", "recovered"] { await Task.yield() }
        await store.close()
    }

    @Test func `a database that stays away → calls fail when the relay ends, and close returns`() async throws {
        let server = try await PostgresServer(settings: ["fsync=off"])
        let isLost = Guarded(false)
        let store = try await PostgresStore.patient(server.database()) { event in
            if case .lost = event { isLost.withLock { $0 = true } }
        }
        _ = try await store.load(.lobby)
        try await server.stop()
        let appended = Task { try await store.append(entries(1...1), to: .lobby) }
        while !Task.isCancelled, !isLost.withLock({ $0 }) { await Task.yield() }
        await store.endWaiting()
        await #expect { try await appended.value } throws: {
            if case .unavailable? = ($0 as? RoomStoreError)?.cause as? PostgresError { true } else { false }
        }
        await #expect(throws: RoomStoreError.self) { try await store.load(.attic) }
        await store.close()
    }

    @Test func `a statement that the server cancels → it is sent again, and later it succeeds`() async throws {
        let server = try await PostgresServer.common()
        let uri = try await server.database()
        let store = try await PostgresStore.patient(uri)
        _ = try await store.load(.lobby)
        // A row that another connection locks until the cancellation.
        let loop = try EventLoop(name: "locks")
        let holder = PostgresConnection(
            to: uri, on: loop, PostgresMachine.Deadlines(), prepareSession: { _ in }, onFailure: { _ in })
        #expect(await holder.ready())
        let lock = PostgresStatement("lock", "SELECT id FROM martlet.rooms FOR UPDATE")
        _ = try await holder.run([PostgresQuery(PostgresStatements.begin), PostgresQuery(lock)])
        async let appended = store.append(entries(1...1), to: .lobby)
        while try await server.sql(
            """
            SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE application_name = 'martlet'
            AND datname = current_database() AND wait_event_type = 'Lock'
            """, in: uri) == "0"
        { await Task.yield() }
        _ = try await holder.run([PostgresQuery(PostgresStatements.commit)])
        #expect(try await appended == 1)
        #expect(try await store.read(.all, of: .lobby).offsets == [1])
        await holder.close()
        await store.close()
        await loop.shutdown()
    }

    @Test func `a database that becomes read-only → lost once, reads are no recovery, and recovered with the append`()
        async throws
    {
        let server = try await PostgresServer(settings: ["fsync=off"])
        let events = Guarded<[String]>([])
        let uri = try await server.database()
        let store = try await PostgresStore.patient(uri) { note($0, events) }
        _ = try await store.load(.lobby)
        _ = try await store.append(entries(1...1), to: .lobby)
        try await set("default_transaction_read_only", to: "on", server)
        async let appended = store.append(entries(2...2), to: .lobby)
        while !Task.isCancelled, events.withLock({ $0.isEmpty }) { await Task.yield() }
        for _ in 0..<10 { #expect(try await store.read(.all, of: .lobby).offsets == [1]) }
        await #expect(throws: PostgresError.self) { try await PostgresStore.patient(uri) }
        #expect(events.withLock { $0 } == ["lost"])
        try await server.sql("ALTER SYSTEM RESET default_transaction_read_only")
        try await server.sql("SELECT pg_reload_conf()")
        #expect(try await appended == 1)
        #expect(events.withLock { $0 } == ["lost", "recovered"])
        await store.close()
    }

    //
    @Test func `a relay that drains while its database is away → it ends when its clients have left, with the count`()
        async throws
    {
        let server = try await PostgresServer(settings: ["fsync=off"])
        let events = Guarded<[String]>([])
        let store = try await PostgresStore.patient(server.database()) { note($0, events) }
        let counting = CountingStore(store)
        let relay = Relay(
            configuration: try Relay.Configuration(port: 0), store: counting, authenticator: .allowAll,
            policy: .allowAll)
        let address = try relay.start()[0]
        try await withClient(try Client(to: "martlet://\(address)", as: .anonymous("alice"))) { alice in
            let room = try await alice.open(room: "lobby")
            _ = try await room.send("one").accepted()
            try await server.stop()
            _ = try await room.send("two")
            while !Task.isCancelled, events.withLock({ $0 }) != ["lost"] || counting.appendCount < 2 {
                await Task.yield()
            }
            #expect(await relay.drain(within: .seconds(3600)) { await store.endWaiting() })
            await relay.shutdown()
        }
        #expect(events.withLock { $0 } == ["lost", "abandoned 1"])
        await store.close()
    }

    //
    @Test func `a relay whose database restarts while clients send → nothing is refused, each message arrives once`()
        async throws
    {
        let server = try await PostgresServer(settings: ["fsync=off"])
        let store = try await PostgresStore.patient(server.database())
        var configuration = try Relay.Configuration(port: 0)
        configuration.limits = .unlimited
        let refusals = Guarded(0)
        let relay = Relay(
            configuration: configuration, store: store, authenticator: .allowAll, policy: .allowAll
        ) { event in
            if case .storeFailed = event { refusals.withLock { $0 += 1 } }
        }
        let address = try relay.start()[0]
        let (hers, his) = (
            try Client(to: "martlet://\(address)", as: .anonymous("alice")),
            try Client(to: "martlet://\(address)", as: .anonymous("bob"))
        )
        try await withClient(hers) { alice in
            try await withClient(his) { bob in
                let (sender, reader) = (try await alice.open(room: "lobby"), try await bob.open(room: "lobby"))
                async let received = Self.texts(60, reader)
                var handles: [MessageHandle] = []
                for part in 0..<3 {
                    for number in 0..<20 { handles.append(try await sender.send("\(part * 20 + number)")) }
                    if part < 2 {
                        try await server.stop()
                        try await server.start()
                    }
                }
                #expect(try await received == (0..<60).map { "\($0)" })
                for (index, handle) in handles.enumerated() {
                    #expect(try await handle.accepted() == UInt64(index + 1))
                }
            }
        }
        await relay.shutdown()
        #expect(refusals.withLock { $0 } == 0)
        #expect(try await store.read(.all, of: .lobby).offsets == Array(1...60))
        await store.close()
    }

    private static func texts(_ count: Int, _ room: Martlet.Room) async throws -> [String] {
        var texts: [String] = []
        for try await message in room.messages {
            texts.append(message.text ?? "")
            if texts.count == count { break }
        }
        return texts
    }
}

/// Counts the appends that a relay passes to a store.
private final class CountingStore: RoomStore {
    private let store: PostgresStore
    private let appends = Guarded(0)

    init(_ store: PostgresStore) { self.store = store }

    var appendCount: Int { appends.withLock { $0 } }
    var features: RoomStoreFeatures { store.features }
    var retention: RoomRetention { store.retention }

    func perform(_ calls: [RoomStoreCall]) {
        store.perform(calls)
        appends.withLock { $0 += calls.count { if case .append = $0 { true } else { false } } }
    }
}

/// Adds the name of an event.
private func note(_ event: PostgresEvent, _ events: borrowing Guarded<[String]>) {
    switch event {
    case .lost: events.withLock { $0.append("lost") }
    case .recovered: events.withLock { $0.append("recovered") }
    case .abandoned(_, let messageCount): events.withLock { $0.append("abandoned \(messageCount)") }
    default: break
    }
}
