import MartletLink
import MartletWire

/// The rank of an account in a room, from which its operations follow.
///
/// | operation | who | on whom |
/// |---|---|---|
/// | list roles | every member | |
/// | kick, ban, mute, unmute | moderator, owner, administrator | accounts of a lower rank |
/// | unban, invite | moderator, owner, administrator | every account |
/// | set role | owner, administrator | every account, to any role |
/// | set role | moderator | accounts below moderator, to a role below moderator |
/// | set access | owner, administrator | |
/// | announce | administrator | |
enum RoomRank: Int, Comparable, CaseIterable, Sendable {
    /// No role.
    case outsider
    case reader
    case member
    case moderator
    case owner
    /// The room policy grants `administer`.
    case administrator

    init(_ role: RoomRole?) {
        switch role {
        case nil: self = .outsider
        case .reader: self = .reader
        case .member: self = .member
        case .moderator: self = .moderator
        case .owner: self = .owner
        }
    }

    static func < (left: RoomRank, right: RoomRank) -> Bool { left.rawValue < right.rawValue }

    /// Whether an account of this rank may perform an operation on an account of another rank.
    func permits(_ operation: RoomOperation, on target: RoomRank) -> Bool {
        switch operation {
        case .listRoles: self > .outsider
        case .kick, .ban, .mute, .unmute: self >= .moderator && target < self
        case .unban, .invite: self >= .moderator
        case .setRole(let role, _):
            self >= .owner || self == .moderator && target < .moderator && RoomRank(role) < .moderator
        case .setAccess: self >= .owner
        case .announce: self == .administrator
        }
    }
}

/// The reason why an operation is not performed.
enum RoomRefusal: Error, Equatable, Sendable {
    /// The rank of the account does not permit it.
    case forbidden
    /// The account has no member in the room.
    case noMember
    /// A banned account has no role.
    case banned
    /// The room would have no owner.
    case lastOwner
    /// The account is the relay's own, which never enters.
    case reserved
    /// The room has this many accounts of the kind, which is the maximum.
    case full(Int)
    /// An announcement is longer than the maximum.
    case tooLarge
    /// Too many operations or messages wait.
    case busy
    /// Too many operations of the account wait.
    case tooManyOperations
    /// The rooms that the room's creator has created have roles of the maximum size.
    case rolesFull
    /// The change was not saved.
    case storeUnavailable

    /// The status of the response.
    var status: ErrorCode {
        switch self {
        case .forbidden: .forbidden
        case .noMember: .noRecipient
        case .banned, .lastOwner, .reserved, .full, .rolesFull: .refused
        case .tooLarge: .messageTooLarge
        case .busy: .serverBusy
        case .tooManyOperations: .tooManyRequests
        case .storeUnavailable: .storeUnavailable
        }
    }

    /// The reason in the response, if the status does not determine it.
    var reason: String? {
        switch self {
        case .banned: "the account is banned"
        case .lastOwner: "the room would have no owner"
        case .reserved: "the account is reserved for the relay"
        case .full(let count): "\(count) accounts are the maximum"
        case .rolesFull: "the rooms of the room's creator have the maximum of roles"
        case .tooManyOperations: "\(RoomModeration.maxWaitingCountPerAccount) operations of the account wait"
        case .forbidden, .noMember, .tooLarge, .busy, .storeUnavailable: nil
        }
    }
}
