public import MartletProtocol
import MartletTransport
public import MartletWire

/// Rooms' logs in memory, within bounds: the oldest messages of a room give way to new ones, and beyond
/// `Bounds.maxByteCount` those of the room that has not been read or written for longest. Readers are told of a gap
///
///
/// Everything is lost with the process. Watermarks outlive the messages they come from, so a message that was sent
/// again is told from a new one even when the log no longer has it. Rooms and watermarks take half of the bytes
/// at the most; beyond that, and beyond `Bounds.maxRooms`, the room that has not been used for longest is forgotten,
/// and its next log has another identity (R-1, Specs/hostile.md row 48). Relays may share a store as long as each room
/// is at one of them at a time.
public final class InMemoryStore: ImmediateRoomStore {
    /// How much a store keeps.
    public struct Bounds: Equatable, Sendable {
        /// Messages of one room.
        public var maxMessagesPerRoom = 10_000
        /// Bytes of bodies of one room; the newest message is kept even if it is longer.
        public var maxByteCountPerRoom = 8 * 1024 * 1024
        /// Bytes that all rooms take together, with objects: bodies, 128 for each message, 512 for each room and 96 for
        /// each device that has written in a room. Half of what a relay takes at the most by default.
        public var maxByteCount = 512 * 1024 * 1024
        /// Rooms, with messages or without; beyond them the one that has not been used for longest is forgotten.
        public var maxRooms = 65_536

        /// The defaults.
        public init() {}
    }

    /// Why the store refuses.
    public enum Failure: Error, Equatable, Sendable {
        /// A room and its devices take `Bounds.maxByteCount` without any message.
        case full
        /// The offsets do not continue the room's log.
        case outOfOrder(head: UInt64)
    }

    /// How much is kept at the most.
    public let bounds: Bounds
    private let logs = Guarded(MemoryLogs(firstLog: .random(in: .min ... .max)))

    /// An empty store.
    ///
    /// - Precondition: the bounds are positive.
    public init(bounds: Bounds = Bounds()) {
        precondition(bounds.maxMessagesPerRoom > 0 && bounds.maxByteCountPerRoom > 0)
        precondition(bounds.maxRooms > 0 && bounds.maxByteCount > 0)
        self.bounds = bounds
    }

    /// An empty store that keeps so many messages of each room.
    ///
    /// - Precondition: `maxMessagesPerRoom` is positive.
    public convenience init(maxMessagesPerRoom: Int) {
        var bounds = Bounds()
        bounds.maxMessagesPerRoom = maxMessagesPerRoom
        self.init(bounds: bounds)
    }

    /// Rooms that were loaded and are not forgotten.
    public var roomCount: Int { logs.withLock(\.count) }

    /// Bytes that all rooms take together, with objects.
    public var byteCount: Int { logs.withLock(\.byteCount) }

    /// What there is of a room. A room that is new, or was forgotten, begins a log.
    public func load(_ room: RoomName) -> RoomSnapshot {
        logs.withLock { $0.load(room, bounds) }
    }

    /// Keeps messages of a room that was loaded. Throws `Failure`, and `LogLost` when the room was forgotten since.
    public func append(_ entries: [LogEntry], to room: RoomName) throws {
        try logs.withLock { logs in
            guard try logs.append(entries, to: room, bounds) else { throw LogLost() }
        }
    }

    /// The messages in a range that are still kept.
    public func read(_ range: ReadRange, of room: RoomName) -> RoomHistory {
        logs.withLock { logs in
            guard let log = logs[room] else { return RoomHistory(entries: [], first: 1) }
            logs.use(room)
            return RoomHistory(entries: log.read(range), first: log.first)
        }
    }
}
