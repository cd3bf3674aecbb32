import MartletLink
import MartletWire

/// The roles of all rooms in memory, with the number of rooms that each account has created and the size of their
/// roles.
struct MemoryRoles {
    /// The size of a room beside its roles, with the account that has created it, in bytes.
    static let roomByteCount = 512

    private struct Roles {
        var roles: [UInt8]
        /// The account that has created the room; nil if the room is older than its roles.
        var creator: AccountName?
    }

    /// The number of rooms that an account has created, and the size of their roles.
    private struct Share {
        var roomCount = 0
        /// Bytes of the roles.
        var byteCount = 0
    }

    private var rooms: [RoomName: Roles] = [:]
    private var shares: [AccountName: Share] = [:]
    /// The size of the roles of all rooms, in bytes with objects.
    private(set) var byteCount = 0

    subscript(room: RoomName) -> [UInt8]? { rooms[room]?.roles }

    /// Saves the roles of a room. Throws `InMemoryStore.Failure.rolesFull`, or `RoomStoreError`: `roomHasRoles`,
    /// `tooManyRooms` or `rolesFull`, and then saves nothing. Roles that become shorter are always saved.
    mutating func save(
        _ bytes: [UInt8], of room: RoomName, _ creation: RoomCreation?, maxByteCount: Int,
        maxByteCountPerCreator: Int = RoomRoles.maxByteCountPerCreator
    ) throws {
        let before = rooms[room]
        if let creation {
            guard before == nil else { throw RoomStoreError.roomHasRoles }
            guard shares[creation.account]?.roomCount ?? 0 < creation.maxRoomCount else {
                throw RoomStoreError.tooManyRooms
            }
        }
        let growth = bytes.count - (before?.roles.count ?? 0)
        let creator = creation?.account ?? before?.creator
        var share = creator.flatMap { shares[$0] } ?? Share()
        share.byteCount += growth
        // Specs/hostile.md row 67
        guard creator == nil || share.byteCount <= maxByteCountPerCreator || growth <= 0 else {
            throw RoomStoreError.rolesFull
        }
        let after = byteCount + growth + (before == nil ? Self.roomByteCount : 0)
        guard after <= maxByteCount || after <= byteCount else { throw InMemoryStore.Failure.rolesFull }
        byteCount = after
        rooms[room] = Roles(roles: bytes, creator: creator)
        if creation != nil { share.roomCount += 1 }
        if let creator { shares[creator] = share }
    }
}
