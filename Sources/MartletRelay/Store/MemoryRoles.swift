import MartletProtocol
import MartletWire

/// The roles of all rooms in memory, and the number of rooms that each account has created.
struct MemoryRoles {
    /// The size of a room beside its roles, with the account that has created it, in bytes.
    static let roomByteCount = 512

    private var roles: [RoomName: [UInt8]] = [:]
    private var createdCounts: [AccountName: Int] = [:]
    /// The size of the roles of all rooms, in bytes with objects.
    private(set) var byteCount = 0

    subscript(room: RoomName) -> [UInt8]? { roles[room] }

    /// Saves the roles of a room. Throws `InMemoryStore.Failure.rolesFull` or `TooManyRooms`, and then saves nothing.
    mutating func save(
        _ bytes: [UInt8], of room: RoomName, _ creation: RoomCreation?, maxByteCount: Int
    ) throws {
        let created = creation.map { createdCounts[$0.account] ?? 0 }
        if let creation, let created, created >= creation.maxRoomCount { throw TooManyRooms() }
        let before = roles[room].map { $0.count + Self.roomByteCount } ?? 0
        let after = byteCount - before + bytes.count + Self.roomByteCount
        // Roles that become shorter are always saved.
        guard after <= maxByteCount || after <= byteCount else { throw InMemoryStore.Failure.rolesFull }
        byteCount = after
        roles[room] = bytes
        if let creation { createdCounts[creation.account] = (created ?? 0) + 1 }
    }
}
