import MartletLink
import MartletWire

/// The logs of all rooms in memory, in the order of last use, and their total size.
///
/// Beyond the maximum size the least recently used room loses its oldest messages, and the room being written keeps its
/// newest batch. The metadata, which is rooms and device counters, may take half of the size. Beyond that half, or
/// beyond the maximum number of rooms, the least recently used room is removed. A removed room that is loaded again has
/// another log.
struct MemoryLogs {
    private struct Slot {
        let room: RoomName
        var id: LogID
        var log = MemoryLog()
        /// The counted size of the log, in bytes with objects.
        var byteCount = 0
        var metadataByteCount = 0
    }

    private var slots: [Slot] = []
    private var free: [Int] = []
    private var slotOfRoom: [RoomName: Int] = [:]
    /// All rooms, and the rooms with messages.
    private var used = RecencyList()
    private var withMessages = RecencyList()
    private var nextLog: UInt64
    /// The size of all rooms, in bytes with objects.
    private(set) var byteCount = 0
    /// The part of `byteCount` that is metadata.
    private(set) var metadataByteCount = 0

    /// - Parameter firstLog: The identity of the first log. Later logs count up from it.
    init(firstLog: UInt64) {
        nextLog = firstLog
    }

    var count: Int { slotOfRoom.count }

    /// Gives all logs other identities.
    mutating func renew(firstLog: UInt64) {
        nextLog = firstLog
        for index in slots.indices {
            slots[index].id = LogID(rawValue: nextLog)
            nextLog &+= 1
        }
    }

    /// The log of a room; nil for a room that was not loaded or was removed.
    subscript(room: RoomName) -> MemoryLog? { slotOfRoom[room].map { slots[$0].log } }

    /// The snapshot of a room. A room without a slot gets one.
    mutating func load(_ room: RoomName, _ bounds: InMemoryStore.Bounds) -> RoomSnapshot {
        let index = slotOfRoom[room] ?? insert(room)
        markUsed(index)
        evict(for: index, bounds)
        let (id, log) = (slots[index].id, slots[index].log)
        return RoomSnapshot(
            log: id, lastOffset: log.lastOffset, firstOffset: log.firstOffset, devices: log.devices,
            progress: log.progress)
    }

    /// The entry of a room in the list of an account. The newest messages are scanned.
    func entry(
        of room: RoomName, _ record: MembershipRecord, _ account: AccountName, least: AccountProgress,
        read: MembershipRead
    ) -> RoomEntry {
        guard read != .names, let slot = slotOfRoom[room].map({ slots[$0] }) else { return RoomEntry(room, record) }
        let known = slot.log.progress[account] ?? AccountProgress()
        let (first, last) = (slot.log.firstOffset, slot.log.lastOffset)
        let progress = known.raised(to: least, lastOffset: last)
        var entry = RoomEntry(room, record)
        entry.log = slot.id
        (entry.firstOffset, entry.lastOffset) = (first, last)
        (entry.delivered, entry.read) = (progress.delivered, progress.read)
        var scan = RoomEntryScan(of: account, entry)
        var offset = last
        while offset >= first, let message = slot.log.message(at: offset), scan.add(message) { offset -= 1 }
        scan.finish(&entry)
        return entry
    }

    /// Marks a room as used.
    mutating func use(_ room: RoomName) {
        if let index = slotOfRoom[room] { markUsed(index) }
    }

    /// Keeps progress in a room that was loaded.
    mutating func save(_ progress: [AccountName: AccountProgress], of room: RoomName, _ bounds: InMemoryStore.Bounds) {
        guard let index = slotOfRoom[room] else { return }
        slots[index].log.save(progress)
        recount(index)
        evict(for: index, bounds)
    }

    /// Appends messages and evicts others for them; false for a room without a slot.
    mutating func append(
        _ entries: [LogEntry], erasing erasures: [MessageErasure], to room: RoomName, _ bounds: InMemoryStore.Bounds,
        _ retention: RoomRetention? = nil
    ) throws(InMemoryStore.Failure) -> Bool {
        guard let index = slotOfRoom[room] else { return false }
        guard slots[index].log.metadataByteCount < bounds.maxByteCount else { throw .full }
        try slots[index].log.append(entries, bounds, retention ?? RoomRetention())
        slots[index].log.erase(erasures)
        recount(index)
        markUsed(index)
        evict(for: index, bounds)
        return true
    }

    /// The next rooms in the order of their names.
    func rooms(_ read: RoomListRead) -> StoredRoomPage {
        let visitedCount = read.publisher == nil ? read.limit : RoomListRead.maxVisitedCount
        let names = names(after: read.after, count: visitedCount + 1)
        var page = StoredRoomPage()
        for name in names.prefix(visitedCount) {
            guard page.rooms.count < read.limit else { return page }
            page.next = name
            guard let slot = slotOfRoom[name].map({ slots[$0] }),
                read.publisher.map({ slot.log.hasDevice(of: $0) }) ?? true
            else { continue }
            page.rooms.append(
                StoredRoomPage.Room(
                    name: name, log: slot.id, lastOffset: slot.log.lastOffset, firstOffset: slot.log.firstOffset))
        }
        if names.count <= visitedCount { page.next = nil }
        return page
    }

    /// The first names behind a name. All rooms are visited once, and not sorted.
    private func names(after: RoomName?, count: Int) -> [RoomName] {
        var first: [RoomName] = []
        for name in slotOfRoom.keys where after.map({ $0 < name }) ?? true {
            if first.count == count {
                guard let last = first.last, name < last else { continue }
                first.removeLast()
            }
            var (low, high) = (0, first.count)
            while low < high {
                let middle = (low + high) / 2
                if first[middle] < name { low = middle + 1 } else { high = middle }
            }
            first.insert(name, at: low)
        }
        return first
    }

    // MARK: - Eviction

    /// Evicts other rooms for a room that was just used, then the oldest messages of that room.
    private mutating func evict(for index: Int, _ bounds: InMemoryStore.Bounds) {
        while metadataByteCount > bounds.maxByteCount / 2 || count > bounds.maxRooms, removeLeastRecent(except: index) {
        }
        while byteCount > bounds.maxByteCount, let victim = withMessages.leastRecent,
            slots[victim].log.removeOldest(keepsNewest: victim == index)
        {
            recount(victim)
        }
        while byteCount > bounds.maxByteCount, removeLeastRecent(except: index) {}
    }

    /// Removes the least recently used room; false if that is the room at `index`.
    private mutating func removeLeastRecent(except index: Int) -> Bool {
        guard let victim = used.leastRecent, victim != index else { return false }
        remove(victim)
        return true
    }

    private mutating func remove(_ index: Int) {
        used.remove(index)
        withMessages.remove(index)
        byteCount -= slots[index].byteCount
        metadataByteCount -= slots[index].metadataByteCount
        slotOfRoom[slots[index].room] = nil
        slots[index].log = MemoryLog()
        free.append(index)
    }

    private mutating func insert(_ room: RoomName) -> Int {
        let slot = Slot(room: room, id: LogID(rawValue: nextLog))
        nextLog &+= 1
        let index = free.popLast() ?? slots.count
        if index == slots.count { slots.append(slot) } else { slots[index] = slot }
        slotOfRoom[room] = index
        recount(index)
        return index
    }

    private mutating func recount(_ index: Int) {
        let log = slots[index].log
        byteCount += log.byteCount - slots[index].byteCount
        metadataByteCount += log.metadataByteCount - slots[index].metadataByteCount
        (slots[index].byteCount, slots[index].metadataByteCount) = (log.byteCount, log.metadataByteCount)
        if slots[index].log.isEmpty { withMessages.remove(index) }
    }

    private mutating func markUsed(_ index: Int) {
        used.use(index)
        if !slots[index].log.isEmpty { withMessages.use(index) }
    }
}
