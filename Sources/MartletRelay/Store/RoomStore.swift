public import MartletLink
public import MartletWire
import Synchronization

/// The storage of rooms' logs: the interface of a relay to a disk or database.
///
/// ``AsyncRoomStore`` is the simpler form for a store with `async` methods.
///
/// A message is accepted when the reply of its `append` succeeds, and must then survive every failure for which the
/// store is designed. Calls for different rooms may be concurrent. A room has at most one `append` or `saveRoles` in
/// progress, and none before `load` has succeeded. An error is reported as `RelayEvent.storeFailed` and resets the
/// affected sessions with `storeUnavailable`; an error of `saveRoles` refuses the operation.
public protocol RoomStore: Sendable {
    /// What the store keeps beside messages. Constant.
    var features: RoomStoreFeatures { get }

    /// The bounds of each room that the relay reports to members. By default there are none. Constant.
    var retention: RoomRetention { get }

    /// Performs the calls of a turn of one of the relay's loops, in their order. Each call has a reply, which is used
    /// exactly once: before this method returns, on any thread, or later.
    ///
    /// The method is called on the thread of the loop and blocks it, so it must not wait for a disk or a contended
    /// lock. A store that can answer at once, such as one in memory, does so: the messages then leave in the same turn.
    func perform(_ calls: [RoomStoreCall])

    /// Begins to report changes that other relays make, if the store is `shared` and learns of them by itself. The
    /// relay calls the method when it starts, before `perform`; a later call replaces the former one. A report may be
    /// lost: the relay also asks for `changes`.
    ///
    /// - Parameter report: takes the revisions of changed rooms, on any thread.
    func observe(_ report: @escaping @Sendable ([RoomRevision]) -> Void)

    /// Begins the use of a bus beside the store. A relay with a bus calls the method once, when it starts, before
    /// `observe`. Since the bus brings the messages of other relays, the store may then delay its reports, which only
    /// replace lost datagrams.
    ///
    /// - Returns: The key by which the relays of the store authenticate their datagrams: 32 random bytes, which are the
    ///   same at each of these relays and known to no others. Nil if the store has none; datagrams are then not
    ///   authenticated.
    func beginBus() -> [UInt8]?
}

extension RoomStore {
    /// Reports nothing.
    public func observe(_ report: @escaping @Sendable ([RoomRevision]) -> Void) {}

    /// Nil.
    public func beginBus() -> [UInt8]? { nil }

    /// No bounds.
    public var retention: RoomRetention { RoomRetention() }

    /// Performs a call and waits for its answer: `try await store.call { .load(room, $0) }`.
    nonisolated(nonsending) public func call<Value: Sendable>(
        _ call: (RoomStoreReply<Value>) -> RoomStoreCall
    ) async throws(RoomStoreError) -> Value {
        try await withCheckedContinuation { continuation in
            perform([call(RoomStoreReply { continuation.resume(returning: $0) })])
        }.get()
    }
}

/// What a store keeps beside messages. The relay makes no call for the others.
public struct RoomStoreFeatures: OptionSet, Sendable {
    /// `saveRoles`, which a relay with `RelayConfiguration.roomRoles` requires.
    public static let roles = RoomStoreFeatures(rawValue: 1)
    /// `saveMemberships` and `readMemberships`, which sessions of accounts require.
    public static let memberships = RoomStoreFeatures(rawValue: 2)
    /// Several relays use the rooms of the store at a time. A store with this feature compares the offset of each
    /// append, and the version of roles, with what it has, and serves `changes`.
    public static let shared = RoomStoreFeatures(rawValue: 16)
    /// `listRooms`, by which an administrator finds rooms that are not in memory.
    public static let roomList = RoomStoreFeatures(rawValue: 4)
    /// `saveRetention`, by which rooms have bounds of their own.
    public static let roomRetention = RoomStoreFeatures(rawValue: 8)

    /// The bits.
    public let rawValue: Int

    /// Features with these bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }
}

/// A call of a store, with the reply that takes its result.
public enum RoomStoreCall: Sendable {
    /// The snapshot of a room, with its roles and membership records if the store keeps them; the snapshot of an empty
    /// room if the store has none. The `log` remains the same while the assigned offsets are valid, even for an empty
    /// room, and changes when they are lost.
    case load(RoomName, RoomStoreReply<RoomSnapshot>)

    /// Makes messages durable, all or none, and erases earlier ones. The value is the lowest kept offset, after old
    /// messages have been removed. The errors are `logLost`, when the store no longer has the log that `load` returned,
    /// and `conflict`.
    case append(RoomAppend, RoomStoreReply<UInt64>)

    /// The kept messages in a range.
    case read(ReadRange, of: RoomName, RoomStoreReply<RoomHistory>)

    /// Keeps the delivered and read offsets of accounts, which only rise. The call may be concurrent with other
    /// calls for the room. The offsets need not be durable before the next `append` of the room is durable. With a
    /// store that keeps nothing, the offsets are lost when the room leaves memory.
    case saveProgress([AccountName: AccountProgress], of: RoomName, RoomStoreReply<Void>)

    /// Makes the roles of a room durable, at most 2 MiB in their stored form, which the snapshots of later loads
    /// contain unchanged. They outlive the log.
    ///
    /// With a creation, an account creates the room. The store counts the rooms that each account has created. It saves
    /// nothing and fails with `tooManyRooms` if the room exceeds `maxRoomCount`, with `roomHasRoles` if it has roles of
    /// the room, and with `rolesFull` if the roles become longer and those of all rooms of the room's creator exceed
    /// `RoomRoles.maxByteCountPerCreator`.
    ///
    /// The roles replace those of a version, and their version is the next one. A `shared` store saves nothing and
    /// fails with `rolesChanged` if it has another version.
    case saveRoles([UInt8], of: RoomName, replacing: UInt64, creation: RoomCreation?, RoomStoreReply<Void>)

    /// Makes changes of the membership records of a room durable, which outlive its log. A new record that would exceed
    /// `MembershipBounds.maxCount(with:)` for its account, or a bound of the store on all records, is not saved. The
    /// value has the accounts whose records were not saved for that reason.
    case saveMemberships(MembershipChanges, of: RoomName, RoomStoreReply<Set<AccountName>>)

    /// The entries of an account's rooms, in the order of the names' bytes, with the roles of the rooms, from one state
    /// of the store. The call must not wait for an `append`.
    case readMemberships(MembershipRead, of: AccountName, RoomStoreReply<[StoredRoomEntry]>)

    /// Records that rooms have members. There is such a call at least once an hour, so that a store that removes unused
    /// rooms keeps these rooms. Other stores do nothing.
    case touch([RoomName], RoomStoreReply<Void>)

    /// The revisions of the rooms, among these, that have another log, a higher last offset or another version of roles
    /// in the store. A relay makes the call for a `shared` store only, once a second for the rooms that have members,
    /// with at most `RoomRevision.maxCount` revisions.
    case changes(since: [RoomRevision], RoomStoreReply<[RoomRevision]>)

    /// The next rooms in the order of the names' bytes. The call must not wait for an `append`, and visits a bounded
    /// number of rooms.
    case listRooms(RoomListRead, RoomStoreReply<StoredRoomPage>)

    /// Makes the room's own bounds of retention durable, which outlive its log, and which the snapshots of later loads
    /// contain. A bound that is nil is that of the store; bounds without any number remove those of the room.
    case saveRetention(RoomRetention, of: RoomName, RoomStoreReply<Void>)

    /// Answers the call with an error.
    public func fail(_ error: any Error) {
        switch self {
        case .load(_, let reply): reply.fail(error)
        case .append(_, let reply): reply.fail(error)
        case .read(_, _, let reply): reply.fail(error)
        case .saveProgress(_, _, let reply), .saveRoles(_, _, _, _, let reply), .touch(_, let reply),
            .saveRetention(_, _, let reply):
            reply.fail(error)
        case .listRooms(_, let reply): reply.fail(error)
        case .saveMemberships(_, _, let reply): reply.fail(error)
        case .readMemberships(_, _, let reply): reply.fail(error)
        case .changes(_, let reply): reply.fail(error)
        }
    }
}

/// The reply of a call, which a store uses exactly once, on any thread.
///
/// A second use is a mistake of the store, and traps. A reply that is released unused answers with
/// `RoomStoreError.unanswered`, so that no room waits for it.
public final class RoomStoreReply<Value: Sendable>: Sendable {
    private let completion: @Sendable (Result<Value, RoomStoreError>) -> Void
    private let isUsed = Atomic(false)

    /// Creates a reply that calls `completion` once, for a store that passes calls to another store.
    public init(_ completion: @escaping @Sendable (Result<Value, RoomStoreError>) -> Void) {
        self.completion = completion
    }

    deinit {
        if !isUsed.load(ordering: .relaxed) { completion(.failure(.unanswered)) }
    }

    /// Answers the call.
    public func succeed(_ value: Value) {
        use(.success(value))
    }

    /// Answers the call with an error. One that is not a `RoomStoreError` is passed on as `other`.
    public func fail(_ error: any Error) {
        use(.failure(RoomStoreError(error)))
    }

    /// Answers the call with a result.
    public func complete(_ result: Result<Value, any Error>) {
        use(result.mapError { RoomStoreError($0) })
    }

    /// Answers the call with the result of `body`.
    public func complete(_ body: () throws -> Value) {
        do { succeed(try body()) } catch { fail(error) }
    }

    private func use(_ result: Result<Value, RoomStoreError>) {
        let wasUsed = isUsed.exchange(true, ordering: .relaxed)
        precondition(!wasUsed, "a store has answered a call twice")
        completion(result)
    }
}

extension RoomStoreReply where Value == Void {
    /// Answers the call.
    public func succeed() {
        succeed(())
    }
}

/// The messages of one append to a room, and the earlier messages that it erases.
public struct RoomAppend: Sendable {
    /// The room.
    public let room: RoomName
    /// Messages with consecutive offsets, at least one.
    public let entries: [LogEntry]
    /// The messages whose bodies are replaced by `MessageErasure.erased(_:)`, in the same transaction: the message of
    /// each erasure, and its edits, which have higher offsets. An erasure is ignored if its message is not kept, or has
    /// another identity. The earlier bodies are in no file after a minute. With a store that ignores
    /// erasures, the bodies of deleted messages remain in it.
    public let erasures: [MessageErasure]
    /// The log, as `load` has returned it.
    public let log: LogID?
    /// The version of the roles by which the messages were admitted; 0 without roles. A `shared` store with another
    /// version does not append, and fails with `rolesChanged`.
    public let rolesVersion: UInt64

    /// Creates an append.
    ///
    /// - Precondition: There are messages.
    public init(
        room: RoomName, entries: [LogEntry], erasures: [MessageErasure] = [], log: LogID? = nil,
        rolesVersion: UInt64 = 0
    ) {
        precondition(!entries.isEmpty)
        self.room = room
        self.entries = entries
        self.erasures = erasures
        self.log = log
        self.rolesVersion = rolesVersion
    }

    /// The offset that follows the last one of the log, as the relay expects it. A store whose log ends elsewhere does
    /// not append.
    public var expectedOffset: UInt64 { entries[0].offset }
}

/// A read of the list of a store's rooms.
public struct RoomListRead: Equatable, Sendable {
    /// The number of rooms that a store visits for a page (Specs/hostile.md row 120).
    public static let maxVisitedCount = 1024

    /// The room behind which the page begins; nil for the first page.
    public var after: RoomName?
    /// The maximum number of rooms.
    public var limit: Int
    /// The account that has published in the rooms, at least while a message of it is kept; nil for all rooms. The page
    /// may have other rooms, too.
    public var publisher: AccountName?

    /// Creates a read.
    public init(after: RoomName? = nil, limit: Int, publisher: AccountName? = nil) {
        self.after = after
        self.limit = limit
        self.publisher = publisher
    }
}

/// A page of the list of a store's rooms.
public struct StoredRoomPage: Sendable {
    /// A room of a page.
    public struct Room: Equatable, Sendable {
        /// The name.
        public var name: RoomName
        /// The log.
        public var log: LogID?
        /// The highest offset of the log; 0 if it is empty.
        public var lastOffset: UInt64
        /// The lowest offset that is kept.
        public var firstOffset: UInt64

        /// Creates a room of a page.
        public init(name: RoomName, log: LogID?, lastOffset: UInt64, firstOffset: UInt64) {
            self.name = name
            self.log = log
            self.lastOffset = lastOffset
            self.firstOffset = firstOffset
        }
    }

    /// The rooms.
    public var rooms: [Room]
    /// The last room that was visited, behind which the next page begins; nil if no rooms follow.
    public var next: RoomName?

    /// Creates a page.
    public init(rooms: [Room] = [], next: RoomName? = nil) {
        self.rooms = rooms
        self.next = next
    }
}

/// The error of a call of a store.
public enum RoomStoreError: Error {
    /// The store has lost the room's log since it was loaded. The relay resets all sessions of the room with
    /// `storeUnavailable` and loads it again; clients then see another log.
    case logLost
    /// The log has gone on: another writer has appended these messages, which begin at `RoomAppend.expectedOffset`, and
    /// nothing of the append is stored. The log may have more than these. The relay takes the messages into its copy of
    /// the log, admits its own messages again, and appends those that remain.
    case conflict(RoomHistory)
    /// Another relay has changed the roles of the room, and nothing is stored. The relay loads them and decides again
    ///
    case rolesChanged
    /// The account has created as many rooms as it may. The session that would have created the room is reset with
    /// `tooManyRooms`.
    case tooManyRooms
    /// The account that has created the room has rooms with roles of the maximum size. The operation is refused, and a
    /// creation as by `tooManyRooms`.
    case rolesFull
    /// An account creates a room of which the store has roles, for example because the answer to an earlier creation
    /// was lost. The sessions are reset with `storeUnavailable`, and the next one loads the room.
    case roomHasRoles
    /// The store does not have the feature that the call requires (`RoomStore.features`).
    case unsupported
    /// The store has released the call without an answer.
    case unanswered
    /// Any other failure.
    case other(any Error)

    /// The error, or `other` with it.
    public init(_ error: any Error) {
        self = error as? RoomStoreError ?? .other(error)
    }

    /// The error within `other`, or this error.
    public var cause: any Error {
        if case .other(let error) = self { error } else { self }
    }
}

/// The end of a room's log, and the version of the room's roles, as a relay or a store has them.
public struct RoomRevision: Equatable, Sendable {
    /// The maximum number of rooms in one call of `RoomStoreCall.changes`.
    public static let maxCount = 4096

    /// The room.
    public let room: RoomName
    /// The identity of the log; nil if the store has none.
    public let log: LogID?
    /// The highest offset of the log; 0 if it is empty.
    public let lastOffset: UInt64
    /// The version of the roles; 0 if none were saved.
    public let rolesVersion: UInt64

    /// Creates a revision.
    public init(room: RoomName, log: LogID?, lastOffset: UInt64, rolesVersion: UInt64 = 0) {
        self.room = room
        self.log = log
        self.lastOffset = lastOffset
        self.rolesVersion = rolesVersion
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
