public import MartletLink
import MartletTransport
public import MartletWire

/// A store of bounded logs in memory. New messages evict the oldest of their room. Beyond `Bounds.maxByteCount` they
/// evict the oldest of the least recently used room. Readers receive a gap.
///
/// The logs end with the process. The counters of a device outlive its messages by a lifetime, so a repeated message is
/// recognized after its eviction. Rooms, counters and progress take at most half of the bytes. Beyond that,
/// and beyond `Bounds.maxRooms`, the least recently used room is removed, and its next log has another identity (R-1,
/// Specs/hostile.md row 48). Relays may share a store while each room is served by one of them at a time.
///
/// Roles and membership records are kept apart from the logs and never removed for others. Beyond their bounds no room
/// is created, no role is set (Specs/hostile.md row 59) and no record is added.
public final class InMemoryStore: RoomStore {
    /// The bounds of a store.
    public struct Bounds: Equatable, Sendable {
        /// The maximum number of messages of a room.
        public var maxMessagesPerRoom = 10_000
        /// The maximum size of the bodies of a room, in bytes. The newest message is kept even if it is longer.
        public var maxByteCountPerRoom = 8 * 1024 * 1024
        /// The maximum size of all rooms, in bytes with objects: bodies, 128 for each message, 512 for each room, and
        /// 96 for each device that has published in a room and each account with progress in it. Rooms and devices take
        /// half of it at most. The default is half of a relay's default memory budget.
        public var maxByteCount = 512 * 1024 * 1024
        /// The maximum number of rooms, with or without messages. The least recently used room is removed for another.
        public var maxRooms = 65_536
        /// The maximum size of the roles of all rooms, in bytes, with 512 bytes added for each room. It is not part of
        /// `maxByteCount`.
        public var maxRoleByteCount = 64 * 1024 * 1024
        /// The maximum number of membership records of all rooms. They are not part of `maxByteCount`.
        public var maxMembershipCount = 262_144
        /// The maximum number of rooms with bounds of their own. They are not part of `maxByteCount`.
        public var maxRetentionCount = 65_536

        /// Creates the default bounds.
        public init() {}
    }

    /// The reason for a refusal.
    public enum Failure: Error, Equatable, Sendable {
        /// A room and its devices take `Bounds.maxByteCount` without any message.
        case full
        /// The roles of all rooms take `Bounds.maxRoleByteCount`.
        case rolesFull
        /// `Bounds.maxRetentionCount` rooms have bounds of their own.
        case retentionFull
        /// The offsets do not continue the room's log.
        case outOfOrder(lastOffset: UInt64)
    }

    /// The bounds of the store.
    public let bounds: Bounds
    private let logs: Guarded<MemoryLogs>
    private let roles = Guarded(MemoryRoles())
    private let memberships = Guarded(MemoryMemberships())
    private let retentions = Guarded<[RoomName: RoomRetention]>([:])

    /// Creates an empty store.
    ///
    /// - Precondition: All bounds are positive.
    public convenience init(bounds: Bounds = Bounds()) {
        self.init(bounds: bounds, firstLog: .random(in: .min ... .max))
    }

    /// - Parameter firstLog: The identity of the first log.
    package init(bounds: Bounds = Bounds(), firstLog: UInt64) {
        logs = Guarded(MemoryLogs(firstLog: firstLog))
        precondition(bounds.maxMessagesPerRoom > 0 && bounds.maxByteCountPerRoom > 0)
        precondition(bounds.maxRooms > 0 && bounds.maxByteCount > 0 && bounds.maxRoleByteCount > 0)
        precondition(bounds.maxMembershipCount > 0)
        self.bounds = bounds
    }

    /// Creates an empty store that keeps `maxMessagesPerRoom` messages of each room.
    ///
    /// - Precondition: `maxMessagesPerRoom` is positive.
    public convenience init(maxMessagesPerRoom: Int) {
        var bounds = Bounds()
        bounds.maxMessagesPerRoom = maxMessagesPerRoom
        self.init(bounds: bounds)
    }

    /// A copy whose logs have other identities, as a restored backup has.
    ///
    /// - Parameter firstLog: The identity of the first log.
    package func copy(firstLog: UInt64) -> InMemoryStore {
        let copy = InMemoryStore(bounds: bounds, firstLog: firstLog)
        var branched = logs.withLock { $0 }
        branched.renew(firstLog: firstLog)
        let (roles, memberships) = (roles.withLock { $0 }, memberships.withLock { $0 })
        copy.logs.withLock { $0 = branched }
        copy.roles.withLock { $0 = roles }
        copy.memberships.withLock { $0 = memberships }
        let retentions = retentions.withLock { $0 }
        copy.retentions.withLock { $0 = retentions }
        return copy
    }

    /// The number and the bytes of messages of a room. Fewer are kept when the store is full.
    public var retention: RoomRetention {
        RoomRetention(
            maxCount: UInt64(bounds.maxMessagesPerRoom), maxByteCount: UInt64(bounds.maxByteCountPerRoom))
    }

    /// All features.
    public var features: RoomStoreFeatures { [.roles, .memberships, .roomList, .roomRetention] }

    /// Performs the calls at once.
    public func perform(_ calls: [RoomStoreCall]) {
        for call in calls {
            switch call {
            case .load(let room, let reply): reply.succeed(load(room))
            case .append(let new, let reply):
                reply.complete { try append(new.entries, erasing: new.erasures, to: new.room) }
            case .read(let range, let room, let reply): reply.succeed(read(range, of: room))
            case .saveProgress(let progress, let room, let reply):
                reply.succeed(saveProgress(progress, of: room))
            case .saveRoles(let roles, let room, _, let creation, let reply):
                reply.complete { try saveRoles(roles, of: room, creation: creation) }
            case .saveMemberships(let changes, let room, let reply):
                reply.succeed(saveMemberships(changes, of: room))
            case .readMemberships(let read, let account, let reply):
                reply.succeed(memberships(of: account, read))
            case .touch(_, let reply): reply.succeed()
            case .changes(_, let reply): reply.fail(RoomStoreError.unsupported)
            case .listRooms(let read, let reply): reply.succeed(listRooms(read))
            case .saveRetention(let bounds, let room, let reply):
                reply.complete { try saveRetention(bounds, of: room) }
            }
        }
    }

    /// The number of rooms that were loaded and not removed.
    public var roomCount: Int { logs.withLock(\.count) }

    /// The size of all rooms, in bytes with objects.
    public var byteCount: Int { logs.withLock(\.byteCount) }

    /// The snapshot of a room. A new or removed room starts a log.
    public func load(_ room: RoomName) -> RoomSnapshot {
        var snapshot = logs.withLock { $0.load(room, bounds) }
        snapshot.roles = roles.withLock { $0[room] }
        snapshot.memberships = memberships.withLock { $0[room] }
        snapshot.retention = retentions.withLock { $0[room] } ?? RoomRetention()
        return snapshot
    }

    /// Appends messages to a loaded room. Throws `Failure`, or `RoomStoreError.logLost` if the room has been removed
    /// since.
    @discardableResult
    public func append(_ entries: [LogEntry], to room: RoomName) throws -> UInt64 {
        try append(entries, erasing: [], to: room)
    }

    /// Appends messages to a loaded room, and erases earlier ones. Throws as ``append(_:to:)``.
    @discardableResult
    public func append(_ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName) throws -> UInt64 {
        let retention = retentions.withLock { $0[room] }
        return try logs.withLock { logs in
            guard try logs.append(entries, erasing: erasures, to: room, bounds, retention), let log = logs[room] else {
                throw RoomStoreError.logLost
            }
            return log.firstOffset
        }
    }

    /// Keeps the progress of accounts in a loaded room, of at most 4,096 accounts.
    public func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) {
        logs.withLock { $0.save(progress, of: room, bounds) }
    }

    /// Keeps the roles of a room. Throws `Failure.rolesFull`, or `RoomStoreError`: `roomHasRoles`, `tooManyRooms` or
    /// `rolesFull`.
    public func saveRoles(_ bytes: [UInt8], of room: RoomName, creation: RoomCreation?) throws {
        try roles.withLock { try $0.save(bytes, of: room, creation, maxByteCount: bounds.maxRoleByteCount) }
    }

    /// Keeps changes of membership records. New ones beyond `Bounds.maxMembershipCount` are not saved.
    public func saveMemberships(_ changes: MembershipChanges, of room: RoomName) -> Set<AccountName> {
        memberships.withLock { $0.save(changes, of: room, maxCount: bounds.maxMembershipCount) }
    }

    /// The next rooms in the order of their names.
    public func listRooms(_ read: RoomListRead) -> StoredRoomPage { logs.withLock { $0.rooms(read) } }

    /// Replaces the bounds of a room, which the next append of the room applies. Throws `Failure.retentionFull`.
    public func saveRetention(_ own: RoomRetention, of room: RoomName) throws {
        try retentions.withLock { retentions in
            guard own != RoomRetention() else { return retentions[room] = nil }
            guard retentions[room] != nil || retentions.count < bounds.maxRetentionCount else {
                throw Failure.retentionFull
            }
            retentions[room] = own
        }
    }

    /// The entries of an account's rooms.
    public func memberships(of account: AccountName, _ read: MembershipRead) -> [StoredRoomEntry] {
        let found = memberships.withLock { $0.records(of: account, read) }
        let entries = logs.withLock { logs in
            found.map { logs.entry(of: $0.room, $0.record, account, least: $0.progress, read: read) }
        }
        // The roles are read last, so that an account that loses its role in between does not see later messages.
        return roles.withLock { roles in
            entries.map { StoredRoomEntry($0, roles: read == .names ? nil : roles[$0.room]) }
        }
    }

    /// The kept messages in a range.
    public func read(_ range: ReadRange, of room: RoomName) -> RoomHistory {
        logs.withLock { logs in
            guard let log = logs[room] else { return RoomHistory(entries: [], firstOffset: 1) }
            logs.use(room)
            return RoomHistory(entries: log.read(range), firstOffset: log.firstOffset)
        }
    }
}
