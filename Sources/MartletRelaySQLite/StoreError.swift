import MartletDatabase
public import MartletWire

/// An error of a relay's store, beside `DatabaseError`.
public enum StoreError: Error, Equatable, Sendable {
    /// The offsets of an append do not continue the room's log.
    case outOfOrder(lastOffset: UInt64)
    /// A room's messages from this offset on, or other rows of it, are damaged. The other rooms are served.
    case damaged(RoomName, offset: UInt64)
    /// An imported room exists in the store.
    case roomExists(RoomName)
    /// An imported part has invalid values, or belongs to no room.
    case invalidRecord
}

extension StoreError: CustomStringConvertible {
    /// A description in one line.
    public var description: String {
        switch self {
        case .outOfOrder(let lastOffset): "the messages do not follow the room's last offset \(lastOffset)"
        case .damaged(let room, let offset):
            "room \(room) is damaged from offset \(offset) on; run 'martlet store check', and restore a backup"
        case .invalidRecord: "the part is not one of a store, or follows no room"
        case .roomExists(let room): "the store has a room \(room); import into an empty store"
        }
    }
}

/// An event of a relay's store.
public enum StoreEvent: Sendable {
    /// The file was damaged and has been renamed. The rooms that could be read completely are in a new file. A relay
    /// refuses the rooms whose roles were lost. The counts do not include rooms whose names could not be read.
    case setAside(path: String, savedRoomCount: Int, lostRoomCount: Int, lostRolesCount: Int)
    /// The file was a copy, such as a restored backup. Each room continues under another identity of its log, which
    /// readers know by its branch. The write-ahead log of another file was beside it and has been renamed.
    case copyOpened(roomCount: Int, foreignLog: String?)
    /// Roles of rooms were lost with a damaged file, and it is not known which rooms had some. A relay that keeps roles
    /// refuses every room without stored roles, until `martlet store reset-roles`.
    case rolesUnknown
    /// The wall clock is behind the latest time in the store by this number of milliseconds, or has jumped by it.
    case clockJumped(milliseconds: Int64)
    /// The removal of old messages failed; it is repeated later.
    case retentionFailed(any Error)
}
