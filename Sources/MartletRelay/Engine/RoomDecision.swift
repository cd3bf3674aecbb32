import MartletLink
public import MartletWire

/// The permissions of a session in its room, in which every session receives new messages.
public struct RoomPermissions: OptionSet, Hashable, Sendable {
    /// The bits of the permissions.
    public let rawValue: UInt8

    /// Permissions from their bits.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// Publish messages, typing and transient messages.
    public static let publish = RoomPermissions(rawValue: 1)
    /// Receive messages that were accepted before the session joined.
    public static let readHistory = RoomPermissions(rawValue: 2)
    /// Send requests to members and to the relay.
    public static let request = RoomPermissions(rawValue: 4)

    /// Create rooms, if the relay keeps roles: the first account in a room becomes its owner.
    public static let create = RoomPermissions(rawValue: 8)
    /// Act as an owner of the room, and publish announcements, if the relay keeps roles. In the room
    /// `RoomName.administration`: administer the relay.
    public static let administer = RoomPermissions(rawValue: 16)

    /// Every permission but `administer`.
    public static let all: RoomPermissions = [.publish, .readHistory, .request, .create]
}

/// The request of a peer to open a room, about which a room policy decides.
public struct RoomAuthorizationRequest: Hashable, Sendable {
    /// The verified identity of the peer.
    public var identity: Identity
    /// The device of the peer.
    public var device: DeviceID
    /// The room.
    public var room: RoomName

    /// Creates a request.
    public init(identity: Identity, device: DeviceID, room: RoomName) {
        self.identity = identity
        self.device = device
        self.room = room
    }
}

/// The decision of a room policy about one session.
public enum RoomDecision: Hashable, Sendable {
    /// The account may not enter the room. The session is reset with `roomForbidden`.
    case refused
    /// The account may enter the room.
    ///
    /// - Parameters:
    ///   - permissions: the permissions of the session.
    ///   - validFor: the duration after which the policy is asked again, at least 1 s; nil if the decision is valid
    ///     until the session ends or the decision is revoked.
    case granted(RoomPermissions, validFor: Duration? = nil)
}
