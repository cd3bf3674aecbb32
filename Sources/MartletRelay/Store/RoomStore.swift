public import MartletLink
public import MartletWire

/// The storage of rooms' logs: the interface of a relay to a disk or database.
///
/// A message is accepted when `append` returns, and must then survive every failure for which the store is designed.
/// Calls for different rooms may be concurrent. A room has at most one `append` or `saveRoles` in progress, and none
/// before `load` has returned. An error from any method is reported as `RelayEvent.storeFailed` and resets the affected
/// sessions with `storeUnavailable`; an error of `saveRoles` refuses the operation.
public protocol RoomStore: Sendable {
    /// The snapshot of a room; the snapshot of an empty room if the store has none. The `log` remains the same while
    /// the assigned offsets are valid, even for an empty room, and changes when they are lost.
    func load(_ room: RoomName) async throws -> RoomSnapshot

    /// Makes messages durable, all or none. Their offsets continue the log without a gap. Throws `LogLost` when the
    /// store no longer has the log that `load` returned.
    ///
    /// - Returns: The lowest kept offset, after old messages have been removed.
    func append(_ entries: [LogEntry], to room: RoomName) async throws -> UInt64

    /// The kept messages in a range, in ascending order.
    func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory

    /// Keeps the delivered and read offsets of accounts, which only rise. The call may be concurrent with other
    /// calls for the room. The offsets need not be durable before the next `append` of the room is durable. The default
    /// implementation keeps nothing, so the offsets are lost when the room leaves memory.
    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) async throws

    /// The bounds of each room that the relay reports to members. By default there are none.
    var retention: RoomRetention { get }

    /// Records that rooms have members. The relay calls this method at least once an hour, so that a store that removes
    /// unused rooms keeps these rooms. The default implementation does nothing.
    func touch(_ rooms: [RoomName]) async throws
}

extension RoomStore {
    /// No bounds.
    public var retention: RoomRetention { RoomRetention() }

    /// Keeps nothing.
    public func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) async throws {}

    /// Does nothing.
    public func touch(_ rooms: [RoomName]) async throws {}
}

/// A store that erases the bodies of deleted messages too.
///
/// With another store, deletions are stored, and the bodies of their targets remain in it.
public protocol RoomErasureStore: RoomStore {
    /// Makes messages durable as `append(_:to:)`, and replaces the bodies of earlier messages by
    /// `MessageErasure.erased(_:)`, in one transaction: of the message of each erasure, and of its edits, which have
    /// higher offsets. An erasure is ignored if its message is not kept, or has another identity. The earlier bodies
    /// are in no file after a minute.
    func append(_ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName) async throws -> UInt64
}

/// A store that keeps the roles of rooms too, which a relay with `RelayConfiguration.roomRoles` requires.
public protocol RoomRoleStore: RoomStore {
    /// Makes the roles of a room durable, which the snapshots of later loads contain unchanged. They outlive the log.
    ///
    /// - Parameters:
    ///   - roles: The stored form of the roles, at most 2 MiB.
    ///   - creation: Not nil if an account creates the room. The store counts the rooms that each account has created.
    ///     It throws `TooManyRooms`, and saves nothing, if the room exceeds `maxRoomCount`. It throws `RoomHasRoles`,
    ///     and saves nothing, if it has roles of the room.
    /// - Throws: `RolesFull`, and saves nothing, if the roles become longer and those of all rooms of the room's
    ///   creator exceed `RoomRoles.maxByteCountPerCreator`.
    func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) async throws
}

/// A store that keeps membership records too, which sessions of accounts require.
///
/// The records outlive the logs of their rooms. `load` returns those of its room.
public protocol RoomMembershipStore: RoomStore {
    /// Makes changes of the records of a room durable. A new record that would exceed
    /// `MembershipBounds.maxCount(with:)` for its account, or a bound of the store on all records, is not saved.
    ///
    /// - Returns: The accounts whose records were not saved for that reason.
    func saveMemberships(_ changes: MembershipChanges, of room: RoomName) async throws -> Set<AccountName>

    /// The entries of an account's rooms, in the order of the names' bytes, with the roles of the rooms, from one state
    /// of the store. The call must not wait for an `append`.
    func memberships(of account: AccountName, _ read: MembershipRead) async throws -> [StoredRoomEntry]
}

/// The error of `saveRoles` when the account has created as many rooms as it may. The session that would have created
/// the room is reset with `tooManyRooms`.
public struct TooManyRooms: Error {
    /// Creates the error.
    public init() {}
}

/// The error of `saveRoles` when the account that has created the room has rooms with roles of the maximum size. The
/// operation is refused, and a creation as by `TooManyRooms`.
public struct RolesFull: Error {
    /// Creates the error.
    public init() {}
}

/// The error of `saveRoles` when an account creates a room of which the store has roles, for example because the answer
/// to an earlier creation was lost. The sessions are reset with `storeUnavailable`, and the next one loads the room
///
public struct RoomHasRoles: Error {
    /// Creates the error.
    public init() {}
}

/// The error of `append` when the store has lost the room's log since it was loaded. The relay resets all sessions of
/// the room with `storeUnavailable` and loads it again; clients then see another log.
public struct LogLost: Error {
    /// Creates the error.
    public init() {}
}

/// A synchronous store, called on the relay's loop without a task for each batch.
///
/// A call blocks the loop, so it must not wait for a disk or a contended lock.
public protocol ImmediateRoomStore: RoomStore {
    /// The synchronous form of the method in `RoomStore`.
    func load(_ room: RoomName) throws -> RoomSnapshot

    /// The synchronous form of the method in `RoomStore`.
    func append(_ entries: [LogEntry], to room: RoomName) throws -> UInt64

    /// The synchronous form of the method in `RoomStore`.
    func read(_ range: ReadRange, of room: RoomName) throws -> RoomHistory

    /// The synchronous form of the method in `RoomStore`.
    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) throws
}

extension ImmediateRoomStore {
    /// Keeps nothing.
    public func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) throws {}
}

/// A synchronous store that keeps the roles of rooms too.
public protocol ImmediateRoomRoleStore: ImmediateRoomStore, RoomRoleStore {
    /// The synchronous form of the method in `RoomRoleStore`.
    func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) throws
}

/// A synchronous store that erases the bodies of deleted messages too.
public protocol ImmediateRoomErasureStore: ImmediateRoomStore, RoomErasureStore {
    /// The synchronous form of the method in `RoomErasureStore`.
    func append(_ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName) throws -> UInt64
}

/// A store that makes the appends of a turn of the relay's loop durable together, and answers without a task.
package protocol GroupingRoomStore: RoomStore {
    /// Makes messages of several rooms durable, those of each room all or none. `completion` is called once, on any
    /// thread, with the result of each append in their order.
    func append(_ appends: [RoomAppend], completion: @escaping @Sendable ([Result<UInt64, any Error>]) -> Void)
}

/// The messages of one append to a room, and the earlier messages that it erases.
package struct RoomAppend: Sendable {
    package let room: RoomName
    package let entries: [LogEntry]
    package let erasures: [MessageErasure]

    package init(room: RoomName, entries: [LogEntry], erasures: [MessageErasure] = []) {
        self.room = room
        self.entries = entries
        self.erasures = erasures
    }
}

/// A range of a room's log.
public struct RoomHistory: Sendable {
    /// Messages with ascending offsets.
    public var entries: [LogEntry]
    /// The lowest kept offset; the next offset of the log if no message is kept.
    public var firstOffset: UInt64

    /// Creates a range of a log.
    public init(entries: [LogEntry], firstOffset: UInt64) {
        self.entries = entries
        self.firstOffset = firstOffset
    }
}
