import MartletLink
public import MartletWire

/// An operation on a room, for a log. It contains no message.
public struct RoomOperationRecord: Equatable, Sendable {
    /// The device that has requested the operation.
    public let actor: DeviceKey
    /// The room.
    public let room: RoomName
    /// The operation.
    public let method: RoomMethod
    /// The account that it affects; nil if it affects no single account.
    public let target: AccountName?
    /// The role, the access, or the duration of a mute; nil if the operation has none of them.
    public let value: String?
    /// The status of the response: `none` if the operation was performed.
    public let status: ErrorCode

    /// The record of an operation.
    public init(_ operation: RoomOperation, by actor: DeviceKey, in room: RoomName, _ status: ErrorCode) {
        self.actor = actor
        self.room = room
        method = operation.method
        target = operation.target
        value =
            switch operation {
            case .mute(_, let seconds): "\(seconds) s"
            case .setRole(let role, _): role.map { "\($0)" } ?? "none"
            case .setAccess(let access): "\(access)"
            case .kick, .ban, .unban, .unmute, .invite, .announce, .listRoles: nil
            }
        self.status = status
    }
}
