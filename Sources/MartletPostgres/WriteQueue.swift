import MartletLink
import MartletRelay
import MartletWire

/// A room that was loaded: the row and the log to which it appends.
struct KnownRoom: Equatable, Sendable {
    let id: Int64
    let log: LogID
}

/// An append with the log for which it is meant, and the number by which its batch is recognized.
struct NumberedAppend: Sendable {
    let append: RoomAppend
    let room: KnownRoom
    let number: Int64
    let reply: RoomStoreReply<UInt64>
}

/// A call that writes.
enum StoreWrite: Sendable {
    case append(NumberedAppend)
    /// The log of a room that the database does not have.
    case create(RoomName, LogID, at: UInt64, RoomStoreReply<Void>)
    case progress([AccountName: AccountProgress], RoomName, RoomStoreReply<Void>)
    case roles([UInt8], RoomName, replacing: UInt64, RoomCreation?, RoomStoreReply<Void>)
    case memberships(MembershipChanges, RoomName, RoomStoreReply<Set<AccountName>>)
    case retention(RoomRetention, RoomName, RoomStoreReply<Void>)
    case touch([RoomName], at: UInt64, RoomStoreReply<Void>)

    func fail(_ error: any Error) {
        switch self {
        case .append(let append): append.reply.fail(error)
        case .create(_, _, _, let reply), .roles(_, _, _, _, let reply): reply.fail(error)
        case .progress(_, _, let reply), .touch(_, _, let reply), .retention(_, _, let reply): reply.fail(error)
        case .memberships(_, _, let reply): reply.fail(error)
        }
    }

    /// The number of messages that the call stores.
    var messageCount: Int { if case .append(let call) = self { call.append.entries.count } else { 0 } }

    /// The bytes of bodies and roles, with some for each message and name.
    fileprivate var byteCount: Int {
        switch self {
        case .append(let call): call.append.entries.reduce(0) { $0 + $1.body.byteCount + 64 }
        case .create, .retention: 64
        case .progress(let progress, _, _): progress.count * 64
        case .roles(let roles, _, _, _, _): roles.count + 64
        case .memberships(let changes, _, _): changes.count * 128
        case .touch(let rooms, _, _): rooms.count * 64
        }
    }
}

/// The calls that wait for the connection that writes, and those that are one transaction.
///
/// | state of a call | owns | ends |
/// |---|---|---|
/// | waiting | its place and its bytes | `take` |
/// | under way | nothing: the caller of `take` has it | answered; put back |
struct WriteQueue {
    /// The maximum number of calls that wait. Further ones fail.
    static let maxCount = 65_536
    /// The maximum number of bytes of calls that wait. Further ones fail.
    static let maxByteCount = 256 * 1024 * 1024
    /// The maximum number of calls in a transaction.
    static let maxGroupCount = 1024
    /// The number of bytes beyond which no further call joins a transaction.
    static let maxGroupByteCount = 8 * 1024 * 1024

    struct Entry: Sendable {
        let write: StoreWrite
        let byteCount: Int
        /// Whether the call has been sent before, and may have had its effect.
        var isRepeated = false
        /// Whether the call is a transaction of its own, because one with others was refused.
        var isAlone: Bool
        /// The number of times that the database has refused it for a reason that may pass.
        var refusalCount = 0
    }

    private var entries: [Entry] = []
    /// The index of the first entry that waits.
    private var first = 0
    private(set) var byteCount = 0

    var isEmpty: Bool { first == entries.count }

    /// Adds a call; false if there is no room for it.
    mutating func add(_ write: StoreWrite) -> Bool {
        let bytes = write.byteCount
        guard entries.count - first < Self.maxCount, byteCount + bytes <= Self.maxByteCount else { return false }
        // The erasure of messages takes several exchanges.
        let isAlone = if case .append(let call) = write { !call.append.erasures.isEmpty } else { false }
        entries.append(Entry(write: write, byteCount: bytes, isAlone: isAlone))
        byteCount += bytes
        return true
    }

    /// Takes the calls of the next transaction, in their order. A room has one append in it.
    mutating func take() -> [Entry] {
        var group: [Entry] = []
        var bytes = 0
        var rooms: Set<Int64> = []
        while first < entries.count, group.count < Self.maxGroupCount, bytes < Self.maxGroupByteCount {
            let entry = entries[first]
            if entry.isAlone, !group.isEmpty { break }
            if case .append(let call) = entry.write, !rooms.insert(call.room.id).inserted { break }
            group.append(entry)
            bytes += entry.byteCount
            first += 1
            if entry.isAlone { break }
        }
        byteCount -= bytes
        if first == entries.count || first > Self.maxCount {
            entries.removeFirst(first)
            first = 0
        }
        return group
    }

    /// Puts calls back that have no answer, in front of the others.
    ///
    /// - Parameters:
    ///   - isRefused: Whether the database has refused the transaction.
    ///   - isSplit: Whether each call gets a transaction of its own.
    mutating func putBack(_ group: [Entry], isRefused: Bool = false, isSplit: Bool = false) {
        let returned = group.map { entry in
            var entry = entry
            entry.isRepeated = true
            entry.isAlone = entry.isAlone || isSplit
            if isRefused { entry.refusalCount += 1 }
            return entry
        }
        entries.replaceSubrange(..<first, with: returned)
        first = 0
        byteCount += group.reduce(0) { $0 + $1.byteCount }
    }

    /// Takes all calls, which the caller fails.
    mutating func removeAll() -> [Entry] {
        defer { self = WriteQueue() }
        return Array(entries[first...])
    }
}
