import MartletLink
public import MartletWire

/// The durable relation of an account to a room: joined, or invited.
///
/// It is independent of the sessions of the account: an account can have a record of a room in which it has no member,
/// and a member in a room of which it has no record.
public struct MembershipRecord: Equatable, Sendable {
    /// Whether the account has joined. Otherwise it is invited.
    public var isJoined: Bool
    /// The account that has invited the account; nil if none has.
    public var inviter: AccountName?
    /// The time of the last change, in milliseconds since 1970 by the relay's clock.
    public var changedAt: UInt64

    /// Creates a record.
    public init(isJoined: Bool, inviter: AccountName? = nil, changedAt: UInt64) {
        self.isJoined = isJoined
        self.inviter = inviter
        self.changedAt = changedAt
    }

    /// The state of the record in an entry of the list.
    package var state: RoomMembershipState { isJoined ? .joined : .invited }
}

extension RoomEntry {
    /// An entry of a record whose room has no log.
    package init(_ room: RoomName, _ record: MembershipRecord) {
        self.init(room: room, membership: record.state, inviter: record.inviter, changedAt: record.changedAt)
    }

    /// The entry without anything of the room's log.
    var withoutLog: RoomEntry {
        RoomEntry(room: room, membership: membership, inviter: inviter, changedAt: changedAt)
    }
}

/// The bounds of membership records.
public enum MembershipBounds {
    /// The maximum number of records of an account.
    public static let maxCountPerAccount = 1024
    /// The number of records of an account beyond which no invitation is recorded. The others are reserved for rooms
    /// that the account joins, so that strangers cannot use up its records (Specs/hostile.md row 93).
    package static let maxCountWithInvitation = 768
    /// The maximum number of records of a room.
    package static let maxCountPerRoom = 4096

    /// The maximum number of records of an account with a new one.
    public static func maxCount(with record: MembershipRecord) -> Int {
        record.isJoined ? maxCountPerAccount : maxCountWithInvitation
    }
}

/// Changes of the records of a room: a record, or nil for its removal.
public typealias MembershipChanges = [AccountName: MembershipRecord?]

/// An entry of an account's list as a store has it, and the roles that decide whether the account may see the messages
/// of the room.
public struct StoredRoomEntry: Equatable, Sendable {
    /// The entry.
    public var entry: RoomEntry
    /// The stored form of the room's roles; nil if it has none.
    public var roles: [UInt8]?

    /// Creates an entry.
    public init(_ entry: RoomEntry, roles: [UInt8]? = nil) {
        self.entry = entry
        self.roles = roles
    }

    /// The room.
    package var room: RoomName { entry.room }

    /// The entry without its last message.
    var withoutMessage: StoredRoomEntry {
        var copy = self
        (copy.entry.message, copy.entry.isShortened) = (nil, false)
        return copy
    }
}

/// A read of the records of an account.
public enum MembershipRead: Equatable, Sendable {
    /// The rooms of all records; the other values of the entries are not used.
    case names
    /// The entries of the rooms behind one, in the order of the names' bytes; from the first room for nil. At most so
    /// many, and at least one if there is one. The account's progress is at least the given one.
    case page(after: RoomName?, maxCount: Int, progress: [RoomName: AccountProgress] = [:])
    /// The entries of these rooms. The account's progress is at least the given one. A room without a record is left
    /// out.
    case rooms([RoomName: AccountProgress])

    /// The least progress of the account in a room, which the store may not have yet.
    public func progress(in room: RoomName) -> AccountProgress {
        switch self {
        case .names: AccountProgress()
        case .page(_, _, let progress), .rooms(let progress): progress[room] ?? AccountProgress()
        }
    }
}

/// The number of a read, which its result repeats.
package struct MembershipReadID: Hashable, Sendable {
    /// The account.
    package let account: AccountName
    /// The session; nil for the names of all rooms.
    let session: MemberKey?
}
