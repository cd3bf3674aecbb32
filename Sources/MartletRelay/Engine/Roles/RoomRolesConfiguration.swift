import MartletLink
public import MartletWire

/// The use of roles at a relay.
public struct RoomRolesConfiguration: Sendable {
    /// The account in whose name administrators publish announcements. No peer signs in as it.
    public var serverAccount = AccountName("server")
    /// The maximum number of rooms that an account creates, counted by the store.
    public var maxRoomsPerAccount = 256

    /// The device of announcements.
    static let serverDevice = DeviceID(rawValue: 0)

    /// The defaults.
    public init() {}
}

/// The first roles of a room, which an account creates.
public struct RoomCreation: Equatable, Sendable {
    /// The account that creates the room.
    public let account: AccountName
    /// The maximum number of rooms that the account has created, this one included.
    public let maxRoomCount: Int

    /// A creation by an account.
    public init(account: AccountName, maxRoomCount: Int) {
        self.account = account
        self.maxRoomCount = maxRoomCount
    }
}

/// The result of saving roles.
package enum RolesResult: Sendable {
    /// The roles are durable.
    case saved
    /// The account has created as many rooms as it may. Nothing is saved.
    case tooManyRooms
    /// The rooms of the room's creator have roles of the maximum size. Nothing is saved.
    case full
    /// Another relay has changed the roles. Nothing is saved.
    case changed
    /// The store has failed. It is unknown whether the roles are saved, until they are loaded again.
    case failed

    init(_ result: Result<Void, RoomStoreError>) {
        switch result {
        case .success: self = .saved
        case .failure(.tooManyRooms): self = .tooManyRooms
        case .failure(.rolesFull): self = .full
        case .failure(.rolesChanged): self = .changed
        case .failure: self = .failed
        }
    }
}
