import MartletLink
import MartletWire

/// Whether an account may change a membership record of a room.
///
/// | request | permitted to |
/// |---|---|
/// | join | an account that may enter |
/// | read | an account that has joined and may enter |
/// | invite, without roles | an account that has joined |
/// | invite, with roles | not decided here: it is an operation on roles |
/// | leave, decline | every account |
struct MembershipRights: Sendable {
    /// Whether the relay keeps roles.
    let usesRoles: Bool
    /// The roles in effect; nil if nobody has created the room.
    let roles: RoomRoles?

    /// The reason why a request may not be performed; nil if it may.
    func refusal(of call: MembershipCall, isJoined: Bool) -> ErrorCode? {
        switch call.operation {
        case .leave, .decline: nil
        case .join: mayEnter(call) ? nil : .roomForbidden
        case .read: !isJoined ? .notJoined : mayEnter(call) ? nil : .roomForbidden
        case .invite: !usesRoles && isJoined ? nil : .notJoined
        }
    }

    private func mayEnter(_ call: MembershipCall) -> Bool {
        !usesRoles || roles?.role(of: call.who.account, call.permissions) != nil
    }
}
