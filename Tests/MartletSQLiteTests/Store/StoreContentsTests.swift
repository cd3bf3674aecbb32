import Foundation
import MartletFaultVFS
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletWire
import Testing

@testable import MartletDatabase
@testable import MartletRelaySQLite

@Suite struct StoreContentsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    //
    @Test func `a backup while the store is in use -> a store with the same contents`() async throws {
        let store = try await SQLiteStore(at: folder.path)
        let log = try await store.load(.lobby).log
        _ = try await store.append(entries(1...9), to: .lobby)
        try StoreContents(path: folder.storePath).backUp(to: folder.file("copy"))
        _ = try await store.append(entries(10...10), to: .lobby)
        let copy = try StoreFile(path: folder.file("copy")) { 1 }
        #expect(try copy.load(.lobby).branches == [#require(log): 9] && copy.load(.lobby).lastOffset == 9)
        #expect(try copy.read(.all, of: .lobby).offsets == Array(1...9))
    }

    //
    @Test func `a snapshot of a store in use -> the earlier contents, and the log of the store is truncated`()
        async throws
    {
        let store = try await SQLiteStore(at: folder.path)
        _ = try await store.load(.lobby)
        _ = try await store.append(entries(1...9), to: .lobby)
        let copy = try StoreContents(path: folder.storePath).snapshot(at: folder.file("copy"))
        _ = try await store.append(entries(10...10), to: .lobby)
        await store.close()
        let database = try Database(path: folder.storePath)
        #expect(try database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").firstInt64() == 0)
        var offsets: [UInt64] = []
        try copy.forEachRecord { if case .messages(let entries) = $0 { offsets += entries.map(\.offset) } }
        #expect(offsets == Array(1...9))
        #expect(!FileManager.default.fileExists(atPath: folder.file("copy")))
    }

    @Test func `a full disk from any call of a backup on -> a typed error, and no file remains`() throws {
        let store = try folder.store()
        defer { withExtendedLifetime(store) {} }
        _ = try store.load(.lobby)
        _ = try store.append(entries(1...9), to: .lobby)
        var (call, hasFailed) = (1, true)
        while hasFailed {
            let disk = try FaultyDisk()
            var options = Database.Options()
            options.vfs = disk.name
            let contents = try StoreContents(path: folder.storePath, options: options)
            let copy = folder.file("copy-\(call)")
            disk.fail(disk.callCount + call, count: 1_000_000, fault_enospc)
            do { try contents.backUp(to: copy) } catch {
                #expect(error is DatabaseError, "call \(call): \(error)")
                let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                #expect(!names.contains { $0.hasPrefix("copy-\(call)") }, "call \(call): \(names)")
            }
            hasFailed = disk.failedCount > 0
            disk.fail(0, count: 0, fault_none)
            call += 1
        }
        #expect(call > 3)
    }

    //
    @Test func `contents that change while they are read -> the state at the start`() throws {
        let store = try folder.store()
        _ = try store.load(.lobby)
        _ = try store.append(entries(1...300), to: .lobby)
        let contents = try StoreContents(path: folder.storePath)
        #expect(try contents.roomCount() == 1)
        var offsets: [UInt64] = []
        try contents.forEachRecord { record in
            guard case .messages(let part) = record else { return }
            offsets += part.map(\.offset)
            let next = try store.load(.lobby).lastOffset + 1
            _ = try store.append(entries(next...next), to: .lobby)
        }
        #expect(offsets == Array(1...300))
    }

    //
    @Test func `a room whose last batch is missing or reaches beyond its end -> check reports it`() throws {
        let store = try folder.store()
        _ = try store.load(.lobby)
        _ = try store.append(entries(1...9), to: .lobby)
        for last in [8, 10] {
            try store.writer.database.execute("UPDATE rooms SET last_offset = \(last)")
            var faults: [String] = []
            try StoreContents(path: folder.storePath).check { faults.append($0) }
            #expect(faults.count == 1, "\(last)")
        }
    }

    @Test func `a missing file or another database -> cannotOpen, otherFormat`() throws {
        let none = folder.file("none")
        #expect(throws: DatabaseError.cannotOpen(path: none)) { try StoreContents(path: none) }
        let other = try Database(path: folder.file("other"))
        try other.execute("CREATE TABLE a (b)")
        #expect(throws: DatabaseError.otherFormat(path: other.path)) { try StoreContents(path: other.path) }
    }
}
