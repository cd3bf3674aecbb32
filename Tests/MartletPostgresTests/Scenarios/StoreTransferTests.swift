import Foundation
import Martlet
import MartletLink
import MartletRelay
import MartletRelaySQLite
import MartletStoreTestSupport
import MartletTransport
import MartletWire
import Testing

@testable import MartletPostgres

/// Copies between stores on disk and in PostgreSQL.
@Suite(.enabled(if: PostgresServer.isInstalled), .timeLimit(.minutes(10)))
struct StoreTransferTests {
    enum Direction: CaseIterable { case toPostgres, toSQLite, betweenDatabases, toSpread, widerSpread, fromSpread }

    /// A store by its place.
    enum Place {
        case directory(String)
        case database(String)
        case databases([String: String])

        static func directory() -> Place { .directory(NSTemporaryDirectory() + "martlet-\(UUID().uuidString)") }

        static func database() async throws -> Place { .database(try await PostgresServer.common().database()) }

        static func databases(_ names: String...) async throws -> Place {
            var databases: [String: String] = [:]
            for name in names { databases[name] = try await PostgresServer.common().database() }
            return .databases(databases)
        }

        func open() async throws -> any RoomStore {
            switch self {
            case .directory(let path): return try await SQLiteStore(at: path)
            case .database(let uri): return try await PostgresStore.patient(uri, isShared: false)
            case .databases(let databases):
                do { return try await PostgresShards.patient(databases, isShared: false) } catch {
                    throw (error as? PostgresShards.Failure)?.cause ?? error
                }
            }
        }

        func source() async throws -> any TransferSource {
            switch self {
            case .directory(let path): try SQLiteTransferSource(at: path)
            case .database(let uri): try await PostgresTransferSource(uri)
            case .databases(let databases): try await ShardsTransferSource(databases.map { ($0.key, $0.value) })
            }
        }

        func destination() async throws -> any TransferDestination {
            switch self {
            case .directory(let path): try SQLiteTransferDestination(at: path)
            case .database(let uri): try await PostgresTransferDestination(uri)
            case .databases(let databases): try await ShardsTransferDestination(databases.map { ($0.key, $0.value) })
            }
        }
    }

    private func close(_ store: any RoomStore) async {
        await (store as? SQLiteStore)?.close()
        await (store as? any DatabaseStore)?.close()
    }

    private func places(_ direction: Direction) async throws -> (from: Place, to: Place) {
        switch direction {
        case .toPostgres: (.directory(), try await .database())
        case .toSQLite: (try await .database(), .directory())
        case .betweenDatabases: (try await .database(), try await .database())
        case .toSpread: (try await .database(), try await .databases("b", "c"))
        case .widerSpread: (try await .databases("b", "c"), try await .databases("a", "b", "c"))
        case .fromSpread: (try await .databases("b", "c"), .directory())
        }
    }

    private func copy(_ from: Place, _ to: Place) async throws -> StoreTransfer.Report {
        let (source, destination) = (try await from.source(), try await to.destination())
        do {
            let report = try await StoreTransfer.copy(from: source, to: destination)
            #expect(try await StoreTransfer.differences(source, destination) == [])
            for store in [source, destination] { await store.close() }
            return report
        } catch {
            for store in [source, destination] { await store.close() }
            throw error
        }
    }

    private let rooms: [RoomName] = ["lobby", "attic", "kitchen"]

    /// Fills a store: rooms with many messages, counters that are skipped, erased messages, and other records.
    private func fill(_ store: any RoomStore) async throws {
        for (index, room) in rooms.enumerated() {
            _ = try await store.load(room)
            let count = UInt64(300 + index * 400)
            _ = try await store.append(entries(1...count), to: room)
            _ = try await store.append(entries(count + 1...count + 1, of: "bob", device: 7, counter: 300), to: room)
            let target = MessageID(sender: AccountName("alice"), device: DeviceID(rawValue: 1), counter: 5)
            _ = try await store.append(
                [try edit(count + 2, of: 5, counter: count + 2)],
                erasing: [MessageErasure(offset: 5, id: target)], to: room)
            try await store.saveProgress(
                [AccountName("bob"): AccountProgress(delivered: 9, read: UInt64(index))], of: room)
            _ = try await store.saveMemberships(
                [
                    AccountName("alice"): MembershipRecord(isJoined: true, inviter: nil, changedAt: 5),
                    AccountName("bob"): MembershipRecord(isJoined: false, inviter: AccountName("alice"), changedAt: 6),
                ], of: room)
        }
        var others: MembershipChanges = [:]
        for number in 0..<1100 {
            let account = try #require(AccountName("carol\(number)"))
            others[account] = MembershipRecord(isJoined: true, inviter: nil, changedAt: 7)
        }
        _ = try await store.saveMemberships(others, of: "attic")
        try await store.saveRoles(
            [1, 2], of: "lobby", creation: RoomCreation(account: AccountName("alice"), maxRoomCount: 5))
        try await store.saveRoles([3], of: "lobby", replacing: 1, creation: nil)
        try await store.call { .saveRetention(RoomRetention(maxCount: 5000), of: "attic", $0) }
    }

    private func expectEqual(_ first: any RoomStore, _ second: any RoomStore) async throws {
        for room in rooms {
            let (own, copy) = (try await first.load(room), try await second.load(room))
            #expect(own.log == copy.log && own.lastOffset == copy.lastOffset && own.firstOffset == copy.firstOffset)
            #expect(own.devices == copy.devices && own.progress == copy.progress && own.branches == copy.branches)
            #expect(own.roles == copy.roles && own.memberships == copy.memberships && own.retention == copy.retention)
            let (messages, copies) = (
                try await first.read(.all, of: room).entries, try await second.read(.all, of: room).entries
            )
            #expect(StoredBatch.encode(messages[...]) == StoredBatch.encode(copies[...]))
        }
    }

    //
    @Test(arguments: Direction.allCases)
    func `a copy while the source is in use, and one more at the end → everything is equal`(direction: Direction)
        async throws
    {
        let (from, to) = try await places(direction)
        let store = try await from.open()
        try await fill(store)
        let first = try await copy(from, to)
        #expect(first.roomCount == 3 && first.copiedCount == 3 && first.messageCount == 302 + 702 + 1102)
        #expect(try await copy(from, to).copiedCount == 0)
        // Meanwhile the relay goes on.
        let end = try await store.load("attic").lastOffset
        _ = try await store.append(entries(end + 1...end + 3), to: "attic")
        try await store.saveProgress([AccountName("bob"): AccountProgress(delivered: 20, read: 20)], of: "lobby")
        let last = try await copy(from, to)
        #expect(last.copiedCount == 1 && last.messageCount == Int(end) + 3)
        let copied = try await to.open()
        try await expectEqual(store, copied)
        if let key = store.beginBus() { #expect(copied.beginBus() != key) }
        // A stored message is recognized, and offsets continue.
        let devices = try await copied.load("attic").devices
        #expect(devices[device()]?.contains(end + 3) == true && devices[device("bob", 7)]?.contains(9) == false)
        _ = try await copied.append(entries(end + 4...end + 4), to: "attic")
        for store in [store, copied] { await close(store) }
    }

    @Test(arguments: Direction.allCases)
    func `a copy that ends in the middle of a room → a relay is refused, and a further copy continues`(
        direction: Direction
    ) async throws {
        let (from, to) = try await places(direction)
        let store = try await from.open()
        try await fill(store)
        await close(store)
        let (source, destination) = (try await from.source(), try await to.destination())
        let failing = FailingSource(source, count: 6)
        await #expect(throws: FailingSource.Stopped.self) {
            try await StoreTransfer.copy(from: failing, to: destination)
        }
        for store in [source, destination] { await store.close() }
        await #expect(throws: StoreTransferError.incomplete(source: source.identity)) { _ = try await to.open() }
        let report = try await copy(from, to)
        #expect(report.roomCount == 3 && (1...2).contains(report.copiedCount))
        let (original, copied) = (try await from.open(), try await to.open())
        try await expectEqual(original, copied)
        for store in [original, copied] { await close(store) }
    }

    @Test func `a destination with rooms, in use, or of another source → a typed error, and nothing is changed`()
        async throws
    {
        let (from, to) = (Place.directory(), try await Place.database())
        let store = try await from.open()
        _ = try await store.load(.lobby)
        await close(store)
        let used = try await to.open()
        _ = try await used.load(.attic)
        await #expect(throws: PostgresError.inUse) { try await copy(from, to) }
        await close(used)
        await #expect(throws: StoreTransferError.notEmpty) { try await copy(from, to) }
        await #expect(throws: StoreTransferError.sameStore) { try await copy(from, from) }
        // A copy that a relay has used is a store of its own.
        let next = try await Place.database()
        _ = try await copy(from, next)
        await close(try await next.open())
        await #expect(throws: StoreTransferError.notEmpty) { try await copy(from, next) }
        await #expect(throws: StoreTransferError.notEmpty) { try await copy(to, next) }
    }

    //
    @Test func `one of two destinations has rooms → a typed error, and the other is no copy`() async throws {
        let (from, to) = (Place.directory(), try await Place.databases("b", "c"))
        await close(try await from.open())
        let used = try await to.open()
        _ = try await used.load(.lobby)
        await close(used)
        await #expect(throws: StoreTransferError.notEmpty) { try await copy(from, to) }
        guard case .databases(let databases) = to else { return }
        let server = try await PostgresServer.common()
        #expect(try await server.sql("SELECT count(*) FROM martlet.rooms", in: databases["b"]) == "0")
        #expect(try await server.sql("SELECT count(*) FROM martlet.copy", in: databases["b"]) == "0")
    }

    //
    @Test func `a room in a database that is not its own → a typed error in the place of a copy without it`()
        async throws
    {
        let (from, to) = (try await Place.databases("b", "c"), Place.directory())
        let store = try await from.open()
        _ = try await store.load(.attic)
        await close(store)
        guard case .databases(let databases) = from else { return }
        let server = try await PostgresServer.common()
        try await server.sql("UPDATE martlet.rooms SET name = 'lobby'", in: databases["b"])
        await #expect {
            _ = try await copy(from, to)
        } throws: {
            guard let failure = $0 as? PostgresShards.Failure, failure.database == "b" else { return false }
            return failure.cause as? PostgresError == .misplaced(room: "lobby")
        }
    }

    @Test func `the identity of a source → it has the identifier of the server, unless the role may not read it`()
        async throws
    {
        let server = try await PostgresServer.common()
        let uri = try await server.database()
        await close(try await Place.database(uri).open())
        let number = try await server.sql("SELECT system_identifier FROM pg_control_system()", in: uri)
        let source = try await PostgresTransferSource(uri)
        #expect(source.identity.hasSuffix(", server \(number)"))
        await source.close()
        let role = "reader_\(UInt64.random(in: 0 ... .max))"
        for statement in [
            "CREATE ROLE \(role)", "GRANT USAGE ON SCHEMA martlet TO \(role)",
            "GRANT SELECT ON ALL TABLES IN SCHEMA martlet TO \(role)",
            "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC",
        ] { try await server.sql(statement, in: uri) }
        let reader = try await PostgresTransferSource(uri + "&options=-crole%3D\(role)")
        #expect(source.identity == reader.identity + ", server \(number)")
        await reader.close()
        for statement in ["DROP OWNED BY \(role)", "DROP ROLE \(role)"] { try await server.sql(statement, in: uri) }
    }

    @Test func `rooms that the source has removed → removed; a changed copy → the differences are stated`()
        async throws
    {
        let (from, to) = (try await Place.database(), Place.directory())
        let store = try await from.open()
        try await fill(store)
        _ = try await copy(from, to)
        guard case .database(let uri) = from else { return }
        let server = try await PostgresServer.common()
        try await server.sql("DELETE FROM martlet.rooms WHERE name = 'kitchen'", in: uri)
        try await server.sql("DELETE FROM martlet.roles", in: uri)
        let (source, destination) = (try await from.source(), try await to.destination())
        #expect(
            try await StoreTransfer.differences(source, destination) == [
                "room kitchen is in the destination only", "the roles differ",
            ])
        for store in [source, destination] { await store.close() }
        let report = try await copy(from, to)
        #expect(report.removedCount == 1 && report.copiedCount == 0)
        await close(store)
    }

    //
    @Test func `a client whose relay moves to a database → it continues, and each message arrives once`() async throws {
        let (from, to) = (Place.directory(), try await Place.database())
        var store = try await from.open()
        var configuration = try Relay.Configuration(port: 0)
        configuration.limits = .unlimited
        var relay = Relay(configuration: configuration, store: store, authenticator: .allowAll, policy: .allowAll)
        let address = try relay.start()[0]
        let (hers, his) = (
            try Client(to: "martlet://\(address)", as: .anonymous("alice")),
            try Client(to: "martlet://\(address)", as: .anonymous("bob"))
        )
        let texts = try await withClient(hers) { alice in
            try await withClient(his) { bob in
                let (sender, reader) = (try await alice.open(room: "lobby"), try await bob.open(room: "lobby"))
                async let received = Self.texts(40, reader)
                var handles: [MessageHandle] = []
                for number in 0..<20 { handles.append(try await sender.send("\(number)")) }
                _ = try await handles[9].accepted()
                await relay.shutdown()
                await close(store)
                _ = try await copy(from, to)
                store = try await to.open()
                configuration.addresses = [address]
                relay = Relay(
                    configuration: configuration, store: store, authenticator: .allowAll, policy: .allowAll)
                _ = try relay.start()
                for number in 20..<40 { handles.append(try await sender.send("\(number)")) }
                for (index, handle) in handles.enumerated() {
                    #expect(try await handle.accepted() == UInt64(index + 1))
                }
                return try await received
            }
        }
        #expect(texts == (0..<40).map { "\($0)" })
        await relay.shutdown()
        await close(store)
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

/// A source that ends after a number of pages of messages.
private final class FailingSource: TransferSource {
    struct Stopped: Error {}

    private let source: any TransferSource
    private var count: Int

    init(_ source: any TransferSource, count: Int) {
        self.source = source
        self.count = count
    }

    var identity: String { source.identity }

    nonisolated(nonsending) func rooms(after room: RoomName?) async throws -> [RoomName] {
        try await source.rooms(after: room)
    }

    nonisolated(nonsending) func begin(_ room: RoomName) async throws -> TransferredRoom? {
        try await source.begin(room)
    }

    nonisolated(nonsending) func messages(from offset: UInt64) async throws -> [LogEntry] {
        count -= 1
        guard count > 0 else { throw Stopped() }
        return try await source.messages(from: offset)
    }

    nonisolated(nonsending) func end() async throws { try await source.end() }

    nonisolated(nonsending) func records(
        of part: TransferredPart, after last: TransferredRecord?
    ) async throws -> [TransferredRecord] { try await source.records(of: part, after: last) }

    nonisolated(nonsending) func close() async { await source.close() }
}
