package import MartletLink
package import MartletRelay
package import MartletWire

/// A store of a virtual relay, which replaces the one in memory. An error of a call ends the simulation.
package protocol SimulatedStore: AnyObject {
    /// The snapshot of a room; a new room begins a log.
    func load(_ room: RoomName) throws -> RoomSnapshot
    /// Makes messages durable, and erases earlier ones.
    func append(_ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName) throws
    /// The kept messages of a range.
    func read(_ range: ReadRange, of room: RoomName) throws -> [LogEntry]
    /// Keeps the progress of accounts.
    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) throws
    /// Keeps the roles of a room.
    func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) throws
    /// Keeps changes of membership records. Returns the accounts with the maximum number of them.
    func saveMemberships(_ changes: MembershipChanges, of room: RoomName) throws -> Set<AccountName>
    /// The entries of an account's rooms.
    func memberships(of account: AccountName, _ read: MembershipRead) throws -> [StoredRoomEntry]
    /// Removes messages before an offset. Returns the first kept offset, which may be lower.
    func trim(_ room: RoomName, before offset: UInt64) throws -> UInt64
    /// Removes a room and its log.
    func remove(_ room: RoomName) throws
    /// Opens the store again after a crash of the relay's process.
    func reopen() throws
}
