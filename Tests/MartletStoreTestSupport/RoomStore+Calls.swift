package import MartletLink
package import MartletRelay
package import MartletWire

/// Each call as a method.
extension RoomStore {
    package func load(_ room: RoomName) async throws -> RoomSnapshot { try await call { .load(room, $0) } }

    package func append(
        _ entries: [LogEntry], erasing erasures: [MessageErasure] = [], to room: RoomName, rolesVersion: UInt64 = 0
    ) async throws -> UInt64 {
        try await call {
            .append(
                RoomAppend(room: room, entries: entries, erasures: erasures, rolesVersion: rolesVersion), $0)
        }
    }

    package func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory {
        try await call { .read(range, of: room, $0) }
    }

    package func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) async throws {
        try await call { .saveProgress(progress, of: room, $0) }
    }

    package func saveRoles(
        _ roles: [UInt8], of room: RoomName, replacing version: UInt64 = 0, creation: RoomCreation?
    ) async throws {
        try await call { .saveRoles(roles, of: room, replacing: version, creation: creation, $0) }
    }

    package func changes(since revisions: [RoomRevision]) async throws -> [RoomRevision] {
        try await call { .changes(since: revisions, $0) }
    }

    package func saveMemberships(_ changes: MembershipChanges, of room: RoomName) async throws -> Set<AccountName> {
        try await call { .saveMemberships(changes, of: room, $0) }
    }

    package func memberships(of account: AccountName, _ read: MembershipRead) async throws -> [StoredRoomEntry] {
        try await call { .readMemberships(read, of: account, $0) }
    }
}
