import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletPostgres

@Suite(.enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(10)))
struct PostgresStoreTests {
    private let uri: String
    private let server: PostgresServer
    private let alice = AccountName("alice")
    private let bob = AccountName("bob")

    init() async throws {
        server = try await PostgresServer.common()
        uri = try await server.database()
    }

    private func store(
        _ retention: PostgresRetention = PostgresRetention(), at now: UInt64 = 1000
    ) async throws -> PostgresStore {
        try await .patient(uri, retention: retention, at: now)
    }

    private func sql(_ statement: String) async throws -> String {
        try await server.sql("SET search_path = martlet; " + statement, in: uri)
    }

    // MARK: Compare and set

    @Test func `two stores with the same room → the second append fails with what came first, and none is stored`()
        async throws
    {
        let (first, second) = (try await store(), try await store())
        let log = try await first.load(.lobby).log
        #expect(try await second.load(.lobby).log == log)
        #expect(try await first.append(entries(1...3), to: .lobby) == 1)
        do {
            _ = try await second.append(entries(1...2, of: "bob"), to: .lobby)
            Issue.record("accepted")
        } catch RoomStoreError.conflict(let history) {
            #expect(history.offsets == [1, 2, 3] && history.firstOffset == 1)
            #expect(history.entries.map(\.sender) == [alice, alice, alice])
        }
        #expect(try await second.append(entries(4...4, of: "bob"), to: .lobby) == 1)
        #expect(
            try await first.read(.all, of: .lobby).entries.map(\.sender.text) == ["alice", "alice", "alice", "bob"])
        for store in [first, second] { await store.close() }
    }

    @Test func `stores that append as fast as they can → dense offsets, and each message once`() async throws {
        let stores = [try await store(), try await store(), try await store()]
        let count: UInt64 = 40
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, store) in stores.enumerated() {
                group.addTask {
                    var next = try await store.load(.lobby).lastOffset + 1
                    var counter: UInt64 = 1
                    while counter <= count {
                        var entry = entries(next...next, of: "user\(index)")
                        entry[0].counter = counter
                        do {
                            _ = try await store.append(entry, to: .lobby)
                            counter += 1
                            next += 1
                        } catch RoomStoreError.conflict(let history) {
                            next = (history.entries.last?.offset ?? next) + 1
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let log = try await stores[0].read(.all, of: .lobby)
        #expect(log.offsets == Array(1...3 * count))
        for index in stores.indices {
            #expect(log.entries.filter { $0.sender.text == "user\(index)" }.map(\.counter) == Array(1...count))
        }
        for store in stores { await store.close() }
    }

    //
    @Test func `a room that was removed or has another log → the append fails with LogLost`() async throws {
        let store = try await store()
        _ = try await store.load(.lobby)
        _ = try await store.load(.attic)
        _ = try await store.append(entries(1...1), to: .lobby)
        _ = try await sql("DELETE FROM rooms WHERE name = 'attic'; SELECT renew_logs()")
        for (room, offset) in [(RoomName.lobby, 2), (.attic, 1)] as [(RoomName, UInt64)] {
            await #expect { try await store.append(entries(offset...offset), to: room) } throws: {
                "\($0)" == "logLost"
            }
        }
        #expect(try await store.load(.attic).lastOffset == 0)
        #expect(try await store.append(entries(1...1), to: .attic) == 1)
        await store.close()
    }

    @Test func `an append behind the end of the log → an error with the last offset`() async throws {
        let store = try await store()
        _ = try await store.load(.lobby)
        _ = try await store.append(entries(1...2), to: .lobby)
        await #expect {
            try await store.append(entries(5...5), to: .lobby)
        } throws: { ($0 as? RoomStoreError)?.cause as? PostgresError == .outOfOrder(lastOffset: 2) }
        await store.close()
    }

    @Test func `a turn of 1,000 rooms → one transaction, and each log has its messages`() async throws {
        let store = try await store()
        let rooms = (1...1000).map { RoomName("room \($0)")! }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for room in rooms { group.addTask { _ = try await store.load(room) } }
            try await group.waitForAll()
        }
        let offsets: [UInt64] = await withCheckedContinuation { continuation in
            let answers = Answers(rooms.count) { continuation.resume(returning: $0) }
            store.perform(
                rooms.enumerated().map { index, room in
                    .append(
                        RoomAppend(room: room, entries: entries(1...2, byteCount: index == 500 ? 100_000 : 10)),
                        RoomStoreReply { answers.add((try? $0.get()) ?? 0) })
                })
        }
        #expect(offsets.count == 1000 && offsets.allSatisfy { $0 == 1 })
        #expect(try await sql("SELECT count(DISTINCT xmin::text) FROM batches") == "1")
        #expect(try await sql("SELECT count(*), sum(count) FROM batches") == "1001|2000")
        #expect(try await store.read(.all, of: rooms[500]).entries.map(\.body.byteCount) == [100_000, 100_000])
        await store.close()
    }

    // MARK: Restart

    //
    @Test func `a restart → the snapshot has the counters of messages that no row of a device contains`()
        async throws
    {
        let first = try await store()
        let log = try await first.load(.lobby).log
        _ = try await first.append(entries(1...2, counter: 9), to: .lobby)  // 10, 11
        _ = try await first.append(entries(3...3, counter: 11), to: .lobby)  // 14
        _ = try await first.append(entries(4...4, of: "bob", device: 2, counter: 295), to: .lobby)  // 299
        let before = try await first.load(.lobby)
        await first.close()
        let second = try await store()
        let after = try await second.load(.lobby)
        #expect(after.log == log && after.lastOffset == 4 && after.devices == before.devices)
        let record = try #require(after.devices[device()])
        #expect([10, 11, 14].allSatisfy { record.contains($0) } && [12, 13].allSatisfy { !record.contains($0) })
        await second.close()
    }

    //
    @Test func `more messages than may be unfolded → rows of devices, and the snapshot is that in memory`() async throws
    {
        let (store, memory) = (try await store(), InMemoryStore())
        _ = (try await store.load(.lobby), try await memory.call { .load(.lobby, $0) })
        for start in stride(from: UInt64(1), to: 2400, by: 150) {
            let batch = entries(start...start + 149, of: start % 4 == 1 ? "alice" : "bob", counter: start)
            _ = try await store.append(batch, to: .lobby)
            _ = try await memory.append(batch, to: .lobby)
        }
        while !Task.isCancelled, try await sql("SELECT folded_offset >= 1024 FROM rooms") != "t" { await Task.yield() }
        let expected: RoomSnapshot = try await memory.call { .load(.lobby, $0) }
        #expect(try await store.load(.lobby).devices == expected.devices)
        #expect(try await sql("SELECT count(*) FROM devices") != "0")
        await store.close()
    }

    //
    @Test func `logs that were renewed → another identity, and the earlier one is a branch`() async throws {
        let store = try await store()
        let log = try #require(try await store.load(.lobby).log)
        _ = try await store.append(entries(1...3), to: .lobby)
        #expect(try await sql("SELECT renew_logs()") == "1")
        let renewed = try await store.load(.lobby)
        #expect(renewed.log != log && renewed.branches == [log: 3] && renewed.lastOffset == 3)
        #expect(try await store.append(entries(4...4), to: .lobby) == 1)
        await store.close()
    }

    // MARK: Erasure

    private func message(_ offset: UInt64, _ text: String) -> LogEntry {
        let client = Message.encodeClient(counter: offset, kind: .text, content: Message.textContent(text))
        let body = Message.encodeRelay(
            offset: offset, acceptedAt: offset, sender: alice, device: DeviceID(rawValue: 1),
            clientBody: client.rawBytes)
        return LogEntry(
            offset: offset, sender: alice, device: DeviceID(rawValue: 1), counter: offset, acceptedAt: offset,
            body: EncodedBody(body))
    }

    private func texts(of room: RoomName, _ store: PostgresStore) async throws -> [String?] {
        try await store.read(.all, of: room).entries.map { entry in try Message(parsing: entry.body.rawBytes).text }
    }

    private func erasure(_ offset: UInt64) -> MessageErasure {
        MessageErasure(
            offset: offset, id: MessageID(sender: alice, device: DeviceID(rawValue: 1), counter: offset))
    }

    //
    @Test func `erasures of several batches and of edits → those messages only, and the digests remain`()
        async throws
    {
        let store = try await store()
        _ = try await store.load(.lobby)
        for start in stride(from: UInt64(1), through: 25, by: 5) {
            _ = try await store.append((start..<start + 5).map { message($0, "line \($0)") }, to: .lobby)
        }
        _ = try await store.append([try edit(26, of: 23), try edit(27, of: 3)], to: .lobby)
        let devices = try await store.load(.lobby).devices
        let erasures =
            [2, 23, 3, 99, 12].map(erasure) + [
                MessageErasure(offset: 4, id: MessageID(sender: bob, device: DeviceID(rawValue: 1), counter: 4))
            ]
        #expect(try await store.append([message(28, "last")], erasing: erasures, to: .lobby) == 1)
        let found = try await texts(of: .lobby, store)
        #expect(found.indices.filter { found[$0] == nil } == [1, 2, 11, 22, 25, 26])
        #expect(try await sql("SELECT count(*) FROM edits") == "0")
        let after = try #require(try await store.load(.lobby).devices[device()])
        let before = try #require(devices[device()])
        #expect(after.watermark == 28 && (1...27).allSatisfy { after.digests[$0] == before.digests[$0] })
        #expect((1...28).allSatisfy { after.digests[$0] != 0 })
        #expect(try await sql("SELECT byte_count = (SELECT sum(byte_count) FROM batches) FROM rooms") == "t")
        await store.close()
    }

    @Test func `an append that erases, after that of another store → a conflict, and nothing is erased`() async throws {
        let (first, second) = (try await store(), try await store())
        _ = (try await first.load(.lobby), try await second.load(.lobby))
        _ = try await first.append([message(1, "a"), message(2, "b")], to: .lobby)
        await #expect {
            try await second.append([message(2, "x")], erasing: [erasure(1)], to: .lobby)
        } throws: { if case RoomStoreError.conflict(let history) = $0 { history.offsets == [2] } else { false } }
        #expect(try await texts(of: .lobby, first) == ["a", "b"])
        #expect(try await second.append([message(3, "x")], erasing: [erasure(1)], to: .lobby) == 1)
        for store in [first, second] { await store.close() }
    }

    // MARK: Memberships

    //
    @Test func `records of two rooms → entries with log, progress, unread count and last message`() async throws {
        let store = try await store()
        let log = try await store.load(.lobby).log
        _ = try await store.append(entries(1...9), to: .lobby)
        _ = try await store.append(entries(10...10, of: "bob"), to: .lobby)
        try await store.saveProgress([bob: AccountProgress(delivered: 8, read: 7)], of: .lobby)
        let joined = MembershipRecord(isJoined: true, changedAt: 1)
        #expect(try await store.saveMemberships([bob: joined, alice: joined], of: .lobby) == [])
        let invitation = MembershipRecord(isJoined: false, inviter: alice, changedAt: 4)
        #expect(try await store.saveMemberships([bob: invitation], of: .attic) == [])
        #expect(try await store.load(.lobby).memberships == [bob: joined, alice: joined])
        let found = try await store.memberships(of: bob, .page(after: nil, maxCount: 10)).map(\.entry)
        #expect(found.map(\.room) == [.attic, .lobby])
        #expect(found[0] == RoomEntry(.attic, invitation))
        #expect(found[1].log == log && found[1].lastOffset == 10 && found[1].firstOffset == 1)
        #expect(found[1].delivered == 8 && found[1].read == 7 && found[1].unreadCount == 2 && found[1].message != nil)
        #expect(try await store.memberships(of: bob, .page(after: .attic, maxCount: 10)).map(\.entry.room) == [.lobby])
        let some = try await store.memberships(
            of: bob, .rooms([.lobby: AccountProgress(delivered: 9, read: 9), RoomName("none"): AccountProgress()]))
        #expect(some.map(\.entry.read) == [9] && some[0].entry.unreadCount == 0)
        #expect(try await store.saveMemberships([bob: nil], of: .lobby) == [])
        #expect(try await store.memberships(of: bob, .names).map(\.entry.room) == [.attic])
        await store.close()
    }

    //
    @Test func `an account with the maximum of records → a new one is refused, a change is not`() async throws {
        let store = try await store()
        let joined = MembershipRecord(isJoined: true, changedAt: 1)
        _ = try await store.saveMemberships([alice: joined], of: .attic)
        _ = try await sql(
            """
            INSERT INTO memberships SELECT 'alice', convert_to('room ' || n, 'UTF8'), 1, NULL, 1
            FROM generate_series(2, \(MembershipBounds.maxCountPerAccount)) AS n
            """)
        #expect(try await store.saveMemberships([alice: joined, bob: joined], of: .lobby) == [alice])
        #expect(try await store.saveMemberships([alice: joined], of: .attic) == [])
        await store.close()
    }

    // MARK: Retention

    //
    @Test func `more messages or bytes than the bounds → the oldest batches are removed, the counters are kept`()
        async throws
    {
        for isCount in [true, false] {
            let room: RoomName = isCount ? .lobby : .attic
            var retention = PostgresRetention()
            if isCount { retention.maxMessagesPerRoom = 10 } else { retention.maxByteCountPerRoom = 100 }
            let store = try await store(retention)
            _ = try await store.load(room)
            for start in stride(from: UInt64(1), to: 40, by: 4) {
                _ = try await store.append(entries(start...start + 3), to: room)
            }
            while !Task.isCancelled, try await sql("SELECT first_offset FROM rooms WHERE name = '\(room.text)'") != "29"
            {
                await Task.yield()
            }
            #expect(try await store.read(.all, of: room).offsets == Array(29...40))
            #expect(try await store.append(entries(41...41), to: room) >= 29)
            #expect(try await store.load(room).devices[device()]?.watermark == 41)
            await store.close()
        }
    }

    //
    @Test func `old messages → removed by a pass, which one store makes at a time`() async throws {
        var retention = PostgresRetention()
        retention.maxAge = 50_000
        let day: UInt64 = 24 * 3600 * 1000
        let (first, second) = (try await store(retention, at: day), try await store(retention, at: day))
        _ = try await first.load(.lobby)
        for offset in 1...4 as ClosedRange<UInt64> {
            _ = try await first.append(entries(offset...offset, at: day - 100_000 + offset * 20_000), to: .lobby)
        }
        await first.removeOld(steady: .now)
        while !Task.isCancelled, try await sql("SELECT first_offset FROM rooms") != "3" { await Task.yield() }
        _ = try await sql("UPDATE rooms SET used_at = 0, first_offset = 5; DELETE FROM batches")
        await second.removeOld(steady: .now)
        #expect(try await sql("SELECT count(*) FROM rooms") == "1")
        for store in [first, second] { await store.close() }
    }

    //
    @Test func `a room with an age of its own → its messages are removed by a pass, and those of others are kept`()
        async throws
    {
        let day: UInt64 = 24 * 3600 * 1000
        let store = try await store(at: day)
        for room in [RoomName.lobby, .attic] {
            _ = try await store.load(room)
            for offset in 1...4 as ClosedRange<UInt64> {
                let time = day - 80_000_000 + offset * 16_000_000
                _ = try await store.append(entries(offset...offset, at: time), to: room)
            }
        }
        // Hours lie between the ages, because the clock of ages continues while the test waits for the database.
        try await store.call { .saveRetention(RoomRetention(maxAge: 40_000_000), of: .lobby, $0) }
        await store.removeOld(steady: .now)
        while !Task.isCancelled, try await sql("SELECT first_offset FROM rooms WHERE name = 'lobby'") != "3" {
            await Task.yield()
        }
        #expect(try await sql("SELECT first_offset FROM rooms WHERE name = 'attic'") == "1")
        await store.close()
    }

    //
    @Test func `rooms without messages that were not used → removed with all their rows; a touched room is kept`()
        async throws
    {
        let day: UInt64 = 24 * 3600 * 1000
        let early = try await store(at: day)
        for room in [RoomName.lobby, .attic] { _ = try await early.load(room) }
        try await early.saveProgress([alice: AccountProgress()], of: .attic)
        await early.close()
        let late = try await store(at: 3 * day)
        try await late.call { .touch([.lobby], $0) }
        // The clock of ages continues from its stored time.
        await late.removeOld(steady: .now + .seconds(2 * 24 * 3600))
        #expect(try await sql("SELECT count(*), min(convert_from(name, 'UTF8')) FROM rooms") == "1|lobby")
        #expect(try await sql("SELECT count(*) FROM progress") == "0")
        await late.close()
    }

    // MARK: The database

    @Test func `a database that does not fit → typed errors with the remedy`() async throws {
        let latin = try await server.database(encoding: "SQL_ASCII")
        await #expect(throws: PostgresError.wrongEncoding("SQL_ASCII")) { try await PostgresStore(latin) }
        await #expect(throws: PostgresError.wrongEncoding("SQL_ASCII")) { try await PostgresStore.check(latin) }
        await #expect(throws: PostgresError.invalidSchema("a,b")) {
            try await PostgresStore(uri + "&options=-csearch_path%3Da,b")
        }
        try await PostgresStore.check(uri)
        #expect(try await server.sql("SELECT to_regnamespace('martlet') IS NULL", in: uri) == "t")
        await (try await store()).close()
        _ = try await sql("INSERT INTO version VALUES (9)")
        await #expect(throws: PostgresError.laterSchema(version: 9)) { try await PostgresStore(uri) }
        await #expect {
            try await PostgresStore("postgres://nobody@/none?host=/nowhere")
        } throws: { if case .unavailable? = $0 as? PostgresError { true } else { false } }
        #expect(throws: PostgresError.self) { try PostgresStore.checkURI("postgres://host/db?color=red") }
        for uri in ["postgres://a:sec%ret@h/d", "postgres://a:secret@[::1]x/d", "postgres://a@h/d?password=sec%zret"] {
            #expect {
                try PostgresStore.checkURI(uri)
            } throws: { "\($0)".split(separator: "sec").count == 1 }
        }
        #expect(throws: PostgresError.self) { try PostgresStore.checkURI("/var/lib/martlet") }
    }

    @Test func `tables without additions, or with later ones → the missing ones are made, and later ones tolerated`()
        async throws
    {
        await (try await store()).close()
        _ = try await sql("DROP TABLE retention, copy, shard, bus, additions")
        let opened = try await store()
        #expect(try await opened.load(.lobby).retention == RoomRetention())
        await opened.close()
        _ = try await sql("INSERT INTO additions VALUES (9)")
        try await PostgresStore.check(uri)
        await (try await store()).close()
        #expect(try await sql("SELECT string_agg(number::text, ' ') FROM additions") == "1 2 3 9")
    }

    //
    @Test func `stores of a database → one key of the bus, also later; a different database → a different key`()
        async throws
    {
        let (first, second) = (try await store(), try await store())
        let key = try #require(first.beginBus())
        #expect(key.count == 32 && second.beginBus() == key)
        for store in [first, second] { await store.close() }
        let third = try await store()
        #expect(third.beginBus() == key)
        await third.close()
        let other = try await PostgresStore.patient(try await server.database())
        #expect(other.beginBus()?.count == 32 && other.beginBus() != key)
        await other.close()
        _ = try await sql("DROP TABLE bus; DELETE FROM additions WHERE number = 3")
        let added = try await store()
        #expect(added.beginBus()?.count == 32 && added.beginBus() != key)
        await added.close()
        _ = try await sql("DELETE FROM bus")
        await #expect(throws: PostgresError.missingTables) { try await store() }
    }

    @Test func `an added table that cannot be created → the start and the check fail with the error of the database`()
        async throws
    {
        await (try await store()).close()
        // The table copy, of the same addition, remains.
        _ = try await sql("DROP TABLE retention, additions")
        await #expect { try await store() } throws: { "\($0)".hasSuffix("relation \"copy\" already exists") }
        _ = try await sql("REVOKE SELECT ON version FROM PUBLIC; ALTER TABLE version RENAME COLUMN number TO other")
        await #expect { try await PostgresStore.check(uri) } throws: { ($0 as? PostgresError) != nil }
    }

    @Test func `a schema in the URI → the tables are in it`() async throws {
        let store = try await PostgresStore(uri + "&options=-csearch_path%3Dchat")
        _ = try await store.load(.lobby)
        await store.close()
        #expect(try await server.sql("SELECT count(*) FROM chat.rooms", in: uri) == "1")
    }

    @Test func `stores that begin together → one of them creates the tables`() async throws {
        let stores = try await withThrowingTaskGroup(of: PostgresStore.self) { group in
            for _ in 0..<6 { group.addTask { [uri] in try await PostgresStore.patient(uri) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for store in stores { #expect(try await store.load(.lobby).lastOffset == 0) }
        #expect(try await sql("SELECT count(*) FROM rooms") == "1")
        for store in stores { await store.close() }
    }

    @Test func `a closed store → calls fail`() async throws {
        let store = try await store()
        await store.close()
        await #expect { try await store.load(.lobby) } throws: {
            ($0 as? RoomStoreError)?.cause as? PostgresError == .closed
        }
    }
}

/// Collects answers, and passes them on when there are all.
private final class Answers: Sendable {
    private let count: Int
    private let finish: @Sendable ([UInt64]) -> Void
    private let answers = Guarded<[UInt64]>([])

    init(_ count: Int, _ finish: @escaping @Sendable ([UInt64]) -> Void) {
        (self.count, self.finish) = (count, finish)
    }

    func add(_ answer: UInt64) {
        let all = answers.withLock { answers in
            answers.append(answer)
            return answers
        }
        if all.count == count { finish(all) }
    }
}
