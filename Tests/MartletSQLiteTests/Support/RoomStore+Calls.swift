import MartletLink
import MartletRelay
import MartletWire

/// Each call as a method.
extension RoomStore {
    func load(_ room: RoomName) async throws -> RoomSnapshot { try await call { .load(room, $0) } }

    func append(_ entries: [LogEntry], to room: RoomName) async throws -> UInt64 {
        try await call { .append(RoomAppend(room: room, entries: entries), $0) }
    }

    func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory {
        try await call { .read(range, of: room, $0) }
    }

    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) async throws {
        try await call { .saveProgress(progress, of: room, $0) }
    }

    func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) async throws {
        try await call { .saveRoles(roles, of: room, replacing: 0, creation: creation, $0) }
    }
}
