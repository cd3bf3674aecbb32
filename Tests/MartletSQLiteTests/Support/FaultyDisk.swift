import Foundation
import MartletFaultVFS
import Synchronization

@testable import MartletSQLite

/// A VFS that fails chosen calls and simulates the loss of power.
@safe
final class FaultyDisk: @unchecked Sendable {
    private static let count = Atomic(0)

    /// The name of the VFS, an argument of `Database.Options`.
    let name: String
    // The VFS has a lock of its own.
    private let vfs: OpaquePointer

    init() throws {
        name = "fault-\(Self.count.wrappingAdd(1, ordering: .relaxed).newValue)"
        guard let vfs = unsafe fault_vfs_create(name) else { throw CocoaError(.coderInvalidValue) }
        unsafe self.vfs = vfs
    }

    deinit {
        unsafe fault_vfs_destroy(vfs)
    }

    /// The number of calls of the file system.
    var callCount: Int { unsafe fault_vfs_call_count(vfs) }

    var failedCount: Int { unsafe fault_vfs_failed_count(vfs) }

    /// Fails `count` calls, beginning with the call of this number, counted from 1.
    func fail(_ call: Int, count: Int = 1, _ kind: fault_kind) {
        unsafe fault_vfs_fail(vfs, call, count, kind)
    }

    func cutPower(at call: Int) {
        unsafe fault_vfs_cut_power(vfs, call)
    }

    /// Writes what has survived. All connections are closed before.
    func restorePower(seed: UInt64) -> Bool {
        unsafe fault_vfs_restore_power(vfs, seed) == 0
    }
}

/// An empty folder, which is removed with this object. It is in memory if the system has a file system there.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        let shared = "/dev/shm"
        let root = FileManager.default.isWritableFile(atPath: shared) ? shared : NSTemporaryDirectory()
        path = "\(root)/martlet-sqlite-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    func file(_ name: String) -> String { "\(path)/\(name)" }
}
