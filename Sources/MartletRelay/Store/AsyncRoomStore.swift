import MartletTransport
public import MartletWire

/// A store with an `async` method for each call, which is performed in a task of its own.
///
/// Three methods suffice; the others have default implementations. One relay uses such a store. The calls of
/// ``RoomStoreCall`` with the same names state the obligations of the methods. A thrown error that is not a
/// `RoomStoreError` becomes `RoomStoreError.other`.
public protocol AsyncRoomStore: RoomStore {
    /// The snapshot of a room.
    func load(_ room: RoomName) async throws -> RoomSnapshot

    /// Makes messages durable, and erases earlier ones. Returns the lowest kept offset.
    func append(_ append: RoomAppend) async throws -> UInt64

    /// The kept messages in a range.
    func read(_ range: ReadRange, of room: RoomName) async throws -> RoomHistory

    /// Keeps the delivered and read offsets of accounts. The default implementation keeps nothing.
    func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) async throws

    /// Makes the roles of a room durable. Required by the feature `roles`.
    func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) async throws

    /// Makes changes of membership records durable. Returns the accounts whose records were not saved, because there
    /// are too many. Required by the feature `memberships`.
    func saveMemberships(_ changes: MembershipChanges, of room: RoomName) async throws -> Set<AccountName>

    /// The entries of an account's rooms. Required by the feature `memberships`.
    func readMemberships(_ read: MembershipRead, of account: AccountName) async throws -> [StoredRoomEntry]

    /// Records that rooms have members. The default implementation does nothing.
    func touch(_ rooms: [RoomName]) async throws

    /// The next rooms. Required by the feature `roomList`.
    func listRooms(_ read: RoomListRead) async throws -> StoredRoomPage

    /// Makes the bounds of a room durable. Required by the feature `roomRetention`.
    func saveRetention(_ bounds: RoomRetention, of room: RoomName) async throws
}

extension AsyncRoomStore {
    /// None.
    public var features: RoomStoreFeatures { [] }

    /// Keeps nothing.
    public func saveProgress(_ progress: [AccountName: AccountProgress], of room: RoomName) async throws {}

    /// Throws `RoomStoreError.unsupported`.
    public func saveRoles(_ roles: [UInt8], of room: RoomName, creation: RoomCreation?) async throws {
        throw RoomStoreError.unsupported
    }

    /// Throws `RoomStoreError.unsupported`.
    public func saveMemberships(_ changes: MembershipChanges, of room: RoomName) async throws -> Set<AccountName> {
        throw RoomStoreError.unsupported
    }

    /// Throws `RoomStoreError.unsupported`.
    public func readMemberships(_ read: MembershipRead, of account: AccountName) async throws -> [StoredRoomEntry] {
        throw RoomStoreError.unsupported
    }

    /// Does nothing.
    public func touch(_ rooms: [RoomName]) async throws {}

    /// Throws `RoomStoreError.unsupported`.
    public func listRooms(_ read: RoomListRead) async throws -> StoredRoomPage { throw RoomStoreError.unsupported }

    /// Throws `RoomStoreError.unsupported`.
    public func saveRetention(_ bounds: RoomRetention, of room: RoomName) async throws {
        throw RoomStoreError.unsupported
    }

    /// Starts a task for each call, on the executor of the loop's host if it has one.
    public func perform(_ calls: [RoomStoreCall]) {
        let executor = EventLoop.current?.host?.taskExecutor
        for call in calls { Task(executorPreference: executor) { await perform(call) } }
    }

    private func perform(_ call: RoomStoreCall) async {
        switch call {
        case .load(let room, let reply): await reply.complete { try await load(room) }
        case .append(let append, let reply): await reply.complete { try await self.append(append) }
        case .read(let range, let room, let reply): await reply.complete { try await read(range, of: room) }
        case .saveProgress(let progress, let room, let reply):
            await reply.complete { try await saveProgress(progress, of: room) }
        case .saveRoles(let roles, let room, _, let creation, let reply):
            await reply.complete { try await saveRoles(roles, of: room, creation: creation) }
        case .saveMemberships(let changes, let room, let reply):
            await reply.complete { try await saveMemberships(changes, of: room) }
        case .readMemberships(let read, let account, let reply):
            await reply.complete { try await readMemberships(read, of: account) }
        case .touch(let rooms, let reply): await reply.complete { try await touch(rooms) }
        case .changes(_, let reply): reply.fail(RoomStoreError.unsupported)
        case .listRooms(let read, let reply): await reply.complete { try await listRooms(read) }
        case .saveRetention(let bounds, let room, let reply):
            await reply.complete { try await saveRetention(bounds, of: room) }
        }
    }
}

extension RoomStoreReply {
    /// Answers the call with the result of `body`.
    nonisolated(nonsending) fileprivate func complete(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async {
        do { succeed(try await body()) } catch { fail(error) }
    }
}
