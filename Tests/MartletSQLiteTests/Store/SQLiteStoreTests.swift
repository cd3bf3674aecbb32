import Dispatch
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletTransport
import MartletWire
import Synchronization
import Testing

@testable import MartletDatabase
@testable import MartletRelaySQLite

@Suite struct SQLiteStoreTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    //
    @Test func `a store that is opened again -> identity, messages, counters and progress as before`() async throws {
        let first = try await SQLiteStore(at: folder.path)
        let log = try await first.load(.lobby).log
        _ = try await first.append(entries(1...3), to: .lobby)
        let progress = [AccountName("bob"): AccountProgress(delivered: 3, read: 2)]
        try await first.saveProgress(progress, of: .lobby)
        await first.close()
        let second = try await SQLiteStore(at: folder.path)
        let snapshot = try await second.load(.lobby)
        #expect(snapshot.log == log && snapshot.lastOffset == 3 && snapshot.progress == progress)
        #expect(snapshot.devices[device()]?.watermark == 3)
        #expect(try await second.read(.all, of: .lobby).entries.map(\.body.bytes) == entries(1...3).map(\.body.bytes))
    }

    //
    @Test func `appends to several rooms together -> a result for each, and only the failed one is not stored`()
        async throws
    {
        let store = try await SQLiteStore(at: folder.path)
        _ = try await store.load(.lobby)
        let third = RoomName("third")
        _ = try await store.load(third)
        let appends = [
            RoomAppend(room: .lobby, entries: entries(1...3)), RoomAppend(room: .attic, entries: entries(1...1)),
            RoomAppend(room: third, entries: entries(1...2)),
        ]
        let results = await withCheckedContinuation { done in
            let results = Guarded<[Result<UInt64, RoomStoreError>]>([])
            store.perform(
                appends.map { append in
                    .append(
                        append,
                        RoomStoreReply { result in
                            let all = results.withLock { results in
                                results.append(result)
                                return results
                            }
                            if all.count == appends.count { done.resume(returning: all) }
                        })
                })
        }
        #expect(results.map { try? $0.get() } == [1, nil, 1])
        #expect { try results[1].get() } throws: { "\($0)" == "logLost" }
        #expect(try await store.load(.lobby).lastOffset == 3)
        #expect(try await store.load(third).lastOffset == 2)
    }

    //
    @Test func `a directory in use -> locked, until its store is closed`() async throws {
        var store: SQLiteStore? = try await SQLiteStore(at: folder.path)
        await #expect(throws: DatabaseError.locked(path: folder.path)) { try await SQLiteStore(at: folder.path) }
        await store?.close()
        store = nil
        await #expect(throws: Never.self) { try await SQLiteStore(at: folder.path) }
    }

    //
    @Test func `a store without references whose thread still writes -> locked`() async throws {
        let (started, released) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        var store: SQLiteStore? = try await SQLiteStore(at: folder.path)
        let writer = try #require(store?.writer)
        writer.submit({ _ in
            started.signal()
            released.wait()
        }) { _ in }
        await Task.detached { started.wait() }.value
        store = nil
        await #expect(throws: DatabaseError.locked(path: folder.path)) { try await SQLiteStore(at: folder.path) }
        released.signal()
        await writer.close()
    }

    //
    @Test func `an empty room that is touched -> kept; another room of the same age -> removed`() async throws {
        let logs = try [RoomName.lobby, .attic].map { try folder.store(at: 1000).load($0).log }
        let wall = Guarded(StoreRetention.emptyRoomLifetime)
        let store = try await SQLiteStore(at: folder.path, wallClock: { wall.withLock { $0 } })
        try await store.touch([.lobby])
        wall.withLock { $0 *= 2 }
        await store.removeOld(steady: .now + .seconds(24 * 3600))
        #expect(try await store.load(.lobby).log == logs[0])
        #expect(try await store.load(.attic).log != logs[1])
        await store.close()
    }

    //
    @Test(arguments: [false, true])
    func `a wall clock 40 days ahead -> messages are kept for a day, also after a restart`(isRestarted: Bool)
        async throws
    {
        let day: UInt64 = 24 * 3600 * 1000
        let wall = Guarded(100 * day)
        var retention = StoreRetention()
        retention.maxAge = Int(20 * day)
        let start = ContinuousClock.now
        var store = try await SQLiteStore(at: folder.path, retention, wallClock: { wall.withLock { $0 } })
        _ = try await store.load(.lobby)
        _ = try await store.append(entries(1...3, at: 100 * day), to: .lobby)
        await store.removeOld(steady: start + .seconds(60))
        wall.withLock { $0 += 40 * day }
        if isRestarted {
            await store.close()
            store = try await SQLiteStore(at: folder.path, retention, wallClock: { wall.withLock { $0 } })
        }
        for pass in 2...4 {
            await store.removeOld(steady: start + .seconds(60 * pass))
            wall.withLock { $0 += 60_000 }
        }
        #expect(try await store.read(.all, of: .lobby).offsets == [1, 2, 3])
        wall.withLock { $0 += day }
        await store.removeOld(steady: start + .seconds(24 * 3600 + 300))
        #expect(try await store.read(.all, of: .lobby).offsets == [])
        await store.close()
    }

    //
    @Test func `bounds of a room -> after a restart, for the pass of the retention, and beyond the end of its log`()
        async throws
    {
        let day: UInt64 = 24 * 3600 * 1000
        let wall = Guarded(100 * day)
        let start = ContinuousClock.now
        var store = try await SQLiteStore(at: folder.path, wallClock: { wall.withLock { $0 } })
        for room in [RoomName.lobby, .attic] {
            _ = try await store.load(room)
            _ = try await store.append(entries(1...3, at: 100 * day), to: room)
        }
        let bounds = RoomRetention(maxAge: 5 * day, maxCount: 7, maxByteCount: .max)
        try await store.saveRetention(bounds, of: .lobby)
        await store.close()
        store = try await SQLiteStore(at: folder.path, wallClock: { wall.withLock { $0 } })
        let kept = RoomRetention(maxAge: 5 * day, maxCount: 7, maxByteCount: UInt64(Int64.max))
        #expect(try await store.load(.lobby).retention == kept)
        for passed in [4, 6] as [UInt64] {
            wall.withLock { $0 = (100 + passed) * day }
            await store.removeOld(steady: start + .seconds(Int64(passed) * 24 * 3600))
            let isKept = passed < 5
            #expect(try await store.read(.all, of: .lobby).offsets == (isKept ? [1, 2, 3] : []))
            #expect(try await store.read(.all, of: .attic).offsets == [1, 2, 3])
        }
        wall.withLock { $0 = 200 * day }
        await store.removeOld(steady: start + .seconds(100 * 24 * 3600))
        #expect(try await store.load(.lobby).lastOffset == 0)
        #expect(try await store.load(.lobby).retention == kept)
        await store.close()
    }

    // R-196, Specs/hostile.md row 122
    @Test func `row 122, a room with looser bounds -> the bound on the bytes of all rooms holds`() async throws {
        var retention = StoreRetention()
        (retention.maxMessagesPerRoom, retention.maxByteCount) = (5, 100)
        let store = try await SQLiteStore(at: folder.path, retention: retention)
        _ = try await store.load(.lobby)
        try await store.saveRetention(RoomRetention(maxCount: 1000), of: .lobby)
        for offset in 1...30 as ClosedRange<UInt64> {
            _ = try await store.append(entries(offset...offset), to: .lobby)
        }
        #expect(try await store.load(.lobby).firstOffset == 1)
        await store.removeOld(steady: .now)
        #expect(try await store.load(.lobby).firstOffset == 21)
        await store.close()
    }

    //
    @Test func `bounds that are not positive -> the room is refused, and the pass goes on`() async throws {
        let store = try await SQLiteStore(at: folder.path)
        for room in [RoomName.lobby, .attic] { _ = try await store.load(room) }
        try await store.saveRetention(RoomRetention(maxCount: 1), of: .lobby)
        try await store.writer.perform { try $0.database.execute("UPDATE retention SET max_count = 0") }
        await #expect(throws: StoreError.damaged(.lobby, offset: 0)) { try await store.load(.lobby) }
        await store.removeOld(steady: .now)
        #expect(try await store.load(.attic).lastOffset == 0)
        var faults: [String] = []
        try StoreContents(path: folder.storePath).check { faults.append($0) }
        #expect(faults.count == 2 && faults[0] == "\(StoreError.damaged(.lobby, offset: 0))")
        await store.close()
    }

    //
    @Test func `a file of version 5 -> migrated, and rooms have no bounds; exports and copies have them`() throws {
        do {
            let store = try folder.store()
            _ = try store.load(.lobby)
        }
        let old = try Database(path: folder.storePath)
        try old.execute("DROP TABLE retention; PRAGMA user_version=5")
        try StoreContents(path: folder.storePath).forEachRetention { _ in Issue.record("no bounds exist") }
        let store = try folder.store()
        #expect(try store.load(.lobby).retention == RoomRetention())
        try store.saveRetention(RoomRetention(maxAge: 9), of: .lobby)
        #expect(try old.schemaVersion() == 6)
        let copy = try StoreImport(path: folder.file("copy"), isBranching: true)
        try StoreContents(path: folder.storePath).forEachRecord { try copy.add($0) }
        try copy.endRoom()
        var found: [StoreRecord] = []
        try StoreContents(path: folder.file("copy")).forEachRetention { found.append($0) }
        guard case .retention(.lobby, RoomRetention(maxAge: 9))? = found.first else {
            Issue.record("\(found)")
            return
        }
        #expect(found.count == 1)
    }

    @Test func `a directory that does not exist -> created; a path without a parent -> cannotOpen`() async throws {
        let store: any RoomStore = try await .sqlite(at: folder.file("new"))
        #expect(try await store.load(.lobby).lastOffset == 0)
        let path = folder.file("none/new")
        await #expect(throws: DatabaseError.cannotOpen(path: path)) { try await SQLiteStore(at: path) }
    }

    //
    @Test func `appends of a hundred rooms at a time -> all are stored`() async throws {
        let store = try await SQLiteStore(at: folder.path)
        let rooms = (0..<100).map { RoomName("room-\($0)")! }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for room in rooms {
                group.addTask {
                    _ = try await store.load(room)
                    for offset in 1...20 as ClosedRange<UInt64> {
                        _ = try await store.append(entries(offset...offset), to: room)
                        #expect(try await store.read(.all, of: room).offsets == Array(1...offset))
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `calls after the close -> closed`() async throws {
        let store = try await SQLiteStore(at: folder.path)
        await store.close()
        await #expect(throws: DatabaseError.closed) { try await store.load(.lobby) }
        await #expect(throws: DatabaseError.closed) { try await store.append(entries(1...1), to: .lobby) }
    }

    //
    @Test func `a clock behind the latest time in the store -> clockJumped`() async throws {
        _ = try folder.store(at: 1 << 50).load(.lobby)
        let steps = Mutex<[Int64]>([])
        _ = try await SQLiteStore(at: folder.path) { event in
            if case .clockJumped(let step) = event { steps.withLock { $0.append(step) } }
        }
        #expect(steps.withLock(\.count) == 1 && steps.withLock { $0[0] } < 0)
    }

    //
    @Test func `a file of a later version -> newerSchema`() async throws {
        let store = try folder.store()
        try store.writer.database.execute("PRAGMA user_version=\(StoreSchema.migrations.version + 1)")
        await #expect(
            throws: DatabaseError.newerSchema(
                found: StoreSchema.migrations.version + 1, known: StoreSchema.migrations.version,
                path: folder.storePath)
        ) { try await SQLiteStore(at: folder.path) }
    }
}
