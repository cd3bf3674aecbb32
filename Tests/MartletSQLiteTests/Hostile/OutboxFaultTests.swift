import Foundation
import Martlet
import MartletFaultVFS
import Testing

@testable import MartletDatabase
@testable import MartletSQLite

@Suite("Faults of the disk below an outbox", .timeLimit(.minutes(30)))
struct OutboxFaultTests {
    private func options(_ disk: FaultyDisk) -> SQLiteOutbox.Options {
        var options = SQLiteOutbox.Options()
        options.vfs = disk.name
        return options
    }

    /// Runs the script with a new file and a disk.
    private func run(_ disk: FaultyDisk, _ path: String) async -> OutboxScript {
        let outbox = SQLiteOutbox(path: path, options: options(disk))
        let script = await OutboxScript.run(outbox)
        await outbox.close()
        return script
    }

    /// The number of calls of a run without faults.
    private func callCount() async throws -> Int {
        let disk = try FaultyDisk()
        let folder = try TemporaryFolder()
        let script = await run(disk, folder.file("outbox"))
        #expect(script.errors.isEmpty)
        return disk.callCount
    }

    /// The state after a run, without faults.
    private func reopened(_ disk: FaultyDisk, _ path: String) async throws -> (OutboxState, SQLiteOutbox.Recovery?) {
        let outbox = SQLiteOutbox(path: path, options: options(disk))
        let state = try await outbox.open()
        let recovery = outbox.recovery
        await outbox.close()
        return (state, recovery)
    }

    @Test(
        arguments: [fault_enospc, fault_eio, fault_eintr, fault_short_write].map(\.rawValue), [1, 1_000_000])
    func `a fault at each call of open, read, write, sync and truncate → typed errors, nothing stored is lost`(
        kind: UInt32, count: Int
    ) async throws {
        // An interruption that never ends is no fault that occurs.
        if kind == fault_eintr.rawValue, count > 1 { return }
        for call in 1...(try await callCount()) {
            let disk = try FaultyDisk()
            let folder = try TemporaryFolder()
            let path = folder.file("outbox")
            disk.fail(call, count: count, fault_kind(rawValue: kind))
            let script = await run(disk, path)
            for error in script.errors where !(error is DatabaseError) {
                Issue.record("call \(call): \(error)")
            }
            disk.fail(0, count: 0, fault_none)
            let (state, recovery) = try await reopened(disk, path)
            if let fault = script.fault(in: state) { Issue.record("call \(call): \(fault), \(script.errors)") }
            #expect(recovery == nil, "call \(call)")
        }
    }

    /// The number of points; `make storage` sets 10,000.
    private static let pointCount =
        ProcessInfo.processInfo.environment["MARTLET_POWER_LOSSES"].flatMap { Int($0) } ?? 500

    // C-74
    @Test func `a loss of power at any call → everything stored remains, and the file is sound`() async throws {
        let callCount = try await callCount()
        for point in 1...Self.pointCount {
            let disk = try FaultyDisk()
            let folder = try TemporaryFolder()
            let path = folder.file("outbox")
            let call = 1 + (point - 1) % callCount
            disk.cutPower(at: call)
            let script = await run(disk, path)
            #expect(disk.restorePower(seed: UInt64(point)))
            let (state, recovery) = try await reopened(disk, path)
            if let fault = script.fault(in: state) {
                Issue.record("point \(point), call \(call): \(fault), \(script.errors)")
            }
            #expect(recovery == nil, "point \(point), call \(call)")
        }
    }
}
