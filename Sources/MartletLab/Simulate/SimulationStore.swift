import Foundation
import MartletProtocol
import MartletRelay
import MartletSQLite
import MartletTestKit
import MartletToolSupport
import MartletWire

/// The stores of a simulated relay.
enum SimulationStoreKind: String, CaseIterable, Sendable {
    case memory, sqlite

    /// A new store; nil for the one in memory.
    func make() -> (any SimulatedStore)? {
        switch self {
        case .memory: nil
        case .sqlite: SimulationStore()
        }
    }
}

/// The store on disk behind a simulated relay, in a temporary folder.
final class SimulationStore: SimulatedStore {
    private let folder: URL
    private var file: StoreFile?

    init() {
        let shared = URL(fileURLWithPath: "/dev/shm")
        let root =
            FileManager.default.isWritableFile(atPath: shared.path)
            ? shared : FileManager.default.temporaryDirectory
        folder = root.appendingPathComponent("martlet-simulation-\(UUID().uuidString)")
    }

    deinit {
        file = nil
        try? FileManager.default.removeItem(at: folder)
    }

    private func open() throws -> StoreFile {
        if let file { return file }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let opened = try StoreFile(path: folder.appendingPathComponent("rooms.sqlite").path) { 0 }
        file = opened
        return opened
    }

    func load(_ room: RoomName) throws -> RoomSnapshot { try open().load(room) }

    func append(_ entries: [LogEntry], to room: RoomName) throws { _ = try open().append(entries, to: room) }

    func read(_ range: ReadRange, of room: RoomName) throws -> [LogEntry] { try open().read(range, of: room).entries }

    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) throws {
        try open().saveProgress(progress, of: room)
    }

    func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) throws {
        try open().saveRoles(roles, of: room, creation: creation)
    }

    func trim(_ room: RoomName, before offset: UInt64) throws -> UInt64 { try open().trim(room, before: offset) }

    func remove(_ room: RoomName) throws { try open().remove(room) }

    func reopen() throws {
        file = nil
        _ = try open()
    }
}
