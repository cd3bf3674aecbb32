import Foundation
import MartletFaultVFS
import Testing

@testable import Martlet
@testable import MartletDatabase
@testable import MartletSQLite

// C-81, Specs/hostile.md row 70
@Suite("A damaged file of an outbox")
struct OutboxFileTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("outbox")
    }

    /// Fills a file and damages a page of its messages. Returns the device.
    private func damage(inFlightSince time: UInt64? = nil) async throws -> DeviceID {
        let outbox = SQLiteOutbox(path: path)
        let entries = Entries(device: try await outbox.open().device)
        try await outbox.commit(
            entries.transaction { transaction in
                transaction.appended = (1...60).map {
                    entries.entry($0, String(repeating: "a", count: 500), inFlightSince: time)
                }
            })
        await outbox.close()
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        let length = try handle.seekToEnd()
        try handle.seek(toOffset: length / 4096 / 2 * 4096)
        try handle.write(contentsOf: Data(repeating: 0xA5, count: 4096))
        try handle.close()
        return entries.device
    }

    //
    @Test func `a symbolic link to a file in use → locked`() async throws {
        let outbox = SQLiteOutbox(path: path)
        _ = try await outbox.open()
        let link = folder.file("link")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        await #expect(throws: DatabaseError.locked(path: path)) { try await SQLiteOutbox(path: link).open() }
        await outbox.close()
    }

    private func state(_ path: String) async throws -> OutboxState {
        let outbox = SQLiteOutbox(path: path)
        let state = try await outbox.open()
        await outbox.close()
        return state
    }

    // C-80
    @Test func `messages in flight beside a damaged page → the time at which they were handed over`() async throws {
        _ = try await damage(inFlightSince: 7)
        let pending = try await state(path).pending
        #expect(pending.count > 20 && pending.allSatisfy { $0.inFlightSince == 7 })
    }

    @Test func `a kill at any step of the copy → the same device and messages`() async throws {
        let device = try await damage()
        let damaged = try Data(contentsOf: URL(fileURLWithPath: path))
        let saved = try await state(path)
        let copy = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(saved.device == device && saved.pending.count > 20)
        let garbage = Data(repeating: 7, count: 5000)
        let aside = "outbox.corrupt-5"
        let steps: [[String: Data]] = [
            ["outbox": damaged, "outbox.partial": garbage, "outbox.partial-wal": garbage],
            ["outbox": damaged, "outbox-wal": Data(), "outbox.partial": copy],
            [aside: damaged, "outbox-wal": garbage, "outbox-shm": garbage, "outbox.partial": copy],
            [aside: damaged, "\(aside)-wal": garbage, "outbox.partial": copy],
            [aside: damaged, "outbox": copy],
        ]
        for (number, files) in steps.enumerated() {
            let folder = try TemporaryFolder()
            for (name, data) in files { try data.write(to: URL(fileURLWithPath: folder.file(name))) }
            let found = try await state(folder.file("outbox"))
            #expect(found.device == device, "step \(number)")
            #expect(found.pending.map(\.id) == saved.pending.map(\.id), "step \(number)")
            #expect(found.nextCounter > OutboxFile.skippedCount, "step \(number)")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(!names.contains { $0.contains(".partial") }, "step \(number): \(names)")
            #expect(names.contains { $0.contains(".corrupt-") }, "step \(number): \(names)")
        }
    }

    @Test(arguments: [fault_enospc, fault_eio].map(\.rawValue), [1, 1_000_000])
    func `a fault at any call of the copy → a typed error or the copy, and the device remains`(
        kind: UInt32, count: Int
    ) async throws {
        let device = try await damage()
        let damaged = try Data(contentsOf: URL(fileURLWithPath: path))
        var (call, hasFailed) = (1, true)
        while hasFailed {
            let disk = try FaultyDisk()
            let folder = try TemporaryFolder()
            let path = folder.file("outbox")
            try damaged.write(to: URL(fileURLWithPath: path))
            var options = SQLiteOutbox.Options()
            options.vfs = disk.name
            disk.fail(call, count: count, fault_kind(rawValue: kind))
            let outbox = SQLiteOutbox(path: path, options: options)
            do { _ = try await outbox.open() } catch {
                #expect(error is DatabaseError, "call \(call): \(error)")
            }
            await outbox.close()
            hasFailed = disk.failedCount > 0
            disk.fail(0, count: 0, fault_none)
            let found = try await state(path)
            #expect(found.device == device, "call \(call)")
            #expect(found.pending.count > 20, "call \(call)")
            call += 1
        }
        #expect(call > 20)
    }
}
