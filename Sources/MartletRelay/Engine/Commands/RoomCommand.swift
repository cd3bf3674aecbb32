import MartletLink
public import MartletWire

/// A command of the relay's application to a room.
package enum RoomCommand: Equatable, Sendable {
    /// Publish a message in the name of the relay.
    case publish(MessageContent)
    /// End the sessions of an account, and remove its role and its membership record.
    case remove(AccountName)
    /// With roles, close the room to accounts without a role; without roles, end all sessions.
    case close
    /// Perform an operation with the rank of an administrator, which requires roles.
    case operate(RoomOperation)
    /// Erase messages, each by a deletion in the name of the relay.
    case erase([MessageReference])
    /// Replace the room's own bounds of retention.
    case retain(RoomRetention)
    /// Describe the room.
    case describe

    /// Whether the relay publishes messages, for which it needs an account.
    var publishes: Bool {
        switch self {
        case .publish, .erase: true
        case .remove, .close, .operate, .retain, .describe: false
        }
    }
}

/// The reason why a command had no effect.
public enum RoomCommandError: Error, Equatable, Sendable {
    /// The relay does not run, or has stopped before the command was performed.
    case notRunning
    /// The configuration names no account in whose name the relay publishes.
    case noServerAccount
    /// The command requires roles, and the relay keeps none.
    case noRoles
    /// The relay keeps roles, and no account has created the room. Or it keeps none, and an account is to be
    /// removed from a room that nobody has used.
    case roomNotCreated
    /// The store does not have the feature that the command requires.
    case unsupported
    /// The content has more bytes than the limit.
    case messageTooLarge(limit: Int)
    /// Too many commands, operations, messages or rooms wait or are in memory.
    case busy
    /// The store has failed to load the room or to save the change.
    case storeUnavailable
    /// The roles of the room do not permit the change, with the code of a refused operation.
    case refused(ErrorCode)

    init(_ refusal: RoomRefusal) {
        self =
            switch refusal {
            case .tooLarge: .messageTooLarge(limit: RelayRoom.maxAnnouncementByteCount)
            case .busy, .tooManyOperations: .busy
            case .storeUnavailable: .storeUnavailable
            case .forbidden, .noMember, .banned, .lastOwner, .reserved, .full, .rolesFull: .refused(refusal.status)
            }
    }
}

extension RoomCommandError: CustomStringConvertible {
    /// A description in one line.
    public var description: String {
        switch self {
        case .notRunning: "the relay does not run"
        case .noServerAccount: "the configuration names no account of the relay"
        case .noRoles: "the relay keeps no roles of rooms"
        case .roomNotCreated: "no such room: no account has created it"
        case .unsupported: "the store of the relay does not support it"
        case .messageTooLarge(let limit): "the message is longer than \(limit) bytes"
        case .busy: "too much work is pending"
        case .storeUnavailable: "the store has failed"
        case .refused(let code): "the roles of the room do not permit it: \(code)"
        }
    }
}

/// The result of a command that was performed.
package enum RoomCommandValue: Equatable, Sendable {
    case done
    /// The position of the last message that was published.
    case published(RoomCursor)
    indirect case described(RoomOverview)
}

/// The result of a command.
package typealias RoomCommandResult = Result<RoomCommandValue, RoomCommandError>

/// A command on its way to its room.
package struct RoomCommandCall: Sendable {
    /// The driver's number of the command.
    let id: UInt64
    let room: RoomName
    let command: RoomCommand
    /// The relay's own device, in whose name the command is performed.
    let actor: DeviceKey
}
