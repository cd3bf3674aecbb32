import Foundation
import MartletLink
import MartletPostgres
import MartletRelay
import MartletRelaySQLite
import MartletStoreTestSupport
import MartletWire
import Testing

/// A kind of store, all of which have the same contract.
enum StoreKind: CaseIterable {
    case memory, sqlite, postgres, shards

    /// The kinds that this system has.
    static var installed: [StoreKind] { allCases.filter { !$0.isDatabase || PostgresServer.isInstalled } }

    /// The kinds whose bounds hold for all rooms together.
    static var undivided: [StoreKind] { installed.filter { $0 != .shards } }

    var isDatabase: Bool { self == .postgres || self == .shards }

    /// Two new databases, of which b has the room attic and c the room lobby.
    static func databases() async throws -> [String: String] {
        let server = try await PostgresServer.common()
        return ["b": try await server.database(), "c": try await server.database()]
    }

    /// A new store.
    func make() async throws -> any RoomStore {
        switch self {
        case .memory: return InMemoryStore()
        case .sqlite:
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
            return try await SQLiteStore(at: folder.path)
        case .postgres: return try await PostgresStore.patient(PostgresServer.common().database())
        case .shards: return try await PostgresShards.patient(Self.databases())
        }
    }
}

/// The contract of `RoomStore`, of the stores in memory, in a file, and in a database of PostgreSQL or two.
@Suite struct StoreConformanceTests {

    //
    @Test(arguments: StoreKind.installed)
    func `a new room -> empty, and the same identity on each load`(kind: StoreKind) async throws {
        let store = try await kind.make()
        let snapshot = try await store.load(.lobby)
        #expect(snapshot.lastOffset == 0 && snapshot.firstOffset == 1 && snapshot.log != nil)
        #expect(snapshot.devices.isEmpty && snapshot.progress.isEmpty)
        #expect(try await store.load(.lobby).log == snapshot.log)
        #expect(try await store.load(.attic).log != snapshot.log)
    }

    //
    @Test(arguments: StoreKind.installed)
    func `appended messages -> read within both bounds; other offsets are refused`(kind: StoreKind) async throws {
        let store = try await kind.make()
        _ = try await store.load(.lobby)
        for part in [1...40, 41...41, 42...100] as [ClosedRange<UInt64>] {
            #expect(try await store.append(entries(part), to: .lobby) == 1)
        }
        func offsets(_ from: UInt64, _ count: Int, _ byteCount: Int) async throws -> [UInt64] {
            try await store.read(ReadRange(from: from, maxCount: count, maxByteCount: byteCount), of: .lobby).offsets
        }
        #expect(try await offsets(1, 3, 1000) == [1, 2, 3])
        #expect(try await offsets(39, 4, 1000) == [39, 40, 41, 42])
        #expect(try await offsets(50, 10, 35) == [50, 51, 52])
        #expect(try await offsets(50, 10, 1) == [50])
        #expect(try await offsets(101, 10, 1000).isEmpty)
        #expect(try await offsets(.max, 10, 1000).isEmpty)
        for part in [100...101, 102...102] as [ClosedRange<UInt64>] {
            await #expect(throws: (any Error).self) { try await store.append(entries(part), to: .lobby) }
        }
        #expect(try await store.load(.lobby).lastOffset == 100)
    }

    //
    @Test(arguments: StoreKind.installed)
    func `an append to a room that was not loaded -> LogLost`(kind: StoreKind) async throws {
        let store = try await kind.make()
        await #expect { try await store.append(entries(1...1), to: .lobby) } throws: { "\($0)" == "logLost" }
    }

    //
    @Test(arguments: StoreKind.installed)
    func `overtaken counters -> the snapshot distinguishes taken ones from skipped ones`(kind: StoreKind) async throws {
        let store = try await kind.make()
        _ = try await store.load(.lobby)
        _ = try await store.append(entries(1...2, counter: 9), to: .lobby)  // 10, 11
        _ = try await store.append(entries(3...3, counter: 11), to: .lobby)  // 14
        _ = try await store.append(entries(4...4, counter: 8), to: .lobby)  // 12
        _ = try await store.append(entries(5...5, device: 2, counter: 295), to: .lobby)  // 300
        let devices = try await store.load(.lobby).devices
        let first = try #require(devices[device()])
        #expect([9, 13].allSatisfy { !first.contains($0) } && [10, 11, 12, 14].allSatisfy { first.contains($0) })
        #expect(first.watermark == 14 && first.usedAt == 1000)
        #expect(devices[device("alice", 2)]?.gaps == [1...299])
    }

    //
    @Test(arguments: StoreKind.undivided)
    func `saved roles -> in each snapshot; a room beyond the account's maximum is refused`(kind: StoreKind) async throws
    {
        let store = try await kind.make()
        #expect(try await store.load(.lobby).roles == nil)
        let creation = RoomCreation(account: AccountName("alice"), maxRoomCount: 1)
        try await store.saveRoles([1, 2], of: .lobby, creation: creation)
        try await store.saveRoles([3], of: .lobby, replacing: 1, creation: nil)
        #expect(try await store.load(.lobby).roles == [3])
        await #expect { try await store.saveRoles([4], of: .attic, creation: creation) } throws: {
            "\($0)" == "tooManyRooms"
        }
        #expect(try await store.load(.attic).roles == nil)
    }

    //
    @Test(arguments: StoreKind.installed)
    func `a creation of a room that has roles -> refused, and the roles are unchanged`(kind: StoreKind) async throws {
        let store = try await kind.make()
        for name in ["alice", "bob"] {
            let creation = RoomCreation(account: AccountName(name)!, maxRoomCount: 1)
            if name == "alice" {
                try await store.saveRoles([1], of: .lobby, creation: creation)
            } else {
                await #expect {
                    try await store.saveRoles([2], of: .lobby, creation: creation)
                } throws: { "\($0)" == "roomHasRoles" }
                try await store.saveRoles([3], of: .attic, creation: creation)
            }
        }
        #expect(try await store.load(.lobby).roles == [1])
    }

    // R-73, Specs/hostile.md row 67
    @Test(arguments: StoreKind.undivided)
    func `row 67, more than 4 MiB of roles of an account's rooms -> refused, shorter ones are saved`(kind: StoreKind)
        async throws
    {
        let store = try await kind.make()
        let half = [UInt8](repeating: 1, count: RoomRoles.maxByteCountPerCreator / 2)
        let alice = RoomCreation(account: AccountName("alice"), maxRoomCount: 9)
        try await store.saveRoles(half, of: .lobby, creation: alice)
        try await store.saveRoles(half, of: .attic, creation: alice)
        await #expect { try await store.saveRoles(half + [1], of: .attic, replacing: 1, creation: nil) } throws: {
            "\($0)" == "rolesFull"
        }
        await #expect {
            try await store.saveRoles([1], of: RoomName("third"), creation: alice)
        } throws: { "\($0)" == "rolesFull" }
        try await store.saveRoles(Array(half.dropLast()), of: .attic, replacing: 1, creation: nil)
        try await store.saveRoles([1], of: RoomName("third"), creation: alice)
        #expect(try await store.load(.attic).roles?.count == half.count - 1)
    }

    //
    @Test(arguments: StoreKind.installed)
    func `progress only rises`(kind: StoreKind) async throws {
        let store = try await kind.make()
        _ = try await store.load(.lobby)
        _ = try await store.append(entries(1...9), to: .lobby)
        let (alice, bob) = (AccountName("alice"), AccountName("bob"))
        try await store.saveProgress([alice: AccountProgress(delivered: 5, read: 3)], of: .lobby)
        try await store.saveProgress(
            [alice: AccountProgress(delivered: 4, read: 4), bob: AccountProgress(delivered: 1)], of: .lobby)
        #expect(
            try await store.load(.lobby).progress
                == [alice: AccountProgress(delivered: 5, read: 4), bob: AccountProgress(delivered: 1)])
    }

    //
    @Test(arguments: StoreKind.installed)
    func `a list of rooms -> pages in the order of names, of all or of those of an account`(kind: StoreKind)
        async throws
    {
        let store = try await kind.make()
        let names = ["a", "B", "b", "é", "c", "aa"].map { RoomName($0)! }
        for name in names {
            _ = try await store.load(name)
            _ = try await store.append(entries(1...2, of: name == "b" ? "bob" : "alice"), to: name)
        }
        func pages(_ limit: Int, of publisher: AccountName? = nil) async throws -> [[RoomName]] {
            var pages: [[RoomName]] = []
            var read = RoomListRead(limit: limit, publisher: publisher)
            repeat {
                let page = try await store.call { [read] in .listRooms(read, $0) }
                pages.append(page.rooms.map(\.name))
                #expect(page.rooms.allSatisfy { $0.lastOffset == 2 && $0.firstOffset == 1 })
                read.after = page.next
            } while read.after != nil
            return pages
        }
        let sorted = ["B", "a", "aa", "b", "c", "é"].map { RoomName($0)! }
        #expect(try await pages(4) == [Array(sorted[..<4]), Array(sorted[4...])])
        #expect(try await pages(6) == [sorted])
        #expect(try await pages(1).filter { !$0.isEmpty } == sorted.map { [$0] })
        let found = try await pages(2, of: "bob").flatMap { $0 }
        // A database may also list rooms whose devices are not folded.
        #expect(kind.isDatabase ? found.contains("b") : found == ["b"])
        if !kind.isDatabase { #expect(try await pages(2, of: "eve").flatMap { $0 } == []) }
        let log = try await store.load("aa").log
        let page = try await store.call { .listRooms(RoomListRead(after: "a", limit: 1), $0) }
        #expect(page.rooms.map(\.log) == [log] && page.next == "aa")
    }

    //
    @Test(arguments: StoreKind.undivided)
    func `more than 1,024 rooms without an account -> a page without rooms, and the place of the next`(kind: StoreKind)
        async throws
    {
        let store = try await kind.make()
        for number in 0..<1030 { _ = try await store.load(RoomName("\(10_000 + number)")!) }
        let first = try await store.call { .listRooms(RoomListRead(limit: 1, publisher: "bob"), $0) }
        #expect(first.rooms.isEmpty && first.next == "11023")
        let rest = try await store.call { .listRooms(RoomListRead(after: first.next, limit: 1, publisher: "bob"), $0) }
        #expect(rest.rooms.isEmpty && rest.next == nil)
    }

    //
    @Test(arguments: StoreKind.installed)
    func `bounds of a room -> in each snapshot and in effect; none -> those of the store`(kind: StoreKind)
        async throws
    {
        let store = try await bounded(kind)
        _ = try await store.load(.attic)
        func save(_ bounds: RoomRetention) async throws {
            try await store.call { .saveRetention(bounds, of: .lobby, $0) }
        }
        try await save(RoomRetention(maxCount: 20))
        #expect(try await store.load(.lobby).retention == RoomRetention(maxCount: 20))
        #expect(try await store.load(.attic).retention == RoomRetention())
        for offset in 1...30 as ClosedRange<UInt64> {
            _ = try await store.append(entries(offset...offset), to: .lobby)
            _ = try await store.append(entries(offset...offset), to: .attic)
        }
        #expect(try await firstOffset(atLeast: 11, of: .lobby, store) == 11)
        #expect(try await firstOffset(atLeast: 21, of: .attic, store) == 21)
        try await save(RoomRetention(maxByteCount: 25))
        #expect(try await store.load(.lobby).retention == RoomRetention(maxByteCount: 25))
        // The store on disk removes a bounded number of batches with an append.
        for offset in 31...33 as ClosedRange<UInt64> {
            _ = try await store.append(entries(offset...offset), to: .lobby)
        }
        _ = try await firstOffset(atLeast: 31, of: .lobby, store)
        try await save(RoomRetention())
        #expect(try await store.load(.lobby).retention == RoomRetention())
        for offset in 34...50 as ClosedRange<UInt64> {
            _ = try await store.append(entries(offset...offset), to: .lobby)
        }
        #expect(try await firstOffset(atLeast: 41, of: .lobby, store) == 41)
    }

    /// The first offset of a room when it has a value: a store may remove messages after the reply to an append.
    private func firstOffset(
        atLeast offset: UInt64, of room: RoomName, _ store: any RoomStore
    ) async throws -> UInt64 {
        while true {
            try Task.checkCancellation()
            let first = try await store.load(room).firstOffset
            if first >= offset { return first }
            await Task.yield()
        }
    }

    /// A store that keeps ten messages of each room.
    private func bounded(_ kind: StoreKind) async throws -> any RoomStore {
        switch kind {
        case .memory: return InMemoryStore(maxMessagesPerRoom: 10)
        case .postgres, .shards:
            var retention = PostgresRetention()
            retention.maxMessagesPerRoom = 10
            if kind == .shards {
                return try await PostgresShards.patient(StoreKind.databases(), retention: retention)
            }
            return try await PostgresStore.patient(PostgresServer.common().database(), retention: retention)
        case .sqlite:
            var retention = StoreRetention()
            retention.maxMessagesPerRoom = 10
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("martlet-\(UUID().uuidString)")
            return try await SQLiteStore(at: folder.path, retention: retention)
        }
    }
}
