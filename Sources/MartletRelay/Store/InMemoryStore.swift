public import MartletProtocol
import MartletTransport
public import MartletWire

/// Rooms' logs in memory, within bounds: the oldest messages of a room give way to new ones.
///
/// Everything is lost with the process. Watermarks outlive the messages they come from, so a message that was sent
/// again is told from a new one even when the log no longer has it. Relays may share a store as long as each room
/// is at one of them at a time.
public final class InMemoryStore: ImmediateRoomStore {
    /// How much a store keeps.
    public struct Bounds: Equatable, Sendable {
        /// Messages of one room.
        public var maxMessagesPerRoom = 10_000
        /// Bytes of bodies of one room; the newest message is kept even if it is longer.
        public var maxByteCountPerRoom = 8 * 1024 * 1024
        /// Rooms; a message to a room beyond them is refused.
        public var maxRooms = 65_536

        /// The defaults.
        public init() {}
    }

    /// Why the store refuses.
    public enum Failure: Error, Equatable, Sendable {
        /// There are `Bounds.maxRooms` rooms already.
        case tooManyRooms
        /// The offsets do not continue the room's log.
        case outOfOrder(head: UInt64)
    }

    /// How much is kept at the most.
    public let bounds: Bounds
    private let logs = Guarded<[RoomName: MemoryLog]>([:])

    /// An empty store.
    ///
    /// - Precondition: the bounds are positive.
    public init(bounds: Bounds = Bounds()) {
        precondition(bounds.maxMessagesPerRoom > 0 && bounds.maxByteCountPerRoom > 0 && bounds.maxRooms > 0)
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

    /// Rooms that hold or held a message.
    public var roomCount: Int { logs.withLock(\.count) }

    /// What there is of a room. Throws `Failure.tooManyRooms` when it has nothing and there is no place for it.
    public func load(_ room: RoomName) throws -> RoomSnapshot {
        try logs.withLock { logs in
            if let log = logs[room] {
                return RoomSnapshot(head: log.head, first: log.first, watermarks: log.watermarks)
            }
            guard logs.count < bounds.maxRooms else { throw Failure.tooManyRooms }
            return RoomSnapshot()
        }
    }

    /// Keeps messages. Throws `Failure`.
    public func append(_ entries: [LogEntry], to room: RoomName) throws {
        try logs.withLock { logs in
            guard logs.count < bounds.maxRooms || logs[room] != nil else { throw Failure.tooManyRooms }
            try logs[room, default: MemoryLog()].append(entries, bounds)
        }
    }

    /// The messages in a range that are still kept.
    public func read(_ range: ReadRange, of room: RoomName) -> RoomHistory {
        logs.withLock { logs in
            guard let log = logs[room] else { return RoomHistory(entries: [], first: 1) }
            return RoomHistory(entries: log.read(range), first: log.first)
        }
    }
}

/// One room's messages, oldest first, and what is remembered of those that gave way.
private struct MemoryLog {
    private var rows = LogRows(next: 1)
    private(set) var watermarks: [DeviceKey: UInt64] = [:]

    var head: UInt64 { rows.end - 1 }
    var first: UInt64 { rows.first }

    mutating func append(_ new: [LogEntry], _ bounds: InMemoryStore.Bounds) throws(InMemoryStore.Failure) {
        for index in new.indices where new[index].offset != rows.end + UInt64(index) {
            throw .outOfOrder(head: head)
        }
        var start = 0
        while start < new.count {
            // A device's messages come in rows, and each row is one look into the table.
            let device = DeviceKey(account: new[start].sender, device: new[start].device)
            var highest: UInt64 = 0
            repeat {
                highest = max(highest, new[start].counter)
                start += 1
            } while start < new.count && new[start].hasSameDevice(as: new[start - 1])
            Self.raise(&watermarks[device, default: 0], to: highest)
        }
        rows.append(new[...])
        rows.trim(
            to: LogRows.Bounds(
                minCount: 1, maxCount: bounds.maxMessagesPerRoom, maxByteCount: bounds.maxByteCountPerRoom))
    }

    private static func raise(_ watermark: inout UInt64, to counter: UInt64) {
        watermark = max(watermark, counter)
    }

    func read(_ range: ReadRange) -> [LogEntry] {
        var result: [LogEntry] = []
        var byteCount = 0
        var row = rows.row(from: max(range.from, first))
        while let entry = row.first, result.count < range.maxCount {
            byteCount += entry.body.byteCount
            guard result.isEmpty || byteCount <= range.maxByteCount else { break }
            result.append(entry)
            row = row.count > 1 ? row.dropFirst() : rows.row(from: entry.offset + 1)
        }
        return result
    }
}
