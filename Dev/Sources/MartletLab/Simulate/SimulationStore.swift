import Foundation
import MartletLink
import MartletRelay
import MartletRelaySQLite
import MartletSimulator
import MartletToolSupport
import MartletWire

/// The stores of a simulated relay, and of its devices.
enum SimulationStoreKind: String, CaseIterable, Sendable {
    case memory, sqlite

    /// A new store; nil for the one in memory.
    func make() -> (any SimulatedStore)? {
        switch self {
        case .memory: nil
        case .sqlite: SimulationStore()
        }
    }

    /// Makes the outbox of a device; nil for virtual disks only.
    var makeOutbox: (() -> any SimulatedOutbox)? {
        switch self {
        case .memory: nil
        case .sqlite: { SimulationOutbox() }
        }
    }
}

/// A temporary folder in memory, if the system has a file system there. It is removed with this object.
final class SimulationFolder {
    private let url: URL

    init() {
        let shared = URL(fileURLWithPath: "/dev/shm")
        let root =
            FileManager.default.isWritableFile(atPath: shared.path)
            ? shared : FileManager.default.temporaryDirectory
        url = root.appendingPathComponent("martlet-simulation-\(UUID().uuidString)")
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    /// The path of a file in the folder, which is created if it does not exist.
    func file(_ name: String) throws -> String {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url.appendingPathComponent(name).path
    }
}

/// The store on disk behind a simulated relay, in a temporary folder.
final class SimulationStore: SimulatedStore {
    private let folder = SimulationFolder()
    private var file: StoreFile?

    private func open() throws -> StoreFile {
        if let file { return file }
        let opened = try StoreFile(path: folder.file("rooms.sqlite")) { 0 }
        file = opened
        return opened
    }

    func load(_ room: RoomName) throws -> RoomSnapshot { try open().load(room) }

    func append(_ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName) throws {
        _ = try open().append(entries, erasing: erasures, to: room)
    }

    func read(_ range: ReadRange, of room: RoomName) throws -> [LogEntry] { try open().read(range, of: room).entries }

    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) throws {
        try open().saveProgress(progress, of: room)
    }

    func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) throws {
        try open().saveRoles(roles, of: room, creation: creation)
    }

    func saveMemberships(_ changes: MembershipChanges, of room: RoomName) throws -> Set<AccountName> {
        try open().saveMemberships(changes, of: room)
    }

    func memberships(of account: AccountName, _ read: MembershipRead) throws -> [StoredRoomEntry] {
        try open().memberships(of: account, read)
    }

    func trim(_ room: RoomName, before offset: UInt64) throws -> UInt64 { try open().trim(room, before: offset) }

    func remove(_ room: RoomName) throws { try open().remove(room) }

    func reopen() throws {
        file = nil
        _ = try open()
    }
}
