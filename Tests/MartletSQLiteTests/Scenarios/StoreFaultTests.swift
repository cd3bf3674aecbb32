import Foundation
import MartletFaultVFS
import MartletLink
import MartletRelay
import MartletStoreTestSupport
import MartletWire
import Testing

@testable import MartletDatabase
@testable import MartletRelaySQLite

/// Faults of the disk and losses of power at every call. The variable MARTLET_POWER_LOSSES sets the number of points.
@Suite struct StoreFaultTests {
    /// What the store has reported to a relay about a room.
    private struct Expectation {
        var log: LogID?
        /// The last offset that was accepted.
        var accepted: UInt64 = 0
        /// The last offset that was appended, accepted or not.
        var tried: UInt64 = 0
    }

    enum Fault: CaseIterable {
        case noSpace, error, interruption, shortWrite

        var kind: fault_kind {
            switch self {
            case .noSpace: fault_enospc
            case .error: fault_eio
            case .interruption: fault_eintr
            case .shortWrite: fault_short_write
            }
        }
    }

    private static let rooms = [RoomName.lobby, .attic]

    /// Performs calls of a relay, and notes their results, until one fails.
    private func use(_ store: StoreFile, _ expected: inout [RoomName: Expectation], rounds: Int = 6) throws {
        for room in Self.rooms {
            let snapshot = try store.load(room)
            var told = expected[room] ?? Expectation(log: snapshot.log)
            #expect(snapshot.log == told.log)
            told.tried = max(told.tried, snapshot.lastOffset)
            expected[room] = told
        }
        for _ in 0..<rounds {
            for room in Self.rooms {
                var told = expected[room] ?? Expectation()
                let next = told.accepted + 1
                told.tried = max(told.tried, next + 2)
                expected[room] = told
                _ = try store.append(entries(next...next + 2, byteCount: 700), to: room)
                expected[room]?.accepted = next + 2
            }
            try store.saveProgress([AccountName("bob"): AccountProgress(delivered: 1)], of: .lobby)
        }
    }

    /// Everything accepted is stored once, with the counters of its device.
    private func verify(_ store: StoreFile, _ expected: inout [RoomName: Expectation], _ comment: Comment) throws {
        for room in Self.rooms {
            guard let told = expected[room] else { continue }
            let snapshot = try store.load(room)
            #expect(snapshot.log == told.log, comment)
            #expect(snapshot.lastOffset >= told.accepted && snapshot.lastOffset <= told.tried, comment)
            let read = try store.read(.all, of: room)
            #expect(read.offsets == Array(0..<snapshot.lastOffset).map { $0 + 1 }, comment)
            for entry in read.entries {
                #expect(entry.body.bytes == entries(entry.offset...entry.offset, byteCount: 700)[0].body.bytes, comment)
            }
            if snapshot.lastOffset > 0 {
                #expect(snapshot.devices[device()]?.watermark == snapshot.lastOffset, comment)
            }
            expected[room]?.accepted = snapshot.lastOffset
        }
    }

    /// The calls of one use of a new store.
    private func callCount() throws -> Int {
        let (disk, folder) = (try FaultyDisk(), try TemporaryFolder())
        var expected: [RoomName: Expectation] = [:]
        try use(folder.store(vfs: disk.name), &expected)
        return disk.callCount
    }

    /// The calls of a store after a loss of power: recovery, every kind of call, and the retention.
    private func useAgain(_ disk: FaultyDisk, _ folder: TemporaryFolder, _ expected: inout [RoomName: Expectation])
        throws
    {
        let store = try folder.store(vfs: disk.name)
        for room in Self.rooms {
            #expect(try store.load(room).lastOffset == expected[room]?.accepted)
            #expect(try store.read(.all, of: room).entries.count == Int(expected[room]?.accepted ?? 0))
        }
        try store.saveRoles([1, 2, 3], of: .lobby, creation: nil)
        try use(store, &expected, rounds: 1)
        while try !store.writer.transaction({ try store.writer.removeOld(at: 2000) }) {}
    }

    /// The store is released without power.
    private func endInLossOfPower(
        _ store: StoreFile, _ disk: FaultyDisk, _ expected: inout [RoomName: Expectation]
    ) throws {
        try use(store, &expected, rounds: 2)
        disk.cutPower(at: disk.callCount + 1)
    }

    /// The call of this number in the second life of a store fails, and the calls after it, if they are more.
    private func failInSecondLife(_ call: Int, _ count: Int, _ fault: Fault, _ point: Comment) throws -> Bool {
        let (disk, folder) = (try FaultyDisk(), try TemporaryFolder())
        var expected: [RoomName: Expectation] = [:]
        try endInLossOfPower(folder.store(vfs: disk.name), disk, &expected)
        #expect(disk.restorePower(seed: 1))
        let before = disk.callCount
        disk.fail(before + call, count: count, fault.kind)
        do { try useAgain(disk, folder, &expected) } catch {
            #expect(error is DatabaseError, "\(point): \(error)")
        }
        let isReached = disk.callCount >= before + call
        disk.fail(0, count: 0, fault_none)
        let store = try folder.store(vfs: disk.name)
        try verify(store, &expected, point)
        try use(store, &expected, rounds: 1)
        return isReached
    }

    // Specs/hostile.md row 29
    @Test(arguments: Fault.allCases, [1, 1_000_000])
    func `a failure of any call of a store that is opened again -> a typed error or none, nothing accepted is lost`(
        fault: Fault, count: Int
    ) throws {
        // An interruption that never ends is no fault that occurs.
        if fault == .interruption, count > 1 { return }
        var call = 1
        while try failInSecondLife(call, count, fault, "call \(call) of the second life") { call += 1 }
        #expect(call > 50)
    }

    // Specs/hostile.md row 29
    @Test(arguments: Fault.allCases, [1, 1_000_000])
    func `a failure of any call -> a typed error or none, and nothing accepted is lost`(
        fault: Fault, count: Int
    ) throws {
        if fault == .interruption, count > 1 { return }
        for call in 1...(try callCount()) {
            let (disk, folder) = (try FaultyDisk(), try TemporaryFolder())
            var expected: [RoomName: Expectation] = [:]
            disk.fail(call, count: count, fault.kind)
            do {
                try use(folder.store(vfs: disk.name), &expected)
            } catch {
                #expect(error is DatabaseError, "call \(call): \(error)")
            }
            disk.fail(0, count: 0, fault_none)
            let store = try folder.store(vfs: disk.name)
            try verify(store, &expected, "call \(call)")
            try use(store, &expected)
            try verify(store, &expected, "call \(call), used again")
        }
    }

    // Specs/hostile.md row 29
    @Test func `a full disk -> appends fail with full, reads go on, and appends succeed when there is room`() throws {
        let (disk, folder) = (try FaultyDisk(), try TemporaryFolder())
        let store = try folder.store(vfs: disk.name)
        var expected: [RoomName: Expectation] = [:]
        try use(store, &expected)
        disk.fail(disk.callCount + 1, count: 1_000_000, fault_enospc)
        let reader = try StoreReader(Database(path: folder.storePath))
        for _ in 0..<3 {
            #expect(throws: DatabaseError.full(path: folder.storePath)) {
                try store.append(entries(19...19), to: .lobby)
            }
            #expect(try reader.read(.all, of: .lobby).offsets == Array(1...18))
        }
        disk.fail(disk.callCount + 1, count: 0, fault_none)
        #expect(try store.append(entries(19...19, byteCount: 700), to: .lobby) == 1)
    }

    //
    @Test func `a loss of power at any call -> everything accepted is there, once`() throws {
        let count = Int(ProcessInfo.processInfo.environment["MARTLET_POWER_LOSSES"] ?? "") ?? 500
        let callCount = try callCount()
        for point in 0..<count {
            let (disk, folder) = (try FaultyDisk(), try TemporaryFolder())
            var expected: [RoomName: Expectation] = [:]
            disk.cutPower(at: 1 + point % callCount)
            _ = try? use(folder.store(vfs: disk.name), &expected)
            #expect(disk.restorePower(seed: UInt64(point)))
            let store = try folder.store(vfs: disk.name)
            try verify(store, &expected, "point \(point)")
            try use(store, &expected)
        }
    }
}
