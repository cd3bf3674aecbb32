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
