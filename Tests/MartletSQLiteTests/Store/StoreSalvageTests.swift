import Foundation
import MartletFaultVFS
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletWire
import Synchronization
import Testing

@testable import MartletDatabase
@testable import MartletRelaySQLite

// R-70, Specs/hostile.md row 29, Specs/hostile.md row 63
@Suite struct StoreSalvageTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Fills two rooms, and closes the file, so that the WAL is moved to it.
    private func fill() throws -> LogID? {
        let store = try folder.store()
        _ = try store.load(.lobby)
        let log = try store.load(.attic).log
        for offset in 1...20 as ClosedRange<UInt64> {
            _ = try store.append(entries(offset...offset, byteCount: 2000), to: .lobby)
            _ = try store.append(entries(offset...offset), to: .attic)
        }
        return log
    }

    /// Overwrites bytes of the file where a text stands, or at an offset.
    private func overwrite(at offset: Int? = nil, text: [UInt8] = [], with bytes: [UInt8]) throws {
        var file = try Data(contentsOf: URL(fileURLWithPath: folder.storePath))
        let start = try offset ?? #require(file.range(of: Data(text))).lowerBound
        file.replaceSubrange(start..<start + bytes.count, with: bytes)
        try file.write(to: URL(fileURLWithPath: folder.storePath))
    }

    /// Overwrites bytes of a message in the lobby. A part of it is in another page.
    private func damageMessage() throws {
        let text = entries(13...13, byteCount: 2000)[0].body.bytes.prefix(100)
        try overwrite(text: Array(text), with: [0xFF, 0xFE, 0xFD])
    }

    private func asides() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains(".corrupt-") }
    }

    private func open() async throws -> (store: SQLiteStore, events: [StoreEvent]) {
        let events = Mutex<[StoreEvent]>([])
        let store = try await SQLiteStore(at: folder.path) { event in events.withLock { $0.append(event) } }
        return (store, events.withLock(\.self))
    }

    @Test func `a damaged header -> the file is set aside, and a new one is used`() async throws {
        _ = try fill()
        try overwrite(at: 0, with: [UInt8](repeating: 0xAA, count: 64))
        let (store, events) = try await open()
        guard case .setAside(let path, 0, _, _) = events.first else {
            Issue.record("no event: \(events)")
            return
        }
        #expect(try asides().map { folder.file($0) } == [path])
        #expect(try await store.load(.lobby).lastOffset == 0)
        _ = try await store.append(entries(1...1), to: .lobby)
    }

    @Test func `a damaged table of roles -> every room that reads well is saved with its identity`() async throws {
        let log = try fill()
        let page = try #require(
            try folder.store().writer.database.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'roles'")
                .firstInt64())
        try overwrite(at: (Int(page) - 1) * 4096, with: [UInt8](repeating: 0xAA, count: 4096))
        // A bit of a message in the lobby.
        try damageMessage()
        let (store, events) = try await open()
        guard case .setAside(_, 1, 1, 2) = events.first else {
            Issue.record("no event: \(events)")
            return
        }
        let snapshot = try await store.load(.attic)
        #expect(snapshot.log == log && snapshot.lastOffset == 20 && snapshot.devices[device()]?.watermark == 20)
        #expect(try await store.read(.all, of: .attic).offsets == Array(1...20))
        #expect(try await store.load(.lobby).lastOffset == 0)
    }

    /// Overwrites the root page of the table of roles.
    private func damageRoles() throws {
        let page = try #require(
            try folder.store().writer.database.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'roles'")
                .firstInt64())
        try overwrite(at: (Int(page) - 1) * 4096, with: [UInt8](repeating: 0xAA, count: 4096))
    }

    // R-77, Specs/hostile.md row 71
    @Test func `damaged roles -> counted, and a relay that keeps roles refuses their rooms`() async throws {
        _ = try fill()
        let ghost = RoomName("ghost")
        do {
            let store = try folder.store()
            let roles = RoomRoles().encoded()
            try store.saveRoles(roles, of: .attic, creation: nil)
            // This room has no log. Its name is in the index of creators.
            let creation = RoomCreation(account: AccountName("alice"), maxRoomCount: 9)
            try store.saveRoles(roles, of: ghost, creation: creation)
        }
        try damageRoles()
        let (store, events) = try await open()
        guard case .setAside(_, 2, 0, 3) = events.first else {
            Issue.record("no event: \(events)")
            return
        }
        for room in [RoomName.attic, .lobby, ghost] {
            let roles = try #require(try await store.load(room).roles)
            #expect(throws: RoomRolesError.self) { try RoomRoles(decoding: roles) }
        }
        await store.close()
        var faults: [String] = []
        try StoreContents(path: folder.storePath).check { faults.append($0) }
        #expect(faults.count == 4 && faults.contains("the roles of room ghost were lost with a damaged file"))
    }

    /// Closes the store, changes its file, and opens it. Returns the roles of the rooms then.
    private func roles(_ rooms: [RoomName], after change: (inout Data) -> Void) async throws -> [[UInt8]?] {
        let first = try await open()
        await first.store.close()
        let url = URL(fileURLWithPath: folder.storePath)
        var file = try Data(contentsOf: url)
        change(&file)
        try file.write(to: url)
        let (store, events) = try await open()
        guard case .setAside = events.first else {
            Issue.record("no event: \(events)")
            return []
        }
        #expect(events.contains { if case .rolesUnknown = $0 { true } else { false } })
        var roles: [[UInt8]?] = []
        for room in rooms { roles.append(try await store.load(room).roles) }
        await store.close()
        return roles
    }

    // R-77, Specs/hostile.md row 90
    @Test func `an empty, truncated or unreadable file -> the roles of every room are lost`() async throws {
        let changes: [(inout Data) -> Void] = [
            { $0 = Data() }, { $0 = $0.prefix(100) }, { $0 = $0.prefix(4096) }, { $0[3] ^= 1 }, { $0[100] ^= 1 },
        ]
        for change in changes {
            _ = try fill()
            try folder.store().saveRoles(RoomRoles().encoded(), of: .attic, creation: nil)
            let other = RoomName("another")
            #expect(try await roles([.attic, other], after: change) == [StoreSchema.lostRoles, StoreSchema.lostRoles])
            let creation = RoomCreation(account: AccountName("eve"), maxRoomCount: 9)
            #expect {
                try folder.store().saveRoles(RoomRoles().encoded(), of: other, creation: creation)
            } throws: { "\($0)" == "roomHasRoles" }
            try StoreFile.resetLostRoles(at: folder.storePath)
            #expect(try folder.store().load(other).roles == nil)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                try FileManager.default.removeItem(atPath: folder.file(name))
            }
        }
    }

    //
    @Test func `a missing file of a store that was complete -> every room's roles are lost`() async throws {
        let first = try await open()
        await first.store.close()
        try FileManager.default.removeItem(atPath: folder.storePath)
        let (store, _) = try await open()
        #expect(try await store.load(.attic).roles == StoreSchema.lostRoles)
        await store.close()
    }

    //
    @Test func `a new store -> files that only its owner can read`() async throws {
        let (store, _) = try await open()
        _ = try await store.load(.lobby)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let mode = try FileManager.default.attributesOfItem(atPath: folder.file(name))[.posixPermissions]
            #expect(mode as? Int == 0o600, "\(name)")
        }
        await store.close()
        try StoreContents(path: folder.storePath).backUp(to: folder.file("copy"))
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file("copy"))[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    //
    @Test func `an export of a store that has lost roles -> the mark is imported`() throws {
        let copy = try StoreImport(path: folder.storePath, isBranching: false)
        try copy.add(.unknownRoles)
        var records = 0
        try StoreContents(path: folder.storePath).forEachRecord { if case .unknownRoles = $0 { records += 1 } }
        #expect(records == 1)
    }

    // R-70, Specs/hostile.md row 91
    @Test(arguments: ["batches", "devices", "progress"])
    func `a damaged root page of a table -> the file is set aside`(table: String) async throws {
        _ = try fill()
        let page = try #require(
            try folder.store().writer.database.prepare("SELECT rootpage FROM sqlite_master WHERE name = '\(table)'")
                .firstInt64())
        try overwrite(at: (Int(page) - 1) * 4096, with: [UInt8](repeating: 0xAA, count: 4096))
        let (store, events) = try await open()
        guard case .setAside(_, 0, 2, 0) = events.first else {
            Issue.record("no event: \(events)")
            return
        }
        #expect(try await store.load(.attic).lastOffset == 0)
        await store.close()
    }

    // R-70, Specs/hostile.md row 91
    @Test(arguments: [
        "rooms", "sqlite_autoindex_rooms_1", "roles", "clock", "edits", "edits_offset", "branches", "memberships",
        "memberships_room",
    ])
    func `a damaged root page that every room or the clock needs -> set aside, and rooms are served`(
        name: String
    ) async throws {
        _ = try fill()
        let page = try #require(
            try folder.store().writer.database.prepare("SELECT rootpage FROM sqlite_master WHERE name = '\(name)'")
                .firstInt64())
        try overwrite(at: (Int(page) - 1) * 4096, with: [UInt8](repeating: 0xAA, count: 4096))
        let (store, events) = try await open()
        guard case .setAside = events.first else {
            Issue.record("no event: \(events)")
            return
        }
        let room = RoomName("new")
        _ = try await store.load(room)
        _ = try await store.append([entries(1...1)[0], edit(2, of: 1)], to: room)
    }

    // R-70, Specs/hostile.md row 91
    @Test func `a damaged list of free pages -> set aside, and rooms are served`() async throws {
        _ = try fill()
        try folder.store().remove(.lobby)
        var header = try Data(contentsOf: URL(fileURLWithPath: folder.storePath))[32..<36]
        let page = (0..<4).reduce(0) { value, _ in value << 8 | Int(header.removeFirst()) }
        try #require(page > 0)
        try overwrite(at: (page - 1) * 4096, with: [UInt8](repeating: 0xAA, count: 4096))
        let (store, events) = try await open()
        guard case .setAside(_, 1, 0, _) = events.first else {
            Issue.record("no event: \(events)")
            return
        }
        _ = try await store.load(.lobby)
        _ = try await store.append(entries(1...20, byteCount: 2000), to: .lobby)
    }

    // Specs/hostile.md row 89
    @Test func `a flipped bit in the log -> set aside, and the log of each room branches`() async throws {
        let log = try fill()
        try folder.store().saveRoles(RoomRoles().encoded(), of: .attic, creation: nil)
        // The log of a store in use, as a crash leaves it.
        let store = try folder.store()
        for offset in 21...25 as ClosedRange<UInt64> { _ = try store.append(entries(offset...offset), to: .attic) }
        let wal = try Data(contentsOf: URL(fileURLWithPath: folder.storePath + "-wal"))
        let main = try Data(contentsOf: URL(fileURLWithPath: folder.storePath))
        withExtendedLifetime(store) {}
        let crashed = try TemporaryFolder()
        var damaged = wal
        damaged[32 + 24 + 100] ^= 1
        try main.write(to: URL(fileURLWithPath: crashed.storePath))
        try damaged.write(to: URL(fileURLWithPath: crashed.storePath + "-wal"))
        let events = Mutex<[StoreEvent]>([])
        let again = try await SQLiteStore(at: crashed.path) { event in events.withLock { $0.append(event) } }
        guard case .setAside(_, 2, 0, 1) = events.withLock(\.first) else {
            Issue.record("no event: \(events.withLock(\.self))")
            return
        }
        let snapshot = try await again.load(.attic)
        #expect(snapshot.branches == [log: 20])
        #expect(snapshot.log != log && snapshot.lastOffset == 20 && snapshot.roles == StoreSchema.lostRoles)
        #expect(try await again.load(.lobby).roles == StoreSchema.lostRoles)
        await again.close()
    }

    // Specs/hostile.md row 71
    @Test(arguments: [fault_enospc, fault_eio].map(\.rawValue), [1, 1_000_000])
    func `a fault at any call of the copy -> a typed error or the copy, and no room is lost`(
        kind: UInt32, count: Int
    ) throws {
        let log = try fill()
        try damageRoles()
        let damaged = try Data(contentsOf: URL(fileURLWithPath: folder.storePath))
        var (call, hasFailed) = (1, true)
        while hasFailed {
            let (disk, folder) = (try FaultyDisk(), try TemporaryFolder())
            try damaged.write(to: URL(fileURLWithPath: folder.storePath))
            disk.fail(call, count: count, fault_kind(rawValue: kind))
            do { _ = try folder.store(vfs: disk.name) } catch {
                #expect(error is DatabaseError, "call \(call): \(error)")
            }
            hasFailed = disk.failedCount > 0
            disk.fail(0, count: 0, fault_none)
            let snapshot = try folder.store().load(.attic)
            #expect(snapshot.log == log && snapshot.lastOffset == 20, "call \(call)")
            #expect(snapshot.roles == StoreSchema.lostRoles, "call \(call)")
            call += 1
        }
        #expect(call > 20)
    }

    @Test func `a damaged message in use -> reads of its room fail there, and other rooms are served`() async throws {
        _ = try fill()
        try damageMessage()
        let (store, events) = try await open()
        #expect(events.isEmpty)
        #expect(
            try await store.read(ReadRange(from: 1, maxCount: 12, maxByteCount: .max), of: .lobby).offsets.count == 12)
        await #expect(throws: StoreError.damaged(.lobby, offset: 13)) { try await store.read(.all, of: .lobby) }
        #expect(try await store.read(.all, of: .attic).offsets == Array(1...20))
        #expect(try await store.append(entries(21...21), to: .attic) == 1)
        await store.close()
        var faults: [String] = []
        try StoreContents(path: folder.storePath).check { faults.append($0) }
        #expect(faults == ["\(StoreError.damaged(.lobby, offset: 13))"])
    }

    @Test func `a crash between the two renames -> the new file is used`() async throws {
        let log = try fill()
        try FileManager.default.moveItem(atPath: folder.storePath, toPath: "\(folder.storePath).partial")
        let (store, _) = try await open()
        #expect(try await store.load(.attic).log == log)
    }
}
