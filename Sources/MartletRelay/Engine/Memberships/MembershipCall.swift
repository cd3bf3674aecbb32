import MartletLink
import MartletWire

/// A request of an account's session about its record of a room.
package struct MembershipCall: Equatable, Sendable {
    /// The session that requested it.
    let caller: MemberKey
    /// The number of the request in the session, to which its answer refers.
    let number: UInt64
    let who: DeviceKey
    /// What the room policy permits to the device.
    var permissions: RoomPermissions
    let room: RoomName
    let operation: MembershipOperation
}

/// The accounts whose sessions watch rooms of a loop, or no longer watch them.
package struct WatchCall: Equatable, Sendable {
    /// The loop of the rooms.
    let loop: Int
    let account: AccountName
    let rooms: [RoomName]
    /// Whether the account watches the rooms from now on.
    let isWatching: Bool
    /// Whether the loop of the account is notified when the call has been performed.
    let isLast: Bool
}

/// A change of a room that concerns an account with a record of it.
package struct RoomChange: Equatable, Sendable {
    let account: AccountName
    /// The account's progress, as far as the room knows it.
    let progress: AccountProgress
    /// Whether the loop of the room reports further changes to the account.
    let isWatched: Bool
}
