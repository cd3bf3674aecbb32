import Foundation
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletWire
import Testing

@testable import MartletDatabase
@testable import MartletRelaySQLite

/// Every value of a store's file can have been changed (Specs/hostile.md row 63).
@Suite struct StoreRowsTests {
    private let folder: TemporaryFolder
    private let bob = AccountName("bob")

    init() throws { folder = try TemporaryFolder() }

    /// Fills a store with a row in each table.
    private func fill() throws {
        let store = try folder.store()
        _ = try store.load(.lobby)
        _ = try store.append(entries(1...2, counter: 4) + entries(3...3, of: "carol", counter: 90), to: .lobby)
        _ = try store.append([try edit(4, of: 5, counter: 74)], to: .lobby)
        try store.saveProgress([bob: AccountProgress(delivered: 3, read: 2)], of: .lobby)
        try store.saveRoles(RoomRoles().encoded(), of: .attic, creation: RoomCreation(account: bob, maxRoomCount: 9))
        let alice = AccountName("alice")
        _ = try store.saveMemberships([bob: MembershipRecord(isJoined: true, inviter: alice, changedAt: 5)], of: .lobby)
        try store.writer.importBranch(LogID(rawValue: 7), upTo: 2, of: .lobby)
        try store.writer.saveExpiryTime(5)
    }

    private func list(_ store: StoreFile) throws -> [StoredRoomEntry] {
        try store.memberships(of: bob, .page(after: nil, maxCount: 10))
    }

    /// Does everything that a relay and the commands do with a store.
    private func use(_ path: String) throws {
        try? StoreContents(path: path).check { _ in }
        let target = folder.file("import")
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: target + suffix) }
        if let copy = try? StoreImport(path: target, isBranching: true) {
            try? StoreContents(path: path).forEachRecord { try copy.add($0) }
            try? copy.endRoom()
        }
        guard let store = try? StoreFile(path: path, now: { 2000 }) else { return }
        _ = try? store.writer.expiryTime()
        _ = try? list(store)
        let snapshot = try? store.load(.lobby)
        _ = try? store.read(.all, of: .lobby)
        let next = (snapshot?.lastOffset ?? 0) + 1
        let erasures = (1...4).map { offset in
            MessageErasure(
                offset: offset, id: MessageID(sender: "alice", device: DeviceID(rawValue: 1), counter: offset + 4))
        }
        _ = try? store.append(entries(next...next, counter: 80), erasing: erasures, to: .lobby)
        var retention = StoreRetention()
        (retention.maxAge, retention.maxByteCount, retention.maxMessagesPerRoom) = (1, 1, 1)
        let writer = try StoreWriter(store.writer.database, retention)
        for _ in 0..<8 where (try? writer.removeOld(at: DeviceRecord.lifetime * 9)) != false { break }
    }

    /// The changes of one value of a column, as SQL expressions.
    private static func changes(of column: String, isNumber: Bool, byteCount: Int) -> [String] {
        guard !isNumber else {
            let bits = [0, 1, 31, 32, 61, 62, 63].map { "\(column) + \(Int64(bitPattern: 1 << UInt64($0)))" }
            return bits + ["0", "-1", "\(Int64.max)", "\(Int64.max) - 1", "\(Int64.min)", "-\(column)"]
        }
        return (0..<byteCount).flatMap { index in
            [0x00, 0x01, 0x7F, 0x80, 0xFF].map { byte in
                "CAST(substr(\(column), 1, \(index)) || x'\(String(format: "%02x", byte))' "
                    + "|| substr(\(column), \(index + 2)) AS BLOB)"
            }
        }
    }

    // R-158
    @Test(arguments: ["rooms", "batches", "edits", "devices", "progress", "memberships", "roles", "branches", "clock"])
    func `any value of a row is changed -> the store, the commands and an import do not trap`(table: String) throws {
        try fill()
        let original = try Data(contentsOf: URL(fileURLWithPath: folder.storePath))
        var statements: [String] = []
        do {
            let database = try Database(path: folder.storePath)
            let columns = try database.prepare("SELECT name, type FROM pragma_table_info('\(table)')")
            while try columns.step() {
                let (name, type) = (columns.text(0), columns.text(1))
                let length = try database.prepare("SELECT coalesce(max(length(\(name))), 0) FROM \(table)").firstInt64()
                for change in Self.changes(of: name, isNumber: type == "INTEGER", byteCount: Int(length ?? 0)) {
                    let value = type == "TEXT" ? "CAST(\(change) AS TEXT)" : change
                    statements.append("UPDATE \(table) SET \(name) = \(value)")
                }
            }
        }
        #expect(statements.count >= 13)
        let path = folder.file("changed")
        for statement in statements {
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            try original.write(to: URL(fileURLWithPath: path))
            // A change that the schema refuses cannot be in a file either, unless its pages are damaged.
            guard (try? Database(path: path).execute(statement)) != nil else { continue }
            try use(path)
        }
    }

    // R-158
    @Test func `any bit of the file is flipped -> the store, the commands and an import do not trap`() throws {
        try fill()
        let original = try Data(contentsOf: URL(fileURLWithPath: folder.storePath))
        for index in stride(from: 100, to: original.count, by: 251) {
            let path = folder.file("flipped-\(index)")
            var changed = original
            changed[index] ^= 1 << UInt8(index % 8)
            try changed.write(to: URL(fileURLWithPath: path))
            try use(path)
        }
    }

    // R-158, R-159
    @Test func `sizes of rooms whose sum is beyond 64 bits -> the store opens, and removes messages of other rooms`()
        throws
    {
        try fill()
        let path = folder.storePath
        do {
            let store = try folder.store()
            for room in ["b", "c"] as [RoomName] {
                _ = try store.load(room)
                _ = try store.append(entries(1...40, byteCount: 1000), to: room)
            }
        }
        try Database(path: path).execute("UPDATE rooms SET byte_count = \(Int64.max) WHERE name <> 'c'")
        let store = try folder.store()
        var retention = StoreRetention()
        retention.maxByteCount = 1000
        let writer = try StoreWriter(store.writer.database, retention)
        for _ in 0..<8 where try writer.removeOld(at: 2000) { break }
        #expect(try store.load("c").firstOffset > 1)
    }

    // R-158
    @Test(arguments: [
        "UPDATE progress SET read = -1", "UPDATE progress SET delivered = 5", "UPDATE devices SET used_at = -1",
        "UPDATE branches SET last_offset = 5", "UPDATE rooms SET byte_count = -1",
    ])
    func `a damaged row -> its room is refused, the list has its entry without offsets, and check finds it`(
        change: String
    ) throws {
        try fill()
        try Database(path: folder.storePath).execute(change)
        let store = try folder.store()
        #expect(throws: StoreError.damaged(.lobby, offset: 0)) { try store.load(.lobby) }
        let entry = try #require(try list(store).first?.entry)
        #expect(entry.room == .lobby && entry.unreadCount <= 3)
        var faults: [String] = []
        try StoreContents(path: folder.storePath).check { faults.append($0) }
        #expect(faults.count == 1)
        #expect(try list(store).count == 1)
    }

    // R-158
    @Test(arguments: [
        "UPDATE batches SET accepted_at = 1", "UPDATE batches SET byte_count = byte_count + 1",
        "UPDATE memberships SET joined = 2", "UPDATE memberships SET changed_at = -1",
    ])
    func `a value that a relay does not load -> found by check`(change: String) throws {
        try fill()
        try Database(path: folder.storePath).execute(change)
        var faults: [String] = []
        try StoreContents(path: folder.storePath).check { faults.append($0) }
        #expect(!faults.isEmpty)
    }

    // R-158
    @Test func `an import of values that no store writes -> invalidRecord, and the room is not added`() throws {
        let room = StoreRecord.room(.lobby, log: LogID(rawValue: 1), firstOffset: 1, usedAt: 1)
        var early = entries(1...1)
        early[0].counter = 0
        let records: [StoreRecord] = [
            .messages(early), .progress([bob: AccountProgress(delivered: .max, read: .max)]),
            .device(device(), DeviceRecord(watermark: 9, gaps: [3...12]), lastOffset: 0),
            .device(device(), DeviceRecord(watermark: 9, gaps: [5...6, 3...4]), lastOffset: 0),
            .device(device(), DeviceRecord(watermark: 9), lastOffset: 2), .branch(LogID(rawValue: 2), upTo: 1),
        ]
        let target = try StoreImport(path: folder.storePath, isBranching: true)
        for record in records {
            try target.add(room)
            #expect(throws: StoreError.invalidRecord, "\(record)") { try target.add(record) }
            target.discardRoom()
        }
        let last = StoreRecord.room(.lobby, log: LogID(rawValue: 1), firstOffset: UInt64(Int64.max) - 1, usedAt: 1)
        try target.add(last)
        #expect(throws: StoreError.invalidRecord) {
            try target.add(.messages(entries(UInt64(Int64.max) - 1...UInt64(Int64.max))))
        }
        target.discardRoom()
        #expect(try StoreContents(path: folder.storePath).roomCount() == 0)
    }
}
