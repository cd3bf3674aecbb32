import MartletProtocol
import MartletWire

/// Rooms' logs in memory, in the order in which they were used last, and what they take together.
///
/// When that is more than may be, the room that has not been used for longest loses its oldest messages, until it has
/// none; the room that is written to keeps its newest ones. What is no message, rooms and the devices' counters, may
/// take half of all bytes: beyond that, and beyond so many rooms, the room that has not been used for longest is
/// forgotten. When it comes again it has another log.
struct MemoryLogs {
    private struct Place {
        let room: RoomName
        let id: LogID
        var log = MemoryLog()
        /// What was counted for it, in bytes with objects.
        var byteCount = 0
    }

    private var places: [Place] = []
    private var free: [Int] = []
    private var placeOfRoom: [RoomName: Int] = [:]
    /// All rooms, and those that have messages.
    private var used = UseOrder()
    private var withMessages = UseOrder()
    private var nextLog: UInt64
    /// What all rooms take, in bytes with objects.
    private(set) var byteCount = 0
    /// Of these, what is no message: rooms, and their devices' counters.
    private(set) var lastingByteCount = 0

    /// - Parameter firstLog: the identity of the first log; those that follow are counted from it.
    init(firstLog: UInt64) {
        nextLog = firstLog
    }

    var count: Int { placeOfRoom.count }

    /// A room's log; nil when it was never loaded, or is forgotten.
    subscript(room: RoomName) -> MemoryLog? { placeOfRoom[room].map { places[$0].log } }

    /// What there is of a room, which has a place from now on.
    mutating func load(_ room: RoomName, _ bounds: InMemoryStore.Bounds) -> RoomSnapshot {
        let index = placeOfRoom[room] ?? insert(room)
        touch(index)
        giveWay(to: index, bounds)
        let (id, log) = (places[index].id, places[index].log)
        return RoomSnapshot(log: id, head: log.head, first: log.first, watermarks: log.watermarks)
    }

    /// A room is read.
    mutating func use(_ room: RoomName) {
        if let index = placeOfRoom[room] { touch(index) }
    }

    /// Keeps messages of a room, and lets others go for them; false when the room has no place.
    mutating func append(
        _ entries: [LogEntry], to room: RoomName, _ bounds: InMemoryStore.Bounds
    ) throws(InMemoryStore.Failure) -> Bool {
        guard let index = placeOfRoom[room] else { return false }
        guard places[index].log.lastingByteCount < bounds.maxByteCount else { throw .full }
        try places[index].log.append(entries, bounds)
        settle(index)
        touch(index)
        giveWay(to: index, bounds)
        return true
    }

    // MARK: What gives way

    /// Others give way to a room that was just used, and at last its own oldest messages.
    private mutating func giveWay(to index: Int, _ bounds: InMemoryStore.Bounds) {
        while lastingByteCount > bounds.maxByteCount / 2 || count > bounds.maxRooms, forgetFirst(but: index) {}
        while byteCount > bounds.maxByteCount, let victim = withMessages.first,
            places[victim].log.letGo(keepsNewest: victim == index)
        {
            settle(victim)
        }
        while byteCount > bounds.maxByteCount, forgetFirst(but: index) {}
    }

    /// Forgets the room that has not been used for longest; false when that is this one.
    private mutating func forgetFirst(but index: Int) -> Bool {
        guard let victim = used.first, victim != index else { return false }
        forget(victim)
        return true
    }

    private mutating func forget(_ index: Int) {
        used.remove(index)
        withMessages.remove(index)
        byteCount -= places[index].byteCount
        lastingByteCount -= places[index].log.toldLasting
        placeOfRoom[places[index].room] = nil
        places[index].log = MemoryLog()
        free.append(index)
    }

    private mutating func insert(_ room: RoomName) -> Int {
        let place = Place(room: room, id: LogID(rawValue: nextLog))
        nextLog &+= 1
        let index = free.popLast() ?? places.count
        if index == places.count { places.append(place) } else { places[index] = place }
        placeOfRoom[room] = index
        settle(index)
        return index
    }

    private mutating func settle(_ index: Int) {
        let before = places[index].byteCount
        let after = places[index].log.byteCount
        places[index].byteCount = after
        byteCount += after - before
        lastingByteCount += places[index].log.takeLastingChange()
        if places[index].log.isEmpty { withMessages.remove(index) }
    }

    private mutating func touch(_ index: Int) {
        used.use(index)
        if !places[index].log.isEmpty { withMessages.use(index) }
    }
}
