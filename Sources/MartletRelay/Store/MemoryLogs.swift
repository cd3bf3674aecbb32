import MartletProtocol
import MartletWire

/// Rooms' logs in memory, in the order in which they were used last, and what they take together.
///
/// When that is more than may be, the room that has not been used for longest loses its oldest messages, until it has
/// none; the room that is written to keeps its newest ones.
struct MemoryLogs {
    private struct Place {
        var log = MemoryLog()
        /// What was counted for it, in bytes with objects.
        var byteCount = 0
        /// Its neighbours among the rooms that have messages; negative at the ends.
        var before = -1
        var after = -1
        var isListed = false
    }

    private var places: [Place] = []
    private var placeOfRoom: [RoomName: Int] = [:]
    /// Of the rooms that have messages, the one that has not been used for longest, and the one that was used last.
    private var first = -1
    private var last = -1
    /// What all rooms take, in bytes with objects.
    private(set) var byteCount = 0
    /// Of these, what does not give way: rooms without messages, and their devices' counters.
    private(set) var lastingByteCount = 0

    var count: Int { places.count }

    /// A room's log; nil when nothing was ever written to it.
    subscript(room: RoomName) -> MemoryLog? { placeOfRoom[room].map { places[$0].log } }

    /// A room is read, or written to.
    mutating func use(_ room: RoomName) {
        guard let index = placeOfRoom[room], index != last else { return }
        unlist(index)
        list(index)
    }

    /// Keeps messages of a room, and lets others go for them.
    mutating func append(
        _ entries: [LogEntry], to room: RoomName, _ bounds: InMemoryStore.Bounds
    ) throws(InMemoryStore.Failure) {
        let index: Int
        if let found = placeOfRoom[room] {
            index = found
            try places[index].log.append(entries, bounds)
        } else {
            var new = Place()
            try new.log.append(entries, bounds)
            index = places.count
            places.append(new)
            placeOfRoom[room] = index
        }
        settle(index)
        unlist(index)
        list(index)
        while byteCount > bounds.maxByteCount, places[first].log.letGo(keepsNewest: first == index) {
            let victim = first
            settle(victim)
        }
    }

    private mutating func settle(_ index: Int) {
        let before = places[index].byteCount
        places[index].byteCount = places[index].log.byteCount
        byteCount += places[index].byteCount - before
        lastingByteCount += places[index].log.takeLastingChange()
        if places[index].log.isEmpty { unlist(index) }
    }

    private mutating func list(_ index: Int) {
        guard !places[index].log.isEmpty else { return }
        places[index].isListed = true
        places[index].before = last
        places[index].after = -1
        if last >= 0 { places[last].after = index } else { first = index }
        last = index
    }

    private mutating func unlist(_ index: Int) {
        guard places[index].isListed else { return }
        let (before, after) = (places[index].before, places[index].after)
        if before >= 0 { places[before].after = after } else { first = after }
        if after >= 0 { places[after].before = before } else { last = before }
        places[index].isListed = false
    }
}

/// One room's messages, oldest first, and what is remembered of those that gave way.
struct MemoryLog {
    /// What a room, a device's counter, and a message beside its body take, in bytes.
    static let roomByteCount = 512
    static let deviceByteCount = 96
    static let entryByteCount = 128

    private var rows = LogRows(next: 1)
    private(set) var watermarks: [DeviceKey: UInt64] = [:]
    private var toldLasting = 0

    var head: UInt64 { rows.end - 1 }
    var first: UInt64 { rows.first }
    var isEmpty: Bool { rows.isEmpty }

    private var lastingByteCount: Int { Self.roomByteCount + watermarks.count * Self.deviceByteCount }
    var byteCount: Int { lastingByteCount + rows.byteCount + rows.count * Self.entryByteCount }

    /// How much more of it does not give way than when it was asked last, in bytes.
    mutating func takeLastingChange() -> Int {
        defer { toldLasting = lastingByteCount }
        return lastingByteCount - toldLasting
    }

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

    /// Lets the oldest messages go that came together; false when there are none that may.
    mutating func letGo(keepsNewest: Bool) -> Bool {
        rows.removeFirstRow(keepsLast: keepsNewest)
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
