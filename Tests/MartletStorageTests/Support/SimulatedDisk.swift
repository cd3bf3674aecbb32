import Foundation
import MartletFaultDisk
import MartletWire

/// A folder whose files have the faults of a disk. It is removed with this object.
@safe
final class SimulatedDisk: @unchecked Sendable {
    /// The files of a folder by their paths in it. A folder has no bytes.
    typealias Files = [String: Data?]

    static var isAvailable: Bool { fault_disk_is_available() != 0 }

    let folder: String
    // The disk has a lock of its own.
    private let disk: OpaquePointer

    init() throws {
        folder = Self.temporaryPath()
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        guard let disk = unsafe fault_disk_create(folder) else { throw CocoaError(.coderInvalidValue) }
        unsafe self.disk = disk
    }

    deinit {
        unsafe fault_disk_destroy(disk)
        try? FileManager.default.removeItem(atPath: folder)
    }

    // MARK: Faults

    var callCount: Int { unsafe fault_disk_call_count(disk) }
    var failedCount: Int { unsafe fault_disk_failed_count(disk) }

    /// Fails `count` calls behind the next `offset` ones.
    func fail(after offset: Int, count: Int, _ fault: disk_fault) {
        unsafe fault_disk_fail(disk, callCount + 1 + offset, count, fault)
    }

    func endFaults() {
        unsafe fault_disk_fail(disk, 0, 0, disk_fault_none)
    }

    func cutPower(after offset: Int) {
        unsafe fault_disk_cut_power(disk, callCount + 1 + offset)
    }

    /// Writes what has survived. All files are closed before.
    func restorePower(seed: UInt64) throws {
        guard unsafe fault_disk_restore_power(disk, seed) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    /// Waits until all files are closed. Threads of a storage that was released may still do so.
    func closed() async {
        while !Task.isCancelled, unsafe fault_disk_open_count(disk) > 0 { await Task.yield() }
    }

    // MARK: Files

    /// A new path in a file system in memory, if there is one.
    static func temporaryPath() -> String {
        let shared = "/dev/shm"
        let root = FileManager.default.isWritableFile(atPath: shared) ? shared : NSTemporaryDirectory()
        return "\(root)/martlet-storage-\(UUID().uuidString)"
    }

    /// The files, all of which are closed.
    func files() throws -> Files {
        var found: Files = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(path)")
            let isFolder = attributes[.type] as? FileAttributeType == .typeDirectory
            found.updateValue(isFolder ? nil : try Data(contentsOf: URL(filePath: "\(folder)/\(path)")), forKey: path)
        }
        unsafe fault_disk_settle(disk)
        return found
    }

    /// Replaces all files.
    func replaceFiles(by files: Files) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
        for (path, bytes) in files.sorted(by: { $0.key < $1.key }) {
            if let bytes {
                try bytes.write(to: URL(filePath: "\(folder)/\(path)"))
            } else {
                try FileManager.default.createDirectory(
                    atPath: "\(folder)/\(path)", withIntermediateDirectories: true)
            }
        }
        unsafe fault_disk_settle(disk)
    }

    /// Flips bits of one file. Returns its path; nil if all files are empty.
    func flipBits(_ count: Int, _ random: inout SeededRandom) throws -> String? {
        let files = try files().filter { !$0.key.hasSuffix("-shm") && $0.value?.isEmpty == false }
        guard let path = files.keys.sorted().randomElement(using: &random), var bytes = files[path]?.map(\.self) else {
            return nil
        }
        for _ in 0..<count {
            bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
        try bytes.write(to: URL(filePath: "\(folder)/\(path)"))
        unsafe fault_disk_settle(disk)
        return path
    }
}
